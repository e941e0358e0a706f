"""A trace is served whole; who asks for less is told how its rate compares."""

# Windows and options here have what may be None:
# pyright: reportOptionalMemberAccess=false, reportArgumentType=false, reportOperatorIssue=false

from dataclasses import replace

import numpy as np
import pytest

from fluidkv.answers import (
    Demand,
    Slo,
    compare_engines,
    preempt_study,
    recommend_settings,
    size_server,
)
from fluidkv.answers.preempt.forecasts import Forecast
from fluidkv.answers.served import window as window_module
from fluidkv.answers.served.cases import Case
from fluidkv.answers.served.demand import Draws
from fluidkv.answers.served.fresh import Horizon
from fluidkv.answers.served.rows import window_rows
from fluidkv.answers.served.setting import Setting
from fluidkv.answers.served.window import Window, requests_of_log, window_of
from fluidkv.answers.served.work import work_of
from fluidkv.cli import main
from fluidkv.errors import InputError
from fluidkv.logs.read import read_log
from fluidkv.preempt.predictors.file import Listed
from fluidkv.runs.arrivals import replayed
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.machines.named import named_clock
from fluidkv.serving.rules import Allocation, Victim
from fluidkv.traces import Trace, read_trace
from fluidkv.traces.write import write_mooncake

CLOCK = IterationClock(0.01, 1e-6, 1e-5)
REPLAY = Demand(replay=True)
SERVER = Case("vllm", Limits(400), CLOCK)
NOTHING: dict = {"watermark": [], "max_num_seqs": [], "admission_rate": []}
# 1,000 requests, one a second, and then 100 at once: nobody waits before these.
QUIET, BURST = 1000, 100
TIMES = (*map(float, range(QUIET)), *(float(QUIET) + n / 1000 for n in range(BURST)))
LATE = Trace((8,) * len(TIMES), (10,) * len(TIMES), TIMES, name="late")


# 150 requests, one a second, and 150 that come 4 times as fast.
RISING = Trace(
    (40,) * 300,
    (30,) * 300,
    (*(float(n) for n in range(150)), *(150.0 + n / 4 for n in range(150))),
    name="rising",
)


def busiest_of(monkeypatch, requests: int) -> None:
    """Serve just so many, as if the whole took very long."""
    monkeypatch.setattr(window_module, "MINUTE_S", 0.0)
    monkeypatch.setattr(window_module, "_FEWEST_OF_TRACE", requests)


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
    window = window_of(LATE, REPLAY, Draws(500, 2), [SERVER])
    assert window is not None
    assert (window.requests, window.runs, window.of, window.whole) == (500, 2, 1100, False)
    assert (window.rate, window.rate_of_all) == (1.0, pytest.approx(1099 / 1000.099))
    assert window_of(LATE, Demand(), Draws(), [SERVER]) is None


def test_the_busiest_part_is_served_where_the_whole_would_take_over_a_minute(monkeypatch) -> None:
    whole = work_of(replayed(LATE.input_lengths, LATE.decode_lengths, TIMES), SERVER)
    monkeypatch.setattr(window_module, "MINUTE_S", 10 * whole.seconds * 200.5 / 1100)
    monkeypatch.setattr(window_module, "_FEWEST_OF_TRACE", 100)
    window = window_of(LATE, REPLAY, Draws(), [SERVER] * 10)
    assert window is not None
    assert (window.first, window.requests, window.busiest) == (900, 200, True)
    assert window.rate == pytest.approx(199 / 100.099)
    assert window.rate_of_all == pytest.approx(1099 / 1000.099)
    assert window.of_trace(LATE).arrival_times_s == tuple(t - 900 for t in TIMES[900:])
    for all_of_it in (Draws(1100), Draws(runs=1)):
        asked = window_of(LATE, REPLAY, all_of_it, [SERVER] * 10)
        assert asked is not None
        assert asked.whole
    few = window_of(LATE, REPLAY, Draws(), [SERVER] * 1000)
    assert few is not None
    assert (few.first, few.requests) == (QUIET, BURST)


