"""What `fluidkv route` reports."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from fluidkv.answers.intervals import CONFIDENCE, half_width
from fluidkv.answers.prompted import Prompted
from fluidkv.labels import Column, dataset
from fluidkv.plain import finite
from fluidkv.record import Record
from fluidkv.routing import Fleet, Offline, Router
from fluidkv.routing.results import MEASURES
from fluidkv.serving.clock import IterationClock

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, eq=False)
class Routing(Record):
    """What one router achieved.

    Fields:
        name: how users write it, or "offline": the schedule that knows all requests.
        router: the rule.
        found: measure of `fluidkv.routing.MEASURES` -> (seed,).
        drawn: whether another seed may be another run.

    Examples:
        >>> from fluidkv.answers import ROUTERS
        >>> said = {"groups": 4, "queries": 4, "lengths": (40, 80)}
        >>> small = fk.prompted_generator("gsp", parameters=said)
        >>> found = fk.route_study(small, fk.Fleet(2, 400), {"random": ROUTERS["random"]}, seeds=3)
        >>> random = found.routers[0]
        >>> random.found["hit_rate"].round(2)
        array([0.29, 0.27, 0.25])
        >>> round(random.mean("hit_rate"), 2), round(random.margin("hit_rate"), 2)
        (0.27, 0.05)
    """

    name: str
    router: Router
    found: Mapping[str, Float[np.ndarray, " seed"]]
    drawn: bool

    def mean(self, measure: str) -> float:
        """Over seeds; NaN where the measure is not of this router."""
        return float(self.found[measure].mean())

    def margin(self, measure: str) -> float:
        """Half of the interval that holds the mean over all seeds, 95 % (Student).

        0 where nothing is drawn; NaN of one run where something is.
        """
        return float(half_width(self.found[measure])) if self.drawn else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        parameters = asdict(self.router) if is_dataclass(self.router) else {}
        return {
            "name": self.name,
            "parameters": {} if self.name == "offline" else parameters,
            "seeds": len(self.found["hit_rate"]),
            "measures": {
                measure: None
                if np.isnan(values).any()
                else {"mean": self.mean(measure), "margin": finite(self.margin(measure))}
                for measure, values in self.found.items()
            },
        }


@dataclass(frozen=True, eq=False)
class RouteAnswer(Record):
    """Routers on one workload and one fleet.

    Fields:
        prompted: requests and prompts of the first seed, and where they came from.
        fleet: who serves them.
        rate: requests per second of Poisson arrivals; None: as they came.
        seeds: of the runs. Where nothing is drawn, as with a trace's own times, a router that draws
            nothing has one run.
        routers: in the order asked for; behind them, with plain service, "offline".
        bounds: with plain service, of each seed's requests; else empty.
        sweep: the linear score by its weight of affinity (load has weight 1), where asked for.

    Examples:
        >>> from fluidkv.answers import ROUTERS
        >>> said = {"groups": 4, "queries": 4, "lengths": (40, 80)}
        >>> small = fk.prompted_generator("gsp", parameters=said)
        >>> found = fk.route_study(small, fk.Fleet(2, 400), {"lbgr": ROUTERS["lbgr"]}, seeds=1)
        >>> [each.name for each in found.routers], round(found.bound("hit_rate"), 2)
        (['lbgr', 'offline'], 0.38)
        >>> found.to_xarray().hit_rate.dims
        ('router', 'run')
    """

    prompted: Prompted
    fleet: Fleet
    rate: float | None
    seeds: tuple[int, ...]
    routers: tuple[Routing, ...]
    bounds: tuple[Offline, ...]
    sweep: tuple[Routing, ...] = ()

    @property
    def online(self) -> tuple[Routing, ...]:
        """Those that do not know what will come."""
        return tuple(each for each in self.routers if each.name != "offline")

    def bound(self, name: str) -> float:
        """A field of `Offline`, the mean over seeds."""
        return float(np.mean([getattr(each, name) for each in self.bounds]))

    def to_xarray(self) -> "xr.Dataset":
        """Measures [router, run], a run a seed; a router that draws nothing has one."""
        size = max(len(values) for each in self.routers for values in each.found.values())
        names = [name for name in MEASURES if name in self.routers[0].found]

        def padded(each: Routing, name: str) -> np.ndarray:
            values = each.found.get(name, np.full(1, np.nan))
            return np.concatenate([values, np.full(size - len(values), np.nan)])

        variables: dict[str, Column] = {}
        for name in names:
            title, unit = MEASURES[name]
            values = np.stack([padded(each, name) for each in self.routers])
            variables[name] = ("router", "run"), values, unit, title
        routers = [each.name for each in self.routers]
        seeds = np.full(size, -1)
        seeds[: len(self.seeds)] = self.seeds[:size]
        return dataset(
            variables,
            {
                "router": ("router", routers, "1", "rule of the router"),
                "seed": ("run", seeds, "1", "seed of the run"),
            },
            unit="s",
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; docs/routers.md lists the keys."""
        fleet, table = self.fleet, self.prompted.requests
        service = asdict(fleet.service)
        if isinstance(service.get("clock"), IterationClock):
            service["clock"] = asdict(service["clock"])
        policy = fleet.policy
        return {
            "source": self.prompted.name,
            "generator": self.prompted.parameters,
            "requests": len(table),
            "prompt_tokens": int(table.input_length.sum()),
            "rate": self.rate,
            "seeds": list(self.seeds),
            "workers": fleet.workers,
            "capacity": fleet.capacity,
            "policy": None if policy is None else policy.value,
            "engine": service.pop("name", "plain"),
            "service": service,
            "belief": asdict(fleet.belief),
            "confidence": CONFIDENCE,
            "routers": [each.to_dict() for each in self.routers],
            "bounds": {
                "makespan": self.bound("makespan"),
                "lpt": self.bound("lpt"),
                "hit_rate": self.bound("hit_rate"),
                "throughput": self.bound("throughput"),
            }
            if self.bounds
            else None,
            "sweep": [each.to_dict() for each in self.sweep],
        }
