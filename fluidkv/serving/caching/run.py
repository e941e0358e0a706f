"""Runs of SGLang's own scheduler, as `serve` returns them."""

import sys
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from fluidkv.labels import Column
from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.batch import Progress
from fluidkv.runs.dataset import as_dataset
from fluidkv.runs.requests import Requests
from fluidkv.runs.values import one_each
from fluidkv.serving.caching.sglang.kernel.engine import LOOP, SglangServer, run_sglang
from fluidkv.serving.caching.sglang.seen import COUNTS as SGLANG_COUNTS
from fluidkv.serving.caching.sglang.table import check_table
from fluidkv.serving.caching.table import texts_of
from fluidkv.serving.checks import check_backend, check_horizon, check_values
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.engines import SGLANG, served_engine
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.sglang_settings import SglangSettings

LITERAL_STEPS = 10_000
"""Tokens, chunks and ticks, in all runs, up to which "auto" takes plain Python in a new process: it
does 25,000 to 200,000 a second, and the kernel takes about half a second to load."""


def one_by_one(engine: str | EngineRules | ServedEngine) -> bool:
    """Whether a question tries its servers one by one: SGLang's, each of which may be refused.

    Examples:
        >>> from fluidkv.serving.caching.run import one_by_one
        >>> one_by_one("vllm+cache"), one_by_one("sglang+cache")
        (False, True)
    """
    return served_engine(engine).own_scheduler


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
    along: Mapping[str, Column] | None = None,
) -> xr.Dataset:
    """Serve requests by SGLang's own scheduler and tree, under a server's options.

    As `serve`, with options instead of limits. Blocks are pages, and `used_blocks` those
    that requests hold or share; what nobody uses of the tree counts as free. A request that is
    aborted has not finished. `along` are coordinates of the runs.

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
    texts = texts_of(tables, all_prompts)
    given = zip(tables, texts, options, clocks, populations, strict=True)
    servers = [SglangServer(*each) for each in given]
    for each in servers:
        check_table(each.requests, each.settings)
    literally = backend == "reference" or (backend == "auto" and _is_little(servers, horizon))
    records = run_sglang(
        servers,
        literally=literally,
        iterations=horizon,
        every=every,
        keep_requests=keep_requests,
        on_progress=on_progress,
    )
    return as_dataset(
        records,
        SGLANG_COUNTS,
        tables,
        every=every,
        blocks=[each.pages for each in options],
        block_size=[each.page_size for each in options],
        label=f"{SGLANG.label} with its tree",
        unit=clocks[0].unit,
        coords=along,
    )


def _is_little(servers: Sequence[SglangServer], iterations: int) -> bool:
    """Whether plain Python is done before the kernel, which is not there, is loaded."""
    if LOOP in sys.modules:
        return False
    steps = 0
    for each in servers:
        idle = 0 if each.clock.jumps else each.requests.arrival.max() / each.clock.base
        chunks = each.requests.input_length / float(each.settings.chunked_prefill_size or np.inf)
        passes = int(each.requests.output_length.sum() + chunks.sum() + idle)
        steps += min(passes, len(each.requests) * iterations)
    return steps <= LITERAL_STEPS
