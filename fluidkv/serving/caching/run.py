"""Runs of engines with their prefix caches, as `serve` returns them."""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from fluidkv.errors import InputError
from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.batch import Progress
from fluidkv.runs.dataset import as_dataset
from fluidkv.runs.requests import Requests
from fluidkv.runs.values import one_each
from fluidkv.serving.arrays import RunArrays, arrays_of
from fluidkv.serving.caching.fast import FastEngine
from fluidkv.serving.caching.names import BlockNames
from fluidkv.serving.caching.recorded import recorded, with_hits
from fluidkv.serving.caching.sglang.run import SglangRun
from fluidkv.serving.caching.sglang.seen import COUNTS as SGLANG_COUNTS
from fluidkv.serving.caching.sglang.table import checked_table
from fluidkv.serving.caching.table import check_modelled, checked_prompts
from fluidkv.serving.caching.vllm import COUNTS, VllmEngine
from fluidkv.serving.checks import check_horizon, check_runs, check_values
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.engines import SGLANG, served_engine
from fluidkv.serving.kernel.engine import covers, finds_itself, run_kernel
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.sglang_settings import SglangSettings

FEW = 5_000
"""Requests of all runs up to which a new process does not load the kernel: the fast engine serves
about as many in that time."""


def one_by_one(engine: str | EngineRules | ServedEngine) -> bool:
    """Whether runs go one after the other where prompts share nothing, so that a batch saves none.

    Examples:
        >>> from fluidkv.serving import one_by_one
        >>> one_by_one("vllm+cache"), one_by_one("sglang+cache")
        (False, True)
    """
    served = served_engine(engine)
    return served.caching and not finds_itself(served.rules)


def serve_caching(
    requests: Requests | Sequence[Requests],
    engine: str | EngineRules | ServedEngine,
    limits: Limits | Sequence[Limits],
    clock: IterationClock | Sequence[IterationClock] | None = None,
    prompts: Prompts | Sequence[Prompts | None] | None = None,
    *,
    clients: int | Sequence[int | None] | None = None,
    iterations: int | None = None,
    every: int = 1,
    keep_requests: bool = True,
    backend: str = "auto",
    on_progress: Progress | None = None,
) -> xr.Dataset:
    """Serve requests by vLLM or SGLang with its prefix cache, until all are done or to a horizon.

    As `serve`, for rules, or a name with "+cache" or without. "auto" takes the fast engine,
    "reference" the literal one; they agree. Without prompts nothing is shared, and "auto" takes the
    kernel for the rules of which it has the cache (`finds_itself`). SGLang's rules stand for its
    own scheduler here, with the settings that stand in the engine's text, and else those of
    `SglangSettings`.

    Raises:
        InputError: as `serve`.

    Examples:
        >>> from fluidkv.prefix import Prompts
        >>> from fluidkv.serving import serve_caching
        >>> alike = Prompts([[(0, 0, 12)], [(0, 0, 12)]], [[(1, 0, 2)], [(2, 0, 2)]])
        >>> requests = fk.Requests([12, 12], [2, 2], arrival=[0, 1])
        >>> run = serve_caching(requests, "vllm", fk.Limits(40, block_size=4), prompts=alike)
        >>> run.hit_tokens.values.tolist(), run.tokens.values.tolist()
        ([[0, 8]], [[12, 5, 1]])
    """
    served = served_engine(engine)
    rules = served.rules
    how: dict[str, Any] = {"every": every, "keep_requests": keep_requests}
    how |= {"on_progress": on_progress}
    if served.own_scheduler or rules == SGLANG:
        several = one_each({"limits": limits})["limits"]
        settings = [served.settings_of(each) for each in several]
        how |= {"clients": clients, "iterations": iterations, "backend": backend}
        return serve_sglang(requests, settings, clock, prompts, **how)
    tables, all_limits, given_clocks, populations, said = one_each(
        {
            "requests": requests,
            "limits": limits,
            "clock": clock,
            "clients": clients,
            "prompts": prompts,
        }
    ).values()
    clocks = [each or IterationClock.iterations() for each in given_clocks]
    check_runs(tables, rules, all_limits, clocks, populations)
    horizon = check_horizon(iterations, every, rules)
    literally = _literally(backend)
    for each in all_limits:
        check_modelled(rules, each)
    if all(each is None for each in said) and not literally and finds_itself(rules):
        arrays = arrays_of(tables, all_limits, clocks, populations, [])
        loaded = "fluidkv.serving.kernel.loop" in sys.modules
        if covers(rules, arrays) and (loaded or sum(map(len, tables)) > FEW):
            return _by_kernel(rules, arrays, tables, clocks[0], horizon, **how)
    texts, names = _texts(tables, said), _Names()

    def started(run: int) -> VllmEngine | FastEngine:
        memory = all_limits[run]
        given = (tables[run], texts[run], rules, memory, clocks[run], populations[run])
        if literally:
            return VllmEngine(*given)
        return FastEngine(*given, names=names.of(texts[run], memory.block_size))

    return recorded(
        map(started, range(len(tables))),
        COUNTS,
        tables,
        horizon=horizon,
        blocks=[each.blocks for each in all_limits],
        block_size=[each.block_size for each in all_limits],
        label=rules.label,
        unit=clocks[0].unit,
        **how,
    )


