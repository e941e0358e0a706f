"""`fluidkv recommend`: what is printed, the exit codes, and one line for bad input."""

import csv
import json
import os
import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from fluidkv.answers import recommend_settings
from fluidkv.answers.recommend.page import run_rows
from fluidkv.answers.served.demand import Demand
from fluidkv.answers.served.setting import Setting
from fluidkv.cli import main
from fluidkv.prefix import Prompts, content
from fluidkv.runs.measuring import metrics
from fluidkv.runs.requests import Requests
from fluidkv.serving.engines import ENGINES
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.traces import read_trace
from tests.answers.replay import sglang_logs
from tests.cli.answered import json_of, refusal
from tests.traces.test_formats import MOONCAKE

TWO = ["--class", "8:10", "--class", "8:20", "--capacity", "400"]
FEW = ["--watermark", "0,0.1", "--max-num-seqs", "12,20", "--rate-cap", "1/2"]
QUICK = [*TWO, *FEW, "--requests", "104", "--runs", "2"]  # what a run of 20 iterations needs


@pytest.fixture(autouse=True)
def _literal_engine(monkeypatch):
    """Small runs: compiling would take longer than they do. They are equal (tests/serving).

    With a cache nothing is compiled.
    """
    module = import_module("fluidkv.answers.served.cases")
    serve = module.serve

    def literal(requests, server, **options):
        backend = "auto" if server.served.caching else "reference"
        return serve(requests, replace(server, backend=backend), **options)

    monkeypatch.setattr(module, "serve", literal)


def shown(capsys, *argv: str, code: int = 0) -> str:
    assert main(["recommend", *argv]) == code
    return capsys.readouterr().out


def test_stable_keys(capsys):
    found = json_of(capsys, "recommend", *QUICK, "--clients", "25")
    version = ENGINES["vllm"].version
    assert found["engine"] == {"name": "vllm", "version": version, "text": "vllm"}
    assert (found["capacity"], found["block_size"]) == (400, 16)
    assert found["demand"] == {"kind": "clients", "clients": 25}
    assert found["clock"]["unit"] == "iteration"
    assert found["simulated"]["settings"] == 7  # now, 1 + 2 + 1 alone, 1 * 2 in pairs
    assert found["now"]["watermark"] == 0
    assert found["now"]["max_num_seqs"] is None
    assert {"output_throughput", "preemptions", "ttft_p99", "latency_p99"} <= set(
        found["pick"]["metrics"]
    )
    assert found["pick"] in found["frontier"]


