"""Many runs: several routers, fleets, seeds, on several processes."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import xarray as xr

from fluidkv.labels import completed
from fluidkv.processes import shared_out
from fluidkv.routing.cluster import Routed
from fluidkv.routing.fleet import Fleet, Traffic, route
from fluidkv.routing.results import as_dataset, measures
from fluidkv.routing.router import Router


class Job(NamedTuple):
    """One run: which traffic (its place in the list), who serves it, by which rule.

    Examples:
        >>> from fluidkv.prefix import shared_prefixes
        >>> from fluidkv.routing import Job, Random, Traffic, route_many
        >>> traffic = Traffic(*shared_prefixes(0, groups=4, queries=4, lengths=1000))
        >>> jobs = [Job(0, fk.Fleet(2, 20_000), Random(), seed) for seed in (1, 2, 3)]
        >>> [np.bincount(run.worker).tolist() for run in route_many([traffic], jobs)]
        [[8, 8], [11, 5], [11, 5]]
    """

    traffic: int
    fleet: Fleet
    router: Router
    seed: int = 0


def route_many(
    traffics: Sequence[Traffic],
    jobs: Sequence[Job],
    *,
    processes: int = 1,
    on_progress: Callable[[int], None] | None = None,
) -> list[Routed]:
    """All runs, in the order of the jobs.

    Args:
        traffics: what the jobs name.
        jobs: handed out in their order.
        processes: with 1, this one works.
        on_progress: told how many runs are done.

    Raises:
        InputError: what `route` refuses.

    Examples:
        >>> from fluidkv.prefix import shared_prefixes
        >>> from fluidkv.routing import Job, LinearScore, RoundRobin, Traffic, route_many
        >>> traffics = [Traffic(*shared_prefixes(0, groups=9, queries=4, lengths=1000, rate=2))]
        >>> jobs = [Job(0, fk.Fleet(4, 20_000), router) for router in (RoundRobin(), LinearScore())]
        >>> [sum(each.hits for each in run.times) for run in route_many(traffics, jobs)]
        [7000, 12500]
    """
    found: dict[int, Routed] = {}
    for traffic in traffics:  # once, and not in each process
        _ = traffic.sent, traffic.cached
    work = partial(_one, tuple(traffics))
    for place, run in shared_out(work, jobs, processes, argument="processes"):
        found[place] = run
        if on_progress is not None:
            on_progress(len(found))
    return [found[place] for place in range(len(jobs))]


def measured(
    traffics: Sequence[Traffic], jobs: Sequence[Job], runs: Sequence[Routed]
) -> xr.Dataset:
    """`MEASURES` of each run, whatever its fleet and its traffic; dimension run, as the jobs.

    Examples:
        >>> from fluidkv.prefix import shared_prefixes
        >>> from fluidkv.routing import Job, LinearScore, RoundRobin, Traffic, measured, route_many
        >>> traffics = [Traffic(*shared_prefixes(0, groups=9, queries=4, lengths=1000, rate=2))]
        >>> jobs = [Job(0, fk.Fleet(4, 20_000), router) for router in (RoundRobin(), LinearScore())]
        >>> measured(traffics, jobs, route_many(traffics, jobs)).hit_rate.values.round(3).tolist()
        [0.194, 0.347]
    """
    rows = [
        measures(
            as_dataset([run], [traffics[job.traffic].requests], [job.router.label], [job.seed])
        )
        for job, run in zip(jobs, runs, strict=True)
    ]
    return completed(xr.concat([row.drop_vars("run") for row in rows], dim="run"))


def _one(traffics: tuple[Traffic, ...], job: Job) -> Routed:
    return route(traffics[job.traffic], job.fleet, job.router, seed=job.seed)
