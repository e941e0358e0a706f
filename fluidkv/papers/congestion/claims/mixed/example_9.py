"""Congestion, Example 9 and Figures 10(b) and 11: the pairs (2, 3) and (2, 4) at finite input."""

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import holds_for, verdict
from fluidkv.papers.congestion.paper import congestion
from fluidkv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    import sympy

    from fluidkv.exact.mixed.mix import LengthMix

_FIRST_ORDER_FROM, _FIRST_ORDER_TO = 1, 1000


def _mix(second: int) -> "LengthMix":
    from fluidkv.exact.mixed.mix import two_lengths

    return two_lengths(2, second, Fraction(1, 2))


def _finite(second: int) -> "tuple[sympy.Poly, sympy.Symbol]":
    """F for lengths 2 and `second`, p = 1/2, in z and a symbol l0 >= 0, by (10)."""
    import sympy

    from fluidkv.papers.congestion.claims.mixed import printed

    z, l0 = sympy.Symbol("z"), sympy.Symbol("l0", nonnegative=True)
    half = sympy.Rational(1, 2)
    f = printed.equation_10((2, second), (half, half), (l0, l0), z)
    return sympy.Poly(sympy.expand(f), z), l0


def _root_at(l0: int, printed: str) -> Outcome:
    """The modulus of the root that starts at -1, at one input length."""
    from fluidkv.exact.mixed.motion.branches import track
    from fluidkv.exact.mixed.motion.drift import drift
    from fluidkv.exact.mixed.motion.limit import limit_roots

    mix = _mix(4)
    root = limit_roots(mix)[0]
    # with l0 + j tokens in stage j, and not l0 + 1 + j, the weights are those of an l0 one shorter
    modulus, other = (point.modulus for point in track(mix, root, [l0, l0 - 1]).points)
    rates = drift(mix, root).modulus_rates
    if rates is None:
        raise ArithmeticError("-1 is a multiple root of the limit")
    unit = Fraction(1, 2 * 10 ** len(printed.partition(".")[2]))
    low, high = Fraction(printed) - unit, Fraction(printed) + unit
    # balls of forty digits: their midpoints as doubles tell which side of the printed digits
    value = Fraction(float(modulus.mid()))
    wide = Fraction(1, 10**12)
    inside = low + wide < value < high - wide
    outside = value < low - wide or value > high + wide
    first = 1 / (l0 + 4)
    second = float(rates[1].mid()) * first**2
    return Outcome(
        Verdict.HOLDS if inside else Verdict.FAILS if outside else Verdict.UNDECIDED,
        Evidence.BALL,
        ours=f"{float(modulus.mid()):.6f}",
        paper=printed,
        note=f"To first order {1 + first:.4f}, to second {1 + first + second:.4f}. With l0 + j "
        f"tokens in stage j it would be {float(other.mid()):.4f}.",
    )


def _interior_at(l0: int) -> Outcome:
    """Roots of F for (2, 4) outside the unit circle; and the inputs at which there are more."""
    from fluidkv.exact.roots.spectrum import count_unstable

    counts = [count_unstable(_mix(4).weights(length)).outside for length in range(l0 + 1)]
    return Outcome(
        verdict(counts[l0] == 1),
        Evidence.EXACT,
        ours=f"{counts[l0]} root outside at l0 = {l0}",
        paper="two interior roots, harmless",
        note=f"Roots outside for l0 = 0, 1, 2, 3: {', '.join(map(str, counts[:4]))}.",
    )


def _always_unstable() -> Outcome:
    """F(-1) > 0 for every l0 >= 0 and F < 0 far to the left: a root below -1."""
    import sympy

    f, _ = _finite(4)
    at_minus_one = sympy.expand(f.eval(-1))
    leading = f.LC()
    proved = bool(at_minus_one.is_positive and sympy.simplify(leading).is_positive)
    return Outcome(
        Verdict.HOLDS if proved and f.degree() % 2 == 1 else Verdict.UNDECIDED,
        Evidence.EXACT,
        ours=f"F(-1) = {at_minus_one} > 0, leading coefficient {leading}, odd degree",
        paper="|z| > 1 for all finite l0",
        note="So F has a real root below -1 for every real l0 >= 0.",
    )


def _first_order() -> Outcome:
    """(|z| - 1)(l0 + 4) at a few input lengths, and certified for all above one."""
    from fluidkv.exact.mixed.motion.branches import track
    from fluidkv.exact.mixed.motion.drift import outward_rate
    from fluidkv.exact.mixed.motion.limit import limit_roots

    mix = _mix(4)
    branch = track(mix, limit_roots(mix)[0], [1, 10, 50, 100, 1000])
    shown = []
    for point in branch.points:
        scaled = (float(point.modulus.mid()) - 1) * float(point.input_length + 4)
        shown.append(f"{point.input_length}: {scaled:.3f}")
    rate = outward_rate(mix, 1000)
    near = rate is not None and rate.low > 0.99 and rate.high < 1.01
    return Outcome(
        verdict(near),
        Evidence.BALL,
        ours=f"(|z| - 1)(l0 + 4) at l0 = {', '.join(reversed(shown))}; "
        + (f"in [{rate.low:.4f}, {rate.high:.4f}] for every l0 >= 1000" if rate else "no bound"),
        paper="1",
        note="Asymptotic, from above: the second order is positive.",
    )


