"""`fluidkv preempt`: what is printed, stable keys, files, and one line for bad input."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from fluidkv.cli import main
from tests.answers.replay import sglang_logs
from tests.cli.answered import json_of, refusal

TWO = ["--class", "8:10", "--class", "30:20", "--capacity", "128"]
CLOCK = ["--clock", "0.1:1e-4:2e-3"]
FEW = ["--victim", "fewest-outputs", "--victim", "most-blocks"]
SMALL = [*TWO, *CLOCK, "--rate", "4", "--block-size", "4", "--requests", "24", "--seeds", "2"]


def shown(capsys, *argv: str) -> str:
    assert main(["preempt", *argv]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert "nan" not in text
    return " ".join(text.split())


def test_stable_keys(capsys):
    found = json_of(capsys, "preempt", *SMALL, *FEW, "--slo", "ttft=2s", "--slo", "tbt=400ms")
    assert found["engine"]["name"] == "vllm"
    assert (found["capacity"], found["block_size"], found["runs"]) == (128, 4, 2)
    assert found["objectives"]["ttft"] == 2
    assert found["objectives"]["tbt"] == pytest.approx(0.4)
    names = [row["victim"] for row in found["combinations"]]
    assert names == ["last-admitted", "fewest-outputs", "most-blocks"]
    metrics = found["combinations"][0]["metrics"]
    assert {"recompute_tax", "ttft_p99", "longest_gap_p99", "attained"} <= set(metrics)
    assert len(metrics["recompute_tax"]) == 2
    assert set(found["effects"]["recompute_tax"]["of"]) == {"victim"}
    assert found["aims"] == {"attained": 1, "throughput_per_time": 1}
    assert found["measured"] is None


def test_the_page_says_what_was_run_and_what_to_take(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    words = shown(capsys, *SMALL, "--slo", "0.5:2.5")
    assert "rules of vllm 0.33.0" in words
    assert words.count("least-computed*") == 2  # no release has it: a star, in both tables
    assert "Less last-admitted, in percent of it" in words
    assert "What matters tax victim" in words
    assert "4 per second" in words
    assert "cost-aware reads max_tokens" in words
    assert "times the means over what is compared" in words
    assert "--swap-per-token or --swap-gbps gives it a price" in words


def test_four_values_each_by_itself(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    several = ["--predictor", "perfect", "--predictor", "log-normal:sigma=1+constant:tokens=4"]
    words = shown(capsys, *SMALL, "--victim", "longest-remaining", *several)
    assert "Allocation by-block, predictor perfect: means of 2 runs" in words
    found = json_of(capsys, "preempt", *SMALL, "--victim", "longest-remaining", *several)
    assert [(row["victim"], row["predictor"]) for row in found["combinations"]] == [
        ("last-admitted", "perfect"),
        ("longest-remaining", "perfect"),
        ("last-admitted", several[3]),
        ("longest-remaining", several[3]),
    ]
    assert set(found["effects"]["longest_gap_p99"]["of"]) == {"victim", "predictor"}


def test_the_engine_comes_first_and_the_others_by_throughput(capsys):
    assert main(["preempt", *SMALL]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("victim, restore"))
    rows = lines[start + 1 : start + 14]
    assert rows[0].startswith("last-admitted <")
    speeds = [float(row.split("<")[-1].split()[-3]) for row in rows[1:]]
    assert speeds == sorted(speeds, reverse=True)


def test_who_needs_true_lengths_is_taken_only_where_they_are_known(capsys):
    chats = ["--class", "60:40:1/2", "--class", "150:100:1/4", "--class", "40:160:1/4"]
    server = ["--capacity", "2400", "--rate", "10", "--clock", "0.02:1e-6:1e-4"]
    some = [*chats, *server, "--requests", "150", "--victim", "longest-remaining"]
    found = json_of(capsys, "preempt", *some)
    assert [row["knows_lengths"] for row in found["combinations"]] == [False, True]
    assert (found["pick"]["index"], found["pick"]["untold"]) == (0, [1])
    assert "not taken longest-remaining*" in shown(capsys, *some)
    words = shown(capsys, *some, "--predictor", "perfect")
    assert "take victim longest-remaining, which needs the true length of every answer" in words
    assert "not taken" not in words


def test_a_clock_without_prefill_makes_recomputing_free(capsys):
    text = shown(capsys, *TWO, *FEW, "--requests", "40", "--seeds", "2")
    assert "recomputing is free: prefill takes no time on this clock" in text
    assert "their TTFT says nothing" in text
    assert "recomputing is free" not in shown(capsys, *SMALL, *FEW)


def test_one_seed_and_no_preemption_give_no_pick(capsys):
    assert "one run does not say what another would give" in shown(
        capsys, *SMALL, *FEW, "--seeds", "1"
    )
    calm = ["--capacity", "4096", "--rate", "0.1"]
    words = shown(capsys, *SMALL, *FEW, *calm)
    assert "leave it nothing is preempted" in words


def test_files_are_written(capsys, tmp_path):
    out = tmp_path / "out"
    assert main(["preempt", *SMALL, *FEW, "--slo", "1.5", "--out", str(out)]) == 0
    names = {path.name for path in out.iterdir()}
    assert {"preempt.json", "preempt.csv", "victims.png", "victims.svg"} <= names
    text = (out / "preempt.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    assert len(rows) == 6
    assert {row["victim"] for row in rows} == {"last-admitted", "fewest-outputs", "most-blocks"}
    assert all(float(row["attained"]) <= 1 for row in rows)


def test_a_trace_with_a_clock_is_replayed(capsys, tmp_path):
    path = tmp_path / "trace.csv"
    rows = [f"{0.3 * n:.1f},{10 + n % 20},{5 + n % 15}" for n in range(60)]
    path.write_text("arrival_time,prompt_tokens,output_tokens\n" + "\n".join(rows) + "\n")
    said = tmp_path / "said.csv"
    said.write_text("request,predicted\n" + "".join(f"{n},{7}\n" for n in range(59)))
    where = [str(path), "--capacity", "128", *CLOCK, *FEW]
    found = json_of(capsys, "preempt", *where)
    assert found["demand"]["kind"] == "replay"
    assert (found["runs"], found["requests"], found["pairs"]) == (1, 60, "segment")
    parts = json_of(capsys, "preempt", *where, "--requests", "20", "--seeds", "3")
    assert (parts["runs"], parts["requests"], parts["pairs"]) == (3, 20, "run")
    line = refusal(capsys, "preempt", *where, "--seeds", "2")
    assert "--seeds: got 2; allowed: at most 1: the trace has 60 requests" in line
    line = refusal(capsys, "preempt", *where, "--predictor", f"file:{said}")
    assert line.startswith("fluidkv: --predictor: got '/")
    assert "request 59 has none" in line


def test_swapping_with_a_price_is_compared(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    swap = ["--swap-per-token", "1e-4", "--swap-pool", "60"]
    words = shown(capsys, *SMALL, "--victim", "last-admitted", *swap)
    assert "0.0001 s a token each way, one copy after the other; host pool: 60 tokens" in words
    assert "What matters tax restore" in words
    wide = [*SMALL, "--victim", "longest-remaining", "--slo", "0.5:2.5", "--predictor", "mean"]
    assert "longest-remaining* recompute" in shown(capsys, *wide, "--predictor", "blind", *swap)
    found = json_of(capsys, "preempt", *SMALL, "--victim", "last-admitted", *swap)
    taxes = {row["restore"]: row["metrics"]["recompute_tax"] for row in found["combinations"]}
    assert set(taxes) == {"recompute", "swap", "cheaper"}
    assert all(s < r for s, r in zip(taxes["swap"], taxes["recompute"], strict=True))
    # No copy costs besides its tokens, which are faster copied twice than computed: from 0 on.
    assert found["swap"]["sweet_spot"] == 0
    slow = json_of(
        capsys, "preempt", *SMALL, "--victim", "last-admitted", "--swap-per-token", "1e-2"
    )
    assert slow["swap"]["sweet_spot"] == 2**30


def _profile(
    path, *, swap=lambda s: 1e-5 * s + 0.04, lengths: Sequence[int] = range(1000, 9000, 1000)
):
    rows = [f"{s},{1e-9 * s**2 + 1e-5 * s + 0.02},{swap(s)}" for s in lengths]
    path.write_text("\n".join(["length,recompute_s,swap_s", *rows]) + "\n")
    return ["--profile", str(path)]


def test_a_profile_gives_price_and_sweet_spot(capsys, tmp_path):
    given = _profile(tmp_path / "profile.csv")
    found = json_of(capsys, "preempt", *SMALL, "--victim", "last-admitted", *given)
    assert found["swap"]["per_token"] == pytest.approx(5e-6, rel=1e-6)
    # 1e-9 S^2 = 0.02
    assert found["swap"]["sweet_spot"] == pytest.approx(4472, abs=1)
    assert "sweet spot 4,472 ± 0 tokens" in shown(capsys, *SMALL, *FEW, *given)
    own = json_of(
        capsys, "preempt", *SMALL, "--victim", "last-admitted", *given, "--sweet-spot", "7"
    )
    assert own["swap"]["sweet_spot"] == 7


def test_profiles_that_cannot_be_fitted_are_one_line(capsys, tmp_path):
    few = _profile(tmp_path / "few.csv", lengths=(1000, 2000, 3000))
    line = refusal(capsys, "preempt", *SMALL, *few)
    assert line.startswith("fluidkv: --profile: got '3 points of 3 lengths'; allowed: 4 lengths")
    falls = _profile(tmp_path / "falls.csv", swap=lambda s: 1 - 1e-5 * s)
    line = refusal(capsys, "preempt", *SMALL, *falls)
    assert line.startswith("fluidkv: --profile: got ")
    assert "times that fall by 10%" in line
    (tmp_path / "other.csv").write_text("length,seconds\n1,2\n")
    line = refusal(capsys, "preempt", *SMALL, "--profile", str(tmp_path / "other.csv"))
    assert "a CSV with the columns length and recompute_s" in line
    alone = [*TWO, "--rate", "4", *few]
    assert "--clock in seconds" in refusal(capsys, "preempt", *alone)


PRICED = ["--swap-gbps", "20", "--kv-bytes", "131072"]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--victim", "fastest"], "--victim: got 'fastest'; allowed: one of last-admitted"),
        (["--restore", "both"], "--restore: got 'both'"),
        (["--restore", "swap"], "--restore: got 'swap'; allowed: together with a price"),
        ([*PRICED, "--swap-per-token", "1"], "--swap-gbps: got '20'; allowed: not together with"),
        (["--allocation", "lots"], "--allocation: got 'lots'"),
        (["--predictor", "fastest"], "--predictor: got 'fastest'"),
        (
            ["--predictor", "perfect+confidence:alpha=8"],
            "--predictor perfect+confidence:alpha: got 8",
        ),
        (
            ["--predictor", "perfect+confidence:beta=0"],
            "--predictor perfect+confidence:beta: got 0",
        ),
        (
            ["--predictor", "perfect+confidence:low=9,high=2"],
            "--predictor perfect+confidence:high: ",
        ),
        (["--predictor", "file:/nowhere.csv"], "--predictor: got '/nowhere.csv'"),
        (["--slo", "ttft=0"], "--slo: got 'ttft=0'; allowed: a time above 0"),
        (["--slo", "tbt=-1s"], "--slo: got 'tbt=-1s'; allowed: a time above 0"),
        (["--slo", "0"], "--slo: got '0'"),
        (["--slo", "2.5:0.5"], "--slo: got '2.5:0.5'; allowed: a scale above 0, or two, the least"),
        (["--slo", "1.5", "--slo", "ttft=2s"], "--slo: got '1.5'"),
        (["--slo", "latency=2s"], "--slo: got 'latency=2s'"),
        (["--swap-pool", "1000"], "--swap-pool: got '1000'; allowed: together with --swap-per"),
        (["--swap-gbps", "20"], "--swap-gbps: got '20'; allowed: together with --kv-bytes"),
        (["--swap-gbps", "0", "--kv-bytes", "10"], "--swap-gbps: got '0'"),
        (["--host-memory", "64"], "--host-memory: got '64'; allowed: together with --kv-bytes"),
        (
            [*PRICED, "--swap-pool", "1000", "--host-memory", "0.1"],
            "--swap-pool: got 1000; allowed: at most 762 tokens, which 0.1 GB hold",
        ),
        (["--seeds", "0"], "--seeds: got '0'"),
        (["--engine", "vllm+cache"], "--engine: got 'vllm+cache'"),
        (["--block-size", "3"], "--block-size: got 3; allowed: blocks that make up"),
        (["--capacity", "40"], "--capacity: got 40; allowed: memory for the largest request"),
        (["--preset", "alpaca"], "SOURCE"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line(capsys, argv, said):
    given = ["--class", "8:10", "--capacity", "128", *CLOCK, "--rate", "4", "--block-size", "4"]
    if "--capacity" in argv:
        given = ["--class", "30:20", *CLOCK, "--rate", "4", "--block-size", "4"]
    assert refusal(capsys, "preempt", *given, *argv).startswith(f"fluidkv: {said}")


def test_seconds_need_a_clock(capsys):
    line = refusal(capsys, "preempt", *TWO, "--slo", "tbt=100ms")
    assert "numbers of iterations, or --clock for seconds" in line
    assert "--clock in seconds" in refusal(capsys, "preempt", *TWO, *PRICED)
    line = refusal(capsys, "preempt", *TWO, "--slo", "ttft=100")
    assert line.startswith("fluidkv: --slo: got 'ttft=100'")


def test_nothing_is_written_where_something_is_refused(capsys, tmp_path: Path):
    out = tmp_path / "out"
    refusal(capsys, "preempt", *SMALL, "--slo", "ttft=0", "--out", str(out))
    assert not out.exists()


def test_a_clock_without_prefill_says_no_time_to_first_token(capsys):
    free = [*TWO, *FEW, "--requests", "40", "--seeds", "2", "--rate", "1", "--clock", "0.1:1e-4"]
    words = shown(capsys, *free)
    assert "TTFT p99" not in words
    assert "it says no time to first token: give --clock D0:D1:D2" in words
    assert "TTFT p99" in shown(capsys, *free[:-1], "0.1:1e-4:1e-3")
    refused = refusal(capsys, "preempt", *free, "--slo", "ttft=2s")
    assert "--slo: got 'ttft=2'" in refused
    assert "no time to first token" in refused


def test_a_log_of_sglang_is_held_against_by_the_output_that_it_says(capsys, tmp_path):
    """It has no time of a token; how long its run lasted is in its meta.json."""
    sglang_logs.write_log(tmp_path, count=60)
    meta = json.loads((tmp_path / "meta.json").read_text())
    del meta["schedule_conservativeness"]  # else it is another server than these rules are
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    found = json_of(capsys, "preempt", str(tmp_path), "--victim", "fewest-outputs")
    assert list(found["measured"]) == ["output_throughput_per_time"]
