"""The mass model from drawn starts, at many points: basins, convergence, attractors, flows.

The starts of a point are drawn uniformly on the memory boundary, from its seed; what is found is a
share of them, or a mean over them. All systems of a chunk go in one call.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fluidkv.errors import InputError
from fluidkv.questions.kinds import Whole
from fluidkv.sweeps.analyses.systems import SYSTEM, system_of
from fluidkv.sweeps.analysis import SEED, Analysis, Arrays, Points, Row, Setting, Sheet, Variable
from fluidkv.systems import Systems
from fluidkv.workload import System

if TYPE_CHECKING:
    import xarray as xr

_MOST_MASSES = 2**27  # in one call: starts x stages; at 29 bytes each, 4 GB
STARTS = Setting("starts", Whole(most=2**24), "starts drawn on the memory boundary", default=16)
_PERIOD = Setting(
    "longest_period", Whole(most=10**6), "longest period looked for", "iteration", default=600
)
_SHARES = "share of the starts that end so"
_ASKED: tuple[str, ...] = ("starts", "iterations", "longest_period", "seed")

Find = Callable[[Systems, np.ndarray, Row], Mapping[str, np.ndarray]]
"""Systems, their starts (system, batch, stage) and what else was asked -> arrays (system, ...)."""


def _horizon(default: int) -> Setting:
    return Setting("iterations", Whole(2, 10**9), "horizon", "iteration", default=default)


def _system(row: Row, *, classes: int | None = None) -> System:
    system = system_of(row)
    if classes is not None and len(system.workload.classes) != classes:
        raise InputError("input_length", f"{len(system.workload.classes)} classes", "one class")
    stages = system.workload.longest_decode
    if row["starts"] * stages > _MOST_MASSES:
        allowed = f"at most {_MOST_MASSES // stages:,} with {stages:,} stages, which take 4 GB"
        raise InputError("starts", row["starts"], allowed)
    return system


def drawn(systems: Systems, seed: int, count: int) -> np.ndarray:
    """The starts of each, (system, batch, stage): as if each were asked about alone."""
    from fluidkv.fluid.starts import uniform_starts
    from fluidkv.runs.precision import random_key

    return uniform_starts(random_key(seed), systems, count=count)


def _together(
    variables: tuple[Variable, ...],
    labels: Mapping[str, tuple[str, ...]],
    admit: Callable[[Row], System],
    find: Find,
) -> Callable[[Points], Arrays]:
    """All systems of which the same is asked in one call."""

    def compute(points: Points) -> Arrays:
        sheet = Sheet(points.size, variables, labels)
        groups: dict[tuple[Any, ...], list[tuple[int, System]]] = defaultdict(list)
        for place, row, system in points.admitted(admit):
            groups[tuple(row.get(name) for name in _ASKED)].append((place, system))
        for asked, group in groups.items():
            row = dict(zip(_ASKED, asked, strict=True))
            stages = max(system.workload.longest_decode for _, system in group)
            together = max(1, _MOST_MASSES // (row["starts"] * stages))
            for first in range(0, len(group), together):
                members = group[first : first + together]
                systems = Systems.of([system for _, system in members])
                # Each draws by its own number, which is not to depend on who else is there.
                systems = replace(systems, index=np.zeros(len(members), np.int64))
                found = find(systems, drawn(systems, row["seed"], row["starts"]), row)
                for number, (place, _) in enumerate(members):
                    sheet.put(place, {name: values[number] for name, values in found.items()})
        return sheet.arrays

    return compute


def _basins(systems: Systems, starts: np.ndarray, row: Row) -> Mapping[str, np.ndarray]:
    from fluidkv.fluid.outcomes.basins import basins

    found = basins(systems, starts, iterations=row["iterations"])
    return {
        "starts_ending": _shares(_each(found, "attractor"), _ONE_CLASS),
        "settled_mean": _mean_of_settled(_each(found, "settled")),
    }


def _simulate(systems: Systems, starts: np.ndarray, row: Row) -> Mapping[str, np.ndarray]:
    from fluidkv.exact.survival import eviction_free_equilibrium
    from fluidkv.fluid.simulation import simulate

    half = row["iterations"] // 2
    found = simulate(
        systems,
        starts,
        iterations=2 * half,
        every=half,
        record=("completed", "evicted"),
        final_state=False,
    ).isel(iteration=-1)
    completed, evicted = (
        _total(found[name].transpose("system", "batch", "class").values) / half
        for name in ("completed", "evicted")
    )
    best = np.array([float(eviction_free_equilibrium(each).rate) for each in systems])
    return {
        "throughput_mean": _mean(completed),
        "throughput_min": completed.min(axis=-1),
        "share_of_best_mean": _mean(completed) / best,
        "evicted_mean": _mean(evicted),
    }


def _convergence(systems: Systems, starts: np.ndarray, row: Row) -> Mapping[str, np.ndarray]:
    from fluidkv.fluid.outcomes.convergence import convergence

    found = convergence(systems, starts, iterations=row["iterations"])
    return {
        "starts_ending": _shares(_each(found, "outcome"), _OUTCOMES),
        "settled_mean": _mean_of_settled(_each(found, "settled")),
        "evicted_mean": _mean(_each(found, "evicted")),
    }


def _attractors(systems: Systems, starts: np.ndarray, row: Row) -> Mapping[str, np.ndarray]:
    from fluidkv.fluid.outcomes.attractors import attractors

    found = attractors(
        systems, starts, iterations=row["iterations"], longest_period=row["longest_period"]
    )
    periods, best = _each(found, "period").max(axis=-1), _each(found, "share_of_best")
    return {
        "starts_ending": _shares(_each(found, "attractor"), _ALL),
        "attractors_found": _each(found, "id").max(axis=-1) + 1,
        "throughput_mean": _mean(_each(found, "throughput")),
        "share_of_best_mean": _mean(best),
        "share_of_best_min": best.min(axis=-1),
        "evicted_mean": _mean(_each(found, "evicted")),
        "longest_period_found": np.where(periods > 0, periods, -1),
    }


def _each(found: "xr.Dataset", name: str) -> np.ndarray:
    """A variable over systems and their starts."""
    return found[name].transpose("system", "batch").values


def _shares(values: np.ndarray, words: tuple[str, ...]) -> np.ndarray:
    return np.stack([(values == word).mean(axis=-1) for word in words], axis=-1)


def _total(values: np.ndarray) -> np.ndarray:
    """Along the last axis, in its order: zeros behind it change nothing."""
    return np.add.accumulate(values, axis=-1)[..., -1]


def _mean(values: np.ndarray) -> np.ndarray:
    return _total(np.asarray(values, np.float64)) / values.shape[-1]


def _mean_of_settled(settled: np.ndarray) -> np.ndarray:
    """Over the starts that settled; NaN where none did."""
    there = settled >= 0
    with np.errstate(invalid="ignore"):
        return np.where(there, settled, 0).sum(axis=-1) / there.sum(axis=-1)


_ONE_CLASS = ("maximal-eviction cycle", "fixed point", "balanced cycle", "not settled")
_OUTCOMES = ("returned", "periodic", "not settled")
_ALL = ("equilibrium", "pulse cycle", "other periodic", "not settled")
_RATE = "request / iteration"
_SETTLED = Variable("settled_mean", "until a start has settled, mean over those", "iteration")
_EVICTED = Variable("evicted_mean", "evictions, mean over starts", _RATE)
_THROUGHPUT = Variable("throughput_mean", "completions, mean over starts", _RATE)
_OF_BEST = Variable("share_of_best_mean", "throughput over that of the equilibrium, mean")


def _analysis(
    name: str,
    title: str,
    variables: tuple[Variable, ...],
    find: Find,
    settings: tuple[Setting, ...],
    endings: tuple[str, ...] = (),
    classes: int | None = None,
) -> Analysis:
    labels = {"ending": endings} if endings else {}
    if endings:
        variables = (Variable("starts_ending", _SHARES, dims=("ending",)), *variables)
    admit = partial(_system, classes=classes)
    return Analysis(
        name=name,
        title=title,
        call=f"fluidkv.{name}",
        settings=(*SYSTEM, STARTS, *settings, SEED),
        variables=variables,
        admit=admit,
        compute=_together(variables, labels, admit, find),
        chunk=256,
        alone=True,
        labels=labels,
    )


BASINS = _analysis(
    "basins",
    "Where do the starts of one class end?",
    (_SETTLED,),
    _basins,
    (_horizon(5000),),
    _ONE_CLASS,
    classes=1,
)
CONVERGENCE = _analysis(
    "convergence",
    "Which starts return to the eviction-free equilibrium?",
    (
        _SETTLED,
        Variable("evicted_mean", "requests evicted on the way, mean over starts", "request"),
    ),
    _convergence,
    (_horizon(50_000),),
    _OUTCOMES,
)
ATTRACTORS = _analysis(
    "attractors",
    "What do the starts of a mix settle on?",
    (
        Variable("attractors_found", "attractors that starts lead to", kind="int"),
        _THROUGHPUT,
        _OF_BEST,
        Variable("share_of_best_min", "throughput over that of the equilibrium, least"),
        _EVICTED,
        Variable("longest_period_found", "of the starts that settled", "iteration", "int"),
    ),
    _attractors,
    (_horizon(20_000), _PERIOD),
    _ALL,
)
SIMULATE = _analysis(
    "simulate",
    "What do drawn starts achieve in the second half of a run?",
    (
        _THROUGHPUT,
        Variable("throughput_min", "completions, least over starts", _RATE),
        _OF_BEST,
        _EVICTED,
    ),
    _simulate,
    (_horizon(2000),),
)
