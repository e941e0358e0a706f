"""Many trajectories of the saturated mass model at once: start, iterate, record what is asked for.

`simulate` checks its input, runs in float64 whatever JAX's global setting is, and returns a
labelled dataset.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import xarray as xr
from jaxtyping import Float
from numpy.typing import ArrayLike

from fluidkv.fluid.choice import by_positions, by_twin, chosen_tables, takes_row
from fluidkv.fluid.many import simulate_systems
from fluidkv.fluid.model import MassModel, class_model
from fluidkv.fluid.recorded import check_counts, checked_record, labelled
from fluidkv.fluid.scan import scan_batch
from fluidkv.fluid.states import class_states
from fluidkv.systems import Systems
from fluidkv.workload import System


def simulate(
    model: MassModel | System | Systems | Sequence[System],
    start: ArrayLike,
    *,
    iterations: int,
    record: Iterable[str] = ("admitted", "completed", "evicted", "memory"),
    every: int = 1,
    engine: str = "auto",
    final_state: bool = True,
) -> xr.Dataset:
    """Iterate the saturated mass model from one start or from many, of one system or of many.

    Args:
        model: from `class_model` or `cohort_model`; a `System` stands for its class model. Or
            `Systems`, or a sequence of `System`: each has its own starts.
        start: masses, requests (units of admission for cohorts), memory at or below capacity:
            (batch, class, stage) or (class, stage) by class, (batch, stage) of cohorts, of many
            systems with the axis of systems first. What `uniform_starts`, `perturbed_starts` and
            others return goes in as it is; `fluidkv.fluid.states` says what each shape means.
        iterations: how many, at least 1; a multiple of `every`.
        record: names out of `RECORDS`. Nothing else is computed or stored.
        every: length of a window, iterations. One record a window: `admitted`, `completed` and
            `evicted` are sums over it, the others are read after its last iteration.
        engine: "plain" computes each stage in each iteration, in JAX; "positions" follows what
            completes and what is used up (docs/mass_engine.md), on the CPU; "row" is "plain" in
            compiled code, for a model of one row on the CPU. They agree up to rounding. "auto"
            takes the fastest; on an accelerator, where nothing is recorded, a twin of "positions"
            in JAX for one class of 16 stages or more, else "plain".
        final_state: whether to keep it: of many systems it may be the largest of all.

    Returns:
        A dataset with dimensions (system), batch, iteration, class, stage. The coordinate
        `iteration` is n of the state X^n that ends the window; the start is X^0. Variables are the
        records asked for and `final_state` (batch, class, stage), which can start another call.
        A cohort model has one class, which stands for all. Of many systems, the coordinates are
        theirs (`Systems.described`); what a system does not have is 0.

    Raises:
        InputError: before anything runs, on a start of the wrong shape, negative, not finite, in a
            stage that its class does not have, or above capacity; on `iterations`, `every` or
            `record` outside of what is allowed; on an engine that is none, or that the model is
            not made for.

    Source: Congestion, equation (1) with the admission of section 4.1.

    Examples:
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> found = fk.simulate(system, [[4, 3, 0]], iterations=12)
        >>> dict(found.sizes)
        {'batch': 1, 'iteration': 12, 'class': 1, 'stage': 3}
        >>> round(found.completed[0, -3:].mean().item(), 3), found.final_state.values[0].tolist()
        (1.6, [[0.0, 6.0, 0.0]])
    """
    names = checked_record(record)
    check_counts(iterations, every)
    if not isinstance(model, MassModel | System):
        return simulate_systems(
            Systems.of(model),
            start,
            iterations=int(iterations),
            record=names,
            every=int(every),
            engine=engine,
            final_state=final_state,
        )
    system = model if isinstance(model, System) else None
    model = class_model(model) if isinstance(model, System) else model
    state = _checked_start(model, start)
    tables = chosen_tables(model, engine, len(state))
    by_row = tables is None and takes_row(model, engine)
    twin = by_twin(model, state, int(iterations), engine, names)
    if twin is not None:
        final, records = twin, {}
    elif tables is not None:
        found = by_positions(tables, model, state, int(iterations), names, int(every))
        final, records = found.state, found.records
    elif by_row:
        from fluidkv.fluid.one_row.engine import advance_row  # its kernel is loaded here

        final, records = advance_row(
            model, state, iterations=int(iterations), record=names, every=int(every)
        )
    else:
        final, records = scan_batch(model, state, int(iterations), names, int(every))
    return labelled(final if final_state else None, records, iterations, every, of=system)


def _checked_start(model: MassModel, start: ArrayLike) -> Float[np.ndarray, "batch class stage"]:
    state = class_states(model, start)
    batch = model.capacity.shape
    if batch and state.shape[0] == 1:
        state = np.broadcast_to(state, (*batch, *state.shape[1:]))
    return state
