"""`fluidkv wait`: values by hand, and pages that show them.

What it prints and refuses is in `tests/cli/transcripts/wait.txt`.
"""

import json
import math
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from fluidkv.figures.registry import written
from tests.questions.asked import text_of, values_of

TWO = ["--type", "1:1:1", "--type", "1:1:2", "--d0", "0.1", "--d1", "0.1"]
NESTED = [*TWO, "--capacity", "200", "--unknown-lengths"]
QUIET = "--no-simulate"


def values(*argv: str) -> dict[str, Any]:
    return values_of("wait", shlex.join(argv))


def test_nested_keys():
    found = values(*NESTED, "--horizon", "1000", QUIET)["nested"]
    assert found["thresholds"] == [7, 4]
    assert found["peak_memory"] == 7 * 3 + 4 * 3
    assert found["batches"] == 10_000
    assert found["queue"] == 8
    assert found["buffer"] == pytest.approx(found["queue"] + found["tail"])
    [eta] = found["eta"]
    assert 7 * math.log(0.5 + math.exp(eta) / 2) == pytest.approx(4 * eta)
    tail = 2 * math.log(10_000 / 0.01) / eta  # of those who wait with 2 tokens each
    assert found["tail"] == pytest.approx(tail)
    assert found["memory_needed"] == math.ceil(33 + 8 + tail)
    assert found["fits"]


def test_prefill_is_an_option_or_comes_with_a_clock():
    own = ["--d2", "1/40"]
    free, paid = (values(*TWO, "--capacity", "200", QUIET, *d2) for d2 in ([], own))
    assert (free["d2"], paid["d2"]) == (0, 0.025)
    # rho = d1 sum(rate c) + d2 sum(rate l), of two types with one input token each
    assert paid["load"] == pytest.approx(free["load"] + 0.025 * 2)
    timed = [*TWO[:4], "--capacity", "200", QUIET, "--clock"]
    numbers = values(*timed, "0.01:1e-6:1e-4")
    assert (numbers["d0"], numbers["d1"], numbers["d2"]) == (0.01, 1e-6, 1e-4)
    named = values(*timed, "vllm-llama3.1-8b-rtx4090")
    assert (named["d2"], named["unit"]) == (8.68e-5, "s")


def test_the_page_shows_what_is_printed():
    page = (Path(__file__).parents[3] / "docs" / "wait.md").read_text(encoding="utf-8")
    found = re.search(r"<!-- output of: fluidkv wait (.*?) -->\n```\n(.*?)```\n", page, flags=re.S)
    assert found is not None
    assert text_of("wait", found[1]) == found[2]


def test_numbers_on_the_page_are_those_of_the_committed_figures():
    root = Path(__file__).parents[3]
    page = (root / "docs" / "wait.md").read_text(encoding="utf-8")
    lines = (root / "figures" / "wait_policies.csv").read_text(encoding="utf-8").splitlines()
    header, *rows = [line.split(",") for line in lines if not line.startswith("#")]
    table = {float(row[0]): dict(zip(header, map(float, row), strict=True)) for row in rows}
    paragraph = page.split("Before you change a scheduler")[1].split("\n\n")[0]
    order = ("wait_least", "vllm", "cap", "nested", "greedy")
    served = [f"{table[1.0][f'{name}.served']:.1%}" for name in order]
    assert re.findall(r"[0-9.]+%", paragraph) == [*served, "80%"]
    late = [f"{table[0.8][f'{name}.latency_p99']:.2f} s" for name in ("wait_least", "cap")]
    assert re.findall(r"[0-9.]+ s\b", paragraph) == late
    assert all(abs(table[0.8][f"{name}.served"] - 1) < 0.01 for name in order)  # what comes

    figures = json.loads((root / "figures" / "manifest.json").read_text("utf-8"))["figures"]
    section = page.split("## Figures")[1].split("\n## ")[0]
    assert set(re.findall(r"`(wait\.[a-z0-9-]+)`", section)) == {
        written(name) for name in figures if name.startswith("wait_")
    }
    least = "at 3, 11 and 4 segments for 30, 100 and 60 prompts/s"
    assert least in section
    for name, rate, number in (("16", 30, 3), ("17", 100, 11), ("18", 60, 4)):
        title = figures[f"wait_figure_{name}"]["title"]
        assert f"t {rate} prompts/s" in title
        assert f"least at {number} segments" in title
