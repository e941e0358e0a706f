"""The table in docs/engines.md: how far the preset `sglang` is from SGLang's own scheduler."""

from pathlib import Path

import pytest
import xarray as xr

from fluidkv.serving.caching.run import serve_sglang
from fluidkv.serving.engines import SGLANG
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from tests.serving.records.test_sglang_steps import RECORDED, recorded

PAGE = Path(__file__).parents[4] / "docs" / "engines.md"


def cells(run: xr.Dataset) -> list[str]:
    """Retractions, iterations, tokens prefilled, outputs an iteration."""
    counts = (int(run[name].sum()) for name in ("preempt", "iterations", "prefill_tokens"))
    return [f"{count:,}" for count in counts]


def row(name: str) -> str:
    record = recorded(name)
    arrivals, server = record.arrivals, record.settings
    real = serve_sglang(arrivals.requests, server, prompts=arrivals.prompts)
    limits = Limits(
        server.capacity,
        server.page_size,
        max_num_seqs=server.max_running,
        max_num_batched_tokens=server.chunked_prefill_size,
    )
    short = serve(arrivals.requests, Server(SGLANG, limits, backend="reference"))
    outputs = arrivals.requests.output_length.sum()
    pairs = [f"{one} / {other}" for one, other in zip(cells(real), cells(short), strict=True)]
    rates = [f"{outputs / run.iterations.item():.2f}" for run in (real, short)]
    return f"| `{name}` | {' | '.join(pairs)} | {' / '.join(rates)} |"


@pytest.mark.parametrize("name", RECORDED)
def test_the_table_is_what_comes_out(name):
    assert row(name) in PAGE.read_text(encoding="utf-8").splitlines()
