"""A sweep against the runs that it stands for, and what it refuses."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from fluidkv.answers import recommend_settings
from fluidkv.answers.recommend.settings import without_flag
from fluidkv.answers.served.demand import Demand
from fluidkv.answers.served.setting import Setting
from fluidkv.answers.served.slo import Slo
from fluidkv.errors import InputError
from fluidkv.runs.arrivals import saturated
from fluidkv.runs.measuring import metrics
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import ENGINES, VLLM
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.traces import Trace
from fluidkv.workload import RequestClass, Workload

HALF = Fraction(1, 2)
TIERS = Workload((RequestClass(8, 10, HALF), RequestClass(8, 20, HALF)))
M = 400
FEW = {"watermark": [0.0, 0.1], "max_num_seqs": [12, 20], "admission_rate": [Fraction(1, 2)]}


def small(source: Workload | Trace = TIERS, **options):
    options = {"candidates": FEW, "requests": 104, "runs": 2, "backend": "reference"} | options
    return recommend_settings(source, M, **options)


def test_each_row_is_the_run_of_its_setting():
    """Recomputed one by one through `serve`: clients, where every request has an arrival."""
    found = small(demand=Demand(clients=25))
    assert found.plan.horizon is None
    for index, setting in enumerate(found.settings):
        for run in range(2):
            limits = Limits(
                M,
                16,
                watermark=setting.watermark,
                max_num_seqs=setting.max_num_seqs,
                admission_rate=setting.admission_rate,
            )
            table = saturated(TIERS, 104, rng=run)
            alone = metrics(
                serve(table, Server("vllm", limits, backend="reference"), clients=setting.clients)
            )
            for name in ("output_throughput", "preemptions", "ttft_p99", "latency_p99"):
                assert found.table[name].values[index, run] == alone[name].item()


def test_where_all_wait_warm_up_is_left_out_and_work_does_not_run_out():
    found = small(requests=200)
    assert found.unfinished == 0
    assert found.plan.horizon is not None
    warm_up = found.plan.warm_up * found.plan.every
    assert 0 < warm_up < found.plan.horizon
    assert (found.table.iterations.values == found.plan.horizon - warm_up).all()
    # arrival says nothing here, so neither does what is counted from it
    assert not {"ttft_p99", "latency_p99", "censored"} & set(found.table.data_vars)


def test_the_horizon_ends_before_the_work_does_for_every_engine():
    for name in ENGINES:
        only = {"max_num_seqs": []}
        found = small(engine=name, requests=None, runs=1, candidates=only, backend="kernel")
        assert found.unfinished == 0, name
        # at most x* are completed an iteration, and a cold start admits more than memory carries
        most = found.plan.equilibrium.rate * (found.plan.horizon or 0)
        assert most + 3 * found.plan.equilibrium.in_flight <= found.plan.size


def test_runs_are_long_enough_for_memory_to_turn_over():
    """Memory carries 400 / 252.5 * 15 requests (mean decode 15): 23.8, clients aside."""
    assert small(requests=None, runs=1, candidates={"max_num_seqs": []}).plan.size == 238
    assert not small(requests=104, runs=1).plan.short
    few = small(requests=95, runs=1, demand=Demand(clients=25))
    assert few.plan.short  # a pick would be one of the start
    assert (few.choice.index, few.choice.closest, few.end_of_preemption) == (None, None, None)
    answer = few.to_dict()
    assert (answer["pick"], answer["flags"], answer["end_of_preemption"]) == (None, {}, None)
    assert not small(requests=96, runs=1, demand=Demand(clients=25)).plan.short
    assert not small(requests=90, runs=1, demand=Demand(clients=22)).plan.short
    assert not small(requests=90, runs=1, demand=Demand(rate=0.5)).plan.short


def test_a_horizon_is_at_least_the_longest_answer():
    """x* = 400 / 252.5 and three times 23.8 left over: 20 iterations need 31.7 + 71.3 requests."""
    with pytest.raises(InputError, match="at least 103: work for 19 iterations") as refused:
        small(requests=102, runs=1)
    assert refused.value.argument == "requests"
    found = small(requests=103, runs=1)
    assert found.plan.horizon == 20
    # A rare answer of 2,000 tokens: by default runs are as long as it.
    rare = Workload(
        (RequestClass(8, 10, Fraction(999, 1000)), RequestClass(8, 300, 1 - Fraction(999, 1000)))
    )
    usual = small(rare, requests=None, runs=1, candidates={"max_num_seqs": []})
    assert usual.plan.horizon is not None
    assert usual.plan.horizon >= 300


def test_the_frontier_and_the_pick_are_of_the_means():
    found = small(demand=Demand(clients=25))
    rows = np.array(
        [
            [found.mean(i, name) for name in found.plan.objectives]
            for i in range(len(found.settings))
        ]
    )
    rows[:, 0] *= -1
    for index in found.frontier:
        beats = (rows <= rows[index]).all(axis=1) & (rows < rows[index]).any(axis=1)
        assert not beats.any()
    assert found.choice.index in found.choice.allowed


def test_x_star_is_tried_and_never_exceeded():
    """x* = 400 / mean of sum (l0 + 1 + j): 400 / ((10 * 9 + 45 + 20 * 9 + 190) / 2)."""
    found = small(candidates={"watermark": [], "max_num_seqs": []}, runs=1)
    exact = Fraction(M) / Fraction(90 + 45 + 180 + 190, 2)
    rates = [s.admission_rate for s in found.settings if s.admission_rate is not None]
    assert max(rates) <= exact
    assert exact - max(rates) < Fraction(1, 10**6)
    assert found.plan.equilibrium.rate == exact


def test_flags_are_those_of_the_engine_and_what_has_none_is_said():
    found = small(candidates=FEW | {"admission_rate": [Fraction(1, 3)]})
    spelled = {found.settings[i]: found.flags(i) for i in range(len(found.settings))}
    assert spelled[Setting(0.1, 12)] == (("--watermark", "0.1"), ("--max-num-seqs", "12"))
    assert spelled[Setting()] == ()
    limited = found.settings.index(Setting(admission_rate=Fraction(1, 3)))
    assert found.flags(limited) == ()
    assert without_flag(VLLM, found.settings[limited], Setting()) == ("admission_rate",)


def test_a_cap_of_memory_over_the_largest_request_never_preempts():
    """28 - 1 tokens at most in 2 blocks of 16; 400 tokens are 25 blocks: 12 requests always fit."""
    found = small(candidates={"max_num_seqs": [12]}, requests=200)
    capped = found.settings.index(Setting(max_num_seqs=12))
    assert found.mean(0, "preemptions") > 0
    assert found.mean(capped, "preemptions") == 0


def test_slos_decide_and_none_attainable_gives_the_closest():
    met = small(demand=Demand(clients=25), slos=[Slo("preemptions", 0)])
    assert met.choice.index is not None
    assert met.mean(met.choice.index, "preemptions") == 0
    missed = small(demand=Demand(clients=25), slos=[Slo("latency_p99", 1)])
    assert missed.choice.index is None
    assert missed.choice.closest is not None
    answer = missed.to_dict()
    assert answer["pick"] is None
    assert answer["flags"] == {}
    assert answer["closest"]["metrics"]["latency_p99"] > 1


@pytest.mark.daily(1)
@pytest.mark.parametrize("runs", [1, 2])
def test_a_server_that_serves_nobody_gains_from_what_serves(runs):
    """Newcomers first: all memory is handed on for ever, and no token comes out."""
    found = small(
        Workload.from_lengths([(10, 20)]),
        engine="fcfs-new-first",
        candidates={"watermark": [], "max_num_seqs": [16, 99], "admission_rate": []},
        runs=runs,
    )
    speed = found.throughput
    assert found.mean(0, speed) == found.mean(2, speed) == 0
    assert (found.gain(1, speed), found.gain(2, speed)) == (math.inf, 0)
    assert [found.gains.of(index, speed).counts for index in (1, 2)] == [True, False]
    assert found.choice.index == 1
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_replay_takes_consecutive_parts_each_from_zero_where_they_are_asked_for():
    trace = Trace((8,) * 50, (10,) * 50, tuple(0.1 * i for i in range(50)), name="steady")
    asked = {"demand": Demand(replay=True, speed=2), "clock": IterationClock(0.01), "requests": 20}
    found = small(trace, **asked, runs=2)
    assert (found.runs, found.plan.size) == (2, 20)
    with pytest.raises(InputError, match=r"runs: got 3; allowed: at most 2: the trace has 50 req"):
        small(trace, **asked, runs=3)
    # 10 iterations of 10 ms, one every 50 ms: nobody waits, so every run lasts 19 * 0.05 + 0.1 s.
    assert found.table.duration.values[0] == pytest.approx([1.05, 1.05], rel=1e-12)  # rounding
    assert found.table.ttft_p99.values[0].max() <= 0.02 + 1e-9  # a wait of at most one iteration


def test_a_trace_is_a_workload_where_it_is_not_replayed():
    trace = Trace((8, 8), (10, 20), name="two")
    assert small(trace).table.equals(small(TIERS).table)


def test_the_largest_request_is_named_whether_or_not_it_is_drawn():
    rare = Workload(
        (
            RequestClass(8, 10, Fraction(10**6 - 1, 10**6)),
            RequestClass(399, 40, Fraction(1, 10**6)),
        )
    )
    with pytest.raises(InputError, match="399 input \\+ 40 output") as refused:
        small(rare)
    assert refused.value.argument == "capacity"
    assert "vllm" in str(refused.value)


@pytest.mark.parametrize(
    "options",
    [
        {"rate": 0.0},
        {"rate": math.inf},
        {"rate": math.nan},
        {"clients": 0},
        {"speed": 2.0},
        {"replay": True, "speed": 0.0},
        {"rate": 1.0, "replay": True},
    ],
)
def test_demands_that_mean_nothing_are_refused(options):
    with pytest.raises(InputError):
        Demand(**options)
