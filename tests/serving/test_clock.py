"""The iteration clock: its line, its units, and what it refuses."""

import math
import os
import re
from pathlib import Path

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import VIDUR_LLAMA3_8B_A100, IterationClock
from fluidkv.serving.kernel.budget import pairs
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server

ROOT = Path(__file__).parents[2]


def test_duration_is_the_line():
    clock = IterationClock(2.0, 0.5, 0.25)
    assert clock.duration(0, 0) == 2
    assert clock.duration(10, 4) == 2 + 5 + 1
    assert clock.unit == "s"


def test_tokens_in_a_row_look_back_once_each():
    """S tokens cost d2 S + d3 S (S + 1) / 2, in one go or in chunks."""
    clock = IterationClock(2.0, per_prefill_token=0.25, per_prefill_pair=0.5)
    assert pairs(0, 10) == 10 * 11 // 2 == pairs(0, 4) + pairs(4, 1) + pairs(5, 5)
    assert clock.duration(0, 10, pairs(0, 10)) == 2 + 2.5 + 27.5
    run = serve(
        Requests([7], [1]), Server("vllm", Limits(99, max_num_batched_tokens=3), clock=clock)
    )
    chunks = [clock.duration(0, n, pairs(c, n)) for c, n in ((0, 3), (3, 3), (6, 1))]
    assert run.time.values[0].tolist() == np.cumsum(chunks).tolist()


@pytest.mark.parametrize("engine", ["vllm", "sglang", "sglang+cache"])
def test_requests_and_their_experts_take_time(engine):
    """Two prompts of 5, then two that decode: each pass reads what its tokens choose."""
    clock = IterationClock(
        2.0, per_prefill_token=0.25, per_request=0.5, experts=8.0, expert_share=0.5
    )
    run = serve(Requests([5, 5], [3, 3]), Server(engine, Limits(99), clock=clock))
    prompts = 2 + 0.25 * 10 + 8 * (1 - 0.5**10)
    decodes = 2 + 0.5 * 2 + 8 * (1 - 0.5**2)
    assert clock.duration(0, 10) == prompts
    assert clock.duration(0, 0, decoding=2) == decodes
    times = run.last_token.values[0]
    assert times.tolist() == pytest.approx([prompts + 2 * decodes] * 2, rel=1e-12)


def test_on_the_theorys_clock_every_iteration_lasts_one():
    clock = IterationClock.iterations()
    assert clock.duration(10**6, 10**6) == 1
    assert clock.unit == "iteration"
    assert not clock.jumps


def test_the_named_line_is_that_of_the_vidur_record():
    """As the README beside the counts prints it, in milliseconds."""
    folder = Path(os.environ.get("FLUIDKV_ORACLES") or ROOT / ".." / "shared" / "oracles")
    page = folder / "vidur" / "README.md"
    if not page.is_file():
        pytest.skip(f"no oracle records: {page} is missing")
    found = re.search(
        r"([\d.]+) ms \+ ([\d.e-]+) ms per KV token", page.read_text(encoding="utf-8")
    )
    assert found
    printed = [float(text) / 1000 for text in found.groups()]
    ours = [VIDUR_LLAMA3_8B_A100.base, VIDUR_LLAMA3_8B_A100.per_kv_token]
    assert ours == pytest.approx(printed, rel=1e-12, abs=0)  # rounding of the division by 1000
    assert VIDUR_LLAMA3_8B_A100.per_prefill_token == 0


@pytest.mark.parametrize(
    ("values", "argument"),
    [
        ((0.0,), "base"),
        ((-1.0,), "base"),
        ((math.inf,), "base"),
        ((math.nan,), "base"),
        ((10**400,), "base"),
        ((True,), "base"),
        (("1",), "base"),
        ((1.0, -1e-9), "per_kv_token"),
        ((1.0, math.nan), "per_kv_token"),
        ((1.0, 0.0, math.inf), "per_prefill_token"),
        ((1.0, 0.0, 0.0, "ms"), "unit"),
        ((1.0, 0.0, 0.0, "s", -1.0), "per_prefill_pair"),
        ((1.0, 0.0, 0.0, "s", 0.0, -1.0), "per_request"),
        ((1.0, 0.0, 0.0, "s", 0.0, 0.0, math.nan), "experts"),
        ((1.0, 0.0, 0.0, "s", 0.0, 0.0, 1.0, 0.0), "expert_share"),
    ],
)
def test_bad_clocks_get_one_line(values, argument):
    with pytest.raises(InputError, match=f"^{argument}: got"):
        IterationClock(*values)
