"""A trace is served whole; who asks for less is told how its rate compares."""

import pytest

from fluidkv.answers import (
    Demand,
    Slo,
    compare_engines,
    preempt_study,
    recommend_settings,
    size_server,
)
from fluidkv.answers.served import window as window_module
from fluidkv.answers.served.demand import Draws
from fluidkv.answers.served.setting import Setting
from fluidkv.answers.served.window import requests_of_log, seconds_of, window_of
from fluidkv.cli import main
from fluidkv.errors import InputError
from fluidkv.logs.read import read_log
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.machines.named import named_clock
from fluidkv.serving.rules import Victim
from fluidkv.traces import Trace, read_trace
from fluidkv.traces.write import write_mooncake

CLOCK = IterationClock(0.01, 1e-6, 1e-5)
REPLAY = Demand(replay=True)
NOTHING: dict = {"watermark": [], "max_num_seqs": [], "admission_rate": []}
# 1,000 requests, one a second, and then 100 at once: nobody waits before these.
QUIET, BURST = 1000, 100
TIMES = (*map(float, range(QUIET)), *(float(QUIET) + n / 1000 for n in range(BURST)))
LATE = Trace((8,) * len(TIMES), (10,) * len(TIMES), TIMES, name="late")


def _recommended(**draws):
    return recommend_settings(LATE, 400, demand=REPLAY, clock=CLOCK, candidates=NOTHING, **draws)


def _compared(**draws):
    engines = ["vllm", "trtllm-no-evict"]
    return compare_engines(LATE, 400, engines, demand=REPLAY, clock=CLOCK, **draws)


def _preempted(**draws):
    rules = {"demand": REPLAY, "clock": CLOCK, "victims": [Victim.MOST_BLOCKS]}
    return preempt_study(LATE, Limits(400, 16), **rules, **draws)


def test_the_end_of_a_trace_is_in_every_answer() -> None:
    """Only who comes in the burst waits more than 0.2 s, and a tenth of all requests do."""
    advice, table, rules = _recommended(draws=0), _compared(draws=0), _preempted()
    assert advice.table.ttft_p99.values[0] == pytest.approx(table.table.ttft_p99.values[0])
    assert advice.table.ttft_p99.values[0] == pytest.approx(rules.table.ttft_p99.values[0])
    assert advice.table.ttft_p99.values[0] > 0.2
    sized = size_server(
        LATE, [Slo("ttft_p99", 0.2)], engine="vllm", clock=CLOCK, within=0.5, draws=0
    )
    assert sized.tokens(sized.answer) > 400
    for window in (advice.plan.window, table.window, rules.window, sized.plan.window):
        assert window is not None
        assert window.whole
        assert window.rate == window.rate_of_all == pytest.approx(1099 / 1000.099)
    quiet = _recommended(requests=QUIET, draws=0)
    assert quiet.table.ttft_p99.values[0] < 0.02


def test_chance_is_taken_from_the_parts_of_the_one_run() -> None:
    advice, table, rules = _recommended(), _compared(draws=0), _preempted()
    assert advice.ran.segments is not None
    assert (table.pairs, rules.pairs) == ("segment", "segment")
    assert rules.against["ttft_p99"].half.shape == (2,)
    two = _preempted(requests=500, seeds=2)
    assert (two.pairs, two.runs) == ("run", 2)


@pytest.mark.parametrize("ask", [_recommended, _compared, _preempted])
def test_more_than_the_trace_has_is_refused(ask) -> None:
    with pytest.raises(InputError, match=r"requests: got 1101; allowed: at most the 1,100 that"):
        ask(requests=1101)
    runs = "seeds" if ask is _preempted else "runs"
    with pytest.raises(InputError, match=rf"{runs}: got 2; allowed: at most 1: the trace has"):
        ask(**{runs: 2})
    with pytest.raises(InputError, match=rf"{runs}: got 4; allowed: at most 3"):
        ask(requests=300, **{runs: 4})


def test_a_window_has_its_own_rate_beside_that_of_the_whole() -> None:
    window = window_of(LATE, REPLAY, Draws(500, 2))
    assert window is not None
    assert (window.requests, window.runs, window.of, window.whole) == (500, 2, 1100, False)
    assert (window.rate, window.rate_of_all) == (1.0, pytest.approx(1099 / 1000.099))
    assert window_of(LATE, Demand(), Draws()) is None


def test_the_busiest_part_is_served_where_the_whole_would_take_over_a_minute(monkeypatch) -> None:
    monkeypatch.setattr(window_module, "MINUTE_S", 10 * seconds_of(200, 2000) + 1e-9)
    monkeypatch.setattr(window_module, "_FEWEST_OF_TRACE", 100)
    window = window_of(LATE, REPLAY, Draws(), times=10)
    assert window is not None
    assert (window.first, window.requests, window.busiest) == (900, 200, True)
    assert window.rate == pytest.approx(199 / 100.099)
    assert window.rate_of_all == pytest.approx(1099 / 1000.099)
    assert window.of_trace(LATE).arrival_times_s == tuple(t - 900 for t in TIMES[900:])
    for all_of_it in (Draws(1100), Draws(runs=1)):
        asked = window_of(LATE, REPLAY, all_of_it, times=10)
        assert asked is not None
        assert asked.whole
    few = window_of(LATE, REPLAY, Draws(), times=1000)
    assert few is not None
    assert (few.first, few.requests) == (QUIET, BURST)


