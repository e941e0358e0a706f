"""What is taken: the objective first, then what else users feel, then the fewest knobs."""

import math

import numpy as np
import pytest

from fluidkv.answers.recommend.choosing import choose
from fluidkv.answers.recommend.records import MARGIN, OBJECTIVES, Gain, felt_of, more_is_better
from fluidkv.answers.served.setting import Setting
from fluidkv.answers.served.slo import Slo

NOW = Setting()
SETTINGS = (NOW, Setting(0.1), Setting(0.1, 8), Setting(max_num_seqs=8))
FELT = ("output_throughput", "latency_p99")


def _table(speeds, tail=None):
    tail = [1.0] * len(speeds) if tail is None else tail
    columns = dict(zip(FELT, (speeds, tail), strict=True))
    return {name: np.array(column, float)[:, None] for name, column in columns.items()}


def _choose(table, slos=(), felt=FELT, among=None):
    return choose(SETTINGS, table, slos, felt=felt, among=among)


def test_the_fastest_and_of_these_the_shortest_tail():
    just = 100 * (1 - MARGIN)
    found = _choose(_table([100, just, just - 0.01, 50], [1.0, 0.9, 0.5, 0.1]))
    assert found.index == 1
    assert found.allowed == (0, 1, 2, 3)


def test_then_the_fewest_knobs_then_the_higher_throughput():
    assert _choose(_table([99, 99, 100, 99.5])).index == 0
    assert _choose(_table([99, 99, 100, 99.5]), among=(1, 2, 3)).index == 3
    assert _choose(_table([90, 99, 100, 98.5])).index == 1


def test_preemptions_are_nothing_that_is_looked_at():
    table = _table([100, 100, 100, 100])
    table["preemptions"] = np.array([[9.0], [0.0], [0.0], [0.0]])
    assert _choose(table).index == 0


def test_without_slos_no_tail_gets_longer():
    table = _table([100, 120, 130, 140], [1.0, 1 + MARGIN, 1.03, math.nan])
    assert _choose(table).index == 1


def test_without_a_tail_now_there_is_nothing_to_compare():
    assert _choose(_table([100, 120, 130, 140], [math.nan, 1, 9, 9])).index == 3


def test_an_objective_comes_first_and_the_rest_does_not_get_worse():
    felt = felt_of("latency_p99", "output_throughput", ["latency_p99"])
    assert felt == FELT[::-1]
    table = _table([100, 98, 97, 99], [10.0, 5.0, 1.0, 6.0])
    found = _choose(table, felt=felt)
    assert found.allowed == (0, 1, 3)  # 97 loses more than the margin
    assert found.index == 1


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_objective_leads_and_each_metric_is_there_once(objective):
    felt = felt_of(objective, "output_throughput", ["ttft_p99", "latency_p99"])
    first = "output_throughput" if objective == "throughput" else objective
    assert felt[0] == first
    assert {"output_throughput", "ttft_p99", "latency_p99"} <= set(felt)
    assert len(felt) == len(set(felt))
    more = [name for name in felt if more_is_better(name)]
    assert set(more) == {"output_throughput", *({"goodput"} & {objective})}


def test_a_loss_counts_beyond_what_the_simulation_misses():
    for relative, loses in ((-0.03, False), (-0.04, False), (-0.05, True)):
        assert Gain(relative, relative, half=0.0, bar=0.04).loses == loses


def test_slos_say_what_is_allowed_in_every_run():
    table = {
        "output_throughput": np.array([[9.0, 9.0], [8.0, 8.0], [7.0, 7.0], [6.0, 6.0]]),
        "ttft_p99": np.array([[1.0, 3.0], [1.0, 2.0], [2.0, math.nan], [1.0, 1.0]]),
        "latency_p99": np.ones((4, 2)),
    }
    found = _choose(table, [Slo("ttft_p99", 2.0)])
    assert found.allowed == (1, 3)
    assert found.index == 1


def test_where_none_is_allowed_the_closest_misses_fewest_then_least():
    table = _table([100, 99, 98, 97])
    table["preemptions"] = np.array([[4.0], [3.0], [1.0], [2.0]])
    table["throughput"] = table["output_throughput"]
    found = _choose(table, [Slo("preemptions", 0), Slo("throughput", 98)])
    assert (found.index, found.closest) == (None, 2)
    assert found.allowed == ()
