"""Runs on record are what running gives, and gains are differences of what is on record."""

from pathlib import Path

import numpy as np
import pytest

from fluidkv.runs.precision import in_float64
from fluidkv.tokenpd import evict, generators, policy
from fluidkv_papers.tokenpd.instances import compared, gains, sizes
from fluidkv_papers.tokenpd.instances.compared import (
    AT_ONCE,
    GENERATORS,
    GRID,
    LARGE,
    MAIN,
    MIDDLE,
    OPTIMUM,
    SEEDS,
    SIZES,
    STEPS,
    Job,
    Measures,
    jobs_of,
    of,
    recorded,
    size_at,
    told_at,
)
from fluidkv_papers.tokenpd.instances.comparing import attention_of, held, measured
from fluidkv_papers.tokenpd.instances.gains import (
    H2O,
    HARD,
    NETTED,
    POOLED,
    Interval,
    Place,
    gain,
    interval,
    over_pool,
    places,
    window,
)

PAGE = Path(__file__).parents[3] / "docs" / "price.md"
WRITTEN = 1e-3  # four digits are written; sums depend on the machine, and may turn a tie


def _again(jobs: list[Job], seed: int) -> None:
    (seeds,) = {tuple(size_at(job.at_once).seeds) for job in jobs}
    at = seeds.index(seed)
    for job, found in zip(jobs, measured(jobs, seed), strict=True):
        for measure in Measures._fields:
            if (job, measure) in recorded():
                assert getattr(found, measure) == pytest.approx(of(job, measure)[at], abs=WRITTEN)


def test_runs_are_what_is_on_record():
    place = ("mixed", AT_ONCE[0], MIDDLE)
    _again([Job(*place, "h2o"), Job(*place, OPTIMUM)], SEEDS[1])


@pytest.mark.thorough
@pytest.mark.parametrize("generator", GENERATORS)
def test_all_runs_of_a_seed_are_what_is_on_record(generator: str):
    for at_once in AT_ONCE:
        _again(list(jobs_of(generator, at_once)), SEEDS[0])


@pytest.mark.thorough
def test_a_larger_run_is_what_is_on_record():
    place = ("uneven", LARGE.at_once[0], MIDDLE)
    _again([Job(*place, "h2o"), Job(*place, NETTED, "average", STEPS[1])], LARGE.seeds[1])


def test_all_is_on_record():
    assert tuple(generators()) == GENERATORS
    at_once = [number for size in SIZES.values() for number in size.at_once]
    jobs = {job for g in GENERATORS for number in at_once for job in jobs_of(g, number)}
    assert {job for job, _ in recorded()} == jobs
    assert all(len(x) == len(size_at(job.at_once).seeds) for (job, _), x in recorded().items())


def test_what_is_held_is_what_the_full_cache_holds():
    attention = attention_of("recency", AT_ONCE[0], 3)
    with in_float64():
        run = evict(attention, 1, policy("full"))
    np.testing.assert_array_equal(held(attention), run.kept[run.kept > 0])


def test_nothing_keeps_more_than_the_optimum_but_what_uses_more():
    best = {job[:3]: of(job) for job, _ in recorded() if job.policy == OPTIMUM}
    for job, measure in recorded():
        if measure == "mass" and job.policy != NETTED and job[:3] in best:
            assert (of(job) <= best[job[:3]] + WRITTEN).all()


def test_the_page_has_the_tables(capsys: pytest.CaptureFixture[str]):
    """Of those that are printed the page shows three; of the last, the rows of one mean."""
    gains.main()
    print("\n".join(["", *sizes.by_size()]))
    tables = [part.strip().splitlines() for part in capsys.readouterr().out.split("\n\n")]
    page = [part.splitlines() for part in PAGE.read_text(encoding="utf-8").split("\n\n")]
    shown = [(mine, whole) for whole in tables for mine in page if mine[0] == whole[0]]
    assert [len(mine) for mine, _ in shown] == [9, 10, 5]
    for mine, whole in shown:
        assert [line for line in mine if line not in whole] == []


def test_the_page_says_how_high_a_netted_price_peaks():
    peaks = [gains.mass(at, NETTED, "average", "peak_use").mean() / at.share for at in places()]
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"then holds {min(peaks):.1f} to {max(peaks):.1f} times the budget" in page


def test_mass_and_error_agree_but_for_true_returns_as_the_page_says():
    """Less error is better: where both differences are clear they have opposite signs."""
    compared_, apart = 0, []
    for place in (place for load in (AT_ONCE[0], *LARGE.at_once) for place in places(load)):
        for told in set(told_at(place.at_once, place.share)) & set(MAIN):
            for other, of_other in ((POOLED, told), (H2O, ""), (window(place), "")):
                more = gain(place, HARD, told, other, of_other)
                error = gain(place, HARD, told, other, of_other, measure="error")
                compared_ += told == "oracle"
                if (more.above and error.above) or (more.below and error.below):
                    apart.append((place.generator, told, other == POOLED, more.above))
    assert f"in {len(apart)} of {compared_}: on recency" in PAGE.read_text(encoding="utf-8")
    assert set(apart) == {(g, "oracle", False, True) for g in ("recency", "topic-shifts")}


def test_an_interval_is_students():
    # Seeds 1, 2, 3: mean 2, deviation 1; t of two degrees of freedom at 97.5 % is 4.3027.
    found = interval(np.array([1.0, 2.0, 3.0]))
    assert found == pytest.approx((2.0, 4.302653 / 3**0.5), rel=1e-6)
    assert not found.above
    assert Interval(-0.02, 0.01).below
    assert str(Interval(-0.02, 0.011)) == "−2.0 ± 1.1"


def test_a_change_between_sizes_is_welchs():
    # Means 2 and 6, variances 1 and 4 of three each: deviation sqrt(5 / 3), 50 / 17 degrees of
    # freedom, whose t at 97.5 % is between that of 2 (4.303) and of 3 (3.182).
    found = sizes.change(np.array([1.0, 2.0, 3.0]), np.array([4.0, 6.0, 8.0]))
    assert found.mean == pytest.approx(4)
    assert 3.182 < found.half / (5 / 3) ** 0.5 < 4.303


def test_a_price_within_the_budget_is_no_better_than_itself():
    place = places()[0]
    assert gain(place, HARD, "average", HARD, "average") == (0, 0)


def test_a_netted_price_on_the_pools_line_gains_nothing_at_equal_use(
    monkeypatch: pytest.MonkeyPatch,
):
    """A pool that keeps 0.2 + 0.5 use, and a price that keeps so much of its own use, and 0.1."""
    place, told = Place("mixed", AT_ONCE[0], MIDDLE), "average"
    ones = np.ones(len(SEEDS))
    fake = {}
    for share in GRID:
        job = Job(*place[:2], share, POOLED, told)
        fake |= {(job, "mean_use"): share * ones, (job, "mass"): (0.2 + 0.5 * share) * ones}
    for step, more in zip(STEPS, (0.0, 0.1, 0.0), strict=True):
        job = Job(*place, NETTED, told, step)
        fake |= {(job, "mean_use"): 0.3 * ones, (job, "mass"): (0.35 + more) * ones}
    monkeypatch.setattr(compared, "recorded", lambda: fake)
    assert over_pool(place, told, "mean_use") == pytest.approx((0.1, 0), abs=1e-12)
