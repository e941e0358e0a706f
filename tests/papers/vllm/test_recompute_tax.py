"""Families of lengths for RFC 54644, and the bench of victim rules: records are computed again."""

from dataclasses import replace

import numpy as np
import pytest

from fluidkv.serving.engines import VLLM
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import Victim
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv_papers.vllm.instances import recompute_tax_families as families
from fluidkv_papers.vllm.instances import victims_bench as bench
from fluidkv_papers.vllm.instances import victims_caps as caps
from fluidkv_papers.vllm.instances.recompute_tax_printed import REQUESTS, ROWS, useful
from fluidkv_papers.vllm.instances.victim_rules import RULES

_DIGITS = 6e-4  # four digits are on record


def test_draws_need_the_printed_tokens() -> None:
    low, high = useful()
    for point in families.POINTS[:42]:
        requests = families.drawn(point, 3)
        computed = int((requests.input_length + requests.output_length - 1).sum())
        assert low - REQUESTS <= computed <= high + REQUESTS  # half a token of each is rounding


def test_every_point_that_fits_is_on_record() -> None:
    recorded = families.recorded()
    for point in families.POINTS[::10]:
        fitting = [seed for seed in range(families.DRAWS) if families.fits(point, seed)]
        if len(fitting) > 1:
            assert len(recorded[point]["tax_400"]) == len(fitting)


@pytest.mark.parametrize(("index", "seed"), [(45, 1), (60, 0)])
def test_a_tax_on_record_is_computed_again(index: int, seed: int) -> None:
    point = families.POINTS[index]
    limits = [Limits(row.blocks * 16, 16, max_num_seqs=64) for row in ROWS[:1]]
    limits = [replace(each, max_num_batched_tokens=point.setting.budget) for each in limits]
    run = serve(families.drawn(point, seed), Server(VLLM, limits, backend="reference"))
    tax = float(run.recomputed_tokens.sum() / run.tokens.sum())
    assert tax == pytest.approx(families.recorded()[point]["tax_1600"][seed], rel=_DIGITS)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "index", [0, 47, 100, 130, *map(families.POINTS.index, families.agreeing())]
)
def test_a_draw_on_record_is_computed_again(index: int) -> None:
    point = families.POINTS[index]
    seed = next(seed for seed in range(families.DRAWS) if families.fits(point, seed))
    (numbers,) = families.computed([(point, seed)])
    for name, value in numbers.items():
        assert value == pytest.approx(families.recorded()[point][name][0], rel=_DIGITS, abs=1e-5)


def _bench_row(setting: int, seed: int, victim: Victim) -> None:
    (numbers,) = bench.computed([(bench.SETTINGS[setting], seed)], victim)
    assert numbers == pytest.approx(bench.recorded()[victim][setting, seed], rel=_DIGITS)


def test_the_bench_is_on_record_whole() -> None:
    assert all(np.isfinite(numbers).all() for numbers in bench.recorded().values())


@pytest.mark.parametrize(
    ("setting", "seed", "victim"), [(2, 3, Victim.LEAST_COMPUTED), (19, 0, Victim.RANDOM)]
)
def test_a_row_of_the_bench_is_computed_again(setting: int, seed: int, victim: Victim) -> None:
    _bench_row(setting, seed, victim)


@pytest.mark.thorough
@pytest.mark.parametrize("victim", RULES)
@pytest.mark.parametrize("setting", range(0, len(bench.SETTINGS), 5))
def test_more_rows_of_the_bench_are_computed_again(setting: int, victim: Victim) -> None:
    _bench_row(setting, 4, victim)


def test_a_row_of_the_caps_is_computed_again() -> None:
    setting, cap, seed = 0, 1, 0
    chosen = caps.CHOSEN[setting]
    limits = caps.CAPS[cap].of(chosen, seed)
    (numbers,) = bench.served([(chosen, seed)], [limits], Victim.LAST_ADMITTED)
    assert numbers == pytest.approx(caps.recorded()[setting, cap, seed], rel=_DIGITS)
