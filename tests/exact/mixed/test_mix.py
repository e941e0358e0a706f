"""A mix of lengths: weights as those of its workload, the limit, and bad input."""

from fractions import Fraction

import pytest

from fluidkv.errors import InputError
from fluidkv.exact.mixed.mix import LengthMix, two_lengths
from fluidkv.exact.survival import survival_weights
from fluidkv.workload import RequestClass, Workload
from tests.exact.mixed.mixes import random_mixes

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


@pytest.mark.parametrize("mix", random_mixes(40, seed=1), ids=str)
def test_weights_are_sums_over_classes(mix: LengthMix) -> None:
    """V_s and alpha_s from their definitions, class by class, at a rational L."""
    rows = list(zip(mix.decode_lengths, mix.shares, mix.input_ratios, strict=True))
    for length in (0, 3, Fraction(22, 7)):
        weights = mix.weights(length)
        for s in range(mix.ages):
            alive = [(p, r * length) for n, p, r in rows if n > s]
            alpha = sum((p for p, _ in alive), Fraction(0))
            memory = sum((p * (l0 + 1 + s) for p, l0 in alive), Fraction(0))
            assert Fraction(weights.requests[s], weights.denominator) == alpha
            assert Fraction(weights.memory[s], weights.denominator) == memory


@pytest.mark.parametrize("mix", random_mixes(20, seed=2), ids=str)
def test_weights_are_linear_in_the_input_length(mix: LengthMix) -> None:
    def v(length: int) -> list[Fraction]:
        weights = mix.weights(length)
        return [Fraction(m, weights.denominator) for m in weights.memory]

    limit = [Fraction(m, mix.limit.denominator) for m in mix.limit.memory]
    assert v(7) == [a + 7 * b for a, b in zip(v(0), limit, strict=True)]


def test_weights_are_those_of_the_workload() -> None:
    mix = LengthMix((3, 8, 5), (HALF, Fraction(1, 6)), (1, 2, 4))
    ours, theirs = mix.weights(6), survival_weights(mix.workload(6))
    for name in ("memory", "requests"):
        scaled = [Fraction(x, ours.denominator) for x in getattr(ours, name)]
        assert scaled == [Fraction(x, theirs.denominator) for x in getattr(theirs, name)]


def test_lengths_are_sorted_with_their_shares_and_ratios() -> None:
    mix = LengthMix((8, 3, 5), (HALF, THIRD), (2, 7, 9))
    assert mix == LengthMix((3, 5, 8), (THIRD, Fraction(1, 6), HALF), (7, 9, 2))
    assert two_lengths(8, 3, Fraction(7, 10)) == two_lengths(3, 8, Fraction(3, 10))
    assert (mix.ages, mix.decode_gcd, mix.common_input) == (8, 1, False)
    assert two_lengths(6, 4, HALF).decode_gcd == 2
    assert two_lengths(6, 4, HALF).common_input


def test_classes_of_one_decode_length_become_one_with_their_mean_input() -> None:
    classes = (
        RequestClass(10, 4, Fraction(1, 4)),
        RequestClass(40, 4, HALF),
        RequestClass(7, 9, Fraction(1, 4)),
    )
    mix = LengthMix.of_workload(Workload(classes))
    assert mix == LengthMix((4, 9), (Fraction(3, 4), Fraction(1, 4)), (30, 7))
    weights, literal = mix.weights(1), survival_weights(Workload(classes))
    assert [Fraction(m, weights.denominator) for m in weights.memory] == [
        Fraction(m, literal.denominator) for m in literal.memory
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((5, 5), (HALF,)), "decode_lengths: got '5 twice'"),
        (((5,), (HALF,)), "decode_lengths: got .5.; allowed: at least two"),
        (((0, 5), (HALF,)), "decode_lengths: got 0"),
        (((True, 5), (HALF,)), "decode_lengths: got True"),
        (((2.0, 5), (HALF,)), "decode_lengths: got 2.0"),
        (((2, 5), (0.5,)), "shares: got 0.5; allowed: integers or Fractions, not floats"),
        (((2, 5), (Fraction(0),)), "shares: got '0'"),
        (((2, 5), (Fraction(1),)), "shares: got '1'"),
        (((2, 5), (Fraction(3, 2),)), "shares: got '3/2'"),
        (((2, 5), (HALF, THIRD)), "shares: got 'sum 5/6'"),
        (((2, 5), (THIRD, THIRD, THIRD)), "shares: got '3 shares'"),
        (((2, 5, 7), (HALF, HALF)), "shares: got '0'"),
        (((2, 5), ()), "shares: got '0 shares'"),
        (((2, 5), (HALF,), (1,)), "input_ratios: got '1 ratios'"),
        (((2, 5), (HALF,), (1, 0)), "input_ratios: got '0'"),
        (((2, 5), (HALF,), (1, 0.5)), "input_ratios: got 0.5"),
    ],
)
def test_bad_mixes_get_one_line(arguments, message) -> None:
    with pytest.raises(InputError, match=message):
        LengthMix(*arguments)


def test_bad_input_lengths_get_one_line() -> None:
    mix = LengthMix((2, 5), (HALF,), (1, HALF))
    with pytest.raises(InputError, match="input_length: got '-1'"):
        mix.weights(-1)
    with pytest.raises(InputError, match=r"input_length: got 1\.5"):
        mix.weights(1.5)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="input_length: got 3; allowed: r_k L whole, not 3/2"):
        mix.workload(3)
    with pytest.raises(InputError):
        mix.workload(0)
    with pytest.raises(InputError, match="at least two lengths"):
        LengthMix.of_workload(Workload((RequestClass(1, 3),)))
