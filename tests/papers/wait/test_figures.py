"""What the figures of WAIT say, on fewer and shorter runs where the full ones are slow."""

from pathlib import Path

import numpy as np
import pytest

from fluidkv.figures import Figure, MissingInput
from fluidkv.wait.theory.fluid import fluid_equilibrium
from fluidkv.wait.theory.thresholds import check_thresholds
from fluidkv_papers.bands import ratio
from fluidkv_papers.wait.figures import (
    azure,
    conversations,
    demand,
    figure_11,
    figure_14,
    figure_15,
    gap,
    overflow,
    policies,
    segments,
    sweeps,
    wrong_inputs,
)
from fluidkv_papers.wait.instances import server
from tests.papers.committed import committed


def test_the_memory_is_what_the_thresholds_fill() -> None:
    """Exactly: so that the full rate is what this memory can carry, and no more."""
    full = policies.full()
    assert fluid_equilibrium(full).memory == policies.memory()
    assert fluid_equilibrium(full).per_stage == policies.PER_STAGE
    assert set(check_thresholds(full, policies.PER_STAGE, policies.memory()).slack) == {0}
    assert server.rate_at(full, policies.memory()) == full.arrival_rate


def test_a_range_over_draws_is_of_32_at_least() -> None:
    for module in (demand, figure_11, conversations, policies, wrong_inputs):
        for figure in getattr(module, "FIGURES", None) or (module.FIGURE,):
            seeds = figure.parameters["seeds"]
            assert isinstance(seeds, list)
            assert len(set(seeds)) >= 32, figure.id


def test_low_demand_is_served_by_all_and_later_by_wait() -> None:
    data = demand.data((0.6,), (0,), 6.0, (2.0, 5.0))
    for key in ("new_first", "running_first", "wait", "wait_least"):
        # what was in the system at the ends of the window: about 2 % of what came in it
        assert data[f"{key}.throughput"] == pytest.approx(data[f"{key}.offered"], rel=0.03)
        assert data[f"{key}.evictions"] == 0
    assert data["wait.latency_mean"] > data["wait_least.latency_mean"]
    assert data["wait_least.latency_mean"] > data["running_first.latency_mean"]


def test_in_overload_wait_serves_most_and_new_first_collapses() -> None:
    data = demand.data((1.2,), (0,), 12.0, (4.0, 10.0))
    assert data["wait.throughput"] > data["running_first.throughput"]
    assert data["new_first.throughput"] < 0.1 * data["running_first.throughput"]
    assert data["wait.evictions"] == 0
    assert data["running_first.evictions"] > 0.1
    assert "wait_least.throughput" not in data  # no thresholds satisfy (11) there


@pytest.mark.usefixtures("traces_dir")
def test_ten_outputs_above_capacity() -> None:
    data = conversations.data((130,), 8.0, (4.0, 7.0), (0,))
    assert data["full"] < 130
    assert data["full"] < data["last"] < 550  # the paper's heavy load
    assert data["nested_fixed.latency_mean"] > data["running_first.latency_mean"]
    assert data["nested_fixed.peak"] <= 1


@pytest.mark.usefixtures("traces_dir")
def test_least_thresholds_for_a_real_trace_need_more_than_the_machine() -> None:
    data = figure_14.data((1,), 40.0, (15.0, 30.0))
    assert data["segment_memory"] > 5 * data["capacity"]
    assert data["running_first.peak"] < 0.2
    assert data["nested_fixed.latency_mean"] > 3 * data["running_first.latency_mean"]
    excess = data["running_first.throughput"] - data["running_first.offered"]
    assert data["brought"] - data["left"] == pytest.approx(excess, rel=1e-9)


@pytest.mark.parametrize(("figure", "least"), list(zip(segments.FIGURES, (3, 11, 4), strict=True)))
def test_titles_name_where_the_committed_bound_is_least(figure: Figure, least: int) -> None:
    data = committed(figure)
    for panel in "01":
        assert data[f"{panel}.count"][np.nanargmin(data[f"{panel}.total"])] == least
    assert f"at {least} segments" in figure.title


def test_without_the_trace_its_figures_say_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FLUIDKV_TRACES", str(tmp_path))
    azure.trace.cache_clear()
    with pytest.raises(MissingInput, match=r"azure_llm_2023_conv\.csv"):
        figure_15.data()
    azure.trace.cache_clear()


def test_at_the_full_rate_wait_is_ahead_of_greedy_and_below_it_behind() -> None:
    data = policies.data((0.8, 1.0), (0,), 4.5, (2.0, 4.0))
    served = {key: data[f"{key}.throughput"] for key in sweeps.keys_of(data)}
    assert served["wait_least"][1] > served["cap"][1] > served["nested"][1] > served["greedy"][1]
    for key in ("wait_least", "nested"):
        assert not data[f"{key}.evictions"].any()
    assert data["greedy.evictions"][1] > 0.5
    # a cap on all together does not hold each type to its share: a few evictions are left
    assert 0 < data["cap.evictions"][1] < 0.02
    p99 = {key: data[f"{key}.latency_p99"] for key in ("wait_least", "cap")}
    assert p99["wait_least"][0] > 1.2 * p99["cap"][0]
    assert p99["wait_least"][1] < p99["cap"][1]


def test_outputs_just_beyond_a_segment_wreck_nested_wait() -> None:
    data = wrong_inputs.data((1.0, 1.1), (0,), 4.0, (1.5, 3.0))
    part = wrong_inputs.part_of(data, "lengths")
    assert part["nested.served"][1] < 0.6
    assert part["nested.peak"][1] > 5
    for key in ("cap", "vllm", "wait_least"):
        assert part[f"{key}.served"][1] > 0.97
        assert part[f"{key}.peak"][1] < 1
    assert not wrong_inputs.part_of(data, "rates")["nested.evictions"].any()


@pytest.mark.thorough
def test_nested_wait_is_ahead_where_the_others_evict() -> None:
    data = figure_11.data((0.6, 1.05), (0,), 7.0, (3.0, 6.0))
    later = ratio(data, "latency_mean", "nested_fixed", "running_first")
    more = ratio(data, "throughput", "nested_fixed", "running_first")
    assert later[0] > 1 > later[1]
    assert more[1] > 1.1
    assert not data["nested_fixed.evictions"].any()
    assert np.isnan(data["nested.throughput"][1])


@pytest.mark.thorough
def test_gaps_fall_as_the_theorem_says() -> None:
    data = gap.data((1, 8, 32), 10, 1, 1)
    assert data["slack.exponent"] == pytest.approx(-1, abs=0.05)
    assert data["nested.exponent"] == pytest.approx(-1, abs=0.05)
    assert data["zero.exponent"] > -0.95  # bends towards -0.5 with the horizon
    for key in ("zero", "slack"):
        error = 3 * data[f"{key}.error"]
        assert (data[f"{key}.gap"] - error < data[f"{key}.bound"]).all()


@pytest.mark.thorough
def test_overflow_is_rarer_than_allowed() -> None:
    data = overflow.data(400, 10)
    assert (data["low"] <= data["delta"]).all()
    assert (data["lower"] >= data["bound"]).all()
    assert (np.diff(data["bound"]) > 0).all()  # delta falls
    assert data["batch"] > data["equilibrium"]
