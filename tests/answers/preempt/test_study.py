"""Combinations of rules on the same requests: which are run, what is told, what is answered."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fluidkv.answers.preempt import study as module
from fluidkv.answers.preempt.forecasts import Forecast, forecast_of
from fluidkv.answers.preempt.objectives import Objectives
from fluidkv.answers.preempt.plan import planned
from fluidkv.answers.preempt.study import preempt_study
from fluidkv.answers.served.demand import Demand, Draws
from fluidkv.errors import InputError
from fluidkv.preempt.predictors.noise import LogNormalNoise
from fluidkv.runs.arrivals import poisson, replayed
from fluidkv.runs.measuring import metrics
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import SGLANG, VLLM
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import Allocation, Restore, Victim, name_of, rule_of
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.serving.swap import Swap
from fluidkv.traces import Trace
from fluidkv.workload import RequestClass, Workload

HALF = Fraction(1, 2)
MIX = Workload((RequestClass(8, 10, HALF), RequestClass(30, 20, HALF)))
LIMITS = Limits(128, block_size=4, max_num_batched_tokens=64)
CLOCK = IterationClock(0.1, 1e-4, 2e-3)
RATE = Demand(rate=4.0)
TWO = [Victim.FEWEST_OUTPUTS, Victim.MOST_BLOCKS]
SMALL: dict[str, Any] = {"clock": CLOCK, "demand": RATE, "victims": TWO, "requests": 40, "seeds": 3}


def asked(**changed: Any):
    return preempt_study(MIX, LIMITS, backend="reference", **SMALL | changed)


def test_each_combination_is_a_run_of_serve_on_the_same_requests():
    answer = asked()
    assert [name_of(c.victim) for c in answer.combinations] == [
        "last-admitted",
        "fewest-outputs",
        "most-blocks",
    ]
    tables = [poisson(MIX, 4.0, 40, rng=seed, per_iteration=False) for seed in range(3)]
    for index, victim in enumerate((Victim.LAST_ADMITTED, *TWO)):
        run = serve(
            tables, Server(replace(VLLM, victim=victim), LIMITS, clock=CLOCK, backend="reference")
        )
        found = metrics(run)
        for name in ("recompute_tax", "preemptions", "ttft_p99", "longest_gap_p99"):
            assert answer.table[name].values[index].tolist() == found[name].values.tolist()
    assert answer.table.preemptions.values.min() > 0
    assert answer.throughput == "throughput_per_time"
    assert [aim.metric for aim in answer.aims] == [
        "throughput_per_time",
        "ttft_p99",
        "longest_gap_p99",
    ]


def test_the_engine_s_own_rules_come_first_and_are_what_others_are_held_against():
    answer = asked(engine=SGLANG, victims=[Victim.LAST_ADMITTED])
    assert [c.victim for c in answer.combinations] == [Victim.FEWEST_OUTPUTS, Victim.LAST_ADMITTED]
    own = answer.table.ttft_p99.values
    gaps = (own[1] - own[0]) / own[0].mean()
    found = answer.against["ttft_p99"]
    assert (found.mean[0], found.half[0]) == (0, 0)
    assert found.mean[1] == pytest.approx(gaps.mean())
    assert found.half[1] == pytest.approx(4.3026527 * gaps.std(ddof=1) / np.sqrt(3))  # Student, 2


def test_where_nobody_is_preempted_all_rules_are_one_and_nothing_is_picked():
    answer = asked(demand=Demand(rate=0.1), requests=20)
    assert not answer.table.preemptions.values.any()
    assert answer.effects == {}
    assert (answer.pick.index, answer.pick.better) == (0, ())


def test_every_victim_is_tried_where_nobody_says_which_and_swapping_where_it_has_a_price():
    def grid(limits, **chosen):
        draws = Draws(40, 2)
        plan = planned(MIX, limits, "vllm", RATE, CLOCK, None, chosen, {"a": Forecast()}, draws)
        # its horizon is patience: a run that gets there has not served all
        assert plan.unfinished(["DONE", "HORIZON"]).tolist() == [False, True]
        return plan.combinations

    assert [c.victim for c in grid(LIMITS)] == list(Victim)
    assert {c.restore for c in grid(LIMITS)} == {Restore.RECOMPUTE}
    priced = replace(LIMITS, swap=Swap(1e-5))
    assert len(grid(priced)) == len(Victim) * len(Restore)
    several = grid(priced, allocation=list(Allocation), restore=[])
    assert len(set(several)) == len(several) == len(Victim) * len(Allocation)
    assert several[0].of(VLLM) == VLLM


def test_what_does_not_look_at_predictions_is_run_once(monkeypatch):
    calls = []
    serve = module.serve

    def counted(tables, server, **options):
        calls.append(server.served.rules.victim)
        return serve(tables, server, **options)

    monkeypatch.setattr(module, "serve", counted)
    noisy = {"perfect": Forecast(), "noisy": Forecast(LogNormalNoise(1.0))}
    told = []
    answer = asked(predictors=noisy, on_progress=lambda done, total, _: told.append((done, total)))
    assert len(answer.combinations) == 6
    # The time left follows from these: with 6 in all, a third was over when nothing was to come.
    assert told == [(done, len(calls)) for done in range(len(calls))]
    assert sorted(calls, key=name_of) == sorted((Victim.LAST_ADMITTED, *TWO), key=name_of)
    first, second = (
        [i for i, c in enumerate(answer.combinations) if c.predictor == name] for name in noisy
    )
    for column in answer.table.data_vars.values():
        assert column.values[first].tolist() == column.values[second].tolist()


def test_objectives_in_times_and_by_a_scale():
    timed = asked(objectives=Objectives(ttft=2.0, tbt=0.4))
    values = timed.table
    assert (values.attained.values <= values.attained_tbt.values).all()
    assert 0 < values.attained.values.mean() < 1
    assert [aim.metric for aim in timed.aims] == ["attained", "throughput_per_time"]
    assert timed.times is None
    scaled = asked(objectives=Objectives(scale=(1.5, 1.5)))
    assert scaled.times is not None
    run = asked().table
    assert scaled.times.ttft > 0
    alone = asked(objectives=Objectives(ttft=1.5 * scaled.times.ttft, tbt=1.5 * scaled.times.tbt))
    # 64 tokens an iteration, prompts of 30: one chunk each.
    assert scaled.table.attained.values.tolist() == alone.table.attained.values.tolist()
    assert scaled.table.ttft_p99.values.tolist() == run.ttft_p99.values.tolist()


def test_a_trace_is_replayed_in_parts_with_its_own_predictions(tmp_path):
    draw = np.random.default_rng(0)
    size = 60
    times = np.cumsum(draw.exponential(0.5, size))
    inputs, outputs = draw.integers(5, 30, size), draw.integers(2, 25, size)
    one, two, three = (tuple(c.tolist()) for c in (inputs, outputs, times - times[0]))
    trace = Trace(one, two, three)
    path = tmp_path / "said.csv"
    said = draw.integers(1, 40, size)
    path.write_text("request,predicted\n" + "\n".join(f"{n},{x}" for n, x in enumerate(said)))
    listed = {"file": forecast_of(f"file:{path}")}
    how: dict[str, Any] = {"demand": Demand(replay=True), "requests": 20, "predictors": listed}
    answer = preempt_study(trace, LIMITS, backend="reference", **SMALL | how)
    assert (answer.runs, answer.requests) == (3, 20)
    part = slice(20, 40)
    coming = (trace.arrival_times_s or ())[part]
    second = replayed(trace.input_lengths[part], trace.decode_lengths[part], coming)
    run = metrics(serve(second, Server(VLLM, LIMITS, clock=CLOCK)))
    assert answer.table.ttft_p99.values[0, 1] == run.ttft_p99.item()
    told = listed["file"].of(second, 0, 20)
    assert told.predicted_output.tolist() == said[20:40].tolist()
    path.write_text("request,predicted\n" + "\n".join(f"{n},1" for n in range(size - 1)))
    short: dict[str, Any] = how | {"predictors": {"file": forecast_of(f"file:{path}")}}
    with pytest.raises(InputError, match="request 59 has none"):
        preempt_study(trace, LIMITS, **SMALL | short)
    with pytest.raises(InputError, match="where requests are drawn"):
        asked(predictors=listed)


def test_rules_by_name_there_and_back():
    for kind in (Victim, Restore, Allocation):
        for rule in kind:
            assert rule_of(kind, name_of(rule)) is rule
    with pytest.raises(InputError, match="victim: got 'fastest'; allowed: one of last-admitted"):
        rule_of(Victim, "fastest")


def test_forecasts_by_name():
    table = poisson(MIX, 1.0, 30, rng=0)
    told = forecast_of("biased:factor=0.5+constant:tokens=7").of(table, 0)
    half = np.rint(table.output_length / 2).astype(int)
    assert told.predicted_output.tolist() == half.tolist()
    assert told.estimated_output.tolist() == (half + 7).tolist()


@pytest.mark.parametrize(
    ("changed", "argument"),
    [
        ({"victims": ["last-admitted"]}, "victim"),
        ({"predictors": {}}, "predictors"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_refused_before_anything_runs(changed, argument):
    with pytest.raises(InputError, match=f"^{argument}: "):
        asked(**changed)


@pytest.mark.parametrize(
    "given", [{}, {"ttft": 0}, {"tbt": -1.0}, {"ttft": 1.0, "scale": (1, 2)}, {"scale": (2, 1)}]
)
def test_objectives_that_are_none(given):
    with pytest.raises(InputError):
        Objectives(**given)
