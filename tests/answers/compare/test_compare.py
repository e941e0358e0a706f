"""Engines on the same requests: pairs, intervals for all at once, the bias, what is refused."""

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import xarray as xr

from fluidkv.answers.compare.plan import Setup, felt_of
from fluidkv.answers.compare.result import Difference, EngineComparison
from fluidkv.answers.compare.study import compare_engines
from fluidkv.answers.served.bias import Bias
from fluidkv.answers.served.demand import Demand
from fluidkv.answers.served.paired import Against
from fluidkv.answers.served.setting import Setting
from fluidkv.runs.arrivals import poisson
from fluidkv.runs.measuring import metrics
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import served_engine
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.traces import Trace
from fluidkv.workload import RequestClass, Workload

HALF = Fraction(1, 2)
MIX = Workload((RequestClass(8, 10, HALF), RequestClass(30, 20, HALF)))
CLOCK = IterationClock(0.1, 1e-4, 2e-3)
SMALL: dict[str, Any] = {
    "demand": Demand(rate=4.0),
    "clock": CLOCK,
    "requests": 40,
    "runs": 3,
    "block_size": 4,
}


def test_each_engine_serves_the_same_requests_by_its_own_rules() -> None:
    names = ["vllm", "sglang+cache:conservativeness=0.3", "trtllm-no-evict"]
    found = compare_engines(MIX, 160, names, **SMALL)
    assert found.names == tuple(names)
    for index, name in enumerate(names):
        for run in range(3):
            table = poisson(MIX, 4.0, 40, rng=run, per_iteration=False)
            own = metrics(serve(table, Server(name, Limits(160, 4), clock=CLOCK))).isel(run=0)
            for metric in ("latency_p99", "ttft_p50", "preemptions"):
                assert found.table[metric].values[index, run] == own[metric]
    assert found.mean(2, "preemptions") == 0 < found.mean(0, "preemptions")


def test_an_engine_with_a_cache_has_the_prompts_that_a_trace_says() -> None:
    """The second prompt is found but for its own tokens; without a cache nothing is."""
    lengths, times = (64, 64), (0.0, 1.0)
    alike = (((0, 48), (1, 16)), ((0, 48), (2, 16)))
    trace = Trace(lengths, (4, 4), times, prompt_segments=alike, output_segments=(None, None))
    options = {"demand": Demand(replay=True), "clock": IterationClock(0.01, 0, 1e-3)}
    found = compare_engines(trace, 1600, ["vllm", "vllm+cache"], **options)
    first_tokens = found.table.ttft_mean.values[:, 0]
    assert first_tokens.tolist() == pytest.approx([0.074, 0.01 + 0.001 * (64 + 16) / 2])
    assert found.shared


def test_differences_are_taken_run_by_run_and_hold_for_all_at_once() -> None:
    from scipy.stats import t

    found = compare_engines(MIX, 160, ["vllm", "trtllm-no-evict", "sglang"], **SMALL)
    assert found.comparisons == 2 * len(found.felt)
    values = found.table["latency_p99"].values
    gaps = (values[1] - values[0]) / values[0].mean()
    against = found.against["latency_p99"]
    assert against.mean[1] == pytest.approx(gaps.mean(), rel=1e-12)
    level = t.ppf(1 - 0.05 / 2 / found.comparisons, 2)
    assert against.wide[1] == pytest.approx(level * gaps.std(ddof=1) / 3**0.5, rel=1e-12)
    assert against.half[1] < against.wide[1]


def test_an_engine_with_the_same_rules_is_no_other() -> None:
    found = compare_engines(MIX, 160, ["vllm", "vllm-0.19"], **SMALL)
    assert {found.difference(1, metric) for metric in found.felt} == {Difference.NOISE}
    assert found.better == ()
    assert "the rules of vllm 0.33.0" in found.to_dict()["engines"][1]["note"]