def _by_kernel(
    rules: EngineRules,
    arrays: RunArrays,
    tables: Sequence[Requests],
    clock: IterationClock,
    horizon: int,
    *,
    every: int,
    keep_requests: bool,
    on_progress: Progress | None,
) -> xr.Dataset:
    """Where prompts share nothing: only who comes back finds anything."""
    records = run_kernel(
        rules,
        arrays,
        jumps=clock.jumps,
        iterations=horizon,
        every=every,
        keep_requests=keep_requests,
        finds=True,
        on_progress=on_progress,
    )
    memory = {"blocks": arrays.blocks, "block_size": arrays.block_size}
    shown = {**memory, "every": every, "label": rules.label, "unit": clock.unit}
    dataset = as_dataset(records, COUNTS, tables, **shown)
    if not keep_requests or records.hits is None:
        return dataset
    return with_hits(dataset, np.stack([records.hits, np.zeros_like(records.hits)], axis=1))


def serve_sglang(
    requests: Requests | Sequence[Requests],
    settings: SglangSettings | Sequence[SglangSettings],
    clock: IterationClock | Sequence[IterationClock] | None = None,
    prompts: Prompts | Sequence[Prompts | None] | None = None,
    *,
    clients: int | Sequence[int | None] | None = None,
    iterations: int | None = None,
    every: int = 1,
    keep_requests: bool = True,
    backend: str = "auto",
    on_progress: Progress | None = None,
) -> xr.Dataset:
    """Serve requests by SGLang's own scheduler and tree, under a server's options.

    As `serve_caching`, with options instead of limits. Blocks are pages, and `used_blocks` those
    that requests hold or share; what nobody uses of the tree counts as free. A request that is
    aborted has not finished.

    Raises:
        InputError: as `serve`.

    Examples:
        >>> from fluidkv.prefix import Prompts
        >>> from fluidkv.serving import SglangSettings, serve_sglang
        >>> alike = Prompts([[(0, 0, 12)], [(0, 0, 12)]], [[(1, 0, 2)], [(2, 0, 2)]])
        >>> requests = fk.Requests([12, 12], [2, 2], arrival=[0, 4])
        >>> run = serve_sglang(requests, SglangSettings(40), prompts=alike)
        >>> run.hit_tokens.values.tolist(), run.finished.values.tolist()
        ([[0, 11]], [[True, True]])
    """
    tables, options, given_clocks, populations, said = one_each(
        {
            "requests": requests,
            "settings": settings,
            "clock": clock,
            "clients": clients,
            "prompts": prompts,
        }
    ).values()
    clocks = [each or IterationClock.iterations() for each in given_clocks]
    check_values("settings", options, SglangSettings, tables, clocks, populations)
    horizon = check_horizon(iterations, every, SGLANG)
    literally = _literally(backend)
    texts = _texts(tables, said)
    given = list(zip(tables, texts, options, clocks, populations, strict=True))
    for table, text, option, *_ in given:
        checked_table(table, text, option)  # before the first one runs
    return recorded(
        (SglangRun(*each, literally=literally) for each in given),
        SGLANG_COUNTS,
        tables,
        horizon=horizon,
        every=every,
        keep_requests=keep_requests,
        blocks=[each.pages for each in options],
        block_size=[each.page_size for each in options],
        label=f"{SGLANG.label} with its tree",
        unit=clocks[0].unit,
        on_progress=on_progress,
    )


def _literally(backend: str) -> bool:
    if backend not in ("auto", "reference"):
        raise InputError("backend", backend, "'auto' or 'reference', with a cache")
    return backend == "reference"


def _texts(tables: list[Requests], prompts: list[Prompts | None]) -> list[Prompts]:
    """What each run's requests say; looked at once where runs have them in common."""
    known: dict[tuple[int, int], Prompts] = {}
    for table, said in zip(tables, prompts, strict=True):
        key = (id(table), id(said))
        if key not in known:
            known[key] = checked_prompts(table, said)
    return [known[id(table), id(said)] for table, said in zip(tables, prompts, strict=True)]


class _Names:
    """The block names of the last prompts: runs one after the other often have them in common."""

    def __init__(self) -> None:
        self._last: tuple[Prompts, BlockNames] | None = None

    def of(self, prompts: Prompts, block_size: int) -> BlockNames:
        if self._last is not None:
            known, names = self._last
            if known is prompts and names.block_size == block_size:
                return names
        self._last = (prompts, BlockNames(prompts, block_size))
        return self._last[1]
