"""WAIT, appendices B, C and E: the queue before a segment.

What holds: Lemma 1 on every path; the Lindley form (Lemma 3); Lemma 8 wherever n_k < n_(k-1), its
lower bound and its monotony; Doob's bound. What fails as given back: the dominance of Lemmas 2 and
7 with a buffer of n, for every n >= 2; it holds with 2 n - 1 and no less, and with n - 1 for what
waits outside of the batch.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fluidkv.wait.theory.boundary_queue import ends, eta, exceedance_probability
from fluidkv.wait.theory.lindley import lindley_path, max_partial_sums, queue_path, stuck_identity

arrivals = st.lists(st.integers(0, 12), min_size=1, max_size=40)
services = st.integers(1, 8)


@st.composite
def queues(draw: st.DrawFn) -> tuple[int, Fraction, int]:
    """(n_prev, p, n) with p n_prev < n < n_prev: those with a finite root."""
    n_prev = draw(st.integers(2, 60))
    n = draw(st.integers(1, n_prev - 1))
    return n_prev, Fraction(n, n_prev) * draw(st.fractions(Fraction(1, 50), Fraction(49, 50))), n


@given(arrivals, services)
def test_lemma_1_on_every_path(x, n):
    left, right = stuck_identity(x, n)
    assert left == right


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=40))
def test_lemma_3_the_chain_is_the_largest_sum_back_in_time(steps):
    assert lindley_path(steps)[-1] == max_partial_sums(steps[::-1])[-1]


@given(arrivals, services)
@example([1, 2], 2)
def test_the_queue_stays_below_the_chain_with_a_buffer(x, n):
    path, chain = queue_path(x, n), lindley_path(np.array(x) - n)
    assert (path.queue <= 2 * n - 1 + chain).all()
    assert (path.outside <= n - 1 + chain).all()


@given(st.integers(2, 40))
def test_no_smaller_buffer_does(n):
    # n - 1 wait, stuck; n more come.
    path, chain = queue_path([n - 1, n], n), lindley_path([-1, 0])
    assert path.queue[-1] - chain[-1] == 2 * n - 1 > n


@given(queues())
def test_lemma_8_a_root_at_or_above_its_lower_bound(queue):
    found = eta(*queue)
    assert found.ball is not None
    numerator, denominator = found.lower.numerator, found.lower.denominator
    assert found.ball * denominator > numerator


@given(queues(), st.integers(1, 5))
def test_lemma_8_more_service_a_larger_root(queue, more):
    n_prev, p, n = queue
    below, above = eta(n_prev, p, n), eta(n_prev, p, n + more)
    assert below.ball is not None
    assert above.ball is None or bool(above.ball > below.ball)


@given(queues(), st.fractions(Fraction(1, 20), Fraction(19, 20)))
def test_a_smaller_share_a_larger_root(queue, factor):
    # what Theorem 3 uses of Lemma 8: the largest share has the smallest root
    n_prev, p, n = queue
    less, more = eta(n_prev, p * factor, n).ball, eta(n_prev, p, n).ball
    assert less is not None
    assert more is not None
    assert less > more


@pytest.mark.parametrize("p", [Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)])
def test_lemma_8_needs_fewer_places_than_arrivals(p):
    # (12) allows n = (1, 1); equation (20) then has no positive root
    assert not eta(1, p, 1).finite


@given(queues(), st.integers(1, 12), st.integers(1, 60))
def test_doob_and_the_union_bound_hold(queue, level, batches):
    n_prev, p, n = queue
    chance = exceedance_probability(n_prev, p, n, level, batches)
    rate = eta(*queue).ball
    assert rate is not None
    assert ends(chance)[0] <= float((batches * (-level * rate).exp()).upper())


@given(
    st.lists(st.integers(0, 40), max_size=25),
    st.integers(1, 5),
    st.lists(st.tuples(st.integers(1, 6), st.booleans()), min_size=1, max_size=12),
)
@example([*[0] * 5, *[1] * 6], 6, [(6, True)])  # reaches 2 n - 2: times are whole here
def test_theorem_1_a_type_waits_no_longer_than_its_busy_time_allows(times, n, batches):
    """W(t) <= 2 n - 1 + sup over u of (arrivals in (t - u, t]) - n u / Delta T, with Delta T = 6.

    One type, its arrivals at `times`; `batches` are durations of at most Delta T and, where the
    type is not ready, whether other types start a batch without it or the server idles for a while.
    """
    full, now, taken = 6, 0, 0
    times = sorted(times)

    def check(at: int) -> None:
        waiting = sum(t <= at for t in times) - taken
        # the supremum is reached just before an arrival, or at u = 0
        back = [
            sum(s <= t <= at for t in times) - Fraction(n * (at - s), full)
            for s in times
            if s <= at
        ]
        assert waiting <= 2 * n - 1 + max([Fraction(0), *back])

    for duration, others in batches:
        held = sum(t <= now for t in times) - taken
        end = now + duration
        if held >= n:
            check(now)
            taken += n
        elif not others:  # idle, but no longer than until n of them wait
            ready = [t for t in times if t > now][: n - held]
            end = min(end, ready[-1]) if len(ready) == n - held else end
        for at in range(now, end):
            check(at)
        check(end)
        now = end
