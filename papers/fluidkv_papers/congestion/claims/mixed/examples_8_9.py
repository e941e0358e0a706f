"""Congestion, Examples 8 and 9, Figures 10 and 11: the pairs (2, 3) and (2, 4) in equal shares."""

from fractions import Fraction

from fluidkv import exact, symbolic
from fluidkv.exact.mixed import motion
from fluidkv.ledger import (
    Evidence,
    Finding,
    Origin,
    Outcome,
    Range,
    Verdict,
    ball_rounds_to,
    conjugate_modulus_squared,
    equals,
    flint,
    root_rounds_to,
    sympy,
)
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()


def _mix(second: int) -> "exact.LengthMix":
    return exact.two_lengths(2, second, Fraction(1, 2))


def _limit(second: int) -> tuple[int, ...]:
    """Coefficients of 2 A, highest power first."""
    return _mix(second).limit.memory


CLAIMS.claim("example-8.at-one", "Example 8", "A(1) = 5/2 for lengths 2 and 3 with equal shares.")(
    lambda: equals(Fraction(sum(_limit(3)), 2), "5/2")
)


@CLAIMS.claim("example-8.places", "Example 8 and Figure 10")
def _places() -> Finding:
    """For 2 and 3 all roots lie inside the unit circle; for 2 and 4 all but -1 do.

    Ours: (2, 3): none on the circle; (2, 4): only -1; all others inside
    Paper: (2, 3): all inside; (2, 4): only -1 on the circle
    Note: The paper quotes Lemma 10 for the strict bound; that lemma has |z| <= 1, and Lemmas 11 and
    12 exclude equality."""
    # Counts by the exact route, for A in the place of F.
    counts = [exact.count_unstable(_mix(n).limit) for n in (3, 4)]
    found = [(count.outside, count.on_circle) for count in counts]
    at_minus_one = sum((-1) ** s * v for s, v in enumerate(_limit(4)))
    true = found == [(0, 0), (0, 1)] and at_minus_one == 0
    return Finding(None if true else f"outside and on the circle: {found}")


@CLAIMS.claim("example-8.pair", "Example 8 and Figure 10(b)")
def _pair() -> Outcome:
    """The other two roots for 2 and 4 are ± i/sqrt(2): opposite, with |z|^2 = 1/2."""
    # What is left of A for (2, 4) when z + 1 is divided out: z^2 + 1/2.
    rest = flint.fmpz_poly(list(reversed(_limit(4)))) // flint.fmpz_poly([1, 1])
    c, b, a = (int(x) for x in rest.coeffs())
    return equals([Fraction(b, a), Fraction(c, a)], "0, 1/2")


@CLAIMS.claim("figure-10.a.modulus", "Figure 10, caption (a)")
def _modulus() -> Outcome:
    """The roots for 2 and 3 have modulus 1/sqrt(2), about 0.71."""
    return root_rounds_to(conjugate_modulus_squared(_limit(3)), "0.71")


def _finite(second: int) -> "sympy.Poly":
    """F for lengths 2 and `second`, p = 1/2, in z, with the symbol l0 >= 0."""
    return sympy.Poly(symbolic.characteristic_polynomial(_mix(second)), symbolic.Z)


@CLAIMS.fails("figure-10.b.drift", "Figure 10, caption (b)", evidence=Evidence.BALL)
def _root_at_ten() -> Outcome:
    """At l0 = 10 the root at -1 of (2, 4) has moved out to modulus about 1.087."""
    # The modulus of the root that starts at -1, at one input length.
    mix, l0 = _mix(4), 10
    root = exact.limit_roots(mix)[0]
    # with l0 + j tokens in stage j, and not l0 + 1 + j, the weights are those of an l0 one shorter
    modulus, other = (point.modulus for point in exact.track(mix, root, [l0, l0 - 1]).points)
    rates = motion.drift.drift(mix, root).modulus_rates
    assert rates is not None  # -1 is a simple root
    first = 1 / (l0 + 4)
    second = float(rates[1].mid()) * first**2
    return ball_rounds_to(
        modulus,
        "1.087",
        note=f"To first order {1 + first:.4f}, to second {1 + first + second:.4f}. With l0 + j "
        f"tokens in stage j it would be {float(other.mid()):.4f}.",
    )


@CLAIMS.claim("figure-10.b.interior", "Figure 10, caption (b)")
def _interior() -> Finding:
    """At l0 = 10 the other two roots of (2, 4) are still inside the unit circle.

    Checked: l0 = 10; l0 = 0 ... 9 noted
    Paper: two interior roots, harmless"""
    # Roots of F for (2, 4) outside the unit circle; and the inputs at which there are more.
    l0 = 10
    counts = [exact.count_unstable(_mix(4).weights(length)).outside for length in range(l0 + 1)]
    return Finding(
        counts[l0] == 1,
        f"{counts[l0]} root outside at l0 = {l0}",
        note=f"Roots outside for l0 = 0, 1, 2, 3: {', '.join(map(str, counts[:4]))}.",
    )


@CLAIMS.claim("example-9.first-order", "Example 9", evidence=Evidence.BALL)
def _first_order() -> Finding:
    """The root at -1 of (2, 4) drifts to |z| = 1 + 1/(l0 + 4), to first order.

    Checked: l0 = 1, 10, 50, 100, 1000; every real l0 >= 1000
    Paper: 1
    Note: Asymptotic, from above: the second order is positive."""
    # (|z| - 1)(l0 + 4) at a few input lengths, and certified for all above one.
    mix = _mix(4)
    branch = exact.track(mix, exact.limit_roots(mix)[0], [1, 10, 50, 100, 1000])
    shown = []
    for point in branch.points:
        scaled = (float(point.modulus.mid()) - 1) * float(point.input_length + 4)
        shown.append(f"{point.input_length}: {scaled:.3f}")
    rate = motion.drift.outward_rate(mix, 1000)
    assert rate.low is not None  # long enough for a bound
    assert rate.high is not None
    near = rate.low > 0.99 and rate.high < 1.01
    return Finding(
        near,
        f"(|z| - 1)(l0 + 4) at l0 = {', '.join(reversed(shown))}; "
        f"in [{rate.low:.4f}, {rate.high:.4f}] for every l0 >= 1000",
    )


