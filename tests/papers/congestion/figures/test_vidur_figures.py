"""Figures 5, 22 to 24, 31 and 32: memory, evictions and bursts on Vidur's machine."""

import numpy as np
import pytest

from fluidkv.figures.figure import Data
from fluidkv_papers.congestion.claims.experiments import vidur_bursts as bursts
from fluidkv_papers.congestion.experiments import a100
from fluidkv_papers.congestion.experiments.printed_tables import TABLE_6, TABLE_7
from fluidkv_papers.congestion.figures import vidur_runs as vidur

AT_ONCE = vidur.TWO_PAIRS[:2]


@pytest.fixture(scope="module")
def short() -> Data:
    """Figure 24 without its arrivals on a clock."""
    return vidur.runs(AT_ONCE, None)


def test_lengths_4_and_8_keep_their_swing_and_4_and_7_do_not(short: Data) -> None:
    """The title: running requests of vidur-sarathi, late and before the end."""
    swing = {}
    for key in ("4_7_at_once", "4_8_at_once"):
        swing[key] = vidur.late_swing(short, f"{key}.vidur-sarathi")
        late = short[f"{key}.vidur-sarathi.running"][80:105]
        assert swing[key] == np.ptp(late)
    assert swing["4_8_at_once"] > 4 * swing["4_7_at_once"]


def test_windows_take_what_there_is() -> None:
    values = np.array([1.0, 5, 2, 4, 9, np.nan, np.nan, np.nan])
    assert vidur.windowed(values, 2, np.nanmax).tolist() == [5, 4, 9]
    assert vidur.windowed(values, 3, np.nanmean).tolist() == [8 / 3, 6.5]


def test_no_series_of_evictions_lies_on_another(short: Data) -> None:
    """What was drawn on the same iterations, one over the other, is now a line each."""
    for key in ("4_7_at_once", "4_8_at_once"):
        one, other = (
            vidur.windowed(short[f"{key}.{engine}.evicted"], 8, np.nanmean)
            for engine in vidur.LOOKS
        )
        both = min(len(one), len(other))
        some = (one[:both] > 0) & (other[:both] > 0)
        assert some.any()
        assert (one[:both] != other[:both])[some].all()


def test_bursts_keep_the_mean_and_fit_the_run() -> None:
    for case in (TABLE_6, TABLE_7):
        periods = bursts.REQUESTS / bursts.rate_per_s(case) / bursts.period_s(case)
        assert 2 < periods < 5
        pool = case.lengths[2]
        assert bursts.best(pool) == pytest.approx(
            a100.CAPACITY / np.mean([sum(513 + j for j in range(n)) for n in pool]), abs=1e-3
        )
