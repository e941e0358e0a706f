"""`fluidkv size`: what is printed, its JSON and files, and one line for bad input."""

import csv
import json

import pytest

from fluidkv.cli import main
from fluidkv.traces import Trace
from fluidkv.traces.write import write_mooncake

CLOCK = ("--clock", "0.01:1e-6:1e-5")
TWO = ("--class", "40:30", "--class", "120:60", *CLOCK)
SLO = ("--slo", "ttft_p99=0.5s", "--slo", "tpot_p99=30ms")
QUICK = (*TWO, *SLO, "--qps", "8", "--requests", "30", "--runs", "1", "--within", "0.2")
QUICK = (*QUICK, "--draws", "5", "--horizon", "200")


def shown(capsys, *argv: str) -> str:
    assert main(["size", *argv]) == 0
    return capsys.readouterr().out


def test_the_next_day_needs_a_server_more(capsys):
    """One draw of 300 requests says 2, with 78.5 % to spare; of longer ones, most miss with 2."""
    argv = "sample:vllm-rtx4090 --find replicas --qps 3 --slo ttft_p99=2s --json"
    found = json.loads(shown(capsys, *argv.split()))
    assert (found["answer"]["value"], found["of_runs"]["value"]) == (3, 2)
    assert found["against_bias"]["value"] == 3
    draws = found["draws"]
    assert (draws["count"], draws["requests"], draws["may_miss"]) == (40, 3000, 0)
    assert draws["not_met_at"] == 2
    assert draws["worst"]["ttft_p99"] <= 2
    assert draws["stretch"]["arrivals"] == "Poisson"


@pytest.mark.thorough
def test_files_have_a_row_for_every_size(capsys, tmp_path):
    shown(capsys, *QUICK, "--out", str(tmp_path))
    rows = list(csv.DictReader((tmp_path / "sizes.csv").read_text().splitlines()))
    found = json.loads((tmp_path / "size.json").read_text())
    sizes = {(row["tokens"], row["rate"]) for row in found["sizes"] + found["other_sizes"]}
    assert {(int(row["tokens"]), float(row["rate"])) for row in rows} == sizes
    assert (tmp_path / "size.png").stat().st_size > 0


@pytest.mark.thorough
def test_a_trace_comes_at_its_own_times_or_faster(capsys, tmp_path):
    times = tuple(0.25 * place for place in range(40))
    path = tmp_path / "trace.jsonl"
    write_mooncake(Trace((40, 120) * 20, (30, 60) * 20, times), path)
    own = " ".join(shown(capsys, str(path), *CLOCK, *SLO).split())
    assert "the source's own times, 4 requests a second" in own
    fast = " ".join(shown(capsys, str(path), *CLOCK, *SLO, "--qps", "8").split())
    assert "2 times as fast: 8 requests a second" in fast


@pytest.mark.thorough
def test_a_log_brings_its_server_and_its_error(capsys, traces_dir):
    """Measured, and simulated at the log's own memory: p99 TTFT 137.4 s, within 3 %."""
    argv = (str(traces_dir / "vllm_rtx4090_llama31_8b"), "--slo", "ttft_p99=60s", "--json")
    assert main(["size", *argv]) == 0
    found = json.loads(capsys.readouterr().out)
    today, ttft = found["today"], found["bias"]["ttft_p99"]
    assert (today["tokens"], today["met"]) == (41_392, False)
    assert today["metrics"]["ttft_p99"] == pytest.approx(ttft["simulated"], rel=0.01)
    assert ttft["measured"] == pytest.approx(137.36, abs=0.01)
    assert abs(ttft["relative"]) < 0.03
    against = found["against_bias"]
    assert against["bar"] >= max(ttft["error_bar"], 0.01)
    assert against["value"] is None  # where iterations last so much longer, no memory is enough
    assert against["tried"][0] == found["answer"]["value"] > 41_392