@pytest.mark.thorough
def test_where_prefill_is_free_a_caution_stands_beside_the_gain(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    options = [*QUICK, "--clients", "25", "--slo", "preemptions=0"]
    section = shown(capsys, *options).split("What to set")[1].split("What if")[0]
    said = "prefill costs nothing here: a watermark looks worse than it is; it has no time to first"
    assert f"CAUTION {said} token; give --clock D0:D1:D2" in " ".join(section.split())
    assert "CAUTION" in shown(capsys, *options, "--clock", "0.01:1e-6")
    assert "CAUTION" not in shown(capsys, *options, "--clock", "0.01:1e-6:1e-4")
    caps = [*TWO, "--requests", "104", "--runs", "1", "--max-num-seqs", "12", "--rate-cap", "1/2"]
    words = " ".join(shown(capsys, *caps, "--engine", "sglang").split())
    assert "caps look worse than they are" in words


def test_runs_that_are_all_start_give_no_pick(capsys, tmp_path):
    options = [*TWO, *FEW, "--requests", "60", "--runs", "2", "--clients", "25"]
    text = shown(capsys, *options, "--out", str(tmp_path / "new"), code=1)
    assert "No pick" in text
    words = " ".join(text.split())
    assert "these runs are mostly their start; take more --requests" in words
    assert "is needed" not in words
    assert "no preemption" not in words
    assert "leave it" not in words
    manifest = json.loads((tmp_path / "new" / "manifest.json").read_text())
    assert "runs too short for a pick" in manifest["figures"]["frontier"]["title"]


def test_tokens_that_make_no_block_are_said(capsys):
    options = [*TWO, *FEW, "--requests", "120", "--runs", "1", "--capacity", "408"]
    assert "25 blocks of 16, 8 tokens unused" in " ".join(shown(capsys, *options).split())


def test_no_line_ends_in_blanks_and_written_to_fits(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    lines = shown(capsys, *QUICK, "--out", "new").splitlines()
    assert [line for line in lines if line != line.rstrip() or len(line) > 80] == []


def test_help_is_in_groups(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["recommend", "--help"]) == 0
    text = capsys.readouterr().out
    for title in ("Who asks", "The server", "What to try and to ask for", "The run"):
        assert f" {title} " in text
    rest = text.split(" Options ")[1].split(" Who asks ")[0]
    assert re.findall(r"--[a-z-]+", rest) == ["--help"]
    assert "each in [0, 1)." in " ".join(text.split())


def test_words_and_flags_within_80_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = shown(capsys, *QUICK, "--clients", "25", "--slo", "preemption_rate=0")
    assert max(len(line) for line in text.splitlines()) <= 80
    words = " ".join(text.split())
    assert "400 KV tokens, rules of vllm 0.33.0" in words
    assert "--max-num-seqs 12 (vllm 0.33.0)" in words
    assert "preemption_rate <= 0 request / iteration: met, worst run 0" in words
    assert "25 clients" in words
    assert "prefix caching" in words
    assert "no watermark tried ends it: 36.5 per run are left at 0.1" in words


def test_a_rate_limit_is_no_flag(capsys):
    options = [*QUICK[:6], "--requests", "104", "--watermark", "0", "--max-num-seqs", "60"]
    options += ["--rate-cap", "1/4", "--clients", "25", "--clock", "0.01", "--slo", "preemptions=0"]
    text = shown(capsys, *options)
    words = " ".join(text.split())
    # x* = 400 / 252.5 (tests/test_recommend.py); an iteration lasts 10 ms
    assert (
        "0.25 admissions per iteration (16% of what full memory completes), 25 per second at 10 ms "
        "per iteration" in words
    )
    assert "no engine has a flag: meets what is asked" in words
    found = json_of(capsys, "recommend", *options)
    assert found["pick"] is None
    assert found["pick_in_front"]["admission_rate"] == 0.25


def test_no_setting_meets_what_is_asked(capsys):
    options = [*QUICK, "--clients", "25", "--slo", "latency_p99=1"]
    found = json_of(capsys, "recommend", *options, code=1)
    assert found["pick"] is None
    text = shown(capsys, *options, code=1)
    assert "No setting meets what is asked" in text
    assert "MISSED" in text


def test_a_trace_with_times_is_replayed_on_a_clock_in_seconds(capsys, tmp_path):
    path = tmp_path / "some.csv"
    rows = "".join(f"{0.1 * i:.1f},8,{10 + 10 * (i % 2)}\n" for i in range(40))
    path.write_text("arrival_time,input_length,decode_length\n" + rows)
    options = [str(path), "--capacity", "400", "--runs", "2", "--watermark", "0,0.1"]
    timed = json_of(
        capsys, "recommend", *options, "--clock", "0.01:1e-6", "--requests", "20", "--speed", "2"
    )
    assert timed["demand"] == {"kind": "replay", "speed": 2}
    assert timed["simulated"]["runs_each"] == 2
    untimed = json_of(capsys, "recommend", *options, "--requests", "104")
    assert untimed["demand"] == {"kind": "saturated"}
    assert "--clock would replay them" in " ".join(
        shown(capsys, *options, "--requests", "104").split()
    )
    err = refusal(capsys, "recommend", *options, "--replay")
    assert "--replay" in err
    assert "clock in seconds" in err


def test_times_that_go_backwards_are_named(capsys, tmp_path):
    path = tmp_path / "some.csv"
    path.write_text("arrival_time,input_length,decode_length\n0,8,10\n2,8,10\n1,8,10\n")
    err = refusal(capsys, "recommend", str(path), "--capacity", "400", "--clock", "0.01")
    assert "SOURCE: got 'request 2 at 1 s'; allowed: times that do not go backwards" in err


def test_out_has_a_row_for_each_setting_and_run(capsys, tmp_path):
    folder = tmp_path / "new"
    text = shown(capsys, *QUICK, "--out", str(folder))
    assert f"written to {folder}" in text
    names = {path.name for path in folder.iterdir()}
    assert {"recommend.csv", "recommend.json", "frontier.png", "frontier.svg"} < names
    assert all(name in " ".join(text.split()) for name in names)
    found = json.loads((folder / "recommend.json").read_text())
    with (folder / "recommend.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == found["simulated"]["settings"] * 2
    picked = [float(row["preemptions"]) for row in rows if row["pick"] == "1"]
    assert sum(picked) / 2 == found["pick"]["metrics"]["preemptions"]
    assert sum(row["frontier"] == "1" for row in rows) == 2 * len(found["frontier"])


@pytest.mark.parametrize(("engine", "name"), [("sglang", "sglang 0.5.23"), ("sglang-0.5.18",) * 2])
def test_an_engine_without_a_watermark_says_so(capsys, engine, name):
    options = [*TWO, "--requests", "104", "--runs", "1", "--engine", engine, "--block-size", "1"]
    words = " ".join(shown(capsys, *options, "--max-num-seqs", "12").split())
    assert f"not tried: {name} has no flag for it" in words
    err = refusal(capsys, "recommend", *options, "--watermark", "0.1")
    assert "--watermark" in err
    assert "sglang 0.5.23 has no such flag" in err


def test_a_watermark_of_zero_alone_is_not_told_that_there_is_no_flag(capsys):
    options = [*TWO, "--requests", "104", "--runs", "1", "--watermark", "0", "--max-num-seqs", "12"]
    words = " ".join(shown(capsys, *options).split())
    assert "has no flag for it" not in words
    assert "not tried: no other than the one that is set now" in words


@pytest.mark.thorough
def test_where_nothing_is_served_now_no_percentage_is_made_up(capsys):
    case = ["--class", "10:20", "--capacity", "500", "--engine", "fcfs-new-first", "--runs", "1"]
    out = shown(capsys, *case)
    assert "gain          output from 0; preemptions" in out
    assert not re.search(r"\b(nan|inf)\b", out)


def test_the_frontier_counts_what_it_shows(capsys):
    """What is set now is shown, too, where others beat it."""
    options = [*QUICK, "--clients", "25", "--now", "max_num_seqs=3", "--slo", "preemptions=0"]
    text = shown(capsys, *options)
    (heading,) = (line for line in text.splitlines() if line.startswith("Frontier: "))
    on_it, all_of_it = map(int, re.findall(r"\d+", heading)[:2])
    assert on_it <= all_of_it
    table = text.split(heading)[1].split("> pick")[0].strip().splitlines()[1:]
    others = re.search(r"and (\d+) other", heading)
    assert len(table) == on_it + (int(others[1]) if others else 0)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "SOURCE"),
        (["--class", "8:10", "--preset", "alpaca"], "SOURCE"),
        (["--class", "8:10"], "--capacity"),
        ([*TWO, "--capacity", "100.5"], "--capacity"),
        (["--class", "8:10", "--capacity", "16"], "8 input + 10 output tokens"),
        (["--class", "8:10", "--capacity", "16"], "vllm 0.33.0"),
        ([*TWO, "--rate", "0"], "--rate"),
        ([*TWO, "--rate", "1", "--clients", "4"], "one of --rate, --clients, --replay"),
        ([*TWO, "--replay", "--clock", "0.01"], "a trace with arrival times"),
        ([*TWO, "--speed", "2"], "--speed"),
        ([*TWO, "--speed", "0"], "--speed"),
        ([*TWO, "--clock", "0"], "--clock"),
        ([*TWO, "--rate-cap", "0"], "--rate-cap"),
        ([*TWO, "--now", "watermark=0", "--now", "watermark=0.1"], "--now"),
        ([*TWO, "--block-size", "0"], "--block-size"),
        ([*TWO, "--block-size", "401"], "--block-size"),
        ([*TWO, "--slo", "ttft_p99=fast"], "--slo"),
        ([*TWO, "--slo", "ttft_p99=2s"], "--clock"),
        ([*TWO, "--slo", "p99=2"], "ttft_p99"),
        ([*TWO, "--slo", "ttft_p98=2s"], "near: ttft_p99"),
        ([*TWO, "--slo", "preemptions=0s"], "a number without a unit, for preemptions"),
        ([*TWO, "--slo", "ttft_p99=2h"], "a time: a number, s or ms, for ttft_p99"),
        ([*TWO, "--slo", "ttft_p99=-1"], "a finite bound of at least 0"),
        ([*TWO, "--slo", "ttft_p99=nan"], "a finite bound of at least 0"),
        ([*TWO, "--slo", "ttft_p99=infs"], "a finite bound of at least 0"),
        ([*TWO, "--requests", "60"], "--requests: got 60; allowed: at least 103"),
        ([*TWO, "--engine", "sglang", "--now", "watermark=0.1"], "--now: got 0.1"),
        ([*TWO, "--engine", "fcfs-new-first", "--rate", "1"], "--engine: got 'fcfs-new-first'"),
        ([*TWO, "--block-size", "7"], "400 tokens are 57 blocks of 7 and 1 tokens"),
        ([*TWO, "--slo", "ttft_p99=2"], "where all requests wait at first"),
        ([*TWO, "--format", "azure"], "--format"),
    ],
)
def test_bad_input_is_one_line(argv, said, capsys):
    assert said in refusal(capsys, "recommend", *argv)