def test_answers_are_of_the_busiest_part_and_name_it(monkeypatch, capsys, tmp_path) -> None:
    busiest_of(monkeypatch, BURST)
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
    rest = "the other 1,000 are not served: all may take over a minute or a gigabyte"
    assert f"{rest}; --requests 1100 serves them" in page


def test_beyond_a_million_no_option_is_offered_that_would_be_refused() -> None:
    window = Window(10**6, 1, 1_500_000, 9.0, 4.0, 7, busiest=True, tenths=())
    line = window_rows(window)[1][1]
    assert line == "the other 500,000 are not served: a run has at most 1,000,000 requests"


def sized_by(source=RISING, **options):
    asked = {"engine": "vllm", "clock": CLOCK, "within": 0.02, "draws": 0, **options}
    return size_server(source, [Slo("ttft_p99", 0.5)], **asked)


@pytest.mark.parametrize("find", ["rate", "kv", "replicas"])
def test_a_rate_is_that_of_the_whole_trace_also_where_its_busiest_part_is_served(
    monkeypatch, find
) -> None:
    asked = {"find": find} | ({} if find == "kv" else {"capacity": 400})
    asked |= {} if find == "rate" else {"rate": 12.0}
    whole = sized_by(**asked)
    busiest_of(monkeypatch, 150)
    part = sized_by(**asked)
    assert part.plan.window is not None
    assert (part.plan.window.requests, part.plan.window.first) == (150, 150)
    assert part.plan.own_rate == whole.plan.own_rate == pytest.approx(299 / 187.25)
    # By the peak's own rate, of 4 a second, a rate would be 2.5 times as high.
    of = whole.plan.axis.of
    assert of(part.answer) == pytest.approx(of(whole.answer), rel=0.1)
    assert part.rate(part.answer) == pytest.approx(whole.rate(whole.answer), rel=0.1)
    last = part.plan.tables[0].arrival[-1]
    speed = part.answer.speed
    assert part.rate_served(part.answer) == pytest.approx(149 / last * speed)
    assert 149 / last == pytest.approx(4 * part.plan.rate / part.plan.own_rate)
    assert part.plan.load(part.answer) > 2 * whole.plan.load(whole.answer)


def test_draws_are_like_the_busiest_hour_of_days_of_which_a_part_is_served(monkeypatch) -> None:
    """In each of 3 days an hour has 60 requests in it, and the others have 2; one minute has 5."""
    hours = [24 * 3600.0 * day + 3600 * hour for day in range(3) for hour in range(24)]
    few = [[at + 1800 * n for n in range(2)] for at in hours]
    few[30] = [hours[30] + 60 * n for n in range(60)]
    few[50] = [hours[50] + n for n in range(5)]
    times = tuple(time for each in few for time in each)
    days = Trace((40,) * len(times), (30,) * len(times), times, name="days")
    busiest_of(monkeypatch, 5)
    plan = sized_by(days, draws=2, horizon=Horizon(40)).plan
    assert plan.window is not None
    assert (plan.window.requests, plan.window.first) == (5, times.index(hours[50]))
    assert plan.draws is not None
    stretch = plan.draws.stretch
    assert stretch is not None
    assert (stretch.requests, stretch.of) == (60, len(days))
    assert stretch.rate == pytest.approx(1 / 60)
    assert stretch.rate_of_all == plan.window.rate_of_all
    drawn = {"demand": REPLAY, "clock": CLOCK, "draws": 2}
    table = compare_engines(days, 400, ["vllm", "trtllm-no-evict"], **drawn)
    assert table.days is not None
    assert table.days.stretch is not None
    assert (table.days.stretch.requests, table.days.stretch.of) == (60, len(days))


def test_requests_that_all_come_at_once_are_no_busiest_part(monkeypatch) -> None:
    times = (*(0.0,) * 35, *map(float, range(1, 16)))
    jam = Trace((40,) * 50, (30,) * 50, times, name="jam")
    busiest_of(monkeypatch, 20)
    window = window_of(jam, REPLAY, Draws(), [SERVER])
    assert window is not None
    assert (window.whole, window.busiest) == (True, False)
    assert sized_by(jam, within=0.5).plan.own_rate == pytest.approx(49 / 15)


