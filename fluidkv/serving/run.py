"""Run requests through an engine: one call for one run or for thousands."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from fluidkv.errors import InputError
from fluidkv.labels import Column, Said
from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.batch import Progress
from fluidkv.runs.dataset import as_dataset
from fluidkv.runs.requests import Requests
from fluidkv.runs.values import one_each
from fluidkv.serving.arrays import Runs
from fluidkv.serving.caching.names import NamesOfRuns
from fluidkv.serving.caching.table import check_modelled, texts_of
from fluidkv.serving.checks import check_batch_size, check_horizon, check_runs
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.coordinates import run_coordinates
from fluidkv.serving.counts import COUNTS
from fluidkv.serving.counts import WITH_CACHE as CACHE_COUNTS
from fluidkv.serving.engines import WITH_CACHE
from fluidkv.serving.kernel.grants import ALLOCATIONS, granted
from fluidkv.serving.limits import Limits
from fluidkv.serving.literal import goes_literally
from fluidkv.serving.rules import EngineRules, Growth, Guard
from fluidkv.serving.running.engine import finds_itself, run_batch
from fluidkv.serving.server import Server


def serve(
    requests: Requests | Sequence[Requests],
    server: Server,
    *,
    clients: int | Sequence[int | None] | None = None,
    iterations: int | None = None,
    every: int = 1,
    keep_requests: bool = True,
    start: Sequence[int] = (),
    batch_size: int | None = None,
    coords: Said | None = None,
    on_progress: Progress | None = None,
) -> xr.Dataset:
    """Serve requests until all are done, or to a horizon.

    `requests`, `limits`, `prompts`, `clock` and `clients` are one for all runs or one for each.
    SGLang's own scheduler does one run after the other, and compiles nothing.
    `fluidkv.runs.crossed` makes such columns of every memory with every seed.

    Args:
        requests: who comes when; see `fluidkv.runs.arrivals`.
        server: what serves them; the engine is one for all runs.
        clients: closed population: so many requests are in the system as long as there are any, and
            one more comes when one is done. None: they come at their arrival times.
        iterations: horizon; None: until every request is done. Where requests may evict each other
            for ever (`EngineRules.may_cycle`) one is asked for.
        every: length of a window; one record a window.
        keep_requests: record every request's times too; without, sweeps take little memory.
        start: outputs of the requests that run already when the run starts, the first ones of each
            table, in running order.
        batch_size: runs that are computed together, at most.
        coords: what else tells runs apart, by name: a value for each run, or (values, units, title)
        on_progress: called now and then, maybe from another thread, with the iterations and the
            requests that are done in all runs.

    Returns:
        A dataset with dimensions run, window and request. Coordinates of run: `capacity`, the caps
        and coefficients of the clock in which runs differ, and `coords`.
        Counts (run, window) as in `fluidkv.serving.counts.COUNTS`: levels are means over a
        window, flows sums. `time` (run, window): the clock at its end. NaN after a run's end.
        Of each request (run, request): input_length, output_length, class_index, arrival, admitted
        (first), first_token, last_token, longest_gap (NaN: not yet), evictions, outputs, finished,
        halted (from evictions to the next new token); with a prefix cache also `hit_tokens`, found
        there, and `first_hit_tokens` of them at its first admission.
        Of each run: `status` (a `RunStatus` name), `iterations`, `served`, `requests`, `blocks`,
        `block_size`.

    Raises:
        InputError: before anything runs: a request that this engine could never serve in this
            memory, numbers of runs that differ, a horizon or window below 1; prompts that are not
            those of the requests, or for an engine without a cache; a cache under rules that are
            not vLLM's or SGLang's, or with a rate or requests that run at the start.

    Examples:
        >>> server = fk.Server("vllm", [fk.Limits(16), fk.Limits(30)])
        >>> run = fk.serve(fk.Requests([4, 4], [8, 8]), server)
        >>> run.status.values.tolist(), run.served.values.tolist()
        (['DONE', 'DONE'], [2, 2])
        >>> run.evictions.sel(run=0).values.tolist(), run.last_token.max("request").values.tolist()
        ([0, 1], [11.0, 8.0])
    """
    served = server.served
    columns = server.columns | {"requests": requests, "clients": clients}
    along = run_coordinates(coords, **columns)
    check_batch_size(batch_size)
    if served.caching and len(start):
        raise InputError("start", f"{len(start)} requests", "none, with a cache")
    how: dict[str, Any] = {"iterations": iterations, "every": every}
    how |= {"keep_requests": keep_requests, "on_progress": on_progress}
    if served.own_scheduler:
        from fluidkv.serving.caching.run import serve_sglang  # nothing of it is loaded for vLLM

        settings = [
            served.settings_of(each) for each in one_each({"limits": server.limits})["limits"]
        ]
        how |= {"clients": clients, "backend": server.backend, "along": along}
        return serve_sglang(requests, settings, server.clock, server.prompts, **how)
    if not served.caching and server.prompts is not None:
        raise InputError("prompts", "given", f"None, or an engine with a cache: {WITH_CACHE}")
    order = ("requests", "limits", "clock", "clients", "prompts")
    tables, limits, given, clients, prompts = one_each({n: columns[n] for n in order}).values()
    clocks = [each or IterationClock.iterations() for each in given]
    batch = Runs(tables, limits, clocks, clients, [start] * len(tables))
    return _serve(batch, prompts, server, along, batch_size=batch_size, **how)


def _serve(
    batch: Runs,
    prompts: Sequence[Prompts | None],
    server: Server,
    along: Mapping[str, Column],
    *,
    iterations: int | None,
    every: int,
    keep_requests: bool,
    batch_size: int | None,
    on_progress: Progress | None,
) -> xr.Dataset:
    """By rules in the common loop, with a prefix cache or without."""
    rules, caching = server.served.rules, server.served.caching
    check_runs(batch.tables, rules, batch.limits, batch.clocks, batch.clients)
    horizon = check_horizon(iterations, every, rules)
    if caching:
        for each in batch.limits:
            check_modelled(rules, each)
    running = _checked_start(batch.start[0], batch.tables, rules, batch.limits)
    batch = batch._replace(start=[running] * len(batch.tables))
    jumps, unit = batch.clocks[0].jumps, batch.clocks[0].unit
    literally = goes_literally(server.backend, rules, batch, jumps=jumps, horizon=horizon)
    names = None
    shares = literally or not finds_itself(rules) or any(each is not None for each in prompts)
    if caching and shares:
        texts = texts_of(batch.tables, prompts)
        names = NamesOfRuns(texts, [each.block_size for each in batch.limits]).of
    records = run_batch(
        rules,
        batch,
        names,
        caching=caching,
        literally=literally,
        jumps=jumps,
        iterations=horizon,
        every=every,
        keep_requests=keep_requests,
        batch_size=batch_size,
        on_progress=on_progress,
    )
    counts = CACHE_COUNTS if caching else COUNTS
    memory = {n: [getattr(each, n) for each in batch.limits] for n in ("blocks", "block_size")}
    said: dict[str, Any] = {"label": rules.label, "unit": unit, "coords": along}
    return as_dataset(records, counts, batch.tables, **memory, every=every, **said)


def _checked_start(
    start: Sequence[int],
    tables: Sequence[Requests],
    rules: EngineRules,
    all_limits: Sequence[Limits],
) -> list[int]:
    column = np.asarray(start)
    if column.ndim != 1 or (column.size and column.dtype.kind not in "iu"):
        raise InputError("start", start, "whole numbers of outputs")
    outputs = column.tolist()
    size = len(outputs)
    for table, limits in zip(tables, all_limits, strict=True):
        most = min(len(table), limits.sequences)
        if size > most:
            raise InputError("start", f"{size} requests", f"at most {most}")
        for index, emitted in enumerate(outputs):
            if not 1 <= emitted < table.output_length[index]:
                most = table.output_length[index] - 1
                raise InputError("start", emitted, f"1 to {most} outputs for request {index}")
        if size and table.arrival[size - 1] > 0:
            raise InputError("start", f"{size} requests", "requests that have arrived at 0")
        held = _held_at_start(rules, limits, table, outputs)
        if held > limits.blocks:
            raise InputError("start", f"{held} blocks held", f"at most {limits.blocks}")
    return outputs


def _held_at_start(rules: EngineRules, limits: Limits, table: Requests, outputs: list[int]) -> int:
    """Blocks of the first requests, in all, if they run with so many outputs each."""
    free = limits.watermark_blocks if rules.guard is Guard.ALWAYS else 0
    most = limits.blocks - max(free, rules.growth is Growth.ONE_FREE)
    held = 0
    for index, emitted in enumerate(outputs):
        length = int(table.input_length[index]) + emitted + rules.reserved_tokens
        estimated = int(table.estimated_output[index])
        wanted = rules.peak_tokens(int(table.input_length[index]), estimated)
        computed, needed, estimate = map(limits.blocks_of, (length - 1, length, wanted))
        held += granted(ALLOCATIONS[rules.allocation], computed, needed, estimate, most)
    return held
