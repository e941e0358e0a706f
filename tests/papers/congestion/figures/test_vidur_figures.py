"""Figures 5, 22 to 24, 31 and 32: memory, evictions and bursts on Vidur's machine."""

import re

import numpy as np
import pytest

from fluidkv.figures.figure import Data, Figure
from fluidkv.figures.registry import select
from fluidkv_papers.congestion.claims.experiments import vidur_bursts as bursts
from fluidkv_papers.congestion.experiments import a100
from fluidkv_papers.congestion.experiments.printed_tables import TABLE_6, TABLE_7
from fluidkv_papers.congestion.figures import vidur_runs as vidur

AT_ONCE = vidur.TWO_PAIRS[:2]


def paper_figure(number: int) -> Figure:
    return select([f"congestion_figure_{number}"])[0]


@pytest.fixture(scope="module")
def short() -> Data:
    """Figure 24 without its arrivals on a clock."""
    return vidur.runs(AT_ONCE, None)


def test_a_run_is_the_one_that_the_ledger_counts(short: Data) -> None:
    for setting in AT_ONCE:
        for engine in vidur.LOOKS:
            key = f"{setting.key}.{engine}"
            found = a100.totals(setting.lengths, engine)
            evicted = short[f"{key}.evicted"]
            assert short[f"{key}.evictions"] == found.evictions == np.nansum(evicted)
            assert np.count_nonzero(~np.isnan(evicted)) == found.iterations


def test_memory_is_a_share_and_never_above_one(short: Data) -> None:
    for name, values in short.items():
        if name.endswith(".memory"):
            there = np.asarray(values)[~np.isnan(np.asarray(values))]
            assert 0 <= there.min() < 0.9 < there.max() <= 1


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


def test_words_give_the_counts(short: Data) -> None:
    text = vidur.told(short, AT_ONCE, {"4_7_at_once": "0"})
    one = short["4_7_at_once.restart.evictions"]
    assert f"{{4, 7}}, all at once: {one:.0f} restart" in text
    assert text.count("(paper: 0)") == 1


def test_capped_at_five_evicts_nothing_in_figure_5() -> None:
    data = paper_figure(5).data()
    assert data["capped.vidur-sarathi.evictions"] == 0
    assert data["greedy.vidur-sarathi.evictions"] > 1000
    share = re.search(r"vidur-sarathi (\d+\.\d)% of the iterations", paper_figure(5).caption(data))
    assert share is not None
    evicted = data["greedy.vidur-sarathi.evicted"]
    there = evicted[~np.isnan(evicted)]
    assert float(share[1]) == pytest.approx(100 * np.mean(there > 0), abs=0.051)  # one digit


def test_bursts_keep_the_mean_and_fit_the_run() -> None:
    for case in (TABLE_6, TABLE_7):
        periods = bursts.REQUESTS / bursts.rate_per_s(case) / bursts.period_s(case)
        assert 2 < periods < 5
        pool = case.lengths[2]
        assert bursts.best(pool) == pytest.approx(
            a100.CAPACITY / np.mean([sum(513 + j for j in range(n)) for n in pool]), abs=1e-3
        )


def test_figure_31_says_what_its_curves_are() -> None:
    data = paper_figure(31).data()
    assert data["factor"].tolist() == list(bursts.FACTORS)
    last = data["apart.greedy.vidur-sarathi"][-1]
    assert f"{last:.1f} apart" in paper_figure(31).caption(data)
    assert (data["mixed.capped.vidur-sarathi"] == 0).all()


def test_parameters_say_what_the_paper_leaves_open() -> None:
    for number in (5, 22, 23, 24, 31, 32):
        of = paper_figure(number).parameters
        assert {"blocks", "block_size", "watermark", "batch_cap", "clock", "seed"} <= set(of)
        assert number > 24 or of["requests"] == 20_000
