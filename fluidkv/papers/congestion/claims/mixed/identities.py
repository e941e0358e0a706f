"""Congestion, equations (7), (8), (10), (11), (28) to (30) and (34): what they say of one another.

Each identity is linear in the products of shares and inputs. So if it holds for shares, ratios and
inputs that are symbols, it holds for all; lengths have to be numbers, and those tried are a sample.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from fluidkv import exact
from fluidkv.ledger.ranges import Range, Seen
from fluidkv.papers.congestion.claims.mixed import printed
from fluidkv.papers.congestion.paper import statements
from fluidkv.workload import RequestClass, System, Workload

CLAIMS = statements()
_UP_TO = 7
_TUPLES = ((1, 2, 3), (2, 4, 6), (3, 5, 6), (1, 4, 5, 7), (2, 3, 6, 8))


def pairs() -> list[tuple[int, int]]:
    return list(combinations(range(1, _UP_TO + 1), 2))


ALL_PAIRS = Range(f"all pairs of lengths up to {_UP_TO}; p, l0 and z symbolic", pairs)
_MIXES = Range(
    f"all pairs of lengths up to {_UP_TO}, {len(_TUPLES)} tuples of three and four; shares, "
    "ratios, inputs and z symbolic",
    lambda: [(lengths,) for lengths in (*pairs(), *_TUPLES)],
    name=lambda lengths: f"lengths {lengths}",
)

_WORKLOADS = Range(
    "5 tuples of two to four lengths, three rows of inputs each, shares 1 : 2 : ...",
    lambda: product(((2, 3), *_TUPLES[:-1]), ((5, 5, 5, 5), (1, 4, 9, 2), (30, 2, 7, 1))),
    name=lambda lengths, inputs: f"lengths {lengths}, inputs {inputs[: len(lengths)]}",
)


def _shares(classes: int) -> list[Fraction]:
    return [Fraction(k + 1, classes * (classes + 1) // 2) for k in range(classes)]


@CLAIMS.over(
    _WORKLOADS,
    "equation-7",
    "equation (7) and below",
    "With inputs r_k L and M = c L every stage holds r_k L (1 + O(1/L)) tokens, and x* has a limit "
    "above 0.",
    ours=lambda seen: (
        "what a stage holds over r_k L, less 1, is at most "
        f"{max(seen)} / L; x* tends to c / sum(p r l1)"
    ),
    paper="w = r_k L (1 + O(1/L)); concurrency does not degenerate",
)
def _scaling(lengths: tuple[int, ...], ratios: tuple[int, ...]) -> Seen | bool:
    """Of the weights that the laboratory makes, summed over classes; L = 10, 100 ... 10^5."""
    mix, c = exact.LengthMix(lengths, _shares(len(lengths)), ratios[: len(lengths)]), 50
    limit = [Fraction(v, mix.limit.denominator) for v in mix.limit.memory]
    weights, rates = [], []
    for L in (10, 100, 1000, 10**4, 10**5):
        found = mix.weights(L)
        held = [Fraction(v, found.denominator) for v in found.memory]
        rate = exact.eviction_free_equilibrium(System(mix.workload(L), c * L)).rate
        weights.append(max(abs(v / (L * a) - 1) for v, a in zip(held, limit, strict=True)) * L)
        rates.append(abs(rate * sum(limit) / c - 1) * L)
    bounded = max(weights) <= 2 * weights[0] and max(rates) <= 2 * rates[-1]
    return bounded and Seen(max(weights))


@CLAIMS.over(
    _WORKLOADS,
    "equation-8",
    "equation (8)",
    "At x* = M / sum p_k C_k, C_k = l1_k (l0_k + (l1_k + 1)/2), memory is full and nothing moves.",
)
def _equilibrium(lengths: tuple[int, ...], inputs: tuple[int, ...]) -> bool:
    shares, capacity = _shares(len(lengths)), Fraction(701, 3)
    rows = list(zip(inputs, lengths, shares, strict=False))
    system = System(Workload(tuple(RequestClass(*row) for row in rows)), capacity)
    rate = capacity / sum(p * n * (l0 + Fraction(n + 1, 2)) for l0, n, p in rows)
    state = [[p * rate] * n for _, n, p in rows]
    step = exact.iterate(system, state)  # the literal model
    return (
        exact.memory_used(system, state) == capacity
        and not any(map(any, step.evicted))
        and step.state == state
    )


def _symbols(lengths: Sequence[int]) -> tuple[list[Any], list[Any]]:
    """p_k, which add up to 1, and r_k."""
    import sympy

    k = len(lengths)
    p = sympy.symbols(f"p1:{k}", seq=True)
    return [*p, 1 - sum(p)], list(sympy.symbols(f"r1:{k + 1}"))


@CLAIMS.over(
    _MIXES,
    "equation-11",
    "equation (11) and the closed form of B.9",
    "(1 - z) A(z) = -R z^d + sum of p_k r_k z^(d - l1_k), for any ratios of inputs.",
)
def _equation_11(lengths: tuple[int, ...]) -> bool:
    import sympy

    z, (p, r) = sympy.Symbol("z"), _symbols(lengths)
    p[-1] = sympy.Symbol("p")  # whatever the shares add up to
    left = (1 - z) * printed.limit(lengths, p, r, z)
    return sympy.expand(left - printed.right_of_11(lengths, p, r, z)) == 0


@CLAIMS.over(
    ALL_PAIRS, "equation-28", "equation (28)", "For two classes and a common input, (10) is (28)."
)
def _equation_28(a: int, n: int) -> bool:
    import sympy

    z, l0, p = sympy.symbols("z l0 p")
    general = printed.equation_10((a, n), (p, 1 - p), (l0, l0), z)
    return sympy.expand(general - printed.equation_28(a, n, 1 - p, l0, z)) == 0


@CLAIMS.over(
    ALL_PAIRS,
    "equation-29",
    "equation (29)",
    "(1 - z) A(z) = -z^n + p z^(n-a) + q for lengths a < n.",
)
def _equation_29(a: int, n: int) -> bool:
    import sympy

    z, p = sympy.symbols("z p")
    left = (1 - z) * printed.two_class_limit(a, n, 1 - p, z)
    return sympy.expand(left - printed.right_of_29(a, n, p, 1 - p, z)) == 0


@CLAIMS.over(
    ALL_PAIRS,
    "equation-30",
    "equation (30) and the display of B(z)",
    "F = (l0 + 1) A + B, B = (n - 1) A - z A' and F = (l0 + n) A - z A' for lengths a < n.",
)
def _equation_30(a: int, n: int) -> bool:
    import sympy

    z, l0, q = sympy.symbols("z l0 q")
    limit = printed.two_class_limit(a, n, q, z)
    correction = printed.two_class_correction(a, n, q, z)
    f, slope = printed.equation_28(a, n, q, l0, z), z * sympy.diff(limit, z)
    differences = (
        f - (l0 + 1) * limit - correction,
        correction - (n - 1) * limit + slope,
        f - (l0 + n) * limit + slope,
    )
    return all(sympy.expand(difference) == 0 for difference in differences)


@CLAIMS.over(
    _MIXES,
    "equation-30.all-classes",
    "B.8.2",
    "F = (l0 + d) A - z A' for any number of classes with a common input.",
    kind="equation",
)
def _all_classes(lengths: tuple[int, ...]) -> bool:
    import sympy

    (z, l0), (p, _) = sympy.symbols("z l0"), _symbols(lengths)
    a = printed.limit(lengths, p, [1] * len(p), z)
    f = printed.equation_10(lengths, p, [l0] * len(p), z)
    return sympy.expand(f - ((l0 + lengths[-1]) * a - z * sympy.diff(a, z))) == 0


@CLAIMS.over(
    _MIXES,
    "equation-34",
    "equation (34)",
    "(1 - z) A(z) = -z^d + sum of p_k z^(d - l1_k) for any number of classes.",
)
def _equation_34(lengths: tuple[int, ...]) -> bool:
    import sympy

    z, (p, _) = sympy.Symbol("z"), _symbols(lengths)
    left = (1 - z) * printed.limit(lengths, p, [1] * len(p), z)
    return sympy.expand(left - printed.right_of_34(lengths, p, z)) == 0
