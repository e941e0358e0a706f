"""A clock from rows that count decode steps: known ones come back, what a log hides is not used."""

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.logs.stamps import evenly
from fluidkv.serving.clock_fit.steps import StepRows, fit_steps

D0, D1, D2 = 9e-3, 2e-7, 8e-5


def rows(*, cut: bool, flat: bool = False, seed: int = 0) -> StepRows:
    """200 rows of 40 steps by a clock; with `cut`, times in whole seconds, laid evenly."""
    rng = np.random.default_rng(seed)
    prefills = rng.integers(0, 3, 200)
    passes = np.cumsum(40.0 + prefills)
    held = np.full(200, 5e4) if flat else 8e4 * np.sin(np.linspace(0.1, 3, 200))
    prefill = np.cumsum(400.0 * prefills)
    before = np.concatenate(([0.0], held))
    found = np.diff(passes, prepend=0) * (before[1:] + before[:-1]) / 2
    if flat:
        found = np.diff(passes, prepend=0) * held
    ends = 0.3 + passes * D0 + np.cumsum(found) * D1 + prefill * D2
    if cut:
        ends = evenly(np.floor(ends), 1.0)
    return StepRows(ends, passes, held, prefill, np.ones(200, dtype=bool))


def test_a_known_clock_comes_back() -> None:
    fit = fit_steps(rows(cut=False))
    assert fit.clock.durations[:3] == pytest.approx((D0, D1, D2), rel=1e-9)
    assert fit.rms_s < 1e-9
    assert (len(fit), fit.unseen, fit.dropped) == (200, (), ())


@pytest.mark.parametrize("seed", range(5))
def test_whole_seconds_cost_a_few_per_cent(seed: int) -> None:
    fit = fit_steps(rows(cut=True, seed=seed))
    # d0 and d1 make up for each other; a step at the mean is told far better
    assert fit.clock.base == pytest.approx(D0, rel=0.08)
    step = fit.clock.base + fit.clock.per_kv_token * 5e4
    assert step == pytest.approx(D0 + D1 * 5e4, rel=0.04)
    assert fit.rms_s < 0.29  # of a time anywhere within its second
    errors = [error or 0.0 for error in fit.standard_error]
    assert errors == pytest.approx(np.sqrt(np.diag(fit.covariance)), rel=1e-12)


def test_halves_are_of_the_logged_time() -> None:
    both = rows(cut=False)
    first, second = (fit_steps(both, half=half) for half in ("first", "second"))
    assert len(first) + len(second) == 200
    assert len(first) == int((both.ends_s <= both.ends_s[-1] / 2).sum())
    assert first.clock.base == pytest.approx(D0, rel=1e-6)


def test_memory_that_is_always_as_full_hides_its_cost() -> None:
    fit = fit_steps(rows(cut=True, flat=True))
    assert fit.unseen == ("per_kv_token",)
    assert fit.standard_error[1] is None
    whole = fit.clock.base + fit.clock.per_kv_token * 5e4
    assert whole == pytest.approx(D0 + D1 * 5e4, rel=0.01)


def test_rows_of_unknown_prefill_are_not_used() -> None:
    all_rows = rows(cut=False)
    used = np.arange(200) < 150
    some = StepRows(
        all_rows.ends_s, all_rows.passes, all_rows.kv_tokens, all_rows.prefill_tokens, used
    )
    fit = fit_steps(some)
    assert (len(fit), [count for _, count in fit.dropped]) == (150, [50])
    few = StepRows(
        all_rows.ends_s, all_rows.passes, all_rows.kv_tokens, all_rows.prefill_tokens, used & False
    )
    with pytest.raises(InputError, match="5 or more of which prefill is known"):
        fit_steps(few)


def test_times_are_laid_evenly_within_their_seconds() -> None:
    laid = evenly([0, 0, 1, 3, 3, 3, 3], 1.0)
    assert laid.tolist() == [0.25, 0.75, 1.5, 3.125, 3.375, 3.625, 3.875]
    with pytest.raises(InputError, match="in order"):
        evenly([1, 0], 1.0)
    with pytest.raises(InputError, match="'first', 'second' or None"):
        fit_steps(rows(cut=False), half="third")  # type: ignore[arg-type]  # what is refused
