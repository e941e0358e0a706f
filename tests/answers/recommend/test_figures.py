"""The picture of a recommendation: its numbers, what its title claims, and that it draws."""

import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from fluidkv.answers import recommend_settings
from fluidkv.answers.recommend import figures
from fluidkv.answers.recommend.figures import frontier_figure
from fluidkv.answers.recommend.records import Choice
from fluidkv.answers.recommend.result import Recommendation
from fluidkv.answers.served.demand import Demand
from fluidkv.answers.served.setting import KNOBS
from fluidkv.figures import write_figures
from fluidkv.serving.clock import IterationClock
from fluidkv.workload import RequestClass, Workload

HALF = Fraction(1, 2)
TIERS = Workload((RequestClass(8, 10, HALF), RequestClass(8, 20, HALF)))


def found(**options) -> Recommendation:
    few = {
        "watermark": [0.0, 0.1],
        "max_num_seqs": [12],
        "admission_rate": [HALF],
        "clients": [12],
    }
    if "demand" not in options:
        del few["clients"]
    return recommend_settings(
        TIERS, 400, candidates=few, requests=104, runs=2, backend="reference", **options
    )


def test_points_are_means_and_the_kinds_are_what_is_turned():
    result = found(demand=Demand(clients=25))
    data = frontier_figure(result).data()
    for index, setting in enumerate(result.settings):
        assert data["throughput"][index] == result.mean(index, result.throughput)
        assert data["preemptions"][index] == result.mean(index, "preemptions")
        kind = int(data["kind"][index])
        turned = [KNOBS.index(name) for name in setting.changed(result.settings[0])]
        assert kind == (-1 if not turned else len(KNOBS) if len(turned) == 2 else turned[0])
    assert data["pick"] == result.choice.index
    assert (data["throughput_low"] <= data["throughput"]).all()


@pytest.mark.daily(2)
@pytest.mark.parametrize(
    ("pick", "said"), [(None, "no setting meets"), (0, "nothing to change"), (1, "preemptions")]
)
@pytest.mark.parametrize(
    "options", [{}, {"demand": Demand(clients=25), "clock": IterationClock(0.01)}]
)
def test_titles_say_what_was_found_and_all_of_them_draw(options, pick, said, tmp_path):
    result = found(**options)
    figure = frontier_figure(_picking(result, pick))
    assert said in figure.title
    if pick:
        gain = result.mean(1, result.throughput) / result.mean(0, result.throughput) - 1
        assert figure.title.endswith(f"throughput {gain:+.1%}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_figures([figure], tmp_path)
    assert (tmp_path / "frontier.png").stat().st_size > 0
    assert np.isnan(figure.data()["pick"]) == (pick is None)


def test_a_knob_of_sglang_and_pairs_have_their_looks():
    tried = {"conservativeness": [0.3], "max_num_seqs": [12], "admission_rate": []}
    result = recommend_settings(
        TIERS, 400, engine="sglang", candidates=tried, requests=104, runs=1, backend="reference"
    )
    alone, pair = KNOBS.index("conservativeness"), len(KNOBS)
    assert {alone, pair} < {*frontier_figure(result).data()["kind"].tolist()}
    assert tuple(figures._LOOKS) == (*KNOBS, "pair")


@pytest.mark.thorough
def test_today_s_server_may_serve_nobody(tmp_path):
    """It has a throughput of 0 and no tail: neither a gain nor the axes are NaN."""
    tried = {"watermark": [], "max_num_seqs": [24], "admission_rate": [Fraction(1, 5)]}
    result = recommend_settings(
        Workload.from_lengths([(10, 20)]), 500, engine="fcfs-new-first", candidates=tried, runs=1
    )
    assert result.mean(0, result.throughput) == 0
    figure = frontier_figure(result)
    assert figure.title.endswith("throughput from 0")
    assert not figures._shown(figure.data()).all()  # then axes get limits
    write_figures([figure], tmp_path)


def _picking(result: Recommendation, index: int | None) -> Recommendation:
    pick = Choice(index, index)
    return replace(result, picks=result.picks._replace(of_engine=pick))


def test_slow_settings_are_left_out_but_not_todays():
    data = {
        "throughput": np.array([4.0, 10.0, 4.0, 5.0]),
        "kind": np.array([-1.0, 0.0, 1.0, 2.0]),
        "pick": 1.0,
    }
    assert figures._shown(data).tolist() == [True, True, False, True]
    assert figures._shown({**data, "pick": 2.0}).all()
