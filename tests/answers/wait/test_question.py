"""`fluidkv wait`: its answer in values and words, and what is refused."""

import json
import math
import re
import shlex
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fluidkv.cli import main
from fluidkv.figures.registry import written
from tests.cli.answered import refusal
from tests.questions.asked import text_of, values_of

TWO = ["--type", "1:1:1", "--type", "1:1:2", "--d0", "0.1", "--d1", "0.1"]
NINE = [*TWO, "--capacity", "9"]
NESTED = [*TWO, "--capacity", "200", "--unknown-lengths"]
QUIET = "--no-simulate"
SHORT = ["--seeds", "2", "--run-time", "60"]


def values(*argv: str) -> dict[str, Any]:
    return values_of("wait", shlex.join(argv))


def words(*argv: str) -> str:
    """The text, in one line."""
    return " ".join(text_of("wait", shlex.join(argv)).split())


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Six prompts in ten seconds, of two outputs."""
    start = datetime(2024, 1, 1)
    rows = [f"{start + timedelta(seconds=2 * k)},{10 + k},{(20, 40)[k % 2]}" for k in range(6)]
    path = tmp_path / "azure.csv"
    path.write_text("\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *rows]) + "\n")
    return path


def test_two_types_fill_nine_tokens():
    found = values(*NINE, QUIET)
    assert found["fluid"] == {
        "stable": True,
        "stable_at_capacity": True,
        "iteration_time": 1,
        "memory": 9,
        "per_stage": [1, 1],
        "throughput": 3,
        "fits": True,
        "iteration_time_exact": "1",
        "memory_exact": "9",
        "per_stage_exact": ["1", "1"],
        "throughput_exact": "3",
    }
    assert found["thresholds"] == found["thresholds_integer"] == [1, 1]
    assert found["memory_needed"] == 9
    assert (found["fits"], found["reason"], found["nested"]) == (True, None, None)
    assert found["simulated"] is None


def test_decimals_are_read_exactly():
    """0.1 + 9 * 0.1 is 1; in doubles the load would not be 9/10 and the thresholds 2."""
    same = "--type 1.0:1:1 --type 1e0:1:2 --d0 1/10 --d1 1e-1 --capacity 9.0"
    assert values(*NINE, QUIET) == values(*same.split(), QUIET)


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


def test_a_capacity_that_does_not_suffice_is_an_answer():
    fluid = values(*TWO, "--capacity", "8", QUIET)["fluid"]
    assert (fluid["stable"], fluid["stable_at_capacity"], fluid["fits"]) == (True, False, False)
    text = words(*TWO, "--capacity", "8", QUIET)
    assert "fits NO: the balanced state holds" in text
    assert (
        "can keep up NO: a batch of 8 tokens does less work than comes; under any policy at least "
        "M* = 9 tokens are needed"
    ) in text
    nested = values(*TWO, "--capacity", "50", "--unknown-lengths", QUIET)
    assert not nested["fits"]
    assert "batch, waiting and tail need 105 tokens for delta = 0.01" in nested["reason"]
    assert "would help 105 KV tokens" in words(*TWO, "--capacity", "50", "--unknown-lengths", QUIET)


def test_own_thresholds_and_segments():
    found = values(*TWO, "--capacity", "50", "--threshold", "3", "--threshold", "3", QUIET)
    assert (found["given"]["thresholds"], found["given"]["memory"]) == ([3, 3], 27)
    rest = "--d0 0.1 --d1 0.01 --capacity 99 --unknown-lengths --segment 2"
    nested = values(*TWO[:4], *rest.split(), QUIET)["nested"]
    assert (nested["segment_ends"], nested["best"], nested["eta"]) == ([2], None, [])


def test_a_trace_gives_its_rate_and_says_what_binning_did(trace):
    argv = [str(trace), "--d0", "0.01", "--d1", "1e-6", "--capacity", "2000", QUIET]
    found = values(*argv)
    binning = found["binning"]
    assert (binning["rate"], binning["bins"]) == (0.5, 10)
    assert binning["rate_from"] == "6 prompts in 10 s"
    assert [t["output_length"] for t in found["types"]] == [20, 40]
    assert binning["output_error"] == 0  # both outputs end a bin
    assert sum(t["arrival_rate"] for t in found["types"]) == pytest.approx(0.5)
    assert found["unit"] == "s"
    assert "outputs in 10 bins of equal width (2 types, 8 bins empty)" in words(*argv)
    assert values(*argv, "--rate", "2")["binning"]["rate"] == 2
    one = values(*argv, "--bins", "1")
    assert len(one["types"]) == 1
    assert one["binning"]["output_error"] == pytest.approx(1 / 3)  # 40 for a mean of 30
    text = words(*argv, "--bins", "1")
    assert "outputs in 1 bin of equal width: load +" in text
    assert "mean output +33.3%" in text


def test_a_preset_and_a_named_clock():
    argv = ["--preset", "alpaca", "--rate", "5", "--clock", "vidur-llama3-8b-a100"]
    found = values(*argv, "--capacity", "41408", "--bins", "4", QUIET)
    assert (found["d0"], found["d1"], found["unit"]) == (0.00993, 1.656e-7, "s")
    assert len(found["types"]) == 4


def test_prefill_is_an_option_or_comes_with_a_clock():
    own = ["--d2", "1/40"]
    free, paid = (values(*TWO, "--capacity", "200", QUIET, *d2) for d2 in ([], own))
    assert (free["d2"], paid["d2"]) == (0, 0.025)
    # rho = d1 sum(rate c) + d2 sum(rate l), of two types with one input token each
    assert paid["load"] == pytest.approx(free["load"] + 0.025 * 2)
    assert paid["fluid"]["iteration_time_exact"] != free["fluid"]["iteration_time_exact"]
    assert "per_prefill_token" in [row["parameter"] for row in paid["sensitivity"]]
    assert "per_prefill_token" not in [row["parameter"] for row in free["sensitivity"]]
    timed = [*TWO[:4], "--capacity", "200", QUIET, "--clock"]
    numbers = values(*timed, "0.01:1e-6:1e-4")
    assert (numbers["d0"], numbers["d1"], numbers["d2"]) == (0.01, 1e-6, 1e-4)
    named = values(*timed, "vllm-llama3.1-8b-rtx4090")
    assert (named["d2"], named["unit"]) == (8.68e-5, "s")
    text = words(*timed, "llama-3.1-8b@h100")
    assert "modelled, not measured" in text
    assert "D3, is left out" in text
    many = [*TWO[:4], QUIET, "--capacity", "1e6", "--clock", "vllm-llama3.1-8b-rtx4090"]
    assert "1,000,000 KV tokens, and the clock holds up to 41,352" in words(*many)


def test_a_clock_without_prefill_says_no_time_to_first_token():
    argv = [*TWO[:4], "--capacity", "200", "--seeds", "1", "--run-time", "30", "--clock"]
    found = values(*argv, "vidur-llama3-8b-a100")
    assert found["theorem_1"]["ttft"] == [None, None]
    assert all(each["ttft_p99"] == [None] for each in found["simulated"]["policies"])
    assert "it says no time to first token" in words(*argv, "vidur-llama3-8b-a100")
    paid = values(*argv, "vidur-llama3-8b-a100-prefill")
    assert None not in paid["theorem_1"]["ttft"]
    assert "no time to first token" not in words(*argv, "vidur-llama3-8b-a100-prefill")


def test_runs_stand_beside_first_come_first_served():
    found = values(*NINE, *SHORT)["simulated"]
    assert (found["seeds"], found["duration"], found["short"]) == (2, 60, False)
    names = [each["name"] for each in found["policies"]]
    assert names == ["WAIT", "FCFS, new first", "FCFS, running first"]
    own, new_first, _ = found["policies"]
    assert own["evictions"] == [0, 0]
    assert all(evictions > 0 for evictions in new_first["evictions"])
    assert set(own) == {
        "name", "throughput", "latency_mean", "latency_p99", "ttft_mean", "ttft_p99",
        "evictions", "peak_memory", "left",
    }  # fmt: skip


def test_text_of_two_types():
    text = words(*NINE, *SHORT)
    for said in (
        "2 prompt types, 9 KV tokens",
        "can keep up yes: load 0.9, below 1; 2 prompts per unit of time, below 2.222",
        "an iteration lasts 1 and holds M* = 9 KV tokens",
        "per stage 1 of type 1:1 (input:output), 1 of 1:2",
        "let in 1 of 1:1, 1 of 1:2",
        "memory at most 9 KV tokens, always",
        "mean time at most 320.3 for the slowest type (our constants for Theorem 1)",
        "of M*, most for each +1%: d1 +9%, output of 1:2 +7.78%, rate of 1:2 +6.67%",
        "thresholds with slack hold 18 KV tokens",
        "fits yes, 9 KV tokens suffice",
        "FCFS, new first",
    ):
        assert said in text, said


def test_a_load_with_a_fraction_of_a_prompt_an_iteration_is_told_so_first():
    argv = ["--type", "1:1:50", "--type", "1:1:99", "--d0", "0.01", "--d1", "1e-6"]
    found = values(*argv, "--capacity", "1000", QUIET)
    assert found["not_for_wait"]
    assert found["come_in_an_iteration"] < 0.5
    assert found["fluid"]["fits"]
    text = words(*argv, "--capacity", "1000", *SHORT)
    held = math.ceil(100 * found["fluid"]["memory"]) / 100
    assert (
        "come WAIT is not for this load: 0.01 prompts of a type come in an iteration, and a "
        f"threshold is at least 1. The load itself fits (M* = {held}). In these runs FCFS evicts "
        "nobody and is faster. let in"
    ) in text
    assert "would help" not in text
    nested = words(*argv, "--capacity", "1000", "--unknown-lengths", QUIET)
    assert "Nested WAIT is not for this load: 0.0" in nested
    plenty = values(*argv, "--capacity", "100000", QUIET)
    assert (plenty["fits"], plenty["not_for_wait"]) == (True, False)


def test_who_is_ahead_is_said_below_the_table():
    text = words(*NINE, *SHORT)
    assert re.search(r"Here WAIT evicts nobody and completes [0-9.]+% more tokens than FCFS", text)
    text = words(*NESTED, *SHORT)
    assert "Here nobody is evicted, and first come, first served is" in text


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        ([*TWO, "--capacity", "100000000000"], "--capacity 100000000000; allowed: fewer than"),
        (["--type", "1:1:1000000", "--d0", "1e-9", "--d1", "1e-14", "--capacity", "1e9"],
         "--run-time 20; allowed: at most 0.0599 with"),
    ],
)  # fmt: skip
def test_runs_that_cannot_be_made_leave_the_exact_answer(argv, why):
    text = words(*argv)
    assert "can keep up yes" in text
    assert f"not simulated: {why}" in text
    found = values(*argv)
    assert found["simulated"] is None
    assert found["not_simulated"].startswith(why.split()[0])


def test_an_idle_server_is_run():
    argv = ["--type", "1e-9:1:1", "--type", "1e-9:1:2", *TWO[4:], "--capacity", "9"]
    assert "Here nobody is evicted" in words(*argv)


def test_a_queue_that_cannot_grow_never_overflows():
    argv = [*TWO[:4], "--d0", "1", "--d1", "0", "--unknown-lengths", "--segment", "2", QUIET]
    text = words(*argv, "--capacity", "60")
    assert "can keep up yes: memory costs no time, and only the capacity limits" in text
    assert "never more, whatever comes" in text
    assert "fits yes: memory never exceeds this capacity" in text
    assert "probability" not in text


def test_a_chance_too_small_to_tell_is_not_written_out():
    argv = [*TWO, "--capacity", "400", "--unknown-lengths", QUIET]
    assert 0 < values(*argv)["nested"]["delta_at_capacity"] < 1e-30
    assert "overflows with probability <= 1e-15" in words(*argv)


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


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([*TWO[4:], "--capacity", "9"], "SOURCE: got 'none'; allowed: exactly one of"),
        (["x.csv", *NINE], "SOURCE: got 'SOURCE and --type'"),
        ([*TWO[4:], "--capacity", "9", "--preset", "alpaca", "--type", "1:1:1"], "SOURCE: got"),
        (["no_such.csv", *TWO[4:], "--capacity", "9"], "SOURCE: got 'no_such.csv'"),
        ([*NINE[:-2]], "--capacity: got 'none'; allowed: a number of KV tokens"),
        ([*TWO, "--capacity", "9.5"], "--capacity: got '9.5'; allowed: a whole number"),
        ([*TWO[4:], "--preset", "nope", "--capacity", "9"], "--preset: got 'nope'"),
        ([*NINE, "--delta", "0.1"], "--delta: got '1/10'; allowed: together with --unknown"),
        ([*NINE, "--run-time", "1e9"], "--run-time: got 1000000000; allowed: at most 60,000 with"),
        ([*NINE, "--run-time", "1e-5"], "--run-time: got 1e-05; allowed: a time before which"),
        ([*TWO, "--capacity", "2"], "--capacity: got 2; allowed: at least 3 tokens"),
        (["--type", "1:1", *NINE[4:]], "--type: got '1:1'; allowed: RATE:IN:OUT"),
        (["--type", "0:1:1", *NINE[4:]], "--type: got '0:1:1'"),
        (["--type", "1:0:1", *NINE[4:]], "--type: got '1:0:1'"),
        (["--type", "1:1:1.5", *NINE[4:]], "--type: got '1:1:1.5'"),
        (["--type", "x:1:1", *NINE[4:]], "--type: got 'x'; allowed: RATE:IN:OUT"),
        (["--type", "1:1:1", *NINE], "--type: got '1:1 twice'"),
        ([*TWO[:6], "--capacity", "9"], "--d1: got 'none'"),
        ([*NINE, "--clock", "iteration"], "--clock: got 'iteration'; allowed: either"),
        ([*TWO[:4], "--clock", "sundial", "--capacity", "9"], "--clock: got 'sundial'"),
        (["--type", "3:1:1", *TWO[4:], "--capacity", "9", "--type", "3:1:2"],
         "--type: got '6 prompts per unit of time'; allowed: below 2.22222"),
        ([*NESTED, "--delta", "1"], "--delta: got '1'; allowed: a probability strictly"),
        ([*NINE, "--horizon", "0.01"], "--horizon: got '1/100'; allowed: at least d0"),
        ([*NINE, "--threshold", "1"], "--threshold: got '1 of them'; allowed: 2, one a type"),
        ([*NINE, "--threshold", "1", "--threshold", "2"],
         "--threshold: got [1, 2]; allowed: at least 1.857"),
        ([*NINE, "--threshold", "2", "--threshold", "2"],
         "--threshold: got [2, 2]; allowed: sum n c of at most 9 tokens"),
        ([*NESTED, "--threshold", "8", "--threshold", "4"],
         "--threshold: got [8, 4]; allowed: n_k > p_k n_(k-1)"),
        ([*NESTED, "--segment", "2", "--segment", "1"], "--segment: got [2, 1]"),
        ([*NESTED, "--segment", "2"], "--segment: got '2 prompts per unit of time'"),
        ([*NESTED, "--segment", "3"], "--segment: got 3; allowed: output lengths"),
        ([*NINE, "--segment", "2"], "--segment: got '2'; allowed: together with"),
        (["--type", "1:1:1", "--type", "1:2:2", *TWO[4:-1], "0.01", "--capacity", "99",
          "--unknown-lengths"], "--unknown-lengths: got [1, 2]; allowed: one input length"),
        (["--preset", "alpaca", *TWO[4:], "--capacity", "9"], "--rate: got 'none'"),
        ([*NINE, "--rate", "2"], "--rate: got '2'; allowed: together with SOURCE"),
        ([*NINE, "--bins", "2"], "--bins: got '2'; allowed: together with SOURCE"),
        ([*NINE, "--format", "csv"], "--format: got 'csv'; allowed: together with SOURCE"),
    ],
)  # fmt: skip
def test_bad_input_gets_one_line(argv, message, capsys):
    assert refusal(capsys, "wait", *argv).startswith(f"fluidkv: {message}")


def test_bins_that_make_the_load_too_large_are_named(capsys, trace):
    rate = "400"  # the load of the trace itself is 0.7, of one bin 1.1
    argv = [str(trace), "--d0", "0.01", "--d1", "2.1e-6", "--capacity", "2000", "--rate", rate]
    message = refusal(capsys, "wait", *argv, "--bins", "1", QUIET)
    assert message.startswith("fluidkv: --bins: got 1; allowed: more: with these the load is 1.")


def test_a_log_says_how_much_memory_there_is():
    options = ["sample:vllm-rtx4090", "--clock", "llama-3.1-8b@h100", "--no-simulate"]
    assert "prompt types, 41,408 KV tokens" in words(*options)


def test_the_clock_of_a_log_serves_other_prompts(capsys):
    """`--clock-from` is the clock that a log folder brings to other commands."""
    log = "sample:vllm-rtx4090"
    argv = ["wait", "--preset", "alpaca", "--qps", "2", "--capacity", "41408", "--no-simulate"]
    assert main([*argv, "--clock-from", log]) == 0
    assert f"(from {log})" in " ".join(capsys.readouterr().out.split())
    assert "either --clock or --clock-from" in refusal(
        capsys, *argv, "--clock-from", log, "--clock", "0.01:1e-6"
    )
    assert "either --clock-from, or --d0, --d1 and --d2" in refusal(
        capsys, *argv, "--clock-from", log, "--d0", "1"
    )
