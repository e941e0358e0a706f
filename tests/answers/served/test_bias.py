"""Advice against a log: what the simulation misses there is the error bar of a gain."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from fluidkv.answers import ServerSettings, preempt_study, read_server, recommend_settings
from fluidkv.answers.served.bias import OUTPUT, Bias
from fluidkv.answers.served.demand import Demand
from fluidkv.answers.served.setting import Setting
from fluidkv.answers.served.slo import Slo
from fluidkv.errors import InputError
from fluidkv.logs import read_log
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import Restore, Victim
from fluidkv.traces import Trace, preset, read_trace
from fluidkv.workload import Workload
from tests.answers.replay.logs import CLOCK, LIMITS, write_log

NOW = Setting(max_num_seqs=LIMITS.max_num_seqs)
TRIED = {"watermark": [0.1], "max_num_seqs": [8], "admission_rate": []}
ONE = {"watermark": [0.05], "max_num_seqs": [], "admission_rate": []}


def _overloaded() -> Requests:
    """A backlog from the start on: what is recomputed is missing at the end."""
    rng = np.random.default_rng(0)
    return Requests(
        rng.integers(100, 500, 60),
        rng.integers(100, 300, 60),
        arrival=np.cumsum(rng.exponential(0.02, 60)),
    )


def _advice(folder: Path, engine: str, **changes):
    trace, _ = read_trace(folder)
    log = changes.pop("log", None) or read_log(folder).timed()
    options = {
        "demand": Demand(replay=True),
        "clock": CLOCK,
        "now": NOW,
        "candidates": TRIED,
        "block_size": LIMITS.block_size,
        "max_num_batched_tokens": LIMITS.max_num_batched_tokens,
    }
    return recommend_settings(trace, LIMITS.capacity, engine=engine, log=log, **(options | changes))


def test_a_simulation_that_is_the_log_has_no_bias(tmp_path):
    write_log(tmp_path)
    found = _advice(tmp_path, "vllm")
    assert set(found.bias) == {OUTPUT, "ttft_p99", "latency_p99"}
    # A log's times are doubles near 1.7e9 s: they are known to 2e-7 s, of seconds.
    assert all(abs(bias.relative) < 1e-6 for bias in found.bias.values())
    assert found.bias["ttft_p99"].error_bar < 1e-6
    # A tick's end and an iteration's may coincide: one iteration's tokens then change the tick.
    assert found.bias[OUTPUT].error_bar < 0.005


def test_rules_with_the_servers_cache_miss_less_than_rules_without(tmp_path):
    write_log(tmp_path, caching=True, table=_overloaded())
    without, with_cache = (_advice(tmp_path, e) for e in ("vllm", "vllm+cache"))
    assert with_cache.plan.engine.caching
    assert abs(with_cache.bias[OUTPUT].relative) < 1e-6
    # A tick's end and an iteration's may coincide: one iteration's tokens then change the part.
    assert with_cache.bias[OUTPUT].error_bar < 0.005
    assert without.bias[OUTPUT].relative < -0.005 < with_cache.bias[OUTPUT].relative
    assert with_cache.table["recompute_tax"][0] < without.table["recompute_tax"][0]


def test_a_gain_that_the_simulation_may_have_invented_is_none(tmp_path):
    few = replace(LIMITS, max_num_seqs=4)
    write_log(tmp_path, table=_overloaded(), limits=few)
    log = read_log(tmp_path).timed()
    options = {
        "now": Setting(max_num_seqs=4),
        "candidates": {"watermark": [], "max_num_seqs": [5], "admission_rate": []},
    }
    fair = _advice(tmp_path, "vllm", **options)
    assert fair.settings[fair.choice.index or 0].max_num_seqs == 5
    assert fair.gain(1, OUTPUT) > 0.05
    # The same advice, where the server was in truth half as fast again as its simulation.
    start = log.arrival_s[0]
    faster = {
        name: start + (getattr(log, name) - start) / 1.5
        for name in ("arrival_s", "first_token_s", "last_token_s", "tick_ends_s")
    }
    doubtful = _advice(tmp_path, "vllm", log=replace(log, **faster), **options)
    assert doubtful.choice.candidate == fair.choice.candidate == 1
    assert doubtful.left
    assert doubtful.to_dict()["flags"] == {}
    assert doubtful.to_dict()["candidate"]["max_num_seqs"] == 5


def test_the_error_bar_counts_what_cancels_over_the_whole_run():
    bias = Bias(measured=100.0, simulated=100.0, parts=(0.1, -0.1))
    assert bias.relative == 0
    assert bias.error_bar == pytest.approx(0.1)
    assert bias.gain(120.0, more_is_better=True) == pytest.approx(0.2)
    low = Bias(measured=100.0, simulated=80.0, parts=())
    assert low.error_bar == pytest.approx(0.2)


def test_what_the_log_already_has_is_no_gain():
    low = Bias(measured=100.0, simulated=80.0, parts=())
    assert low.gain(100.0, more_is_better=True) == 0
    assert low.gain(110.0, more_is_better=True) == pytest.approx(0.1)
    slow = Bias(measured=137.4, simulated=145.9, parts=())
    assert slow.gain(137.5, more_is_better=False) < 0
    assert slow.gain(120.0, more_is_better=False) == pytest.approx(1 - 120 / 137.4)


@pytest.mark.parametrize("engine", ["vllm", "vllm+cache"])
def test_the_measured_server_is_left_as_it_is(traces_dir, engine):
    # Simulated, watermark 0.05 with 34 sequences gains 4.1 %; the log itself has that already.
    folder = traces_dir / "vllm_rtx4090_llama31_8b"
    found = recommend_settings(
        read_trace(folder)[0],
        2587 * 16,
        engine=engine,
        demand=Demand(replay=True),
        clock=IterationClock(0.0148865, 2.59973e-07, 8.68288e-05),  # fitted to it
        now=Setting(max_num_seqs=256),
        candidates={"watermark": [0.05], "max_num_seqs": [34], "admission_rate": []},
        block_size=16,
        max_num_batched_tokens=2048,
        log=read_log(folder).timed(),
    )
    assert found.bias[OUTPUT].measured == pytest.approx(1066, abs=1)
    assert found.bias["ttft_p99"].measured == pytest.approx(137.4, abs=0.1)
    assert found.left
    assert found.choice.candidate is not None
    assert found.gain(found.choice.candidate, OUTPUT) < found.bias[OUTPUT].error_bar


def test_a_clock_without_prefill_has_no_time_to_first_token():
    trace = preset("sharegpt")
    demand = Demand(rate=0.5)
    free = IterationClock(0.02, 1e-7)
    with pytest.raises(InputError, match=r"^slo: got 'ttft_p99'; .*prefill takes no time"):
        recommend_settings(trace, 41_408, demand=demand, clock=free, slos=[Slo("ttft_p99", 2)])
    found = recommend_settings(
        trace,
        41_408,
        demand=demand,
        clock=free,
        requests=20,
        runs=1,
        candidates={"watermark": [], "max_num_seqs": [], "admission_rate": []},
    )
    assert found.tails == ("latency_p99",)


@pytest.mark.parametrize("engine", ["trtllm-no-evict+cache", "vllm+"])
def test_a_cache_that_is_not_known_is_refused(engine):
    with pytest.raises(InputError, match=r"^engine: "):
        recommend_settings(preset("alpaca"), 4_000, engine=engine)


@pytest.mark.parametrize("demand", [Demand(), Demand(clients=20), Demand(rate=0.5)])
def test_where_nobody_is_preempted_a_cache_changes_nothing(demand):
    """Whoever asks: all at first, clients who ask again, a rate."""
    tried = {"watermark": [], "max_num_seqs": [5, 9], "admission_rate": []}
    without, with_cache = (
        recommend_settings(
            preset("alpaca"),
            4_000,
            engine=engine,
            demand=demand,
            clock=IterationClock(1.0, 0.0, 0.125),  # all times are sums without rounding
            candidates=tried,
            now=Setting(max_num_seqs=9),
            requests=600,
            runs=2,
        )
        for engine in ("vllm", "vllm+cache")
    )
    assert with_cache.plan.engine.caching
    assert with_cache.table.preemptions.max() == 0
    xr.testing.assert_allclose(with_cache.table, without.table, rtol=1e-12)  # sums, in two orders
    assert with_cache.plan.horizon == without.plan.horizon


def test_a_run_with_a_cache_that_gets_stuck_is_counted():
    """SGLang admits by 4,096 outputs at most; whoever is asked for more may outgrow the memory."""
    trace = Trace((10,), (5000,), (0.0,), name="long")
    found = recommend_settings(
        trace,
        4_600,
        engine="sglang+cache",
        demand=Demand(replay=True),
        clock=IterationClock(1.0, 0.0, 0.1),
        candidates={"max_num_seqs": []},
    )
    assert (found.unfinished, len(found.settings)) == (1, 1)


def test_a_log_of_other_requests_is_refused(tmp_path):
    write_log(tmp_path)
    log = read_log(tmp_path).timed()
    rng = np.random.default_rng(0)
    other = replace(log, input_lengths=rng.integers(20, 200, 50))
    with pytest.raises(InputError, match=r"^log: got '50 requests'"):
        _advice(tmp_path, "vllm", log=other)


@pytest.mark.parametrize(
    ("version", "needed"),
    [
        ("0.19.0", (("--watermark", "0.24.0"),)),
        ("0.9.2.dev1+g12", (("--watermark", "0.24.0"),)),
        ("0.33.0", ()),
        ("1.0", ()),
        (None, ()),
        ("main", ()),
    ],
)
def test_a_flag_that_the_servers_version_lacks_is_named(tmp_path, version, needed):
    found = recommend_settings(
        preset("alpaca"),
        4_000,
        demand=Demand(clients=5),
        requests=20,
        runs=1,
        candidates=ONE,
        version=version,
    )
    (index,) = [i for i, s in enumerate(found.settings) if s.watermark]
    assert found.needs(index) == needed
    assert found.needs(0) == ()
    assert found.version == version


@pytest.mark.parametrize(("name", "value"), [("runs", 2.5), ("seed", -1), ("runs", True)])
def test_numbers_of_another_kind_are_refused(name, value):
    with pytest.raises(InputError, match=rf"^{name}: got {value}; allowed: an integer"):
        recommend_settings(preset("alpaca"), 4_000, demand=Demand(clients=5), **{name: value})


def _bias_of_sample(source: Workload | Trace, **changes) -> float:
    """What `preempt_study` misses of the output rate of the log that is shipped, in per cent."""
    server = read_server("sample:vllm-rtx4090")
    settings, _ = ServerSettings(None, None, None, None, Setting()).as_logged(server)
    assert settings.capacity is not None
    limits = Limits(
        settings.capacity,
        settings.block_size or 16,
        max_num_seqs=settings.now.max_num_seqs,
        max_num_batched_tokens=settings.max_num_batched_tokens,
    )
    one_rule = {"victims": [Victim.LAST_ADMITTED], "restores": [Restore.RECOMPUTE]}
    options = one_rule | {"clock": settings.clock, "log": server.log} | changes
    study = preempt_study(source, limits, engine="vllm-0.19", **options)
    return round(100 * study.bias[OUTPUT].relative, 2)


@pytest.mark.parametrize(
    "changes",
    [
        {"demand": Demand(replay=True)},
        {"demand": Demand(replay=True, speed=4)},
        {"requests": 300, "seeds": 1},  # all wait from the start
        {"demand": Demand(rate=2.0), "requests": 40, "seeds": 2},
    ],
)
def test_a_log_is_held_against_its_own_times_whatever_the_demand(changes) -> None:
    trace, _ = read_trace("sample:vllm-rtx4090")
    assert _bias_of_sample(trace, **changes) == -3.93  # recorded


def test_a_log_needs_a_source_of_its_requests() -> None:
    mix = Workload.from_lengths([(100, 50)])
    with pytest.raises(InputError, match=r"^log: got '300 requests'; allowed: only with a source"):
        _bias_of_sample(mix, requests=300)
    trace, _ = read_trace("sample:vllm-rtx4090")
    other = replace(trace, decode_lengths=tuple(d + 1 for d in trace.decode_lengths))
    with pytest.raises(InputError, match=r"^log: got '300 requests'; allowed: of the lengths"):
        _bias_of_sample(other, demand=Demand(replay=True))
