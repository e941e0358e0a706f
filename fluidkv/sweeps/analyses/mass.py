"""The mass model from drawn starts, at many points: basins, convergence, attractors, flows.

The starts of a point are drawn uniformly on the memory boundary, from its seed; what is found is a
share of them, or a mean over them.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from fluidkv.errors import InputError
from fluidkv.sweeps.analyses.systems import SYSTEM, system_of
from fluidkv.sweeps.analysis import SEED, Analysis, Row, Setting, Variable, one_by_one
from fluidkv.sweeps.kinds import Whole
from fluidkv.workload import System

STARTS = Setting("starts", Whole(most=2**24), "starts drawn on the memory boundary", default=16)
_PERIOD = Setting(
    "longest_period", Whole(most=10**6), "longest period looked for", "iteration", default=600
)
_SHARES = "share of the starts that end so"


def _horizon(default: int) -> Setting:
    return Setting("iterations", Whole(2, 10**9), "horizon", "iteration", default=default)


def _system(row: Row, *, classes: int | None = None) -> tuple[System, Row]:
    system = system_of(row)
    if classes is not None and len(system.workload.classes) != classes:
        raise InputError("input_length", f"{len(system.workload.classes)} classes", "one class")
    return system, row


def _drawn(system: System, row: Row) -> Any:
    from fluidkv.fluid.boundary import uniform_starts
    from fluidkv.runs.precision import random_key

    return uniform_starts(random_key(row["seed"]), system, count=row["starts"])


def _shares(values: np.ndarray, words: tuple[str, ...]) -> list[float]:
    return [float(np.mean(values == word)) for word in words]


def _basins(asked: tuple[System, Row]) -> Mapping[str, Any]:
    from fluidkv.fluid.one_class.basins import basins

    system, row = asked
    found = basins(system, _drawn(system, row), iterations=row["iterations"])
    settled = found.settled.values
    return {
        "starts_ending": _shares(found.attractor.values, _ONE_CLASS),
        "settled_mean": _mean(settled[settled >= 0]),
    }


def _convergence(asked: tuple[System, Row]) -> Mapping[str, Any]:
    from fluidkv.fluid.cohorts.convergence import convergence

    system, row = asked
    found = convergence(system, _drawn(system, row), iterations=row["iterations"])
    settled = found.settled.values
    return {
        "starts_ending": _shares(found.outcome.values, _OUTCOMES),
        "settled_mean": _mean(settled[settled >= 0]),
        "evicted_mean": _mean(found.evicted.values),
    }


def _attractors(asked: tuple[System, Row]) -> Mapping[str, Any]:
    from fluidkv.fluid.cohorts.attractors import attractors

    system, row = asked
    found = attractors(
        system,
        _drawn(system, row),
        iterations=row["iterations"],
        longest_period=row["longest_period"],
    )
    periods = found.period.values
    return {
        "starts_ending": _shares(found.attractor.values, _ALL),
        "throughput_mean": _mean(found.throughput.values),
        "share_of_best_mean": _mean(found.share_of_best.values),
        "share_of_best_min": float(found.share_of_best.values.min()),
        "evicted_mean": _mean(found.evicted.values),
        "longest_period_found": int(periods.max()) if periods.max() > 0 else None,
    }


def _simulate(asked: tuple[System, Row]) -> Mapping[str, Any]:
    from fluidkv.fluid.model import cohort_model
    from fluidkv.fluid.simulation import simulate

    system, row = asked
    half = row["iterations"] // 2
    model, starts = cohort_model(system), _drawn(system, row)[:, None, :]
    found = simulate(
        model, starts, iterations=2 * half, every=half, record=("completed", "evicted", "memory")
    )
    completed, evicted = (
        found[name].isel({"iteration": -1, "class": 0}).values / half
        for name in ("completed", "evicted")
    )
    best = float(system.capacity) / float(np.asarray(model.weights).sum())
    return {
        "throughput_mean": _mean(completed),
        "throughput_min": float(completed.min()),
        "share_of_best_mean": float(completed.mean()) / best,
        "evicted_mean": _mean(evicted),
    }


def _mean(values: np.ndarray) -> float | None:
    """In a fixed order, whatever else is computed; None of nothing."""
    return (
        float(np.add.reduce(np.asarray(values, np.float64)) / len(values)) if len(values) else None
    )


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
    find: Callable[[tuple[System, Row]], Mapping[str, Any]],
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
        compute=one_by_one(variables, admit, find, labels),
        chunk=64,
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
