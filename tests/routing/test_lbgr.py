"""Algorithm 2, by hand: cost, load that decays and is released, the regression."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.routing import LBGR
from fluidkv.routing.residual import FEATURES, Step, no_residual, updated
from tests.routing.views import view

PLAIN = LBGR(step="none")


def test_the_cost_is_a_second_for_each_thousand_tokens_missed():
    choice = PLAIN.route(PLAIN.start(3), view(2000, hits=(0, 1500, 500)))
    assert choice.worker == 1
    assert choice.ticket.cost == 0.5
    assert choice.state.load.tolist() == [0, 0.5, 0]


def test_cached_tokens_may_cost_too():
    router = LBGR(cached=0.5, missed=2.0, step="none")
    choice = router.route(router.start(3), view(2000, hits=(1000, 0, 0)))
    assert choice.ticket.cost == 0.5 + 2.0


def test_load_sends_elsewhere():
    state = PLAIN.start(2)._replace(load=np.array([3.0, 0.0]))
    seen = view(2000, hits=(2000, 0), pending=(0, 0), tree=(0, 0), to_compute=(0, 0), active=(0, 0))
    assert PLAIN.route(state, seen).worker == 1  # 0 + 3 against 2 + 0
    state = state._replace(load=np.array([1.9, 0.0]))
    assert PLAIN.route(state, seen).worker == 0


def test_load_decays_at_multiples_of_the_interval():
    router = LBGR(decay=0.5, every=0.02, step="none")
    state = router.route(router.start(3), view(1000, now=0.015)).state
    assert state.load.tolist() == [1, 0, 0]
    for now, load in ((0.0199, 1.0), (0.021, 0.5), (0.0399, 0.5), (0.0401, 0.25), (0.105, 2**-5)):
        later = router.route(state, view(1000, now=now, hits=(0, 1000, 0)))
        assert (later.ticket.known, later.worker) == (0, 1)
        assert later.state.load[0] == load


def test_what_is_left_is_released():
    router = LBGR(decay=0.5, every=1.0, step="none")
    first = router.route(router.start(1), _one(1000, now=0.5))
    second = router.route(first.state, _one(3000, now=1.5))
    assert second.state.load.tolist() == [0.5 + 3]
    after = router.finished(second.state, first.ticket, now=2.5, latency=2.0)
    assert after.load.tolist() == [1.5]  # of the first 1/4 was left, of the second half is
    after = router.finished(after, second.ticket, now=3.5, latency=2.0)
    assert after.load.tolist() == [0]


def test_all_of_it_may_be_released_but_no_more_than_there_is():
    router = LBGR(decay=0.5, every=1.0, step="none", release="whole")
    first = router.route(router.start(1), _one(1000, now=0.5))
    second = router.route(first.state, _one(3000, now=1.5))
    after = router.finished(second.state, first.ticket, now=2.5, latency=2.0)
    assert after.load.tolist() == [0.25 + 1.5 - 1]
    assert router.finished(after, second.ticket, now=2.5, latency=2.0).load.tolist() == [0]


@given(
    st.lists(
        st.tuples(st.integers(1, 9000), st.floats(0, 2), st.floats(0.001, 5)),
        min_size=1,
        max_size=12,
    )
)
def test_load_is_what_is_left_of_who_is_not_done(requests):
    """P of a worker is the sum of decay^(ticks since it was routed) x cost over its requests."""
    router = LBGR(step="none")
    now, events = 0.0, []
    for index, (length, gap, lasts) in enumerate(requests):
        now += gap
        events += [(now, 0, index, length, lasts)]
    state, tickets, ends = router.start(1), {}, []
    while events or ends:
        if ends and (not events or min(ends)[0] <= events[0][0]):
            now, index = min(ends)
            ends.remove((now, index))
            state = router.finished(state, tickets.pop(index), now=now, latency=1.0)
        else:
            now, _, index, length, lasts = events.pop(0)
            choice = router.route(state, _one(length, now=now))
            state, tickets[index] = choice.state, choice.ticket
            ends.append((now + lasts, index))
        left = sum(
            Fraction(31, 32) ** (router.ticks(now) - ticket.ticks) * Fraction(ticket.cost)
            for ticket in tickets.values()
        )
        assert state.load[0] == pytest.approx(float(left), abs=1e-9)
        assert state.load[0] >= 0


def test_load_decays_at_multiples():
    router = LBGR(every=0.1)
    assert [router.ticks(now) for now in (0.0, 0.09, 0.1, 0.19, 1.0)] == [0, 0, 1, 1, 10]


def test_the_estimate_is_cost_load_and_what_was_learned():
    router = LBGR()
    state = router.start(2)
    weights = np.array([[0.5, 0.25, 2.0, 3.0], [0, 0, 0, 10.0]])
    state = state._replace(
        load=np.array([4.0, 0.0]), residual=state.residual._replace(weights=weights)
    )
    ticket = router.route(state, _pair(3000, hits=(1000, 0))).ticket
    # Worker 0: 2 + 4, and 0.5 x 1 + 0.25 x 2 + 2 x 4 + 3 = 12; worker 1: 3 + 0 + 10 = 13.
    assert (ticket.worker, ticket.known, ticket.correction) == (1, 3, 10)
    assert ticket.features.tolist() == [0, 3, 0, 1]


@pytest.mark.parametrize(
    ("step", "rate", "weights"),
    [
        ("sgd", 0.5, [0.5 * 3 * x for x in (0, 2, 0, 1)]),
        ("nlms", 0.5, [0.5 * 3 * x / 5 for x in (0, 2, 0, 1)]),
        ("smooth", 0.75, [0.25 * 3 * x / 5 for x in (0, 2, 0, 1)]),
        ("none", 0.5, [0, 0, 0, 0]),
    ],
)
def test_one_step_of_the_regression(step, rate, weights):
    features = np.array([0.0, 2, 0, 1])
    after = updated(no_residual(2), 1, features, 3.0, step=step, rate=rate)
    assert after.weights.tolist() == [[0] * FEATURES, pytest.approx(weights)]


def test_recursive_least_squares_solve_the_weighted_problem():
    rng = np.random.default_rng(0)
    rows, truth = rng.normal(size=(40, FEATURES)), np.array([1.0, -2, 3, 0.5])
    observed = rows @ truth + 0.1 * rng.normal(size=40)
    residual, rate = no_residual(1), 0.9
    for row, value in zip(rows, observed, strict=True):
        error = float(value - residual.weights[0] @ row)
        residual = updated(residual, 0, row, error, step="rls", rate=rate)
    weight = rate ** np.arange(39, -1, -1)
    ridge = rate**40 / 1e2 * np.eye(FEATURES)
    expected = np.linalg.solve((rows.T * weight) @ rows + ridge, (rows.T * weight) @ observed)
    assert residual.weights[0] == pytest.approx(expected)


def test_the_printed_rate_diverges_in_plain_steps_and_not_in_normalized_ones():
    """The same prompt of 2,000 tokens again and again, whose latency is 3 s more than estimated."""
    features = np.array([0.0, 2, 0, 1])
    steps: tuple[tuple[Step, bool], ...] = (("sgd", False), ("nlms", True), ("smooth", True))
    for step, bounded in steps:
        residual = no_residual(1)
        for _ in range(200):
            error = float(3 - residual.weights[0] @ features)
            residual = updated(residual, 0, features, error, step=step, rate=0.992)
        said = abs(residual.weights[0] @ features)
        assert (said < 4) == bounded
        assert (said > 1e100) != bounded


def test_an_estimate_that_is_no_number_is_the_worst():
    state = LBGR().start(2)
    weights = np.array([[0, 0, 0, -math.inf], [0, 0, 0, 1e300]])
    state = state._replace(residual=state.residual._replace(weights=weights))
    assert LBGR().route(state, _pair(1000)).worker == 1


def test_only_the_workers_own_regression_learns():
    router = LBGR(step="nlms")
    choice = router.route(router.start(2), _pair(1000, hits=(0, 500)))
    after = router.finished(choice.state, choice.ticket, now=5.0, latency=5.0)
    assert choice.worker == 1
    assert after.residual.weights[0].tolist() == [0] * FEATURES
    error, features = 5 - 0.5, np.array([0.5, 0.5, 0, 1])
    assert after.residual.weights[1] == pytest.approx(0.992 * error * features / 1.5)


def test_an_error_is_of_the_model_now_or_of_what_was_said():
    """Two requests in flight: what the first taught is, or is not, counted for the second."""
    now = LBGR(cached=0.0, missed=0.0, step="nlms", error="now")
    routed = replace(now, error="routed")
    for router, bias in ((now, 0.992 * 4 + 0.992 * (4 - 0.992 * 4)), (routed, 2 * 0.992 * 4)):
        state, tickets = router.start(1), []
        for _ in range(2):
            choice = router.route(state, _one(1, now=0.0, hits=1))
            state = choice.state
            tickets.append(choice.ticket._replace(features=np.array([0.0, 0, 0, 1])))
        for ticket in tickets:
            state = router.finished(state, ticket, now=4.0, latency=4.0)
        assert state.residual.weights[0, 3] == pytest.approx(bias)


@pytest.mark.parametrize(
    ("wrong", "argument"),
    [
        ({"cached": -1}, "cached"),
        ({"missed": math.inf}, "missed"),
        ({"decay": 0}, "decay"),
        ({"decay": 1.01}, "decay"),
        ({"every": 0}, "every"),
        ({"rate": 0}, "rate"),
        ({"rate": 1.5}, "rate"),
        ({"rate": math.nan}, "rate"),
        ({"step": "adam"}, "step"),
        ({"error": "later"}, "error"),
        ({"release": "half"}, "release"),
    ],
)
def test_a_parameter_out_of_range_is_one_line(wrong, argument):
    with pytest.raises(InputError, match=f"^{argument}: "):
        LBGR(**wrong)


def _one(length: int, *, now: float = 0.0, hits: int = 0):
    return view(
        length, now=now, hits=(hits,), tree=(0,), pending=(0,), to_compute=(0,), active=(0,)
    )


def _pair(length: int, *, hits: tuple[int, int] = (0, 0)):
    two = (0, 0)
    return view(length, hits=hits, tree=two, pending=two, to_compute=two, active=two)