def test_one_run_is_compared_by_its_parts() -> None:
    rng = np.random.default_rng(3)
    times = np.cumsum(rng.exponential(0.2, 60))
    times -= times[0]
    lengths = rng.integers(5, 30, 60).tolist()
    trace = Trace(tuple(lengths), tuple(lengths[::-1]), tuple(times.tolist()))
    setup = SMALL | {"demand": Demand(replay=True), "requests": None, "runs": None}
    found = compare_engines(trace, 160, ["vllm", "trtllm-no-evict"], draws=0, **setup)
    assert (found.runs, found.requests, found.pairs) == (1, 60, "segment")
    assert found.window is not None
    assert found.window.whole
    assert found.difference(1, "latency_p99") is not Difference.UNKNOWN
    assert np.isnan(found.against["preemptions"].half[1])
    json.dumps(found.to_dict())


def test_first_tokens_are_said_only_on_a_clock_that_prefills() -> None:
    free = IterationClock(0.1, 1e-4)
    assert "ttft_p99" in felt_of(Demand(rate=1.0), CLOCK)
    assert not [m for m in felt_of(Demand(rate=1.0), free) if m.startswith("ttft")]
    assert felt_of(Demand(), IterationClock.iterations())[0] == "output_throughput"


def _made(mean: float, wide: float, bar: float | None = None) -> EngineComparison:
    """Two engines, the second `mean` off in both metrics, and nothing behind it."""
    engines = (served_engine("vllm"), served_engine("sglang"))
    against = Against(np.array([0, mean]), np.array([0, wide / 2]), np.array([0, wide]), True)
    felt: tuple[str, ...] = ("output_throughput_per_time", "latency_p99")
    bias = {} if bar is None else {metric: Bias(1.0, 1.0 + bar, ()) for metric in felt}
    return EngineComparison(
        engines=engines,
        setup=Setup(100, Demand(), CLOCK, Setting()),
        limits=(Limits(100), Limits(100)),
        felt=felt,
        table=xr.Dataset({m: (("engine", "run"), np.ones((2, 2))) for m in felt}),
        against=dict.fromkeys(felt, against),
        pairs="run",
        bias=bias,
        logged=None if bar is None else 0,
        requests=1,
        window=None,
        iterations=None,
        warm_up=0,
        unfinished=(),
        short=False,
        shared=False,
    )


@pytest.mark.parametrize(
    ("mean", "wide", "bar", "throughput", "latency"),
    [
        (0.10, 0.05, None, Difference.BETTER, Difference.WORSE),
        (-0.10, 0.05, None, Difference.WORSE, Difference.BETTER),
        (0.10, 0.11, None, Difference.NOISE, Difference.NOISE),
        (0.10, 0.05, 0.12, Difference.BIAS, Difference.BIAS),
        (0.10, 0.05, 0.09, Difference.BETTER, Difference.WORSE),
        (0.10, np.nan, None, Difference.UNKNOWN, Difference.UNKNOWN),
    ],
)
def test_a_difference_is_real_beyond_noise_and_beyond_the_bias(
    mean: float, wide: float, bar: float | None, throughput: Difference, latency: Difference
) -> None:
    found = _made(mean, wide, bar)
    assert found.difference(1, "output_throughput_per_time") is throughput
    assert found.difference(1, "latency_p99") is latency
    assert found.better == ()  # better in one and worse in the other, or in none


def test_what_a_log_does_not_have_it_holds_no_difference_in() -> None:
    """As a longest gap, or of SGLang's decode log all times: a bar of 0 would let anything pass."""
    found = _made(-0.10, 0.05, 0.02)
    assert found.difference(1, "latency_p99") is Difference.BETTER
    bias = {name: one for name, one in found.bias.items() if name != "latency_p99"}
    unheld = EngineComparison(**{**vars(found), "bias": bias})
    assert unheld.difference(1, "latency_p99") is Difference.UNHELD
    assert unheld.difference(1, "output_throughput_per_time") is Difference.WORSE
    assert unheld.better == ()


def test_better_is_better_in_something_and_worse_in_nothing() -> None:
    found = _made(0.1, 0.05)
    still = Against(np.zeros(2), np.zeros(2), np.full(2, 0.01), True)
    mixed = EngineComparison(**{**vars(found), "against": {**found.against, "latency_p99": still}})
    assert mixed.better == (1,)
