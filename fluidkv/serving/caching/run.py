"""Runs of engines with their prefix caches, as `serve` returns them."""

from collections import Counter
from collections.abc import Sequence
from threading import Lock
from typing import Any

import xarray as xr

from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.batch import Progress
from fluidkv.runs.requests import Requests
from fluidkv.runs.values import one_each
from fluidkv.serving.arrays import arrays_of
from fluidkv.serving.caching.names import BlockNames
from fluidkv.serving.caching.recorded import played_all, recorded
from fluidkv.serving.caching.sglang.kernel.engine import SglangServer
from fluidkv.serving.caching.sglang.run import run_servers
from fluidkv.serving.caching.sglang.seen import COUNTS as SGLANG_COUNTS
from fluidkv.serving.caching.table import check_modelled, checked_prompts
from fluidkv.serving.caching.vllm import VllmEngine
from fluidkv.serving.checks import check_backend, check_horizon, check_runs, check_values
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.counts import WITH_CACHE
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.engines import SGLANG, served_engine
from fluidkv.serving.kernel.engine import finds_itself, run_cached
from fluidkv.serving.kernel.layout import NamedBlocks
from fluidkv.serving.limits import Limits
from fluidkv.serving.literal import goes_literally
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.sglang_settings import SglangSettings

_LITERAL_STEPS = 10_000
"""As `LITERAL_STEPS`, of the literal engine with a cache, which looks at every block."""


def one_by_one(engine: str | EngineRules | ServedEngine) -> bool:
    """Whether a question tries its servers one by one: SGLang's, each of which may be refused.

    Examples:
        >>> from fluidkv.serving import one_by_one
        >>> one_by_one("vllm+cache"), one_by_one("sglang+cache")
        (False, True)
    """
    return served_engine(engine).own_scheduler


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

    As `serve`, for rules, or a name with "+cache" or without. "auto" and "kernel" take the compiled
    engine, "reference" the literal one; they agree. SGLang's rules stand for its own scheduler
    here, with the settings that stand in the engine's text, and else those of `SglangSettings`.

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
    how: dict[str, Any] = {"clients": clients, "iterations": iterations, "every": every}
    how |= {"keep_requests": keep_requests, "backend": backend, "on_progress": on_progress}
    if served.own_scheduler or served.rules == SGLANG:
        several = one_each({"limits": limits})["limits"]
        settings = [served.settings_of(each) for each in several]
        return serve_sglang(requests, settings, clock, prompts, **how)
    return _serve_vllm(requests, served.rules, limits, clock, prompts, **how)


def _serve_vllm(
    requests: Requests | Sequence[Requests],
    rules: EngineRules,
    limits: Limits | Sequence[Limits],
    clock: IterationClock | Sequence[IterationClock] | None,
    prompts: Prompts | Sequence[Prompts | None] | None,
    *,
    clients: int | Sequence[int | None] | None,
    iterations: int | None,
    every: int,
    keep_requests: bool,
    backend: str,
    on_progress: Progress | None,
) -> xr.Dataset:
    """By the kernel; by the literal engine where that is quicker, or lengths are beyond it."""
    tables, all_limits, given_clocks, populations, all_prompts = one_each(
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
    for each in all_limits:
        check_modelled(rules, each)
    check_backend(backend)
    arrays = arrays_of(tables, all_limits, clocks, populations, [])
    how: dict[str, Any] = {
        "every": every,
        "keep_requests": keep_requests,
        "on_progress": on_progress,
    }
    jumps = clocks[0].jumps
    few = {"jumps": jumps, "horizon": horizon, "steps": _LITERAL_STEPS}
    if goes_literally(backend, rules, arrays, **few):
        texts = _texts(tables, all_prompts)
        engines = (
            VllmEngine(tables[run], texts[run], rules, all_limits[run], clocks[run], clients)
            for run, clients in enumerate(populations)
        )
        rows = played_all(engines, WITH_CACHE, horizon, requests=max(map(len, tables)), **how)
    else:
        names = None
        if not finds_itself(rules) or any(each is not None for each in all_prompts):
            texts = _texts(tables, all_prompts)
            names = _Names(texts, [each.block_size for each in all_limits]).of
        how |= {"jumps": jumps, "iterations": horizon}
        rows = run_cached(rules, arrays, names, **how)
    return recorded(
        *rows,
        WITH_CACHE,
        tables,
        every=every,
        blocks=[each.blocks for each in all_limits],
        block_size=[each.block_size for each in all_limits],
        label=rules.label,
        unit=clocks[0].unit,
    )


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
    tables, options, given_clocks, populations, all_prompts = one_each(
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
    check_backend(backend)
    texts = _texts(tables, all_prompts)
    given = zip(tables, texts, options, clocks, populations, strict=True)
    rows = run_servers(
        [SglangServer(*each) for each in given],
        backend,
        iterations=horizon,
        every=every,
        keep_requests=keep_requests,
        on_progress=on_progress,
    )
    return recorded(
        *rows,
        SGLANG_COUNTS,
        tables,
        every=every,
        blocks=[each.pages for each in options],
        block_size=[each.page_size for each in options],
        label=f"{SGLANG.label} with its tree",
        unit=clocks[0].unit,
    )


def _texts(tables: list[Requests], prompts: list[Prompts | None]) -> list[Prompts]:
    """What each run's requests say; looked at once where runs have them in common."""
    known: dict[tuple[int, int], Prompts] = {}
    for table, text in zip(tables, prompts, strict=True):
        key = (id(table), id(text))
        if key not in known:
            known[key] = checked_prompts(table, text)
    return [known[id(table), id(text)] for table, text in zip(tables, prompts, strict=True)]


class _Names:
    """What the requests of each run say, found once where runs have it in common.

    Args:
        texts: of each run.
        block_size: of each run.
    """

    def __init__(self, texts: Sequence[Prompts], block_size: Sequence[int]) -> None:
        self._keys = [(id(text), size) for text, size in zip(texts, block_size, strict=True)]
        self._texts, self._to_come = texts, Counter(self._keys)
        self._known: dict[tuple[int, int], NamedBlocks] = {}
        self._one_at_a_time = Lock()

    def of(self, run: int) -> NamedBlocks:
        """To be asked once for each run: what no other run has is not kept."""
        key = self._keys[run]
        with self._one_at_a_time:
            if key not in self._known:
                self._known[key] = BlockNames(self._texts[run], key[1]).flat()
            self._to_come[key] -= 1
            return self._known[key] if self._to_come[key] else self._known.pop(key)