@CLAIMS.claim("example-9.always-above-one", "Example 9; Figure 11, caption")
def _always_unstable() -> Finding:
    """That root remains above 1 in modulus for all finite l0.

    Checked: every real l0 >= 0 (symbolic)
    Paper: |z| > 1 for all finite l0
    Note: So F has a real root below -1 for every real l0 >= 0."""
    # F(-1) > 0 for every l0 >= 0 and F < 0 far to the left: a root below -1.
    f = _finite(4)
    at_minus_one = sympy.expand(f.eval(-1))
    leading = f.LC()
    proved = bool(at_minus_one.is_positive and sympy.simplify(leading).is_positive)
    return Finding(
        Verdict.HOLDS if proved and f.degree() % 2 == 1 else Verdict.UNDECIDED,
        f"F(-1) = {at_minus_one} > 0, leading coefficient {leading}, odd degree",
    )


@CLAIMS.claim("example-9.coprime-limit", "Example 9; Figure 11, caption")
def _coprime_limit() -> Finding:
    """For (2, 3) the spectral radius tends to 1/sqrt(2).

    Checked: symbolic limit
    Paper: 1/sqrt(2)"""
    a, b, c = _finite(3).all_coeffs()
    limit = sympy.limit(c / a, symbolic.INPUT_LENGTH, sympy.oo)
    # b^2 - 4ac = -l0^2 - 4 l0 - 2 < 0: a conjugate pair, so c/a is |z|^2
    pair = sympy.expand(4 * a * c - b**2).is_positive is True
    return Finding(limit == sympy.Rational(1, 2) and pair, f"|z|^2 -> {limit}")


@CLAIMS.fails("example-9.safety-margin", "Example 9")
def _margin() -> Finding:
    """For (2, 3) there is a safety margin below 1 at every finite l0.

    Checked: l0 = 1 ... 199, with |z|^2 in closed form
    Paper: a safety margin at every finite l0
    Note: For l0 >= 2 it holds. As a formula, l0 = 0 gives |z|^2 = 3/2."""
    # |z|^2 = (l0 + 3) / (2 (l0 + 1)) where the roots are a pair: below 1 only for l0 > 1.
    l0 = symbolic.INPUT_LENGTH
    a, b, c = _finite(3).all_coeffs()
    pair, squared = sympy.expand(b**2 - 4 * a * c), sympy.factor(c / a)
    values = ((x, sympy.Rational(squared.subs(l0, x)), pair.subs(l0, x)) for x in range(1, 200))
    bad = [x for x, value, discriminant in values if value >= 1 and discriminant.is_negative]
    return Finding(
        not bad or f"l0 = {bad[0]}: |z|^2 = {squared.subs(l0, bad[0])}",
        f"|z|^2 = {squared}; at l0 = 1 both roots lie exactly on the unit circle",
    )


@CLAIMS.fails(
    "figure-11.coprime-inside",
    "Figure 11, caption, read at every input length",
    over=Range("l0 = 1 ... 199", lambda: range(1, 200), name="l0 = {}".format),
    origin=Origin.READING,
)
def _inside(l0: int) -> bool:
    """For (2, 3) all roots remain strictly inside the unit circle as the input length varies.

    Ours: at l0 = 1 both roots lie exactly on the unit circle
    Paper: strictly inside
    Note: The caption does not say where its l0 begins. For l0 >= 2 it holds."""
    count = exact.count_unstable(_mix(3).weights(l0))
    return (count.outside, count.on_circle) == (0, 0)


def _confirmed(second: int) -> Finding:
    """|z| / (|alpha| (1 + eps)) - 1, over eps^2: bounded, so that the first order is right."""
    mix = _mix(second)
    root = exact.limit_roots(mix)[0]
    rates = motion.drift.drift(mix, root).modulus_rates
    assert rates is not None  # the root is simple
    second_order, found = float(rates[1].mid()), []
    for point in exact.track(mix, root, [10**k for k in range(1, 7)]).points:
        eps = 1 / float(point.input_length + second)
        relative = float((point.modulus / root.modulus).mid()) - 1 - eps
        found.append((point.input_length, relative, relative / eps**2))
    # beyond 10^5, doubles hold too few digits of a difference of 1e-14
    settles = all(abs(x - second_order) < 0.02 for n, _, x in found if 1000 <= n <= 10**5)
    return Finding(
        settles,
        "; ".join(f"l0 = {n}: {100 * r:+.3f} %" for n, r, _ in found[::-1][:4]),
        paper="|z| = |alpha| (1 + 1/(l0 + l1_2)), approximately",
        note=f"At l0 = {found[-2][0]} off by {found[-2][2]:.3f} eps^2; second order "
        f"{second_order:.3f}.",
    )


for second, word, modulus in (
    (4, "common-divisor", "1 + 1/(l0 + 4)"),
    (3, "coprime", "(1 + 1/(l0 + 3))/sqrt(2)"),
):
    CLAIMS.claim(
        f"figure-11.first-order.{word}",
        "Figure 11, caption",
        f"The curve of (2, {second}) confirms |z| = {modulus} to first order.",
        evidence=Evidence.FLOAT,
        checked="l0 = 10 ... 1000000",
    )(lambda second=second: _confirmed(second))