def test_answers_are_of_the_busiest_part_and_name_it(monkeypatch, capsys, tmp_path) -> None:
    monkeypatch.setattr(window_module, "MINUTE_S", 0.0)
    monkeypatch.setattr(window_module, "_FEWEST_OF_TRACE", BURST)
    waits = _recommended(draws=0).table.ttft_p99.values[0]
    for found in (_compared(draws=0), _preempted()):
        assert found.window is not None
        assert found.window.first == QUIET
        assert found.table.ttft_p99.values[0] == pytest.approx(waits)
    path = tmp_path / "late.jsonl"
    write_mooncake(LATE, path)
    argv = ["compare", str(path), "--clock", "0.01:1e-6:1e-5", "--capacity", "400", "--draws", "0"]
    assert main([*argv, "--engine", "vllm", "--engine", "sglang"]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert "the busiest 100 requests in a row, of 1,100; at the trace's own times 1000.00" in page
    assert "the other 1,000 are not served: all of them would take over a minute" in page
    assert "--requests 1100 serves them" in page


def test_a_log_that_holds_an_answer_is_served_whole(monkeypatch) -> None:
    monkeypatch.setattr(window_module, "MINUTE_S", 0.0)
    monkeypatch.setattr(window_module, "_FEWEST_OF_TRACE", BURST)
    log = read_log("sample:vllm-rtx4090").timed()
    few = len(log.input_lengths)
    assert requests_of_log(None, log, REPLAY) == few
    assert (requests_of_log(7, log, REPLAY), requests_of_log(None, None, REPLAY)) == (7, None)
    assert requests_of_log(None, log, Demand(clients=2)) is None


def test_the_rate_of_each_tenth_stands_beside_the_mean(capsys, tmp_path) -> None:
    window = window_of(LATE, REPLAY, Draws())
    assert window is not None
    assert window.tenths[:9] == pytest.approx((1.0,) * 9, abs=0.011)
    assert window.tenths[9] == pytest.approx(2.0, abs=0.011)


@pytest.mark.parametrize(
    "command",
    [
        ["recommend", "--capacity", "400", "--watermark", "0", "--max-num-seqs", "20"],
        ["compare", "--capacity", "400", "--engine", "vllm", "--engine", "sglang"],
        ["preempt", "--capacity", "400", "--victim", "most-blocks"],
        ["size", "--slo", "ttft_p99=1s", "--engine", "vllm", "--within", "0.5"],
    ],
    ids=lambda command: command[0],
)
def test_a_page_names_the_window_and_both_rates(capsys, tmp_path, command) -> None:
    path = tmp_path / "late.jsonl"
    write_mooncake(LATE, path)
    argv = [command[0], str(path), "--clock", "0.01:1e-6:1e-5", *command[1:]]
    assert main([*argv, "--requests", "50"]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert "window the first 50 of 1,100 requests; at the trace's own times 1.00 a second" in page
    assert "tenths 1.02, 1.02," in page
    assert main([*argv, "--requests", "3000"]) == 2
    line = capsys.readouterr().err
    assert line == "fluidkv: --requests: got 3000; allowed: at most the 1,100 that the trace has\n"


VIDUR = {
    "clock": named_clock("vidur-llama3-8b-a100-prefill").clock,
    "engine": "vidur-sarathi",
}


def test_azures_conversations_are_judged_by_all_of_them(traces_dir) -> None:
    """The first tenth comes at 4.75 a second, the sixth at 7.74: its queue takes 110 s.

    Vidur's own simulator has a p99 TTFT of 109.9 s and 121 evictions on this trace.
    """
    trace = read_trace(traces_dir / "azure_llm_2023_conv.csv").trace
    asked = {"demand": REPLAY, "now": Setting(max_num_seqs=128, watermark=0.01), **VIDUR}
    found = recommend_settings(trace, 60_000, candidates=NOTHING, **asked)
    assert found.requests == len(trace) == 19_366
    assert found.mean(0, "preemptions") == 125
    assert found.mean(0, "ttft_p99") == pytest.approx(109.7, abs=0.05)
    few = recommend_settings(trace, 60_000, candidates=NOTHING, requests=1936, **asked)
    assert few.plan.window is not None
    assert few.plan.window.rate == pytest.approx(4.75, abs=0.005)
    assert few.mean(0, "ttft_p99") == pytest.approx(7.9, abs=0.05)


@pytest.mark.thorough
def test_no_memory_is_enough_for_azures_conversations(traces_dir) -> None:
    trace = read_trace(traces_dir / "azure_llm_2023_conv.csv").trace
    with pytest.raises(InputError, match=r"at least 13.33 here: no KV pool meets ttft_p99=5"):
        size_server(
            trace, [Slo("ttft_p99", 5)], setting=Setting(max_num_seqs=128, watermark=0.01), **VIDUR
        )