def test_prompts_of_which_only_some_say_what_they_share_are_refused(capsys, tmp_path):
    path = tmp_path / "trace.jsonl"
    path.write_text(MOONCAKE.replace(', "hash_ids": [0]}', "}"))
    options = [str(path), "--capacity", "4096", "--clock", "0.01:1e-6:1e-5"]
    said = refusal(capsys, "recommend", *options, "--engine", "vllm+cache")
    assert "SOURCE, hash_ids: got '0 ids in request 1'" in said


def test_a_log_folder_says_how_its_server_was_set_and_gives_a_clock(capsys):
    """Settings as printed in meta.json; 2,588 blocks there, one of which no request gets."""
    folder = Path(os.environ.get("FLUIDKV_TRACES", "../shared/traces")) / "vllm_rtx4090_llama31_8b"
    if not folder.is_dir():
        pytest.skip(f"no measured log: FLUIDKV_TRACES names no folder with {folder.name}")
    options = [
        str(folder),
        "--requests",
        "40",
        "--runs",
        "1",
        "--watermark",
        "0.1",
    ]
    found = json_of(capsys, "recommend", *options, "--max-num-seqs", "100")
    assert found["capacity"] == 2587 * 16
    assert found["block_size"] == 16
    assert found["max_num_batched_tokens"] == 2048
    assert found["now"]["max_num_seqs"] == 256
    assert found["demand"] == {"kind": "replay"}
    assert found["clock"]["unit"] == "s"
    assert 0.005 < found["clock"]["base"] < 0.05  # an RTX 4090 and 8 billion parameters: tens of ms
    words = " ".join(shown(capsys, *options, "--max-num-seqs", "100", "--clock", "0.02").split())
    assert "rules of vllm-0.19.0, prefix cache for preempted requests" in words
    assert "0.02 s per iteration" in words
    own = json_of(
        capsys,
        "recommend",
        *options,
        *("--capacity", "30000", "--now", "max_num_seqs=9", "--clock", "iteration"),
        *("--clients", "12", "--requests", "50"),
    )
    assert (own["capacity"], own["now"]["max_num_seqs"]) == (30000, 9)
    assert own["demand"] == {"kind": "clients", "clients": 12}