@pytest.fixture(scope="module")
def logged():
    """A log, and its requests as a trace."""
    log = read_log("sample:vllm-rtx4090").timed()
    order = np.argsort(log.arrival_s, kind="stable")
    at = log.arrival_s[order] - log.arrival_s.min()
    inputs, outputs = log.input_lengths[order], log.decode_lengths[order]
    return log, Trace(tuple(inputs.tolist()), tuple(outputs.tolist()), tuple(at.tolist()))


def _on_log(command: str, trace: Trace, log):
    """The window of each of the four answers on a log."""
    held = {"engine": "vllm", "clock": CLOCK, "log": log}
    both = {"demand": REPLAY, "clock": CLOCK, "log": log}
    match command:
        case "recommend":
            found = recommend_settings(trace, 41_408, candidates=NOTHING, draws=0, **both)
            return found.plan.window
        case "compare":
            engines = ["vllm", "trtllm-no-evict"]
            which = {} if log is None else {"logged": 0}
            return compare_engines(trace, 41_408, engines, draws=0, **both, **which).window
        case "preempt":
            limits, victims = Limits(41_408, 16), [Victim.MOST_BLOCKS]
            return preempt_study(trace, limits, victims=victims, **both).window
    sized = size_server(trace, [Slo("ttft_p99", 9.0)], within=0.9, draws=0, capacity=41_408, **held)
    return sized.plan.window


@pytest.mark.parametrize("command", ["recommend", "compare", "preempt", "size"])
def test_a_log_that_holds_an_answer_is_served_whole(monkeypatch, logged, command) -> None:
    """What the simulation misses on a log is taken from all of it."""
    log, trace = logged
    busiest_of(monkeypatch, 50)
    part = _on_log(command, trace, None)
    assert (part.busiest, part.requests) == (True, 50)
    assert _on_log(command, trace, log).whole


def test_a_number_of_requests_is_served_of_a_log_too(logged) -> None:
    log, _ = logged
    assert (requests_of_log(7, log, REPLAY), requests_of_log(None, None, REPLAY)) == (7, None)
    assert requests_of_log(None, log, Demand(clients=2)) is None


@pytest.mark.thorough
def test_listed_predictions_are_those_of_the_rows_that_are_served(monkeypatch) -> None:
    """A list has a row for each request of the trace, of which a part may be served."""
    little = Limits(160, 16)
    outputs = tuple(10 + n % 47 for n in range(300))
    trace = replace(RISING, decode_lengths=outputs)
    rules = {"demand": REPLAY, "clock": CLOCK, "allocations": [Allocation.ESTIMATE_THEN_BLOCKS]}

    def table(listed, **draws):
        told = {"list": Forecast(Listed(dict(enumerate(listed)), "list"))}
        return preempt_study(trace, little, predictors=told, **rules, **draws)

    for draws in ({"requests": 40}, {"requests": 40, "seeds": 3}, {}):
        if not draws:
            busiest_of(monkeypatch, 100)
        truth = preempt_study(trace, little, **rules, **draws)
        found = table(outputs, **draws).table.ttft_p99.values
        assert found.tolist() == truth.table.ttft_p99.values.tolist()
    other = table(outputs[150:] + outputs[:150]).table.ttft_p99
    assert (other.values != truth.table.ttft_p99.values).any()
    with pytest.raises(InputError, match="a row for each of 300 requests"):
        table(outputs[:299])


def test_the_rate_of_each_tenth_stands_beside_the_mean() -> None:
    window = window_of(LATE, REPLAY, Draws(), [SERVER])
    assert window is not None
    assert window.tenths[:9] == pytest.approx((1.0,) * 9, abs=0.011)
    assert window.tenths[9] == pytest.approx(199 / 100.0099 * 1099 / 1100)
    assert sum(window.tenths) / 10 == pytest.approx(window.rate)


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
    assert found.plan.size == len(trace) == 19_366
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
