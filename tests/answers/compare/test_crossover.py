"""Two capacity policies along max_tokens and along the pool, and where they change places."""

import json
from fractions import Fraction

import numpy as np
import pytest

from fluidkv.answers.compare.crossover import POLICIES, crossing, policies_crossover
from fluidkv.answers.compare.plan import Setup
from fluidkv.answers.served.demand import Demand
from fluidkv.answers.served.setting import Setting
from fluidkv.errors import InputError
from fluidkv.runs.arrivals import saturated
from fluidkv.runs.max_tokens import max_tokens_of
from fluidkv.runs.measuring import metrics
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.workload import RequestClass, Workload

NO_EVICT, MAX_UTIL = POLICIES
HALF = Fraction(1, 2)
MIX = Workload((RequestClass(60, 4, HALF), RequestClass(60, 12, HALF)))
CLOCK = IterationClock(0.02, 1e-6, 4e-3)
SETUP = Setup(400, Demand(clients=8), CLOCK, Setting(), 4, requests=30, runs=2)
SPEED = "output_throughput_per_time"


def _values(gaps: list[float], spread: float) -> np.ndarray:
    """[policy, point, run]: the second policy at 1, the first as much more, in four runs."""
    noise = spread * np.array([-1.0, -0.5, 0.5, 1.0])
    return np.stack([1 + np.array(gaps)[:, None] + noise, np.ones((len(gaps), 4))])


def test_they_cross_between_the_last_point_of_one_and_the_first_of_the_other() -> None:
    found = crossing(SPEED, [1, 2, 4, 8], _values([0.3, 0.1, -0.1, -0.3], 0.01))
    assert found.found
    assert (found.before, found.after) == (NO_EVICT, MAX_UTIL)
    assert (found.low, found.high) == (2, 4)
    assert found.at == pytest.approx(8**0.5)  # half way between 2 and 4, by logarithms
    assert found.same_from is None


def test_noise_widens_what_is_said() -> None:
    found = crossing(SPEED, [1, 2, 4, 8], _values([0.3, 0.1, -0.1, -0.3], 0.06))
    assert (found.low, found.high) == (1, 8)
    assert crossing(SPEED, [1, 2], _values([0.1, -0.1], 0.2)).before is None


def test_of_times_less_is_better() -> None:
    found = crossing("latency_p99", [1, 2], _values([-0.3, 0.3], 0.01))
    assert (found.before, found.after) == (NO_EVICT, MAX_UTIL)


def test_where_one_is_better_it_is_said_until_where() -> None:
    found = crossing(SPEED, [1, 2, 4], _values([0.3, 0.1, 0.0], 0.01))
    assert (found.before, found.after, found.at, found.same_from) == (NO_EVICT, NO_EVICT, None, 4)
    assert not found.found


def test_every_point_is_a_run_of_its_own() -> None:
    multiples, pools = [Fraction(1), Fraction(2)], [Fraction(1), Fraction(3)]
    found = policies_crossover(MIX, SETUP, multiples=multiples, pools=pools)
    limits = Limits(400, 4)
    for run in range(2):
        table = saturated(MIX, 30, rng=run)
        for place, multiple in enumerate(("1x", "2x")):
            asks = max_tokens_of(multiple).of(table)
            for policy, name in enumerate(POLICIES):
                own = metrics(serve(asks, Server(name, limits, clock=CLOCK), clients=8)).isel(run=0)
                there = found.by_max_tokens.table.isel(policy=policy, point=place, run=run)
                assert there[SPEED] == own[SPEED]
        larger = serve(table, Server(NO_EVICT, Limits(1200, 4), clock=CLOCK), clients=8)
        there = found.by_capacity.table.isel(policy=0, point=1, run=run)
        assert there[SPEED] == metrics(larger).isel(run=0)[SPEED]
    assert found.ratio == 1
    json.dumps(found.to_dict())


def test_in_a_pool_for_all_they_are_the_same() -> None:
    found = policies_crossover(
        MIX, SETUP, multiples=[Fraction(1), Fraction(2)], pools=[Fraction(1), Fraction(3)]
    )
    mean, half = found.by_capacity.gain(SPEED)
    assert (mean[1], half[1]) == (0, 0)  # 8 requests of 72 tokens at most fit in 1,200
    assert mean[0] != 0
    assert found.by_capacity.table["preemptions"].values[1, 1].sum() == 0


def test_what_no_evict_can_never_serve_is_left_out_and_said() -> None:
    setup = Setup(200, Demand(clients=8), CLOCK, Setting(), 4, requests=20, runs=2)
    multiples = [Fraction(1), Fraction(2), Fraction(20)]
    found = policies_crossover(MIX, setup, multiples=multiples, pools=[HALF, Fraction(1)])
    assert found.by_max_tokens.points == (1, 2)
    assert found.by_max_tokens.refused == (20,)  # 60 + 240 tokens
    assert found.by_capacity.refused == ()


@pytest.mark.parametrize("wrong", [[Fraction(1)], [Fraction(2), Fraction(1)]])
def test_axes_rise(wrong: list[Fraction]) -> None:
    with pytest.raises(InputError, match="at least 2, rising"):
        policies_crossover(MIX, SETUP, multiples=wrong)
