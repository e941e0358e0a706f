"""A draw of a trace keeps what its requests are like, and how they come."""

import numpy as np
import pytest

import fluidkv as fk
from fluidkv.answers.served.population import Arrivals, Population
from fluidkv.errors import InputError

RNG = np.random.default_rng(5)
SIZE = 400
INPUTS = RNG.integers(10, 1000, SIZE)
OUTPUTS = np.maximum(1, INPUTS // 4 + RNG.integers(0, 50, SIZE))  # long prompts, long answers
TIMES = np.cumsum(RNG.exponential(0.25, SIZE))
LOG = fk.Trace(tuple(INPUTS.tolist()), tuple(OUTPUTS.tolist()), tuple((TIMES - TIMES[0]).tolist()))
# Two turns each of two conversations that share a system prompt (block 0), and one alone.
CHATS = fk.Trace(
    (8, 8, 16, 16, 4),
    (2, 2, 2, 2, 2),
    (0.0, 1.0, 5.0, 7.0, 9.0),
    prefix_blocks=((0, 1), (0, 2), (0, 1, 3, 4), (0, 2, 5, 6), (7,)),
    prefix_block_size=4,
)


def test_lengths_are_drawn_together() -> None:
    day = Population.of(LOG).draw(20_000, seed=1)
    there = set(zip(LOG.input_lengths, LOG.decode_lengths, strict=True))
    assert set(zip(day.input_lengths, day.decode_lengths, strict=True)) <= there
    own = np.corrcoef(INPUTS, OUTPUTS)[0, 1]
    drawn = np.corrcoef(day.input_lengths, day.decode_lengths)[0, 1]
    assert drawn == pytest.approx(own, abs=0.01)


def test_means_of_draws_scatter_as_means_of_logs_do() -> None:
    """By the weights alone, as a draw of 20,000 adds a seventh to it."""
    population = Population.of(LOG)
    draws = (population.rows(20_000, seed=n)[0] for n in range(100))
    means = [OUTPUTS[rows].mean() for rows in draws]
    error = OUTPUTS.std() / SIZE**0.5
    assert abs(np.mean(means) - OUTPUTS.mean()) < 4 * error / 10
    assert np.std(means) == pytest.approx(error, rel=0.25)  # 3.5 sigma of a deviation of 100


def test_a_seed_is_a_draw() -> None:
    population = Population.of(LOG)
    assert population.draw(50, seed=(1, 2)) == population.draw(50, seed=(1, 2))
    assert population.draw(50, seed=(1, 2)) != population.draw(50, seed=(1, 3))


def test_a_rate_is_kept_where_it_is_named_and_else_known_as_well_as_the_log_tells_it() -> None:
    population = Population.of(LOG)
    named = [_rate(population.draw(4000, seed=n, rate=9.0)) for n in range(40)]
    assert np.mean(named) == pytest.approx(9.0, rel=4 / (4000 * 40) ** 0.5)
    assert np.std(named) / 9.0 == pytest.approx(4000**-0.5, rel=0.5)
    own = [_rate(population.draw(4000, seed=n)) for n in range(40)]
    assert np.std(own) / np.mean(own) == pytest.approx((1 / SIZE + 1 / 4000) ** 0.5, rel=0.5)


def _rate(trace: fk.Trace) -> float:
    assert trace.arrival_times_s is not None
    return (len(trace) - 1) / trace.arrival_times_s[-1]


@pytest.mark.parametrize("dispersion", [0.2, 1.0, 4.0])
def test_gaps_scatter_as_those_of_the_log(dispersion: float) -> None:
    rng = np.random.default_rng(3)
    times = np.cumsum(rng.gamma(1 / dispersion, dispersion, 5000))
    found = Arrivals.of(times)
    assert found.kind == ("poisson" if dispersion == 1 else "bursty")
    # Counts of 10 arrivals: a bit less than of many, and 250 pairs of windows.
    assert found.dispersion == pytest.approx(dispersion, rel=0.35)
    again = Arrivals.of(found.times(5000, rng, rate=2.0))
    assert again.rate == pytest.approx(2.0, rel=0.1)
    assert again.dispersion == pytest.approx(found.dispersion, rel=0.35)


def test_poisson_arrivals_are_taken_for_bursts_no_more_often_than_stated() -> None:
    rng = np.random.default_rng(0)
    kinds = [Arrivals.of(np.cumsum(rng.exponential(1.0, 300))) for _ in range(400)]
    assert np.mean([found.kind != "poisson" for found in kinds]) < 0.03  # 1 % and 4 sigma
    assert np.mean([found.profile is not None for found in kinds]) < 0.03


def test_a_busy_stretch_comes_again_where_it_was() -> None:
    rng = np.random.default_rng(2)
    calm, busy = np.sort(rng.uniform(0, 1000, 900)), np.sort(rng.uniform(500, 600, 600))
    found = Arrivals.of(np.sort([*calm, *busy]))
    assert found.kind == "poisson"
    assert found.profile is not None
    assert found.profile.argmax() == 5
    again = found.times(15_000, rng, rate=1.5)
    counts = np.histogram(again, bins=10, range=(0, 10_000))[0] / 1500
    np.testing.assert_allclose(counts, found.profile, rtol=0.15)


def test_conversations_are_drawn_whole_and_share_what_they_shared() -> None:
    population = Population.of(CHATS)
    assert [rows.tolist() for rows in population.conversations] == [[0, 2], [1, 3], [4]]
    day = population.draw(200, seed=4)
    assert day.prefix_blocks is not None
    openings = [blocks for blocks in day.prefix_blocks if len(blocks) == 2]
    seconds = [blocks for blocks in day.prefix_blocks if len(blocks) == 4]
    assert all(blocks[0] == 0 for blocks in openings + seconds)  # the system prompt
    assert len({blocks[1] for blocks in openings}) == len(openings)  # each is another one
    # Every second turn continues an opening, but for those that were under way at the start.
    assert len({b[:2] for b in seconds} - set(openings)) <= 4
    alone = [blocks for blocks in day.prefix_blocks if len(blocks) == 1]
    assert len(set(alone)) == len(alone)


def test_turns_keep_their_distance() -> None:
    day = Population.of(CHATS).draw(300, seed=4, rate=CHATS_RATE)
    assert day.prefix_blocks is not None
    assert day.arrival_times_s is not None
    at = dict(zip(day.prefix_blocks, day.arrival_times_s, strict=True))
    gaps = [at[b] - at[b[:2]] for b in day.prefix_blocks if len(b) == 4 and b[:2] in at]
    assert gaps
    assert {round(gap, 6) for gap in gaps} <= {5.0, 6.0}


CHATS_RATE = 2 / 9.0 * 5 / 3  # two gaps between three beginnings, of 5 requests


def test_segments_are_new_in_each_copy() -> None:
    trace = fk.Trace(
        (4, 9, 6),
        (3, 2, 2),
        (0.0, 1.0, 2.0),
        prompt_segments=(((0, 4),), ((0, 4), (1, 3), (2, 2)), ((0, 4), (4, 2))),
        output_segments=(1, 3, None),
    )
    population = Population.of(trace)
    assert [rows.tolist() for rows in population.conversations] == [[0, 1], [2]]
    day = population.draw(60, seed=0)
    assert day.output_segments is not None
    assert day.prompt_segments is not None
    answers = [each for each in day.output_segments if each is not None]
    assert len(set(answers)) == len(answers)
    assert all(prompt[0] == (0, 4) for prompt in day.prompt_segments)


def test_a_trace_without_times_is_refused() -> None:
    with pytest.raises(InputError, match="source: got 'a trace'; allowed: requests with times"):
        Population.of(fk.Trace((1,), (1,)))
