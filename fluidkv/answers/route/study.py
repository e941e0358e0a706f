"""Every router on the same requests, the same fleet and the same seeds."""

from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np
import xarray as xr

from fluidkv.answers.prompted import Prompted, prompted_generator
from fluidkv.answers.route.result import RouteAnswer, Routing
from fluidkv.answers.route.rules import ROUTERS
from fluidkv.errors import InputError
from fluidkv.prefix.policies import TOKENS, Granularity
from fluidkv.routing import (
    Assigned,
    Fleet,
    Job,
    Offline,
    Router,
    Service,
    Traffic,
    affinity_weights,
    bounds,
    by_prefix,
    measured,
    route_many,
)
from fluidkv.runs.checks import above_0, count, instance
from fluidkv.runs.requests import Requests

SEEDS = 3
"""Runs of each router where nobody says how many."""


def route_study(
    prompted: Prompted,
    fleet: Fleet,
    routers: Mapping[str, Router] | None = None,
    *,
    rate: float | None = None,
    seeds: int = SEEDS,
    first_seed: int = 0,
    affinity: Sequence[float] | None = None,
    processes: int = 1,
    on_progress: Callable[[int, int, str], None] | None = None,
) -> RouteAnswer:
    """Compare routers.

    Args:
        prompted: requests that say what their prompts share. Of a generator, each seed draws others
            like them.
        fleet: who serves them; plain workers cache in the units in which prompts are known.
        routers: by the names under which they are reported; None: all of `ROUTERS` as they are.
        rate: requests per second; they then come in the same order as a Poisson process. None: as
            they came.
        seeds: runs of each router, with seeds from `first_seed` on.
        affinity: weights of the linear score to be tried, too; None: none.
        processes: that share the runs.
        on_progress: told how many runs are done, of how many, and that they are runs.

    Raises:
        InputError: a request that does not fit, a rate not above 0, fewer than 1 seed, no router,
            values of other types.

    Examples:
        >>> from fluidkv.answers import ROUTERS
        >>> said = {"groups": 4, "queries": 4, "lengths": (40, 80)}
        >>> small = fk.prompted_generator("gsp", parameters=said)
        >>> two = {name: ROUTERS[name] for name in ("round-robin", "cache-aware")}
        >>> found = fk.route_study(small, fk.Fleet(2, 400), two, seeds=1)
        >>> {each.name: round(each.mean("hit_rate"), 2) for each in found.routers}
        {'round-robin': 0.25, 'cache-aware': 0.38, 'offline': 0.38}
    """
    chosen = ROUTERS if routers is None else _named(routers)
    numbers = range(first_seed, first_seed + count("seeds", seeds))
    traffics = _traffics(prompted, rate, numbers)
    fleet.new(traffics[0], 0)  # refused before anything is run
    plain = isinstance(fleet.service, Service)
    limits = [bounds(traffic, fleet) for traffic in traffics] if plain else []
    rules = [_Rule(name, (router,) * len(traffics)) for name, router in chosen.items()]
    if plain:
        rules.append(_Rule("offline", tuple(map(_schedule, traffics, limits, repeat(fleet)))))
    swept = [] if affinity is None else affinity_weights(affinity)
    rules += [_Rule(f"affinity {each.affinity:g}", (each,) * len(traffics)) for each in swept]
    jobs = [
        (rule.name, Job(place % len(traffics), fleet, rule.routers[place % len(traffics)], seed))
        for rule in rules
        for place, seed in enumerate(numbers)
        if place < len(traffics) or _draws(rule.routers[0], fleet)
    ]

    def tell(runs: int) -> None:
        if on_progress is not None:
            on_progress(runs, len(jobs), "runs")

    runs = [job for _, job in jobs]
    done = route_many(traffics, runs, processes=processes, on_progress=tell)
    table = measured(traffics, runs, done)
    names = np.array([name for name, _ in jobs])
    others = rate is not None or prompted.parameters is not None  # requests, of another seed
    found = [
        Routing(
            rule.name,
            rule.routers[0],
            _columns(table, names == rule.name),
            others or _draws(rule.routers[0], fleet),
        )
        for rule in rules
    ]
    answered = len(rules) - len(swept)
    return RouteAnswer(
        prompted,
        fleet,
        rate,
        tuple(numbers),
        tuple(found[:answered]),
        tuple(limits),
        tuple(found[answered:]),
    )


def _named(routers: Mapping[str, Router]) -> Mapping[str, Router]:
    allowed = "at least one, by name, such as {'lbgr': fluidkv.routing.LBGR()}"
    found = instance("routers", routers, Mapping, allowed)
    if not found or not all(hasattr(each, "route") for each in found.values()):
        raise InputError("routers", routers, allowed)
    return found


class _Rule(NamedTuple):
    """A router for each traffic, under one name."""

    name: str
    routers: tuple[Router, ...]


def _traffics(prompted: Prompted, rate: float | None, seeds: range) -> list[Traffic]:
    """One for each seed, or one for all where chance has no part in who comes when."""
    found = []
    for seed in seeds:
        of_seed = _drawn_again(prompted, seed)
        requests = of_seed.requests
        if rate is not None:
            requests = _poisson(requests, above_0("rate", rate), seed)
        block = of_seed.block
        units = TOKENS if block is None else Granularity(block, "counted")
        found.append(Traffic(requests, of_seed.prompts, units, answers=block is None))
        if rate is None and prompted.parameters is None:
            break
    return found


def _drawn_again(prompted: Prompted, seed: int) -> Prompted:
    if prompted.parameters is None or prompted.parameters["seed"] == seed:
        return prompted
    given = {name: value for name, value in prompted.parameters.items() if name != "seed"}
    return prompted_generator(prompted.name, seed=seed, parameters=given)


def _poisson(requests: Requests, rate: float, seed: int) -> Requests:
    gaps = np.random.default_rng(seed).exponential(1 / rate, len(requests))
    return Requests(
        requests.input_length,
        requests.output_length,
        arrival=np.cumsum(gaps),
        max_output=requests.max_output,
        class_index=requests.class_index,
    )


def _schedule(traffic: Traffic, limit: Offline, fleet: Fleet) -> Router:
    chosen = by_prefix(traffic.cached, limit.costs, fleet.workers)
    return Assigned(tuple(chosen.tolist()))


def _draws(router: Router, fleet: Fleet) -> bool:
    """Whether another seed may be another run of the same requests."""
    return router.draws or (fleet.policy is not None and fleet.policy.draws)


def _columns(table: xr.Dataset, rows: np.ndarray) -> dict[str, np.ndarray]:
    return {str(name): values.values[rows] for name, values in table.data_vars.items()}
