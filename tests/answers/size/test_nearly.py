"""A size that is enough for nearly every draw of what is like the requests."""

# Sizes and traces here have what may be None:
# pyright: reportOptionalMemberAccess=false, reportOptionalIterable=false
# pyright: reportOptionalSubscript=false, reportArgumentType=false

from dataclasses import replace

import numpy as np
import pytest

import fluidkv as fk
from fluidkv.answers.served.demand import Demand
from fluidkv.answers.served.fresh import (
    DRAWS_OF_LOG,
    LEFT_OPEN,
    Horizon,
    days_like,
    misses_allowed,
    share_of,
)
from fluidkv.answers.served.part import busiest, part_of
from fluidkv.answers.served.slo import Slo
from fluidkv.answers.size.search import met_by_run
from fluidkv.runs.max_tokens import max_tokens_of

CLOCK = fk.IterationClock(0.01, 1e-6, 1e-5)
SLOS = (Slo("ttft_p99", 0.3), Slo("tpot_p99", 0.05))


def _log(size: int, rate: float, seed: int = 0) -> fk.Trace:
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.exponential(1 / rate, size))
    inputs, outputs = rng.integers(20, 200, size), rng.integers(10, 120, size)
    return fk.Trace(
        tuple(inputs.tolist()), tuple(outputs.tolist()), tuple((times - times[0]).tolist())
    )


def _sized_by(slos, **options):
    how = {"clock": CLOCK, "draws": 8, "horizon": Horizon(300), "within": 0.1, "backend": "kernel"}
    return fk.size_server(_log(80, 8.0), slos, **(how | options))


def _sized(**options):
    return _sized_by(SLOS, **options)


@pytest.fixture(scope="module")
def pool():
    return _sized()


def test_all_draws_meet_the_answer_and_not_all_the_next_size(pool):
    nearly = pool.nearly
    assert nearly is not None
    assert nearly.edge is not None
    assert pool.answer == nearly.edge.answer
    assert pool.answer.blocks >= pool.edge.answer.blocks
    met = met_by_run(nearly.along[pool.answer], SLOS)
    assert met.all()
    assert met.size == 8
    if nearly.edge.blocker is not None:
        assert not met_by_run(nearly.along[nearly.edge.blocker], SLOS).all()


def test_a_draw_is_a_run_of_that_server(pool):
    plan = pool.plan
    server = fk.Server("vllm+cache", fk.Limits(pool.tokens(pool.answer), 16), clock=CLOCK)
    run = fk.serve(plan.draws.tables[3], server)
    ttft = (run.first_token - run.arrival).values[0]
    assert pool.nearly.along[pool.answer]["ttft_p99"][3] == pytest.approx(np.quantile(ttft, 0.99))


def test_of_many_draws_a_few_may_miss(pool):
    many, fewer = (_sized(draws=draws, horizon=Horizon(60)).nearly for draws in (79, 78))
    assert (pool.nearly.misses, many.misses, fewer.misses) == (0, 1, 0)
    assert misses_allowed(78, LEFT_OPEN) == 0
    assert many.share == pytest.approx(1 - 2 / 80 - LEFT_OPEN)
    missed = [int((~met_by_run(n.along[n.edge.answer], SLOS)).sum()) for n in (many, fewer)]
    assert missed == [1, 0]
    assert many.edge.answer.blocks < fewer.edge.answer.blocks


def test_without_draws_the_requests_that_are_run_are_all():
    alone = _sized(draws=0)
    assert alone.nearly is None
    assert alone.answer == alone.edge.answer
    assert alone.to_dict()["draws"] is None


def test_the_share_is_that_of_the_next_of_alike():
    """The largest of n + 1 alike is the last with a chance of 1 in n + 1: played."""
    assert share_of(20, misses_allowed(20)) >= 0.95 > share_of(18, 0)
    values = np.random.default_rng(0).exponential(size=(20_000, 21))
    missed = (values[:, 20] > values[:, :20].max(axis=1)).mean()
    assert missed == pytest.approx(1 - share_of(20, 0), abs=4 * (0.05 * 0.95 / 20_000) ** 0.5)


