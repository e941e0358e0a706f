"""The mass model with arrivals and a queue: many runs at once, at many caps and loads.

`simulate` with an exogenous arrival process in place of the endless backlog, the paper's
"model-based simulator": a checked, labelled front of `rollout` with `open_step`. With a backlog
that never runs out and no cap the two are the same.

Source: Congestion, sections 2.2, 5.1 and 6.1, Appendix D.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
import xarray as xr
from jaxtyping import Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.batches import roll_map
from fluidkv.fluid.model import MassModel, class_model
from fluidkv.fluid.open.iteration import Blocked, OpenModel, OpenState, Selection, open_step
from fluidkv.fluid.quantities import QUANTITIES
from fluidkv.fluid.recorded import checked_record, labelled
from fluidkv.fluid.states import class_states
from fluidkv.runs.checks import count, floats
from fluidkv.runs.devices import local_devices
from fluidkv.workload import System

CapOn = Literal["total", "class"]
"""What a cap x limits: a, the sum over classes, or each a_k to p_k x."""

_LANES = {"cpu": 256}  # of a block: 1,024 with their records cost 1.3 times as much per run


def simulate_open(
    model: MassModel | System,
    *,
    arrivals: ArrayLike,
    start: ArrayLike | None = None,
    queue: ArrayLike | None = None,
    cap: ArrayLike | None = None,
    cap_on: CapOn = "total",
    selection: Selection = "queued",
    blocked: Blocked = "wait",
    record: Iterable[str] = ("admitted", "completed", "evicted", "memory", "queue"),
    every: int = 1,
) -> xr.Dataset:
    """Iterate the mass model under arrivals, one run or a batch of them.

    A batch is as long as the longest of capacities, starts, queues, caps and arrivals; each of
    these is given once for all runs, or once for each run. A sweep over caps on one array of
    arrivals compares them on the same sample, and compiles once.

    Args:
        model: from `class_model`; a `System` stands for its class model. A cohort model only of a
            single class: eviction changes which classes wait.
        arrivals: A^n_k, requests, shape (iteration, class) or (batch, iteration, class); they need
            not be whole. They also say how many iterations there are, a multiple of `every`.
        start: masses as in `simulate`; None is an empty server.
        queue: requests that wait at the start, (class,) or (batch, class); None is nobody.
        cap: rate limit x on admission, requests per iteration, one number or one for each run;
            None, or infinity, is greedy. The paper's policy is x*.
        cap_on: "total" limits a to x, as the paper prints it; "class" limits each a_k to p_k x.
        selection: what is admitted when not all that waits can be: see
            `fluidkv.fluid.open.iteration.OpenModel`.
        blocked: "wait", as the paper's section 2.2 says; or "lost": what is not admitted in the
            iteration in which it arrives or is evicted leaves. Congestion's Table 8 fits the
            latter only.
        record: names out of `QUANTITIES`. Nothing else is stored.
        every: iterations of a window, which is one record: queue, memory, executed_memory,
            in_flight, empty_stages and state are of its last iteration, others are sums.

    Returns:
        A dataset with dimensions batch, iteration, class, stage; variables are the records asked
        for and always `final_state` and `final_queue`, which can start another call. By Little's
        law (queue_time + flight_time) / completed is the mean time in the system, in iterations,
        where the queue does not drift.

    Raises:
        InputError: before any JAX runs, on an argument outside of what is allowed, batches of
            different lengths, or a cohort model of classes with different decode lengths.

    Source: Congestion, sections 2.2 and 5.1.

    Examples:
        >>> from fluidkv.fluid import simulate_open
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> found = simulate_open(system, arrivals=np.full((12, 1), 1.5))
        >>> found.completed.sum().item(), found.memory[0, -1].item(), found.queue[0, -1].item()
        (13.5, 18.0, 0.0)
    """
    names = checked_record(record, tuple(QUANTITIES))
    runs, state = _runs(model, arrivals, start, queue, cap, cap_on, selection, blocked)
    iterations = runs.rates.shape[-2]
    if iterations % count("every", every):
        raise InputError("every", every, f"a divisor of the {iterations} iterations of arrivals")

    of_each = runs.rates.ndim == 3

    def varies(runs: OpenModel, state: OpenState) -> tuple[Any, ...]:
        rates = (runs.rates,) if of_each else ()
        return *rates, runs.mass.capacity, runs.cap, runs.class_cap, state.masses, state.queue

    final, records = roll_map(
        open_step,
        runs,
        state,
        varies,
        iterations=iterations,
        record=names,
        every=int(every),
        lanes=_LANES.get(local_devices()[0].platform),
    )
    records |= {"final_state": final.masses, "final_queue": final.queue}
    return labelled(records, iterations, every, of=model if isinstance(model, System) else None)


def _runs(
    model: MassModel | System,
    arrivals: ArrayLike,
    start: ArrayLike | None,
    queue: ArrayLike | None,
    cap: ArrayLike | None,
    cap_on: CapOn,
    selection: Selection,
    blocked: Blocked,
) -> tuple[OpenModel, OpenState]:
    """Models and starts with the batch as first axis, of arrivals where they differ."""
    mass = _of_classes(model)
    if cap_on not in get_args(CapOn):
        raise InputError("cap_on", cap_on, " or ".join(get_args(CapOn)))
    shares = mass.shares
    rates = _amounts("arrivals", arrivals, ("iteration", "class"), shares.size)
    waiting = np.zeros_like(shares) if queue is None else queue
    waiting = _amounts("queue", waiting, ("class",), shares.size)
    allowed = "a rate above 0, requests per iteration, or a list of them; None is no cap"
    limit = floats("cap", np.inf if cap is None else cap, allowed)
    if limit.ndim > 1 or not limit.size or not np.all(limit > 0):
        raise InputError("cap", cap, allowed)
    masses = class_states(mass, np.zeros_like(mass.weights) if start is None else start)
    # What is the same for all runs has no leading axis, or one of length 1.
    batches = {
        "capacity": mass.capacity.shape,
        "start": masses.shape[:-2],
        "queue": waiting.shape[:-1],
        "cap": limit.shape,
        "arrivals": rates.shape[:-2],
    }
    lengths = {name: shape[0] for name, shape in batches.items() if shape and shape[0] != 1}
    batch = max(lengths.values(), default=1)
    for name, length in lengths.items():
        if length != batch:
            raise InputError(name, f"a batch of {length}", f"1 or {batch}, as the longest has")
    # Both kinds of caps as arrays: another kind compiles nothing.
    total, by_class = (limit, np.inf) if cap_on == "total" else (np.inf, limit[..., None] * shares)

    def each(values: ArrayLike, *shape: int) -> np.ndarray:
        return np.broadcast_to(values, (batch, *shape))

    runs = OpenModel(
        replace(mass, capacity=each(mass.capacity)),
        rates if "arrivals" in lengths else rates.reshape(-1, shares.size),
        each(total),
        each(by_class, shares.size),
        selection,
        blocked,
    )
    return runs, OpenState(each(masses, *mass.weights.shape), each(waiting, shares.size))


def _of_classes(model: MassModel | System) -> MassModel:
    model = class_model(model) if isinstance(model, System) else model
    if model.weights.ndim != 2:
        raise InputError("model", f"a model of {len(model.weights)} systems", "of one system")
    if np.any((model.survival > 0) & (model.survival < 1)):
        raise InputError("model", "a cohort model", "a class model, as eviction changes the mix")
    if model.precision != "float64":
        raise InputError(
            "model", f"a model in {model.precision}", "float64; open_step takes either"
        )
    return model


def _amounts(
    name: str, value: ArrayLike, axes: tuple[str, ...], classes: int
) -> Float[np.ndarray, "*axes class"]:
    """Requests of each class, over `axes`, with or without a batch axis."""
    allowed = f"amounts of at least 0, shape ({', '.join(axes)}) with {classes} classes, or a batch"
    values = floats(name, value, allowed)
    shaped = values.ndim in (len(axes), len(axes) + 1) and values.size
    if not shaped or values.shape[-1] != classes:
        raise InputError(name, f"shape {values.shape}", allowed)
    if not np.all(np.isfinite(values) & (values >= 0)):
        raise InputError(name, "a negative or non-finite amount", allowed)
    return values
