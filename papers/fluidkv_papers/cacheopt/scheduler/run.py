"""CacheOPT, whole or in parts, as `serve` runs an engine."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from fluidkv.errors import InputError
from fluidkv.runs.batch import Progress, Watch
from fluidkv.runs.checks import count
from fluidkv.runs.dataset import as_dataset
from fluidkv.runs.records import Outcome, in_windows, times_of, together
from fluidkv.runs.requests import Requests
from fluidkv.runs.values import one_each
from fluidkv.serving.checks import NO_HORIZON, check_values
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv_papers.cacheopt.scheduler.engine import COUNTS, CacheOptEngine
from fluidkv_papers.cacheopt.scheduler.settings import CacheOpt

_EVERY_SO_OFTEN = 1024  # iterations between two reports of progress


def serve_cacheopt(
    requests: Requests | Sequence[Requests],
    settings: CacheOpt | Sequence[CacheOpt],
    limits: Limits | Sequence[Limits],
    *,
    clock: IterationClock | Sequence[IterationClock] | None = None,
    clients: int | Sequence[int | None] | None = None,
    iterations: int | None = None,
    every: int = 1,
    keep_requests: bool = True,
    on_progress: Progress | None = None,
) -> xr.Dataset:
    """Serve requests by CacheOPT's scheduler, until all are done or to a horizon.

    As `serve`, which has the same arguments; here runs go one after the other.

    Args:
        requests: with what is predicted and estimated, and their objectives.
        settings: of the scheduler; `ABLATIONS` has those without one of its parts.
        limits: memory, and caps; its block is B. It has neither a watermark nor an admission rate.
        clock: duration of an iteration; None: the theory's, where each lasts 1.
        clients: closed population, as `serve`.
        iterations: horizon; None: until every request is done. Where requests may take turns for
            ever (`CacheOpt.may_cycle`) one is asked for.
        every, keep_requests, on_progress: as `serve`.

    Returns:
        The dataset of `serve`, with `embedded`, `pushed_out`, `handed_on` and `reserved_blocks`,
        which `fluidkv_papers.cacheopt.scheduler.engine.COUNTS` explains.

    Raises:
        InputError: before anything runs: a request that does not fit in the memory beside the
            reservation, numbers of runs that differ, a horizon or window below 1, a watermark or an
            admission rate.

    Source: CacheOPT, section 3.

    Examples:
        >>> from fluidkv_papers.cacheopt.scheduler.run import serve_cacheopt
        >>> from fluidkv_papers.cacheopt.scheduler.settings import CacheOpt
        >>> table = fk.Requests([2, 2], [20, 3], arrival=[0.0, 1.0])
        >>> settings = CacheOpt(buffer=0, reserved_blocks=0)
        >>> run = serve_cacheopt(table, settings, fk.Limits(23))  # 21 for the first
        >>> run.embedded.sum().item(), run.last_token.values.tolist()
        (1, [[20.0, 4.0]])
    """
    tables, all_settings, all_limits, given_clocks, populations = one_each(
        {
            "requests": requests,
            "settings": settings,
            "limits": limits,
            "clock": clock,
            "clients": clients,
        }
    ).values()
    clocks = [each or IterationClock.iterations() for each in given_clocks]
    check_values("limits", all_limits, Limits, tables, clocks, populations)
    check_values("settings", all_settings, CacheOpt, tables, clocks, populations)
    for table, chosen, each in zip(tables, all_settings, all_limits, strict=True):
        _check_fits(table, chosen, each)
    if iterations is None and any(chosen.may_cycle for chosen in all_settings):
        allowed = "a horizon: a run need not end where newcomers are not spared"
        raise InputError("iterations", iterations, allowed)
    for name, value in (("iterations", iterations), ("every", every)):
        if value is not None:
            count(name, value, most=NO_HORIZON)
    watch = Watch(on_progress)
    given = zip(tables, all_settings, all_limits, clocks, populations, strict=True)
    engines = (CacheOptEngine(*each) for each in given)
    outcomes = (_played(engine, iterations or NO_HORIZON, watch) for engine in engines)
    windows = (in_windows(outcome, every) for outcome in outcomes)
    records = together(
        (each if keep_requests else each._replace(requests=None) for each in windows),
        requests=max(map(len, tables)),
    )
    return as_dataset(
        records,
        COUNTS,
        tables,
        blocks=[each.blocks for each in all_limits],
        block_size=[each.block_size for each in all_limits],
        every=every,
        label="CacheOPT (section 3)",
        unit=clocks[0].unit,
    )


def _played(engine: CacheOptEngine, iterations: int, watch: Watch) -> Outcome:
    """A run until all is done, it is stuck, or to the horizon."""
    rows: list[list[int]] = []
    time: list[float] = []
    stuck, told, done, size = False, 0, engine.done, len(engine.all)
    while engine.iteration < iterations and engine.done < size and not stuck:
        rows.append(list(engine.step().values()))
        time.append(engine.now)
        stuck = engine.stuck
        if len(rows) % _EVERY_SO_OFTEN == 0:
            watch.report(len(rows) - told, engine.done - done)
            told, done = len(rows), engine.done
    watch.report(len(rows) - told, engine.done - done)
    requests = times_of(engine.all, [request.outputs for request in engine.all])
    if engine.clients:
        requests.arrival[engine.arrived :] = np.nan  # has not come
    counts = np.array(rows, np.int64).reshape(-1, len(COUNTS))
    return Outcome(counts, np.array(time), engine.done, stuck, requests)


def _check_fits(table: Requests, settings: CacheOpt, limits: Limits) -> None:
    """Refuse what could never be served, and limits that CacheOPT does not have.

    Raises:
        InputError: naming the largest request, or the limit.
    """
    if limits.watermark:
        raise InputError("watermark", limits.watermark, "0: CacheOPT reserves blocks instead")
    if limits.admission_rate is not None:
        raise InputError("admission_rate", limits.admission_rate, "None with CacheOPT")
    lengths = table.input_length + table.output_length
    worst = int(np.argmax(lengths))
    # The last token's cache is never stored; who is critical asks for a block more than it holds.
    needed = limits.blocks_of(int(lengths[worst]) - 1) + 1
    available = limits.blocks - settings.reserved_blocks
    if needed > available:
        raise InputError(
            "capacity",
            limits.capacity,
            f"memory for request {worst} ({table.input_length[worst]} input + "
            f"{table.output_length[worst]} output tokens): {needed} blocks of {limits.block_size} "
            f"beside {settings.reserved_blocks} that are reserved; there are {limits.blocks}",
        )
