"""The boundary of stability over all factors on the inputs, against counts at single factors."""

from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.exact.linear_stability import input_scale_bracket
from fluidkv.exact.mixed.mix import LengthMix
from fluidkv.exact.mixed.thresholds import scale as scale_module
from fluidkv.exact.mixed.thresholds.pencil import Crossing, InputPencil
from fluidkv.exact.mixed.thresholds.scale import input_scale
from fluidkv.exact.roots.spectrum import count_unstable
from fluidkv.exact.survival import survival_weights
from fluidkv.traces import read_trace
from fluidkv.workload import RequestClass, Workload
from tests.strategies import workloads

HALF = Fraction(1, 2)


def _stable(workload: Workload, factor: Fraction) -> bool:
    count = count_unstable(survival_weights(workload, input_scale=factor))
    return count.outside == 0 and count.on_circle == 0


@given(
    workload=workloads(min_classes=2, decode_lengths=st.integers(1, 14)),
    factors=st.lists(st.fractions(Fraction(1, 50), 40), min_size=8, max_size=8),
)
def test_every_factor_has_the_verdict_that_the_boundary_says(
    workload: Workload, factors: list[Fraction]
) -> None:
    found = input_scale(workload)
    if not found.complete:  # one length, or what the function says that it leaves open
        return
    for factor in factors:
        if found.stable is None:
            assert not _stable(workload, factor)
        elif factor >= found.stable:
            assert _stable(workload, factor)
        elif found.unstable is not None and factor <= found.unstable:
            assert not _stable(workload, factor)


def test_both_ends_are_certified_and_close() -> None:
    workload = Workload((RequestClass(100, 4, HALF), RequestClass(1, 7, HALF)))
    found = input_scale(workload)
    assert found.complete
    assert found.stable is not None
    assert found.unstable is not None
    assert _stable(workload, found.stable)
    assert not _stable(workload, found.unstable)
    # a crossing is enclosed to 1e-6 of its size
    assert found.stable - found.unstable < Fraction(1, 10**6) * 10
    bracket = input_scale_bracket(workload)
    assert bracket.unstable is not None
    assert bracket.stable is not None
    assert bracket.unstable < found.stable
    assert found.unstable < bracket.stable


def test_a_common_divisor_is_never_stable_and_never_means_both() -> None:
    found = input_scale(Workload((RequestClass(9, 4, HALF), RequestClass(50, 6, HALF))))
    assert (found.stable, found.unstable, found.complete) == (None, None, True)


def test_stable_at_every_factor_is_zero() -> None:
    # (1, 2) with equal shares: z = -1 is crossed at L = 0 exactly
    found = input_scale(Workload((RequestClass(9, 1, HALF), RequestClass(9, 2, HALF))))
    assert found.complete
    assert found.stable is not None
    assert found.stable < Fraction(1, 10**300)


def test_one_length_and_long_outputs_are_bracketed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not input_scale(Workload((RequestClass(10, 8),)), reach=4).complete
    monkeypatch.setattr(scale_module, "MOST_AGES", 6)
    workload = Workload((RequestClass(40, 4, HALF), RequestClass(40, 7, HALF)))
    found = input_scale(workload)
    assert not found.complete
    assert found == input_scale_bracket(workload)


def test_crossings_that_come_near_each_other_are_passed_together() -> None:
    """With more than one crossing in a ball's width the count between them is not used."""
    crossings = InputPencil(LengthMix((30, 60), (Fraction(1, 10),))).crossings()
    groups = scale_module._together([crossings[0], crossings[-1], crossings[-1]])
    assert [len(g) for g in groups] == [2, 1]


def _inward(length: arb, outward: int = -2) -> Crossing:
    return Crossing(length, None, arb(1) / 2, outward)


def test_a_boundary_of_several_crossings_reaches_from_end_to_end() -> None:
    """Stable above all of them, unstable below all: what lies between is not claimed."""
    pair = [_inward(arb(10, 1)), _inward(arb(11, 1))]
    found = scale_module._settled([_inward(arb(3, 0.125)), *pair], 0)
    assert found.complete
    assert found.unstable is not None
    assert found.stable is not None
    assert 8.999 < found.unstable < 9  # 10 - 1
    assert 12 < found.stable < 12.001  # 11 + 1


@pytest.mark.parametrize(
    "crossings",
    [
        [_inward(arb(3), 2), _inward(arb(5), -2)],  # stable again below 3
        [_inward(arb(3), 2), _inward(arb(3, 0.125), -2), _inward(arb(5), -2)],  # and perhaps here
        [_inward(arb(3), 0)],  # modes touch the circle
    ],
)
def test_more_than_one_change_is_not_called_a_boundary(crossings: list[Crossing]) -> None:
    with pytest.raises(ArithmeticError):
        scale_module._settled(crossings, 0)


def test_a_crossing_that_is_missing_is_noticed_by_the_count_beyond() -> None:
    mix = LengthMix((5, 9), (HALF,))  # stable from L = 65 on
    crossings = InputPencil(mix).crossings()
    assert scale_module._count_beyond(mix, crossings) == 0
    early = [c for c in crossings if c.length < 20]
    with pytest.raises(ArithmeticError, match="beyond the last crossing"):
        scale_module._count_beyond(mix, early)


def test_the_measured_workload_changes_its_verdict_once(traces_dir) -> None:
    trace, _ = read_trace(traces_dir / "vllm_rtx4090_llama31_8b")
    found = input_scale(trace.workload())
    assert found.complete
    assert found.stable is not None
    assert found.unstable is not None
    assert round(float(found.stable), 4) == round(float(found.unstable), 4) == 1.2421