def _margin() -> Outcome:
    """|z|^2 = (l0 + 3) / (2 (l0 + 1)) where the roots are a pair: below 1 only for l0 > 1."""
    import sympy

    f, l0 = _finite(3)
    a, b, c = f.all_coeffs()
    pair = sympy.expand(b**2 - 4 * a * c)
    squared = sympy.factor(c / a)
    bad = [x for x in range(1, 200) if squared.subs(l0, x) >= 1 and pair.subs(l0, x) < 0]
    return holds_for(
        f"l0 = {bad[0]}: |z|^2 = {squared.subs(l0, bad[0])}" if bad else None,
        ours=f"|z|^2 = {squared}; at l0 = 1 both roots lie exactly on the unit circle",
        paper="a safety margin at every finite l0",
        note="For l0 >= 2 it holds. As a formula, l0 = 0 gives |z|^2 = 3/2.",
    )


def _coprime_limit() -> Outcome:
    import sympy

    f, l0 = _finite(3)
    a, b, c = f.all_coeffs()
    limit = sympy.limit(c / a, l0, sympy.oo)
    # b^2 - 4ac = -l0^2 - 4 l0 - 2 < 0: a conjugate pair, so c/a is |z|^2
    pair = sympy.expand(4 * a * c - b**2).is_positive is True
    return Outcome(
        verdict(limit == sympy.Rational(1, 2) and pair),
        Evidence.EXACT,
        ours=f"|z|^2 -> {limit}",
        paper="1/sqrt(2)",
    )


def _confirmed(second: int) -> Outcome:
    """|z| / (|alpha| (1 + eps)) - 1, over eps^2: bounded, so that the first order is right."""
    from fluidkv.exact.mixed.motion.branches import track
    from fluidkv.exact.mixed.motion.drift import drift
    from fluidkv.exact.mixed.motion.limit import limit_roots

    mix = _mix(second)
    root = limit_roots(mix)[0]
    rates = drift(mix, root).modulus_rates
    lengths = [10**k for k in range(1, 7)]
    found = []
    for point in track(mix, root, lengths).points:
        eps = 1 / float(point.input_length + second)
        relative = float((point.modulus / root.modulus).mid()) - 1 - eps
        found.append((point.input_length, relative, relative / eps**2))
    settles = rates is not None and all(
        abs(x - float(rates[1].mid())) < 0.02
        for length, _, x in found
        if length >= 1000
        if length <= 10**5  # beyond, doubles hold too few digits of a difference of 1e-14
    )
    return Outcome(
        verdict(settles),
        Evidence.FLOAT,
        ours="; ".join(f"l0 = {n}: {100 * r:+.3f} %" for n, r, _ in found[::-1][:4]),
        paper="|z| = |alpha| (1 + 1/(l0 + l1_2)), approximately",
        note=f"At l0 = {found[-2][0]} off by {found[-2][2]:.3f} eps^2; second order "
        f"{float(rates[1].mid()) if rates else 0:.3f}.",
    )


def _figure(id: str, statement: str, place: str, check: Any, **more: Any) -> Any:
    return congestion(id, statement, place, check, kind="figure", **more)


CLAIMS = (
    _figure(
        "figure-10.b.drift",
        "At l0 = 10 the root at -1 of (2, 4) has moved out to modulus about 1.087.",
        "Figure 10, caption (b)",
        lambda: _root_at(10, "1.087"),
        expected=Verdict.FAILS,
    ),
    _figure(
        "figure-10.b.interior",
        "At l0 = 10 the other two roots of (2, 4) are still inside the unit circle.",
        "Figure 10, caption (b)",
        lambda: _interior_at(10),
        checked="l0 = 10; l0 = 0 ... 9 noted",
    ),
    congestion(
        "example-9.first-order",
        "The root at -1 of (2, 4) drifts to |z| = 1 + 1/(l0 + 4), to first order.",
        "Example 9",
        _first_order,
        checked="l0 = 1, 10, 50, 100, 1000; every real l0 >= 1000",
    ),
    congestion(
        "example-9.always-above-one",
        "That root remains above 1 in modulus for all finite l0.",
        "Example 9; Figure 11, caption",
        _always_unstable,
        checked="every real l0 >= 0 (symbolic)",
    ),
    congestion(
        "example-9.coprime-limit",
        "For (2, 3) the spectral radius tends to 1/sqrt(2).",
        "Example 9; Figure 11, caption",
        _coprime_limit,
        checked="symbolic limit",
    ),
    congestion(
        "example-9.safety-margin",
        "For (2, 3) there is a safety margin below 1 at every finite l0.",
        "Example 9",
        _margin,
        expected=Verdict.FAILS,
        checked="l0 = 1 ... 199, with |z|^2 in closed form",
    ),
    _figure(
        "figure-11.coprime-inside",
        "For (2, 3) all roots remain strictly inside the unit circle as the input length varies.",
        "Figure 11, caption",
        _margin,
        expected=Verdict.FAILS,
        checked="l0 = 1 ... 199, with |z|^2 in closed form",
    ),
    _figure(
        "figure-11.first-order.common-divisor",
        "The curve of (2, 4) confirms |z| = 1 + 1/(l0 + 4) to first order.",
        "Figure 11, caption",
        lambda: _confirmed(4),
        checked="l0 = 10 ... 1000000",
    ),
    _figure(
        "figure-11.first-order.coprime",
        "The curve of (2, 3) confirms |z| = (1 + 1/(l0 + 3))/sqrt(2) to first order.",
        "Figure 11, caption",
        lambda: _confirmed(3),
        checked="l0 = 10 ... 1000000",
    ),
)
