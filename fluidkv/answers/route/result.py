"""What `fluidkv route` reports."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.answers.prompt_options import PromptedAnswer
from fluidkv.questions.answer import Answer, Described

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr
    from jaxtyping import Float

    from fluidkv.labels import Column
    from fluidkv.routing import Fleet, Router
    from fluidkv.routing.bound import Offline


@dataclass(frozen=True, eq=False)
class Routing(Answer):
    """What one router achieved.

    Fields:
        name: how users write it, or "offline": the schedule that knows all requests.
        measures: of `fluidkv.routing.results.MEASURES`: mean over seeds, and half of the interval
            that holds the mean over all seeds, 95 % (Student): 0 where nothing is drawn, NaN of one
            run where something is. None where a measure is not of this router.
        values: the same, of each seed.
        drawn: whether another seed may be another run.

    Examples:
        >>> from fluidkv.answers.route.study import ROUTERS
        >>> parameters = {"groups": 4, "queries": 4, "lengths": (40, 80)}
        >>> small = fk.prompted_generator("gsp", parameters=parameters)
        >>> random = {"random": ROUTERS["random"]}
        >>> found = fk.route_study(small, fk.Fleet(2, 400), random, seeds=3).routers[0]
        >>> found.values["hit_rate"].round(2)
        array([0.29, 0.27, 0.25])
        >>> round(found.mean("hit_rate"), 2), round(found.margin("hit_rate"), 2)
        (0.27, 0.05)
    """

    name: Annotated[str, Described("as users write it, or offline")]
    parameters: Annotated[Mapping[str, Any], Described("of the rule", kind="number or text")]
    seeds: Annotated[int, Described("runs")]
    measures: Annotated[
        Mapping[str, Mapping[str, float] | None],
        Described(
            "of `fluidkv.routing.results.MEASURES`; null: none",
            below=(
                ("*.mean", "s, share or count", "over seeds"),
                ("*.margin", "s, share or count", "half of the interval around it, 95 %"),
            ),
        ),
    ]
    router: "Router"
    values: "Mapping[str, Float[np.ndarray, ' seed']]"
    drawn: bool

    def mean(self, measure: str) -> float:
        """Over seeds; NaN where the measure is not of this router."""
        return float(self.values[measure].mean())

    def margin(self, measure: str) -> float:
        """Half of the interval of the mean."""
        found = self.measures[measure]
        return float("nan") if found is None else found["margin"]


@dataclass(frozen=True, eq=False)
class Bounds(Answer):
    """What no router can do better, with plain service, the mean over seeds."""

    makespan: Annotated[float, Described("work on the busiest worker, at least", "s")]
    lpt: Annotated[float, Described("the same by longest processing time first", "s")]
    hit_rate: Annotated[float, Described("prompt tokens found, at most", kind="share")]
    throughput: Annotated[float, Described("requests served, at most", "1 / s", kind="a second")]


@dataclass(frozen=True, eq=False)
class RouteAnswer(PromptedAnswer):
    """Routers on one workload and one fleet.

    Fields:
        prompted: requests and prompts of the first seed, and where they came from.
        rate: None: as they came.
        seeds: of the runs. Where nothing is drawn, as with a trace's own times, a router that draws
            nothing has one run.
        routers: in the order asked for; behind them, with plain service, "offline".
        limits: what no router can do better, with plain service, of each seed's requests.
        sweep: the linear score by its weight of affinity (load has weight 1), where asked for.

    Examples:
        >>> from fluidkv.answers.route.study import ROUTERS
        >>> parameters = {"groups": 4, "queries": 4, "lengths": (40, 80)}
        >>> small = fk.prompted_generator("gsp", parameters=parameters)
        >>> one = {"lbgr": ROUTERS["lbgr"]}
        >>> answer = fk.route_study(small, fk.Fleet(2, 400), one, seeds=1)
        >>> [each.name for each in answer.routers], round(answer.bounds.hit_rate, 2)
        (['lbgr', 'offline'], 0.38)
        >>> answer.to_xarray().hit_rate.dims
        ('router', 'run')
    """

    fleet: "Fleet"
    rate: Annotated[
        float | None, Described("of Poisson arrivals; null: as they come", "1 / s", kind="a second")
    ]
    seeds: Annotated[tuple[int, ...], Described("of the runs", dims="run", kind="numbers")]
    workers: Annotated[int, Described("servers behind the router")]
    capacity: Annotated[int, Described("of each worker", "token")]
    policy: Annotated[str | None, Described("what a full cache evicts")]
    engine: Annotated[str, Described("what a worker is")]
    service: Annotated[
        Mapping[str, Any],
        Described(
            "of a plain worker: `cached`, `missed`, `output` for 1,000, 1,000 and 1 tokens; else "
            "the engine's",
            kind="number",
            below=(("clock", "", "if a worker is an engine: → [clock](#clock)"),),
        ),
    ]
    belief: Annotated[
        Mapping[str, Any], Described("what the router knows of caches", kind="text, tokens or s")
    ]
    confidence: Annotated[float, Described("of margins", kind="share")]
    routers: Annotated[tuple[Routing, ...], Described("compared", dims="router")]
    bounds: Annotated[Bounds | None, Described("null of engines")]
    sweep: Annotated[tuple[Routing, ...], Described("by weight of affinity", dims="weight")]
    limits: "tuple[Offline, ...]"

    @property
    def online(self) -> tuple[Routing, ...]:
        """Those that do not know what will come."""
        return tuple(each for each in self.routers if each.name != "offline")

    def to_xarray(self) -> "xr.Dataset":
        """Measures [router, run], a run a seed; a router that draws nothing has one."""
        import numpy as np

        from fluidkv.labels import dataset
        from fluidkv.routing.results import MEASURES

        size = max(len(values) for each in self.routers for values in each.values.values())
        names = [name for name in MEASURES if name in self.routers[0].values]

        def padded(each: Routing, name: str) -> np.ndarray:
            values = each.values.get(name, np.full(1, np.nan))
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
