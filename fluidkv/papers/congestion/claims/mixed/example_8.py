"""Congestion, Example 8 and Figure 10(a): limits for lengths 2 and 3, and 2 and 4, equal shares."""

from fractions import Fraction

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import conjugate_modulus_squared, equals, holds_for, root_rounds_to
from fluidkv.papers.congestion.paper import congestion


def _weights(second: int) -> tuple[int, ...]:
    """Coefficients of 2 A for lengths 2 and `second`, highest power first."""
    from fluidkv.exact.mixed.mix import two_lengths

    return two_lengths(2, second, Fraction(1, 2)).limit.memory


def _at_one() -> Outcome:
    return equals(Fraction(sum(_weights(3)), 2), "5/2")


def _pair() -> Outcome:
    """What is left of A for (2, 4) when z + 1 is divided out: z^2 + 1/2."""
    from flint import fmpz_poly

    rest = fmpz_poly(list(reversed(_weights(4)))) // fmpz_poly([1, 1])
    c, b, a = (int(x) for x in rest.coeffs())
    return equals([Fraction(b, a), Fraction(c, a)], "0, 1/2")


def _places() -> Outcome:
    """Counts by the exact route, for A in the place of F."""
    from fluidkv.exact.mixed.mix import two_lengths
    from fluidkv.exact.roots.spectrum import count_unstable

    counts = [count_unstable(two_lengths(2, n, Fraction(1, 2)).limit) for n in (3, 4)]
    found = [(count.outside, count.on_circle) for count in counts]
    at_minus_one = sum((-1) ** s * v for s, v in enumerate(_weights(4)))
    true = found == [(0, 0), (0, 1)] and at_minus_one == 0
    return holds_for(
        None if true else f"outside and on the circle: {found}",
        ours="(2, 3): none on the circle; (2, 4): only -1; all others inside",
        paper="(2, 3): all inside; (2, 4): only -1 on the circle",
        note="The paper quotes Lemma 10 for the strict bound; that lemma has |z| <= 1, and "
        "Lemmas 11 and 12 exclude equality.",
    )


CLAIMS = (
    congestion(
        "example-8.at-one",
        "A(1) = 5/2 for lengths 2 and 3 with equal shares.",
        "Example 8",
        _at_one,
    ),
    congestion(
        "example-8.places",
        "For 2 and 3 all roots lie inside the unit circle; for 2 and 4 all but -1 do.",
        "Example 8 and Figure 10",
        _places,
    ),
    congestion(
        "example-8.pair",
        "The other two roots for 2 and 4 are ± i/sqrt(2): opposite, with |z|^2 = 1/2.",
        "Example 8 and Figure 10(b)",
        _pair,
    ),
    congestion(
        "figure-10.a.modulus",
        "The roots for 2 and 3 have modulus 1/sqrt(2), about 0.71.",
        "Figure 10, caption (a)",
        lambda: root_rounds_to(conjugate_modulus_squared(_weights(3)), "0.71"),
        kind="figure",
    ),
)
