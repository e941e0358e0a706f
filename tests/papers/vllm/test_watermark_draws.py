"""How far chance goes in the watermark table: the draws on record, and what can be told by them."""

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from fluidkv.ledger.registry import ledger
from fluidkv.verdict import Verdict
from fluidkv_papers.vllm.claims import watermark
from fluidkv_papers.vllm.instances import watermark_draws
from fluidkv_papers.vllm.instances.watermark_draws import (
    DRAWS,
    all_preemptions,
    chance,
    changes,
    computed,
    gains,
    gone,
    of_draws,
    preemptions,
)
from fluidkv_papers.vllm.instances.watermark_runs import (
    CLIENTS,
    PUBLISHED,
    WATERMARKS,
    Row,
    arrived,
    drawn,
    fitted_clock,
    predicted,
)


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
    moves, left = [], list(enumerate(came))
    for place, lengths in enumerate(sent):
        at = min((p for p, there in left if there == lengths), key=lambda p: abs(p - place))
        left.remove((at, lengths))
        moves.append(at - place)
    assert (min(moves), max(moves)) == (-3, 11)


@pytest.fixture
def near(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[tuple[Row, ...]]]:
    """Draws with requests moved by fewer than so many places, in place of those on record."""

    def drawn_within(within: int) -> list[tuple[Row, ...]]:
        tables = [computed(draw, within=within) for draw in range(DRAWS)]
        monkeypatch.setattr(watermark_draws, "recorded", lambda: tables)
        return tables

    return drawn_within


@pytest.mark.thorough
def test_verdicts_are_the_same_with_requests_moved_as_far_as_a_real_server_moves_them(near) -> None:
    near(13)
    claims = [claim for claim in ledger() if claim.id.startswith("vllm-44594.")]
    assert [claim.check().verdict for claim in claims] == [claim.expected for claim in claims]
    assert len(claims) == 21


@pytest.mark.thorough
def test_orders_nearer_to_the_client_s_make_the_median_ttft_a_miss(near) -> None:
    near(3)
    [claim] = [claim for claim in ledger() if claim.id == "vllm-44594.ttft.median"]
    assert (claim.check().verdict, claim.expected) == (Verdict.FAILS, Verdict.UNDECIDED)


def test_chance_is_what_nineteen_of_twenty_pairs_stay_within() -> None:
    values = of_draws(preemptions(1))[:, 0]
    apart = abs(values[:, None] - values)[np.triu_indices(DRAWS, 1)]
    assert (apart <= chance(preemptions(1))[0]).mean() == pytest.approx(0.95, abs=2 / len(apart))


def _predictions(monkeypatch: pytest.MonkeyPatch, rows: tuple[Row, ...]) -> None:
    monkeypatch.setattr(watermark.bench, "predicted", lambda clock: rows)


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
    assert watermark.as_predicted(statistic, "{:.3g}").counterexample


@pytest.mark.parametrize("statistic", _TOLD)
def test_the_published_table_itself_holds(monkeypatch: pytest.MonkeyPatch, statistic) -> None:
    last = replace(PUBLISHED[4], ttft_p50=0.0, ttft_p99=0.0, itl_p99=0.0, latency_p50=0.0)
    _predictions(monkeypatch, (*PUBLISHED[:4], last))
    assert watermark.as_predicted(statistic, "{:.3g}").counterexample is None


def test_what_no_effect_would_pass_is_undecided() -> None:
    finding = watermark.as_predicted(changes("ttft_p50"), "{:.1f}")
    assert finding.holds is Verdict.UNDECIDED
    assert finding.note.endswith("no effect at all would pass as well")


@pytest.mark.parametrize("statistic", [all_preemptions, gains])
def test_a_table_without_effect_is_not_among_the_draws(
    monkeypatch: pytest.MonkeyPatch, statistic
) -> None:
    none = tuple(replace(PUBLISHED[0], watermark=w) for w in WATERMARKS)
    monkeypatch.setattr(watermark.bench, "PUBLISHED", none)
    assert "outside" in str(watermark.among_draws(statistic, "{:.3g}").counterexample)


def test_levelling_off_is_asked_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    ups = np.linspace(-1, 1, DRAWS)
    for shift, holds in ((-1, False), (0, True), (1, False)):
        monkeypatch.setattr(watermark, "falls", lambda shift=shift: (ups + shift, ups))
        assert (watermark.levels_off().counterexample is None) is holds
