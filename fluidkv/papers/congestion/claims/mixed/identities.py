"""Congestion, equations (10), (11), (28) to (30) and (34): what they say of one another.

Each identity is linear in the products of shares and inputs. So if it holds for shares, ratios and
inputs that are symbols, it holds for all; lengths have to be numbers, and those tried are a sample.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import sampled
from fluidkv.papers.congestion.claims.mixed import printed
from fluidkv.papers.congestion.paper import congestion

_PAIRS_UP_TO = 7
_TUPLES = ((1, 2, 3), (2, 4, 6), (3, 5, 6), (1, 4, 5, 7), (2, 3, 6, 8))
_CHECKED = (
    f"all pairs of lengths up to {_PAIRS_UP_TO}, {len(_TUPLES)} tuples of three and four; "
    "shares, ratios, inputs and z symbolic"
)
_PAIRS = f"all pairs of lengths up to {_PAIRS_UP_TO}; p, l0 and z symbolic"

Difference = Callable[[tuple[int, ...]], Any]


def _pairs() -> Iterator[tuple[int, int]]:
    yield from combinations(range(1, _PAIRS_UP_TO + 1), 2)


def _vanishes(difference: Difference, cases: Sequence[tuple[int, ...]], paper: str) -> Outcome:
    """Expand a difference of two sides, case by case, to 0."""
    import sympy

    bad = next((c for c in cases if sympy.expand(difference(c)) != 0), None)
    shown = None if bad is None else f"lengths {bad}"
    ours = f"no difference for {len(cases)} sets of lengths" if bad is None else "differs"
    return sampled(shown, ours, paper, "Symbolic in all but the lengths.")


def _symbols(lengths: Sequence[int]) -> tuple[list[Any], list[Any]]:
    """p_k and r_k."""
    import sympy

    p, r = ([sympy.Symbol(f"{name}{k}") for k in range(len(lengths))] for name in ("p", "r"))
    return p, r


def _equation_11() -> Outcome:
    import sympy

    z = sympy.Symbol("z")

    def difference(lengths: tuple[int, ...]) -> Any:
        p, r = _symbols(lengths)
        left = (1 - z) * printed.limit(lengths, p, r, z)
        return left - printed.right_of_11(lengths, p, r, z)

    return _vanishes(difference, [*_pairs(), *_TUPLES], "(1 - z) A = -R z^d + sum of p r z^(d-l)")


def _equation_34() -> Outcome:
    import sympy

    z = sympy.Symbol("z")

    def difference(lengths: tuple[int, ...]) -> Any:
        p, _ = _symbols(lengths)
        p[-1] = 1 - sum(p[:-1])
        left = (1 - z) * printed.limit(lengths, p, [1] * len(p), z)
        return left - printed.right_of_34(lengths, p, z)

    return _vanishes(difference, [*_pairs(), *_TUPLES], "(1 - z) A = -z^d + sum of p z^(d-l)")


def _equation_30(classes: str) -> Outcome:
    """F = (l0 + d) A - z A' with (10) and A; for two classes also through (28) and B."""
    import sympy

    z, l0 = sympy.symbols("z l0")

    def all_classes(lengths: tuple[int, ...]) -> Any:
        p, _ = _symbols(lengths)
        p[-1] = 1 - sum(p[:-1])
        a = printed.limit(lengths, p, [1] * len(p), z)
        f = printed.equation_10(lengths, p, [l0] * len(p), z)
        return f - ((l0 + lengths[-1]) * a - z * sympy.diff(a, z))

    def two_classes(lengths: tuple[int, ...]) -> Any:
        (a, n), q = lengths, sympy.Symbol("q")
        limit = printed.two_class_limit(a, n, q, z)
        correction = printed.two_class_correction(a, n, q, z)
        f = printed.equation_28(a, n, q, l0, z)
        slope = z * sympy.diff(limit, z)
        # each printed equality with a symbol of its own, so that none can make up for another
        u, v, w = sympy.symbols("u v w")
        return (
            u * (f - (l0 + 1) * limit - correction)
            + v * (correction - (n - 1) * limit + slope)
            + w * (f - (l0 + n) * limit + slope)
        )

    if classes == "two":
        return _vanishes(two_classes, list(_pairs()), "F = (l0+1) A + B = (l0 + l1_2) A - z A'")
    return _vanishes(all_classes, [*_pairs(), *_TUPLES], "F = (l0 + d) A - z A'")


def _equation_28() -> Outcome:
    import sympy

    z, l0, p = sympy.symbols("z l0 p")

    def difference(lengths: tuple[int, ...]) -> Any:
        a, n = lengths
        general = printed.equation_10(lengths, (p, 1 - p), (l0, l0), z)
        return general - printed.equation_28(a, n, 1 - p, l0, z)

    return _vanishes(difference, list(_pairs()), "(28)")


def _equation_29() -> Outcome:
    import sympy

    z, p = sympy.symbols("z p")

    def difference(lengths: tuple[int, ...]) -> Any:
        a, n = lengths
        left = (1 - z) * printed.two_class_limit(a, n, 1 - p, z)
        return left - printed.right_of_29(a, n, p, 1 - p, z)

    return _vanishes(difference, list(_pairs()), "(1 - z) A = -z^n + p z^(n-a) + q")


CLAIMS = (
    congestion(
        "equation-11",
        "(1 - z) A(z) = -R z^d + sum of p_k r_k z^(d - l1_k), for any ratios of inputs.",
        "equation (11) and the closed form of B.9",
        _equation_11,
        kind="equation",
        checked=_CHECKED,
    ),
    congestion(
        "equation-28",
        "For two classes and a common input, (10) is (28).",
        "equation (28)",
        _equation_28,
        kind="equation",
        checked=_PAIRS,
    ),
    congestion(
        "equation-29",
        "(1 - z) A(z) = -z^n + p z^(n-a) + q for lengths a < n.",
        "equation (29)",
        _equation_29,
        kind="equation",
        checked=_PAIRS,
    ),
    congestion(
        "equation-30",
        "F = (l0 + 1) A + B, B = (n - 1) A - z A' and F = (l0 + n) A - z A' for lengths a < n.",
        "equation (30) and the display of B(z)",
        lambda: _equation_30("two"),
        kind="equation",
        checked=_PAIRS,
    ),
    congestion(
        "equation-30.all-classes",
        "F = (l0 + d) A - z A' for any number of classes with a common input.",
        "B.8.2",
        lambda: _equation_30("all"),
        kind="equation",
        checked=_CHECKED,
    ),
    congestion(
        "equation-34",
        "(1 - z) A(z) = -z^d + sum of p_k z^(d - l1_k) for any number of classes.",
        "equation (34)",
        _equation_34,
        kind="equation",
        checked=_CHECKED,
    ),
)