def test_other_numbers_of_clients_are_tried_where_asked_for(capsys):
    options = [*QUICK, "--clients", "25", "--client-cap", "12,20"]
    assert json_of(capsys, "recommend", *options)["simulated"]["settings"] == 9
    words = " ".join(shown(capsys, *options).split())
    assert "those who then wait outside are in no latency" in words
    err = refusal(capsys, "recommend", *QUICK, "--client-cap", "12")
    assert "--client-cap: got '12'; allowed: together with --clients" in err


def test_a_clock_has_a_name(capsys):
    options = [*QUICK, "--clients", "25", "--clock", "vidur-llama3-8b-a100"]
    assert json_of(capsys, "recommend", *options)["clock"]["base"] == 0.00993
    words = " ".join(shown(capsys, *options).split())
    assert "computing again costs nothing" in words
    assert "vidur-llama3-8b-a100" in refusal(capsys, "recommend", *TWO, "--clock", "h100")


LOG_OPTIONS = ["--watermark", "0.05", "--max-num-seqs", "34"]


def test_a_log_is_measured_beside_its_simulation(capsys, traces_dir, monkeypatch):
    """The log's own numbers, by hand: tokens over the time that they took, a percentile."""
    monkeypatch.setenv("COLUMNS", "80")
    folder = traces_dir / "vllm_rtx4090_llama31_8b"
    rows = [json.loads(line) for line in (folder / "requests.jsonl").read_text().splitlines()]
    tokens = sum(row["output_toks"] for row in rows)
    start = min(row["queued_ts"] for row in rows)
    output = tokens / (max(row["last_token_ts"] for row in rows) - start)
    waits = sorted(row["first_token_ts"] - row["queued_ts"] for row in rows)
    ttft = waits[295] + 0.01 * (waits[296] - waits[295])  # 0.99 * 299 = 296.01
    found = json_of(capsys, "recommend", str(folder), *LOG_OPTIONS)
    measured = found["measured"]
    assert measured["output_throughput_per_time"]["measured"] == pytest.approx(output, rel=1e-3)
    assert measured["ttft_p99"]["measured"] == pytest.approx(ttft, abs=0.5)
    assert found["logged_version"] == "0.19.0"
    assert found["pick"]["watermark"] == 0  # left as it is: no gain is beyond the bias
    assert found["pick"]["max_num_seqs"] == 256
    assert found["pick_at_hand"] is not None
    assert found["measured_preemptions"] == {"count": 99, "counted": False}
    text = shown(capsys, str(folder), *LOG_OPTIONS)
    assert max(map(len, text.splitlines())) <= 80
    table = text.split("What it does today")[1].split("What to set")[0]
    assert re.search(r"output, tokens/s +1,066 +1,057", table)
    assert re.search(r"p99 TTFT, s +137\.4 +140\.1", table)
    order = ["What it does today", "What to set, and how sure", "What if", "Frontier", "How it was"]
    places = [text.index(heading) for heading in order]
    assert places == sorted(places)
    words = " ".join(text.split())
    assert "leave it nothing tried gains more than what the simulation misses on this log" in words
    assert "--watermark: vllm >= 0.24.0; it is 0.19.0" in words
    chance = "no more than the order of arrival makes, so that one test run will not tell"
    assert f"{chance} (7.2 s)" in words
    assert "(vllm-44594.ttft.median)" in words