def test_a_trace_without_times_is_a_sample_as_a_log_is():
    """How often each of its lengths comes is known no better than its requests tell."""
    log = fk.Trace((20, 60) * 10, (10, 40) * 10)
    asked = {"engine": "vllm", "clock": CLOCK, "rate": 2.0, "requests": 20, "runs": 1}
    found = fk.size_server(log, [Slo("ttft_p99", 2.0)], horizon=Horizon(400), within=0.5, **asked)
    assert found.nearly is not None
    assert (found.nearly.draws, found.nearly.misses) == (DRAWS_OF_LOG, 0)
    assert found.nearly.share == pytest.approx(1 - 1 / 41 - LEFT_OPEN)
    shares = [(table.input_length == 20).mean() for table in found.plan.draws.tables]
    # Of a beta(10, 10), beside chance of 400 each: 0.025 by chance alone.
    assert np.std(shares) == pytest.approx((0.25 / 21 + 0.25 / 400) ** 0.5, rel=0.35)
    assert len({table.arrival[-1] for table in found.plan.draws.tables}) == DRAWS_OF_LOG


def test_draws_of_a_long_trace_are_like_its_busiest_stretch():
    calm, busy = _log(900, 2.0), _log(300, 9.0, seed=1)
    times = [
        *calm.arrival_times_s,
        *(calm.arrival_times_s[-1] + 0.5 + t for t in busy.arrival_times_s),
    ]
    trace = fk.Trace(
        calm.input_lengths + busy.input_lengths,
        calm.decode_lengths + busy.decode_lengths,
        tuple(times),
    )
    stretch = busiest(trace, 200)
    assert stretch.arrival_times_s[-1] < 1.1 * 199 / 9
    replay = Demand(replay=True)
    days = days_like(trace, 3, Horizon(200), replay, CLOCK)
    tables, like = days.tables, days.stretch
    assert (like.requests, like.of) == (200, 1200)
    assert like.rate > 8 > 3 > like.rate_of_all
    rates = [199 / table.arrival[-1] for table in tables]
    assert np.mean(rates) == pytest.approx(like.rate, rel=0.25)  # 3 of a log of 200 each
    twice = days_like(trace, 3, Horizon(200), replace(replay, speed=2.0), CLOCK)
    for slow, fast in zip(tables, twice.tables, strict=True):
        np.testing.assert_allclose(fast.arrival, slow.arrival / 2)


def test_days_are_judged_by_their_busiest_hour():
    rng = np.random.default_rng(0)
    night, noon = rng.uniform(0, 86_400 * 1.5, 3000), rng.uniform(40_000, 43_600, 500)
    times = np.sort([*night, *noon])
    ones = (5,) * times.size
    trace = fk.Trace(ones, ones, tuple((times - times[0]).tolist()))
    stretch = busiest(trace, 100)
    assert stretch.arrival_times_s[-1] <= 3600
    assert len(stretch) > 500


def test_a_part_keeps_what_its_requests_have():
    trace = fk.Trace((4, 4, 4), (1, 2, 3), (0.0, 1.0, 3.0), max_tokens=(9, 8, 7))
    part = part_of(trace, slice(1, None))
    assert (part.decode_lengths, part.arrival_times_s, part.max_tokens) == ((2, 3), (0, 2), (8, 7))
    asks = Demand(replay=True, speed=3.0, max_tokens=max_tokens_of("column:n"))
    days = days_like(trace, 2, Horizon(50), asks, CLOCK, known=True)
    assert {
        (out, most)
        for t in days.tables
        for out, most in zip(t.output_length, t.max_output, strict=True)
    } == {
        (1, 9),
        (2, 8),
        (3, 7),
    }


def test_what_clients_ask_for_is_read_from_the_trace():
    log = replace(_log(20, 8.0), max_tokens=(200,) * 20)
    asks = max_tokens_of("column:n")
    how = {"engine": "trtllm-no-evict", "clock": CLOCK, "draws": 2, "horizon": Horizon(30)}
    plan = fk.size_server(log, SLOS, max_tokens=asks, within=0.5, **how).plan
    for table in (*plan.tables, *plan.draws.tables):
        assert (table.max_output == 200).all()


def test_a_bound_on_a_count_grows_with_the_requests_of_a_draw():
    """4 in the 80 requests of the log are 15 in the 300 of a draw; a time is the same in both."""
    loose = _sized_by((Slo("preemptions", 4), Slo("ttft_p99", 0.5)))
    assert [slo.bound for slo in loose.plan.draws.slos] == [15, 0.5]
    assert [slo["bound"] for slo in loose.to_dict()["draws"]["slos"]] == [15, 0.5]
    nearly = loose.nearly
    assert nearly.along[loose.answer]["preemptions"].max() <= 15
    assert nearly.along[nearly.edge.blocker]["preemptions"].max() > 15
    strict = _sized_by((Slo("preemptions", 0.1),))
    assert strict.answer.blocks > loose.answer.blocks
