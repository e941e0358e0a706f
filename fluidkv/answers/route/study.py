"""Every router on the same requests, the same fleet and the same seeds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from itertools import repeat
from typing import NamedTuple

import numpy as np
import xarray as xr

from fluidkv.answers.intervals import CONFIDENCE, half_width
from fluidkv.answers.named import named
from fluidkv.answers.prompt_options import facts_of
from fluidkv.answers.prompted import Prompted, prompted_generator
from fluidkv.answers.route.result import Bounds, RouteAnswer, Routing
from fluidkv.errors import InputError
from fluidkv.prefix.policies import TOKENS, Granularity
from fluidkv.routing import (
    LBGR,
    SGLANG,
    Fleet,
    Job,
    LeastLoaded,
    LinearScore,
    LoadAware,
    PowerOfTwo,
    Random,
    RoundRobin,
    Router,
    Service,
    Traffic,
    bounds,
    measured,
    route_many,
)
from fluidkv.routing.affine import SGLANG_0_4_6, LinearCost
from fluidkv.routing.affinity import affinity_weights
from fluidkv.routing.blind import Assigned
from fluidkv.routing.bound import Offline, by_prefix
from fluidkv.runs.checks import above_0, instance
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock

ROUTERS: dict[str, Router] = {
    "random": Random(),
    "round-robin": RoundRobin(),
    "least-loaded": LeastLoaded(),
    "two-choices": PowerOfTwo(),
    "cache-aware": SGLANG,
    "cache-aware-0.4.6": SGLANG_0_4_6,
    "linear-score": LinearScore(),
    "load-aware": LoadAware(),
    "linear-cost": LinearCost(),
    "lbgr": LBGR(),
}
"""All that are compared where nobody says which; each as its source has it by default.

>>> from fluidkv.answers.route.study import ROUTERS
>>> list(ROUTERS)[:4]
['random', 'round-robin', 'least-loaded', 'two-choices']
>>> ROUTERS["cache-aware"].cache_threshold
0.3
"""


def router_of(text: str) -> Router:
    """A router from its name and parameters: "cache-aware:cache_threshold=0.3,balance_abs=64".

    Raises:
        InputError: an unknown name or parameter, and what the router refuses.

    Examples:
        >>> from fluidkv.answers import router_of
        >>> router_of("cache-aware:cache_threshold=0.5,balance_abs=64").cache_threshold
        0.5
    """
    return named("router", text, ROUTERS)


def routings(
    prompted: Prompted,
    fleet: Fleet,
    routers: Mapping[str, Router] | None,
    *,
    rate: float | None,
    numbers: range,
    affinity: Sequence[float] | None,
    processes: int,
    on_progress: Callable[[int, int, str], None] | None,
) -> RouteAnswer:
    """Every router on every seed; arguments as of `route_study`."""
    chosen = ROUTERS if routers is None else _checked(routers)
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
        _routing(
            rule, _columns(table, names == rule.name), others or _draws(rule.routers[0], fleet)
        )
        for rule in rules
    ]
    answered = len(rules) - len(swept)
    service = asdict(fleet.service)
    if isinstance(service.get("clock"), IterationClock):
        service["clock"] = asdict(service["clock"])
    return RouteAnswer(
        **facts_of(prompted),
        fleet=fleet,
        rate=rate,
        seeds=tuple(numbers),
        workers=fleet.workers,
        capacity=fleet.capacity,
        policy=None if fleet.policy is None else fleet.policy.value,
        engine=service.pop("name", "plain"),
        service=service,
        belief=asdict(fleet.belief),
        confidence=CONFIDENCE,
        routers=tuple(found[:answered]),
        bounds=_mean_of(limits) if limits else None,
        sweep=tuple(found[answered:]),
        limits=tuple(limits),
    )


def _routing(rule: "_Rule", values: dict[str, np.ndarray], drawn: bool) -> Routing:
    router = rule.routers[0]
    named = is_dataclass(router) and rule.name != "offline"
    return Routing(
        name=rule.name,
        parameters=asdict(router) if named else {},  # type: ignore[arg-type]  # one of a dataclass
        seeds=len(values["hit_rate"]),
        measures={
            measure: None
            if np.isnan(each).any()
            else {"mean": float(each.mean()), "margin": float(half_width(each)) if drawn else 0.0}
            for measure, each in values.items()
        },
        router=router,
        values=values,
        drawn=drawn,
    )


def _mean_of(limits: Sequence[Offline]) -> Bounds:
    names = [each.name for each in fields(Bounds)]
    return Bounds(**{name: float(np.mean([getattr(o, name) for o in limits])) for name in names})


def _checked(routers: Mapping[str, Router]) -> Mapping[str, Router]:
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