@pytest.mark.thorough
def test_a_scaled_log_is_run_as_a_whole_so_that_it_equals_the_what_if_row(capsys):
    """`--scale-input 2` and the row "twice the prompts" are the same question."""
    one = ["sample:vllm-rtx4090", "--watermark", "0"]
    rows = {each["of"]: each["metrics"] for each in json_of(capsys, "recommend", *one)["what_if"]}
    found = json_of(capsys, "recommend", *one, "--scale-input", "2")
    assert found["measured"] is None
    now = found["what_if"][0]["metrics"]
    assert now["completions"] == 300
    assert now["ttft_p99"] == pytest.approx(rows["inputs"]["ttft_p99"])


def test_prompts_of_a_log_begin_alike_as_in_a_replay(tmp_path):
    """What the cache had of each prompt is one text: so it is for `serve`, told the same."""
    sglang_logs.write_log(tmp_path, count=20)
    trace, _ = read_trace(tmp_path)
    engine = f"sglang+cache:conservativeness={sglang_logs.CONSERVATIVE}"
    limits = Limits(sglang_logs.CAPACITY, 1, 16, sglang_logs.CHUNK)
    found = recommend_settings(
        trace,
        limits.capacity,
        engine=engine,
        demand=Demand(replay=True),
        clock=sglang_logs.CLOCK,
        now=Setting(max_num_seqs=16),
        candidates={"max_num_seqs": [8], "conservativeness": []},
        max_num_batched_tokens=limits.max_num_batched_tokens,
    )
    assert trace.arrival_times_s is not None
    requests = Requests(trace.input_lengths, trace.decode_lengths, arrival=trace.arrival_times_s)
    own = range(1, len(trace) + 1)
    prompts = Prompts(
        [content([[0, 16], [k, n - 16]]) for k, n in zip(own, trace.input_lengths, strict=True)],
        [content([[100 + k, n]]) for k, n in zip(own, trace.decode_lengths, strict=True)],
    )
    shared, apart = (
        metrics(serve(requests, Server(engine, limits, clock=sglang_logs.CLOCK, prompts=said)))
        for said in (prompts, None)
    )
    assert found.mean(0, "latency_mean") == shared.latency_mean.item() < apart.latency_mean.item()
    rows = dict(run_rows(found))
    assert rows["prompts"] == "begin alike as the trace says"
    assert rows["not in it"] == "speculative decoding, swapping, scheduling cost"


