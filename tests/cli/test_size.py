"""`fluidkv size`: what is printed, its JSON and files, and one line for bad input."""

import csv
import json

import pytest

from fluidkv.cli import main
from fluidkv.traces import Trace
from fluidkv.traces.write import write_mooncake
from tests.cli.answered import refusal

CLOCK = ("--clock", "0.01:1e-6:1e-5")
TWO = ("--class", "40:30", "--class", "120:60", *CLOCK)
SLO = ("--slo", "ttft_p99=0.5s", "--slo", "tpot_p99=30ms")
QUICK = (*TWO, *SLO, "--qps", "8", "--requests", "30", "--runs", "1", "--within", "0.2")
QUICK = (*QUICK, "--draws", "5", "--horizon", "200")
SHAREGPT = (
    *("--preset", "sharegpt", "--qps", "1", *CLOCK, "--slo", "ttft_p99=60s", "--within", "0.2"),
    *("--requests", "20", "--runs", "1", "--draws", "5", "--horizon", "500"),
)


def shown(capsys, *argv: str) -> str:
    assert main(["size", *argv]) == 0
    return capsys.readouterr().out


def test_the_page_says_the_answer_the_cliff_and_the_theory(capsys):
    page = shown(capsys, *QUICK, "--capacity", "4k", "--kv-bytes", "1000")
    for words in (
        "smallest KV pool",
        "tokens (",
        " GB)",
        "to spare",
        "no measurement holds it: no log",
        "The cliff",
        "less memory",
        "faster arrivals",
        "Theory",
        "critical rate",
        "the same at every size",
        "4k = 4,000 tokens",
    ):
        assert words in " ".join(page.split()), words
    assert max(map(len, page.splitlines())) <= 80


def test_the_page_says_for_how_many_draws_it_holds(capsys):
    page = " ".join(shown(capsys, *QUICK, "--horizon", "30s").split())
    assert "holds for 83% of draws like it: all of 5 fresh draws of 240 requests meet it" in page
    assert "worst draw ttft_p99 0." in page
    assert "in 67% of draws" in page  # from the least to the most of 5
    assert "draws lengths by their shares; Poisson arrivals" in page
    none = " ".join(shown(capsys, *QUICK, "--draws", "0").split())
    assert "holds for" not in none
    assert "draws" not in none


def test_a_count_is_said_of_as_many_requests_as_a_draw_has(capsys):
    """3 in the 30 requests of a run are 20 in the 200 of a draw, to which the answer is held."""
    page = " ".join(shown(capsys, *QUICK, "--slo", "preemptions=3").split())
    assert "and preemptions <= 20 in 200 requests at 8 requests a second, in 83% of draws" in page
    assert "(bound 20 for 200 requests)" in page
    assert "asked preemptions <= 3: " in page


def test_the_largest_request_of_the_draws_has_room(capsys):
    """20 requests would do with less than the largest of 500 others needs."""
    page = " ".join(shown(capsys, *SHAREGPT).split())
    assert "smallest KV pool 1,920 tokens (120 blocks) holds for 83% of draws like it" in page
    assert "these alone 1,120 tokens (70 blocks)" in page


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
def test_a_rate_needs_no_first_guess(capsys):
    argv = (*TWO, *SLO, "--find", "rate", "--capacity", "64b", "--requests", "40", "--runs", "1")
    page = " ".join(shown(capsys, *argv).split())
    assert "highest rate" in page
    assert "64b = 1,024 tokens, 16 in a block" in page


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


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ((*TWO, "--qps", "8"), "--slo: got 'none'"),
        ((*TWO, "--slo", "ttft_p99=1s"), "--qps: got 'none'"),
        ((*QUICK, "--find", "rate"), "--capacity: got 'none'"),
        ((*QUICK, "--capacity", "96", "--find", "rate"), "120 input + 60 output tokens"),
        (
            (*SHAREGPT, "--find", "rate", "--capacity", "1200"),
            "tokens, which the largest request of the fresh draws needs; with 0 draws less",
        ),
        ((*QUICK, "--capacity", "1001", "--block-size", "16"), "--block-size: got 16"),
        ((*QUICK, "--slo", "ttft_p99=1ms"), "no KV pool meets ttft_p99=0.001s"),
        ((*QUICK, "--slo", "ttfp=1ms"), "--slo: got 'ttfp=1ms'"),
        ((*QUICK, "--horizon", "0"), "--horizon: got '0'; allowed: 1 to 1,000,000 requests, or a"),
        ((*QUICK, "--horizon", "3d"), "--horizon: got '3d'"),
        ((*QUICK, "--horizon", "1000h"), "--horizon: got '28,800,000 requests'"),
        (
            ("--class", "8:8", "--clock", "0.01:1e-6", "--slo", "ttft_p99=1s", "--qps", "1"),
            "--slo: got 'ttft_p99'",
        ),
    ],
)
def test_bad_input_is_one_line(capsys, argv, said):
    assert said in refusal(capsys, "size", *argv)


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
