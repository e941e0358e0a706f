"""Run requests through an engine: one call for one run or for thousands."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr

from fluidkv.errors import InputError
from fluidkv.labels import Said
from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.batch import Progress
from fluidkv.runs.dataset import as_dataset
from fluidkv.runs.requests import Requests
from fluidkv.runs.values import one_each
from fluidkv.serving.arrays import arrays_of
from fluidkv.serving.caching.run import serve_caching
from fluidkv.serving.checks import check_backend, check_batch_size, check_horizon, check_runs
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.coordinates import run_coordinates, with_coordinates
from fluidkv.serving.decisions.granting import given_at_start
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.engines import WITH_CACHE, served_engine
from fluidkv.serving.kernel.engine import run_kernel
from fluidkv.serving.limits import Limits
from fluidkv.serving.literal import goes_literally, run_literally
from fluidkv.serving.reference import COUNTS
from fluidkv.serving.rules import EngineRules


def serve(
    requests: Requests | Sequence[Requests],
    engine: str | EngineRules | ServedEngine,
    limits: Limits | Sequence[Limits],
    *,
    prompts: Prompts | Sequence[Prompts | None] | None = None,
    clock: IterationClock | Sequence[IterationClock] | None = None,
    clients: int | Sequence[int | None] | None = None,
    iterations: int | None = None,
    every: int = 1,
    keep_requests: bool = True,
    start: Sequence[int] = (),
    backend: Literal["auto", "kernel", "reference"] = "auto",
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
        engine: a name out of `ENGINES`, or rules; "vllm+cache" has its prefix cache, and
            "sglang+cache" is SGLang's own scheduler and tree, of which "sglang" is a short form.
            Settings stand behind a colon; see `served_engine`.
        limits: memory and caps.
        prompts: what the requests say, for an engine with a prefix cache; None: nobody begins like
            another, so that a request finds only itself, after a preemption.
        clock: duration of an iteration; None: the theory's, where each lasts 1.
        clients: closed population: so many requests are in the system as long as there are any, and
            one more comes when one is done. None: they come at their arrival times.
        iterations: horizon; None: until every request is done. Where requests may evict each other
            for ever (`EngineRules.may_cycle`) one is asked for.
        every: length of a window; one record a window.
        keep_requests: record every request's times too; without, sweeps take little memory.
        start: outputs of the requests that run already when the run starts, the first ones of each
            table, in running order.
        backend: "kernel" is compiled; "reference" is the literal engine. They agree, times
            included. "auto" takes the kernel, or the literal engine for little work and for numbers
            that the kernel cannot hold.
        batch_size: runs that are computed together, at most.
        coords: what else tells runs apart, by name: a value for each run, or (values, units, title)
        on_progress: called now and then, maybe from another thread, with the iterations and the
            requests that are done in all runs.

    Returns:
        A dataset with dimensions run, window and request. Coordinates of run: `capacity`, the caps
        and coefficients of the clock in which runs differ, and `coords`.
        Counts (run, window) as in `fluidkv.serving.reference.COUNTS`: levels are means over a
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
        >>> run = fk.serve(fk.Requests([4, 4], [8, 8]), "vllm", [fk.Limits(16), fk.Limits(30)])
        >>> run.status.values.tolist(), run.served.values.tolist()
        (['DONE', 'DONE'], [2, 2])
        >>> run.evictions.sel(run=0).values.tolist(), run.last_token.max("request").values.tolist()
        ([0, 1], [11.0, 8.0])
    """
    served = served_engine(engine)
    along = run_coordinates(coords, requests=requests, limits=limits, clock=clock, clients=clients)
    how: dict[str, Any] = {"clients": clients, "iterations": iterations, "every": every}
    how |= {"keep_requests": keep_requests, "backend": backend, "on_progress": on_progress}
    check_batch_size(batch_size)
    if served.caching:
        if len(start):
            raise InputError("start", f"{len(start)} requests", "none, with a cache")
        found = serve_caching(requests, served, limits, clock, prompts, **how)
        return with_coordinates(found, along)
    if prompts is not None:
        raise InputError("prompts", "given", f"None, or an engine with a cache: {WITH_CACHE}")
    found = _serve(requests, served.rules, limits, clock, start, batch_size=batch_size, **how)
    return with_coordinates(found, along)


def _serve(
    requests: Requests | Sequence[Requests],
    rules: EngineRules,
    limits: Limits | Sequence[Limits],
    clock: IterationClock | Sequence[IterationClock] | None,
    start: Sequence[int],
    *,
    clients: int | Sequence[int | None] | None,
    iterations: int | None,
    every: int,
    keep_requests: bool,
    backend: str,
    batch_size: int | None,
    on_progress: Progress | None,
) -> xr.Dataset:
    """Without a cache: all runs in one batch."""
    tables, all_limits, given_clocks, populations = one_each(
        {"requests": requests, "limits": limits, "clock": clock, "clients": clients}
    ).values()
    clocks = [each or IterationClock.iterations() for each in given_clocks]
    check_runs(tables, rules, all_limits, clocks, populations)
    horizon = check_horizon(iterations, every, rules)
    check_backend(backend)
    running = _checked_start(start, tables, rules, all_limits)
    arrays = arrays_of(tables, all_limits, clocks, populations, running)
    jumps, unit = clocks[0].jumps, clocks[0].unit
    literally = goes_literally(backend, rules, arrays, jumps=jumps, horizon=horizon)
    run = run_literally if literally else run_kernel
    records = run(
        rules,
        arrays,
        jumps=jumps,
        iterations=horizon,
        every=every,
        keep_requests=keep_requests,
        batch_size=batch_size,
        on_progress=on_progress,
    )
    memory = {"blocks": arrays.blocks, "block_size": arrays.block_size}
    return as_dataset(records, COUNTS, tables, **memory, every=every, label=rules.label, unit=unit)


def _checked_start(
    start: Sequence[int], tables: list[Requests], rules: EngineRules, all_limits: list[Limits]
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
        held = given_at_start(rules, limits, table, outputs)
        if held > limits.blocks:
            raise InputError("start", f"{held} blocks held", f"at most {limits.blocks}")
    return outputs
