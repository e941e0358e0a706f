"""Congestion, equations (7) to (11), (28) to (30) and (34): of one another and of the model.

Each identity is linear in the products of shares and inputs. So if it holds for shares, ratios and
inputs that are symbols, it holds for all; lengths have to be numbers, and those tried are a sample.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from fluidkv import exact, symbolic
from fluidkv.exact.mass import memory_used
from fluidkv.ledger import Range, Seen, sympy
from fluidkv.workload import RequestClass, System, Workload
from fluidkv_papers.congestion.instances import printed
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()
_UP_TO = 7
_TUPLES = ((1, 2, 3), (2, 4, 6), (3, 5, 6), (1, 4, 5, 7), (2, 3, 6, 8))


def pairs() -> list[tuple[int, int]]:
    return list(combinations(range(1, _UP_TO + 1), 2))


_PAIRS = Range(f"all pairs of lengths up to {_UP_TO}; p, l0 and z symbolic", pairs)
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


@CLAIMS.claim("equation-7", "equation (7) and below", over=_WORKLOADS)
def _scaling(lengths: tuple[int, ...], ratios: tuple[int, ...]) -> Seen | bool:
    """With inputs r_k L and M = c L every stage holds r_k L (1 + O(1/L)) tokens, and x* has a limit
    above 0.

    Ours: (1 + O(1/L)) is at most 1 + {max} / L; x* tends to c / sum(p r l1)"""
    # Of the weights that the laboratory makes, summed over classes; L = 10, 100 ... 10^5.
    shares, c = _shares(len(lengths)), 50
    mix = exact.LengthMix(lengths, shares, ratios[: len(lengths)])
    limit = [Fraction(v, mix.limit.denominator) for v in mix.limit.memory]
    over = sum((p * n * (n + 1) / 2 for p, n in zip(shares, lengths, strict=True)), Fraction(0))
    off = Fraction(0)
    for L in (10, 100, 1000, 10**4, 10**5):
        found = mix.weights(L)
        held = [Fraction(v, found.denominator) for v in found.memory]
        off = max(off, *((v / (L * a) - 1) * L for v, a in zip(held, limit, strict=True)))
        rate = exact.eviction_free_equilibrium(System(mix.workload(L), c * L)).rate
        if not 0 < 1 - rate * sum(limit) / c <= over / sum(limit) / L:
            return False
    return off <= Fraction(lengths[-1], min(mix.input_ratios)) and Seen(off)


@CLAIMS.claim("equation-8", "equation (8)", over=_WORKLOADS)
def _equilibrium(lengths: tuple[int, ...], inputs: tuple[int, ...]) -> bool:
    """At x* = M / sum p_k C_k, C_k = l1_k (l0_k + (l1_k + 1)/2), memory is full and nothing
    moves."""
    shares, capacity = _shares(len(lengths)), Fraction(701, 3)
    rows = list(zip(inputs, lengths, shares, strict=False))
    system = System(Workload(tuple(RequestClass(*row) for row in rows)), capacity)
    rate = capacity / sum(p * n * (l0 + Fraction(n + 1, 2)) for l0, n, p in rows)
    state = [[p * rate] * n for _, n, p in rows]
    if memory_used(system, state) != capacity:
        return False
    step = exact.iterate(system, state)  # the literal model
    return step.state == state and not any(map(any, step.evicted))


def _polynomials(lengths: Sequence[int], *, ratios: bool = False) -> tuple[Any, Any]:
    """F and its limit, of the laboratory, with symbols for shares and, if asked, for ratios."""
    mix = exact.LengthMix(lengths, _shares(len(lengths)))
    f = symbolic.characteristic_polynomial(mix, shares=True, ratios=ratios)
    return f, symbolic.limit_polynomial(mix, shares=True, ratios=ratios)


@CLAIMS.claim("equation-11", "equation (11) and the closed form of B.9", over=_MIXES)
def _equation_11(lengths: tuple[int, ...]) -> bool:
    """(1 - z) A(z) = -R z^d + sum of p_k r_k z^(d - l1_k), for any ratios of inputs."""
    z, (p, r) = symbolic.Z, symbolic.class_symbols(len(lengths))
    _, limit = _polynomials(lengths, ratios=True)
    return sympy.expand((1 - z) * limit - printed.right_of_11(lengths, p, r, z)) == 0


@CLAIMS.claim("equation-28", "equation (28)", over=_PAIRS)
def _equation_28(a: int, n: int) -> bool:
    """For two classes and a common input, (10) is (28)."""
    _, q = symbolic.class_symbols(2)[0]
    f, _ = _polynomials((a, n))
    return sympy.expand(f - printed.equation_28(a, n, q, symbolic.INPUT_LENGTH, symbolic.Z)) == 0


@CLAIMS.claim("equation-29", "equation (29)", over=_PAIRS)
def _equation_29(a: int, n: int) -> bool:
    """(1 - z) A(z) = -z^n + p z^(n-a) + q for lengths a < n."""
    z, (p, q) = symbolic.Z, symbolic.class_symbols(2)[0]
    _, limit = _polynomials((a, n))
    return sympy.expand((1 - z) * limit - printed.right_of_29(a, n, p, q, z)) == 0


@CLAIMS.claim("equation-30", "equation (30) and the display of B(z)", over=_PAIRS)
def _equation_30(a: int, n: int) -> bool:
    """F = (l0 + 1) A + B, B = (n - 1) A - z A' and F = (l0 + n) A - z A' for lengths a < n."""
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


@CLAIMS.claim("equation-30.all-classes", "B.8.2", over=_MIXES, kind="equation")
def _all_classes(lengths: tuple[int, ...]) -> bool:
    """F = (l0 + d) A - z A' for any number of classes with a common input."""
    z, (f, a) = symbolic.Z, _polynomials(lengths)
    right = (symbolic.INPUT_LENGTH + lengths[-1]) * a - z * sympy.diff(a, z)
    return sympy.expand(f - right) == 0


