"""The mass model from drawn starts, at many points: basins, convergence, attractors, flows.

The starts of a point are drawn uniformly on the memory boundary, from its seed; what is found is a
share of them, or a mean over them. All systems of a chunk go in one call.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pkgutil import resolve_name
from typing import NamedTuple

import numpy as np

from fluidkv.errors import InputError
from fluidkv.questions.kinds import Whole
from fluidkv.sweeps.analyses.systems import SYSTEM, one_class_of, system_of
from fluidkv.sweeps.analysis import SEED, Analysis, Row, Setting, Variable
from fluidkv.systems import Systems
from fluidkv.workload import System

_MOST_MASSES = 2**27  # in one call: starts x stages; at 29 bytes each, 4 GB
_STARTS = Setting("starts", Whole(most=2**24), "starts drawn on the memory boundary", default=16)
_PERIOD = Setting(
    "longest_period", Whole(most=10**6), "longest period looked for", "iteration", default=600
)

Outcomes = Mapping[str, np.ndarray]
"""Name -> (system, batch), of each start of each system."""

Run = Callable[..., Outcomes]
"""Takes systems, their starts (system, batch, stage), and settings by their names."""


class _Drawn(NamedTuple):
    """A system, its starts and what else is asked of them."""

    system: System
    starts: int
    seed: int
    options: tuple[tuple[str, int], ...]


def _drawn(row: Row, *, admit: Callable[[Row], System], options: Sequence[str]) -> _Drawn:
    system = admit(row)
    stages = system.workload.longest_decode
    if row["starts"] * stages > _MOST_MASSES:
        allowed = f"at most {_MOST_MASSES // stages:,} with {stages:,} stages, which take 4 GB"
        raise InputError("starts", row["starts"], allowed)
    return _Drawn(system, row["starts"], row["seed"], tuple((name, row[name]) for name in options))


def _outcomes(points: Sequence[_Drawn], run: Run) -> Outcomes:
    """Of all points in one call, or in as few as memory allows."""
    stages = max(each.system.workload.longest_decode for each in points)
    size = max(1, _MOST_MASSES // (points[0].starts * stages))
    parts = [_together(points[i : i + size], run) for i in range(0, len(points), size)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _together(points: Sequence[_Drawn], run: Run) -> Outcomes:
    from fluidkv.fluid.starts import uniform_starts
    from fluidkv.runs.precision import random_key

    _, count, seed, options = points[0]
    # Each draws by its own number, which is not to depend on who else is there.
    systems = Systems.of([each.system for each in points])
    systems = replace(systems, index=np.zeros(len(points), np.int64))
    starts = uniform_starts(random_key(seed), systems, count=count)
    return run(systems, starts, **dict(options))


def _labelled(systems: Systems, starts: np.ndarray, *, function: str, **options: int) -> Outcomes:
    """What a function of `fluid.outcomes` says of each start."""
    by_start = resolve_name(f"fluidkv.fluid.outcomes.{function}:{function}")
    outcomes = by_start(systems, starts, **options)
    of_starts = {
        name: each for name, each in outcomes.items() if {*each.dims} == {"system", "batch"}
    }
    return {name: each.transpose("system", "batch").values for name, each in of_starts.items()}


def _second_half(systems: Systems, starts: np.ndarray, *, iterations: int) -> Outcomes:
    from fluidkv.exact.survival import eviction_free_equilibrium
    from fluidkv.fluid.simulation import simulate

    half = iterations // 2
    second = simulate(
        systems,
        starts,
        iterations=2 * half,
        every=half,
        record=("completed", "evicted"),
        final_state=False,
    ).isel(iteration=-1)
    throughput, evicted = (
        _total(second[name].transpose("system", "batch", "class").values) / half
        for name in ("completed", "evicted")
    )
    best = np.array([float(eviction_free_equilibrium(each).rate) for each in systems])
    return {"throughput": throughput, "evicted": evicted, "best": best}


# --- statistics of the starts of each system -----------------------------------------------------


def _mean(values: np.ndarray) -> np.ndarray:
    return _total(np.asarray(values, np.float64)) / values.shape[-1]


def _total(values: np.ndarray) -> np.ndarray:
    """Along the last axis, in its order: zeros behind it change nothing."""
    return np.add.accumulate(values, axis=-1)[..., -1]


def _mean_of_settled(outcomes: Outcomes) -> np.ndarray:
    """Over the starts that settled; NaN where none did."""
    settled = outcomes["settled"]
    there = settled >= 0
    with np.errstate(invalid="ignore"):
        return np.where(there, settled, 0).sum(axis=-1) / there.sum(axis=-1)


def _longest_period(outcomes: Outcomes) -> np.ndarray:
    periods = outcomes["period"].max(axis=-1)
    return np.where(periods > 0, periods, -1)


def _over_starts(name: str, title: str, units: str = "1") -> Variable:
    """A statistic of an outcome: "throughput_mean"."""
    outcome, _, statistic = name.rpartition("_")
    over = {"mean": _mean, "min": partial(np.min, axis=-1)}[statistic]
    return Variable(name, title, units, at=lambda outcomes: over(outcomes[outcome]))


_RATE = "request / iteration"
_SETTLED = Variable(
    "settled_mean", "until a start has settled, mean over those", "iteration", at=_mean_of_settled
)
_EVICTED = _over_starts("evicted_mean", "evictions, mean over starts", _RATE)
_THROUGHPUT = _over_starts("throughput_mean", "completions, mean over starts", _RATE)
_OF_BEST = _over_starts("share_of_best_mean", "throughput over that of the equilibrium, mean")


def _ending(name: str, words: tuple[str, ...]) -> Variable:
    def shares(outcomes: Outcomes) -> np.ndarray:
        return np.stack([(outcomes[name] == word).mean(axis=-1) for word in words], axis=-1)

    return Variable("starts_ending", "share of the starts that end so", dims=("ending",), at=shares)


def _analysis(
    name: str,
    title: str,
    *variables: Variable,
    horizon: int,
    settings: tuple[Setting, ...] = (),
    run: Run | None = None,
    endings: tuple[str, tuple[str, ...]] | None = None,
    admit: Callable[[Row], System] = system_of,
) -> Analysis:
    """A question about starts.

    Args:
        horizon: iterations unless a spec says otherwise.
        endings: which of the outcomes names how a start ends, and the names.
    """
    iterations = Setting("iterations", Whole(2, 10**9), "horizon", "iteration", default=horizon)
    options = [each.name for each in (iterations, *settings)]
    run = run or partial(_labelled, function=name)
    return Analysis(
        name=name,
        title=title,
        call=f"fluidkv.{name}",
        settings=(*SYSTEM, _STARTS, iterations, *settings, SEED),
        variables=(_ending(*endings), *variables) if endings else variables,
        admit=partial(_drawn, admit=admit, options=options),
        find=partial(_outcomes, run=run),
        together=lambda point: point[1:],
        chunk=256,
        alone=True,
        labels={"ending": endings[1]} if endings else {},
    )


BASINS = _analysis(
    "basins",
    "Where do the starts of one class end?",
    _SETTLED,
    horizon=5000,
    endings=(
        "attractor",
        ("maximal-eviction cycle", "fixed point", "balanced cycle", "not settled"),
    ),
    admit=one_class_of,
)
CONVERGENCE = _analysis(
    "convergence",
    "Which starts return to the eviction-free equilibrium?",
    _SETTLED,
    _over_starts("evicted_mean", "requests evicted on the way, mean over starts", "request"),
    horizon=50_000,
    endings=("outcome", ("returned", "periodic", "not settled")),
)
ATTRACTORS = _analysis(
    "attractors",
    "What do the starts of a mix settle on?",
    Variable(
        "attractors_found",
        "attractors that starts lead to",
        kind="int",
        at=lambda outcomes: outcomes["id"].max(axis=-1) + 1,
    ),
    _THROUGHPUT,
    _OF_BEST,
    _over_starts("share_of_best_min", "throughput over that of the equilibrium, least"),
    _EVICTED,
    Variable(
        "longest_period_found", "of the starts that settled", "iteration", "int", at=_longest_period
    ),
    horizon=20_000,
    settings=(_PERIOD,),
    endings=("attractor", ("equilibrium", "pulse cycle", "other periodic", "not settled")),
)
SIMULATE = _analysis(
    "simulate",
    "What do drawn starts achieve in the second half of a run?",
    _THROUGHPUT,
    _over_starts("throughput_min", "completions, least over starts", _RATE),
    replace(_OF_BEST, at=lambda outcomes: _mean(outcomes["throughput"]) / outcomes["best"]),
    _EVICTED,
    horizon=2000,
    run=_second_half,
)
