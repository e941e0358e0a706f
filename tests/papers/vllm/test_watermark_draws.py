"""How far chance goes in the watermark table: the draws on record, and what can be told by them."""

import json
from dataclasses import astuple, replace
from pathlib import Path

import numpy as np
import pytest

from fluidkv.papers.vllm.claims import watermark
from fluidkv.papers.vllm.instances.watermark_draws import (
    DRAWS,
    all_preemptions,
    chance,
    changes,
    computed,
    gains,
    gone,
    of_draws,
    preemptions,
    recorded,
)
from fluidkv.papers.vllm.instances.watermark_runs import (
    CLIENTS,
    PUBLISHED,
    WATERMARKS,
    Row,
    arrived,
    drawn,
    fitted_clock,
    predicted,
)
from fluidkv.verdict import Verdict

# Six digits are on record; a percentile of gaps rests on a fit to 1e-6.
_DIGITS = 1e-5


def _same(ours: tuple[Row, ...], recorded: tuple[Row, ...]) -> None:
    for one, other in zip(ours, recorded, strict=True):
        assert one.preemptions == other.preemptions
        assert astuple(one) == pytest.approx(astuple(other), rel=_DIGITS)


def test_record_has_every_draw_at_every_watermark() -> None:
    assert len(recorded()) == DRAWS
    assert {tuple(row.watermark for row in table) for table in recorded()} == {WATERMARKS}
    _same(predicted(fitted_clock()), recorded()[0])


def test_a_draw_on_record_is_computed_again() -> None:
    _same(computed(1), recorded()[1])


@pytest.mark.thorough
@pytest.mark.parametrize("draw", range(2, DRAWS))
def test_every_draw_on_record_is_computed_again(draw: int) -> None:
    _same(computed(draw), recorded()[draw])


def test_the_rows_of_a_draw_are_separate_runs_of_the_same_requests() -> None:
    """A change between two published runs has the chance of both, and no order in common."""
    ours, other = arrived(1), arrived(2)
    assert sorted(ours.input_length) == sorted(drawn().input_length)
    assert (ours.input_length[CLIENTS:] == drawn().input_length[CLIENTS:]).all()
    assert (ours.input_length != other.input_length).any()


def test_a_server_receives_requests_in_another_order_than_they_were_sent(traces_dir) -> None:
    folder = traces_dir / "vllm_cpu_tiny"
    bench, steps = (
        json.loads((folder / name).read_text()) for name in ("bench.json", "steps.json")
    )
    sent = list(zip(bench["input_lens"], bench["output_lens"], strict=True))
    came = [(sum(n for _, n in prompt), output) for _, prompt, (_, output) in steps["requests"]]
    assert sorted(sent) == sorted(came)
    assert sum(one != other for one, other in zip(sent, came, strict=True)) == 74


@pytest.mark.thorough
def test_orders_near_the_client_s_leave_less_to_chance() -> None:
    apart = {}
    for within in (3, 13):
        tables = [computed(draw, within=within) for draw in range(DRAWS)]
        added = np.array([changes("ttft_p50")(table)[0] for table in tables])
        one, other = np.triu_indices(DRAWS, 1)
        apart[within] = np.quantile(abs(added[one] - added[other]), 0.95)
    missed = abs(
        changes("ttft_p50")(PUBLISHED)[0] - changes("ttft_p50")(predicted(fitted_clock()))[0]
    )
    assert apart[3] < missed < apart[13]
    page = (Path(__file__).parents[3] / "docs" / "watermark.md").read_text(encoding="utf-8")
    assert f"differ by up to {apart[13]:.1f} s" in page
    assert f"3 by {apart[3]:.1f} s" in page


def test_chance_is_what_nineteen_of_twenty_pairs_stay_within() -> None:
    values = of_draws(preemptions(1))[:, 0]
    apart = abs(values[:, None] - values)[np.triu_indices(DRAWS, 1)]
    assert (apart <= chance(preemptions(1))[0]).mean() == pytest.approx(0.95, abs=2 / len(apart))


def _predictions(monkeypatch: pytest.MonkeyPatch, rows: tuple[Row, ...]) -> None:
    monkeypatch.setattr(watermark, "predicted", lambda clock: rows)


_TOLD = [
    *(preemptions(k) for k in range(1, 5)),
    gone,
    gains,
    changes("latency_p50"),
    changes("itl_p99"),
]


@pytest.mark.parametrize("statistic", _TOLD)
def test_a_watermark_without_effect_fails(monkeypatch: pytest.MonkeyPatch, statistic) -> None:
    first = predicted(fitted_clock())[0]
    none = tuple(replace(first, watermark=w) for w in WATERMARKS)
    _predictions(monkeypatch, none)
    assert watermark.as_predicted(statistic, "{:.3g}").verdict is Verdict.FAILS


@pytest.mark.parametrize("statistic", _TOLD)
def test_the_published_table_itself_holds(monkeypatch: pytest.MonkeyPatch, statistic) -> None:
    last = replace(PUBLISHED[4], ttft_p50=0.0, ttft_p99=0.0, itl_p99=0.0, latency_p50=0.0)
    _predictions(monkeypatch, (*PUBLISHED[:4], last))
    assert watermark.as_predicted(statistic, "{:.3g}").verdict is Verdict.HOLDS


def test_what_no_effect_would_pass_is_undecided() -> None:
    outcome = watermark.as_predicted(changes("ttft_p50"), "{:.1f}")
    assert outcome.verdict is Verdict.UNDECIDED
    assert outcome.note.endswith("no effect at all would pass as well")


@pytest.mark.parametrize("statistic", [all_preemptions, gains])
def test_a_table_without_effect_is_not_among_the_draws(
    monkeypatch: pytest.MonkeyPatch, statistic
) -> None:
    none = tuple(replace(PUBLISHED[0], watermark=w) for w in WATERMARKS)
    monkeypatch.setattr(watermark, "PUBLISHED", none)
    outcome = watermark.among_draws(statistic, "{:.3g}")
    assert outcome.verdict is Verdict.FAILS
    assert "outside" in outcome.witness


def test_levelling_off_is_asked_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    ups = np.linspace(-1, 1, DRAWS)
    for shift, found in ((-1, Verdict.FAILS), (0, Verdict.HOLDS), (1, Verdict.FAILS)):
        monkeypatch.setattr(watermark, "falls", lambda shift=shift: (ups + shift, ups))
        assert watermark.levels_off().verdict is found