@CLAIMS.claim("equation-34", "equation (34)", over=_MIXES)
def _equation_34(lengths: tuple[int, ...]) -> bool:
    """(1 - z) A(z) = -z^d + sum of p_k z^(d - l1_k) for any number of classes."""
    z, (p, _) = symbolic.Z, symbolic.class_symbols(len(lengths))
    _, limit = _polynomials(lengths)
    return sympy.expand((1 - z) * limit - printed.right_of_34(lengths, p, z)) == 0


# --- recurrences and their matrix -----------------------------------------------------------------

_SYSTEMS = Range(
    "5 systems of two to four classes, starts 1 % off the equilibrium",
    lambda: (
        ((2, 3), (50, 50), (1, 1)),
        ((2, 4), (50, 50), (1, 1)),
        ((1, 4), (7, 12), (2, 1)),
        ((2, 4, 6), (5, 3, 9), (1, 2, 3)),
        ((1, 3, 4, 5), (4, 4, 8, 2), (3, 1, 1, 2)),
    ),
    name=lambda lengths, inputs, _: f"lengths {lengths}, inputs {inputs}",
)
_LARGEST = 6


@CLAIMS.claim("b-1.literal-model", "equation (9)", over=_SYSTEMS)
def _linearisation(
    lengths: tuple[int, ...], inputs: tuple[int, ...], parts: tuple[int, ...]
) -> Seen | bool:
    """Changes of admission satisfy (9) while nothing is evicted, whatever the inputs.

    Ours: 0 at {sum} iterations of {count} systems"""
    shares = [Fraction(part, sum(parts)) for part in parts]
    rows = zip(inputs, lengths, shares, strict=True)
    system = System(Workload(tuple(RequestClass(i, n, p) for i, n, p in rows)), 700)
    x = exact.eviction_free_equilibrium(system).rate
    v, d = exact.survival_weights(system.workload).memory, lengths[-1]
    cohorts = [x] * d
    cohorts[0] += x / 100
    cohorts[-1] -= x * Fraction(v[0], 100 * v[-1])
    state = [[p * y for y in cohorts[:n]] for p, n in zip(shares, lengths, strict=True)]
    admitted = cohorts[::-1]
    for tried in range(2 * d):
        step = exact.iterate(system, state)
        if any(sum(row) > 0 for row in step.evicted):
            return tried > 0 and Seen(tried)
        state = step.state
        admitted.append(sum(step.admitted, Fraction(0)))
        delta = [admitted[-1 - m] - admitted[-2 - m] for m in range(d)]
        if printed.equation_9(lengths, shares, inputs, delta) != 0:
            return False
    return Seen(2 * d)


@CLAIMS.claim("b-1.token-balance", "B.1, first two displays", over=_PAIRS, kind="equation")
def _token_balance(a: int, n: int) -> bool:
    """The token balance of B.1 says that memory stays the same, and gives the equation for D.

    Ours: no difference for {count} pairs of lengths
    Note: It is the balance of two iterations already, and equal to the equation for D below it: no
    further subtraction of consecutive equations is needed. Symbolic in all but the lengths."""
    # The recurrence is: memory is the same at two iterations, with V from (28).
    l0, p = sympy.symbols("l0 p")
    x = sympy.symbols(f"x0:{n + 1}")  # newest first: x[0] is x^{n+1}
    delta = [x[m] - x[m + 1] for m in range(n)]
    memory = printed.equation_9((a, n), (p, 1 - p), (l0, l0), delta)
    right = printed.token_balance(a, n, p, 1 - p, l0, lambda i: x[1 - i])
    return sympy.expand((l0 + 1) * x[0] - right - memory) == 0


@CLAIMS.claim(
    "equation-10.cohort-map",
    "equation (10), Theorem 3 (1), B.6.2 and B.8.2",
    over=range(2, _LARGEST + 1),
    checked=f"d = 2 ... {_LARGEST}, V symbolic",
    ours=f"V_0 det(z - Phi) = z F(z) for d = 2 ... {_LARGEST}; F(0) = V_(d-1) > 0",
)
def _matrix(d: int) -> bool:
    """The no-eviction map of cohorts has the roots of F and one zero as its eigenvalues.

    Note: Of the map of cohorts, one entry an age, which is the state of B.6.1; V_0 ... V_(d-1)
    symbolic. Memory is a left eigenvector with eigenvalue 0, so on the memory boundary the roots of
    F are all there is. On all stages of both classes there would be l1_1 zeros more: deviations
    from the proportions of the classes die out within l1_2 iterations."""
    # Phi as printed in B.6.2, for symbols V_s.
    z = sympy.Symbol("z")
    v = sympy.symbols(f"V0:{d}", positive=True)
    rows = [[-v[j + 1] / v[0] for j in range(d - 1)] + [0]]
    rows += [[1 if j == i else 0 for j in range(d)] for i in range(d - 1)]
    left = v[0] * (z * sympy.eye(d) - sympy.Matrix(rows)).det(method="berkowitz")
    f = sum(v[s] * z ** (d - 1 - s) for s in range(d))
    return sympy.expand(left - z * f) == 0
