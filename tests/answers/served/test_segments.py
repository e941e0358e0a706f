"""Parts of a run: the same work in each, and the queue carried over."""

from fractions import Fraction

import numpy as np
import pytest

from fluidkv.answers.compare import plan as of_engines
from fluidkv.answers.recommend import runs as of_settings
from fluidkv.answers.served.demand import Demand
from fluidkv.answers.served.scaled import scaled
from fluidkv.answers.served.segments import SEGMENTS, by_segment, paces, percentiles
from fluidkv.answers.served.setting import Setting
from fluidkv.runs.arrivals import poisson
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import served_engine
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.traces import Trace, preset


def test_a_pace_is_of_the_time_that_a_part_of_the_tokens_took():
    # 8 tokens in 4 parts of 2: in 1 s, 1 s, 2 s and 4 s; nothing comes after the last one
    made = np.array([2.0, 2.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.0, 0.0])
    found = paces(made, np.arange(1.0, 11.0))
    assert found.tolist() == [2.0, 2.0, 1.0, 0.5]
    assert np.isnan(paces(np.zeros(3), np.arange(3.0))).all()


def test_percentiles_are_of_consecutive_requests_and_nobody_is_nan():
    values = np.array([1.0, 3.0, 2.0, np.nan, np.nan, np.nan, 5.0, 7.0])
    found = percentiles(values, 0.5)
    assert found[[0, 1, 3]].tolist() == [2.0, 2.0, 6.0]
    assert np.isnan(found[2])


def test_parts_of_a_run_make_up_the_run():
    table = poisson(preset("alpaca"), 30.0, 80, rng=0, per_iteration=False)
    run = serve(table, Server("vllm", Limits(4_000, 16), clock=IterationClock(0.02, 1e-6, 1e-4)))
    found = by_segment(run, ["output_throughput_per_time", "ttft_p99", "preemptions"])
    assert dict(found.sizes) == {"run": 1, "segment": SEGMENTS}
    assert set(found) == {"output_throughput_per_time", "ttft_p99"}
    tokens = float(table.output_length.sum())
    spans = tokens / SEGMENTS / found.output_throughput_per_time.values[0]
    assert spans.sum() == pytest.approx(float(run.time.max()))
    first = (run.first_token - run.arrival).values[0]
    assert found.ttft_p99.values[0, 0] == np.quantile(first[:20], 0.99)


def test_parts_of_a_run_with_a_horizon_are_as_long_and_leave_the_warm_up_out():
    run = serve(Requests([4] * 99, [9] * 99), Server("vllm", Limits(160, 16)), iterations=60)
    (found,) = by_segment(run, ["output_throughput"], 20).output_throughput.values
    late = run.new_outputs.values[0, 20:]
    assert found.tolist() == late.reshape(SEGMENTS, 10).mean(axis=1).tolist()


def test_scaled_requests_keep_all_but_prompts_or_times():
    table = Requests([3, 5], [4, 6], arrival=[0.0, 2.0], max_output=[9, 9], priority=[1, 0])
    longer, faster = scaled(table, inputs=Fraction(2)), scaled(table, rate=2.0)
    assert longer.input_length.tolist() == [6, 10]
    assert faster.arrival.tolist() == [0.0, 1.0]
    for other in (longer, faster):
        assert other.output_length.tolist() == [4, 6]
        assert other.max_output.tolist() == [9, 9]
        assert other.priority.tolist() == [1, 0]


@pytest.mark.parametrize(("requests", "exact"), [(40, True), (20, False)])
def test_a_single_run_is_recorded_by_the_iteration(requests: int, exact: bool):
    """Its parts are the pairs: with 400 records the interval on the shipped log was 2.6 %, not 1.5.

    Several runs are pairs themselves, and need no parts.
    """
    times = tuple(float(i) for i in range(40))
    trace = Trace((50,) * 40, (500,) * 40, arrival_times_s=times)
    clock, demand = IterationClock(0.02, 1e-6, 1e-4), Demand(replay=True)
    runs = 40 // requests
    setup = of_engines.Setup(4_000, demand, clock, Setting(), requests=requests, runs=runs)
    of_two = of_engines.planned(trace, ["vllm", "vllm+cache"], setup)
    of_one = of_settings.planned(trace, served_engine("vllm"), setup, {}, (), "throughput")
    for plan in (of_two, of_one):
        assert len(plan.tables) == 40 // requests
        assert (plan.every == 1) is exact