@pytest.mark.thorough
def test_a_log_of_sglang_has_its_own_numbers(capsys, traces_dir):
    options = [str(traces_dir / "sglang_rtx4090_qwen3_4b"), "--max-num-seqs", "38"]
    found = json_of(capsys, "recommend", *options)
    assert found["engine"]["text"].startswith("sglang-0.5.18+cache")
    assert found["measured_preemptions"] == {"count": 20, "counted": True}
    output = found["measured"]["output_throughput_per_time"]
    assert output["measured"] == pytest.approx(1183.2, abs=0.5)  # meta.json, of this run
    assert abs(output["relative"]) < 0.05
    assert set(found["measured"]) == {"output_throughput_per_time"}
    # Without what prompts share these are 20 and 15; four times as fast, 28 were measured.
    assert found["now"]["metrics"]["preemptions"] == 18
    faster = json_of(capsys, "recommend", *options, "--scale-rate", "4")
    assert faster["now"]["metrics"]["preemptions"] == 25


def test_a_load_that_preempts_nothing_is_answered_at_once(capsys):
    options = ["--preset", "alpaca", "--capacity", "200000", "--rate", "1", "--requests", "100"]
    text = shown(capsys, *options, "--clock", "0.01:1e-7:1e-5")
    assert "Nothing to gain: leave it as it is" in text
    assert "nothing is preempted in 4 runs of 100 requests, and nobody waits" in " ".join(
        text.split()
    )
    assert "Frontier" not in text


def test_without_a_log_nothing_measured_holds_a_gain(capsys):
    options = [*QUICK, "--clients", "25", "--slo", "preemptions=0", "--clock", "0.01:1e-6:1e-4"]
    words = " ".join(shown(capsys, *options).split())
    assert (
        "not measured no log of this very run is given, so nothing measured holds a gain here"
        in words
    )
    said = "On 4 measured logs of vllm 0.19.0 simulations by the rules of vllm were off by output -"
    assert said in words


def test_an_objective_that_is_not_known_is_one_line(capsys):
    err = refusal(capsys, "recommend", *QUICK, "--objective", "speed")
    assert "--objective: got 'speed'; allowed: one of throughput, ttft_p99" in err
