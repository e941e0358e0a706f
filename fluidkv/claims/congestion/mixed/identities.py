"""Congestion, equations (9) to (11), (28) to (30) and (34): what they say of one another.

Each identity is linear in the products of shares and inputs. So if it holds for shares, ratios and
inputs that are symbols, it holds for all; lengths have to be numbers, and those tried are a sample.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from fluidkv.claims.claim import Outcome
from fluidkv.claims.congestion.mixed import printed
from fluidkv.claims.congestion.paper import congestion
from fluidkv.claims.outcomes import sampled
from fluidkv.verdict import Verdict

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


def _token_balance() -> Outcome:
    """The recurrence is: memory is the same at two iterations, with V from (28)."""
    import sympy

    l0, p = sympy.symbols("l0 p")

    def difference(lengths: tuple[int, ...]) -> Any:
        a, n = lengths
        x = sympy.symbols(f"x0:{n + 1}")  # newest first: x[0] is x^{n+1}
        delta = [x[m] - x[m + 1] for m in range(n)]
        memory = printed.equation_9(lengths, (p, 1 - p), (l0, l0), delta)
        right = printed.token_balance(a, n, p, 1 - p, l0, lambda i: x[1 - i])
        return (l0 + 1) * x[0] - right - memory

    outcome = _vanishes(difference, list(_pairs()), "the recurrence of B.1")
    note = (
        "It is the balance of two iterations already, and equal to the equation for D below it: "
        "no further subtraction of consecutive equations is needed."
    )
    return Outcome(
        outcome.verdict, outcome.evidence, outcome.ours, outcome.paper, note, outcome.witness
    )


def _matrix() -> Outcome:
    """V_0 det(z - Phi) = z F(z), Phi as printed in B.6.2, for symbols V_s."""
    import sympy

    z = sympy.Symbol("z")
    largest = 6
    for d in range(2, largest + 1):
        v = sympy.symbols(f"V0:{d}", positive=True)
        rows = [[-v[j + 1] / v[0] for j in range(d - 1)] + [0]]
        rows += [[1 if j == i else 0 for j in range(d)] for i in range(d - 1)]
        left = v[0] * (z * sympy.eye(d) - sympy.Matrix(rows)).det(method="berkowitz")
        f = sum(v[s] * z ** (d - 1 - s) for s in range(d))
        if sympy.expand(left - z * f) != 0:
            return sampled(f"d = {d}", "differs", "z F(z)")
    return sampled(
        None,
        f"V_0 det(z - Phi) = z F(z) for d = 2 ... {largest}; F(0) = V_(d-1) > 0",
        "one zero eigenvalue, the others are the roots of F",
        "Of the map of cohorts, one entry an age; V_0 ... V_(d-1) symbolic. Memory is a left "
        "eigenvector with eigenvalue 0, so on the memory boundary the roots of F are all there is.",
    )


def _class_stage_zeros() -> Outcome:
    """Zero eigenvalues of the no-eviction map on all stages of both classes."""
    import sympy

    z = sympy.Symbol("z")
    l0 = 5
    found = []
    for a, n in ((1, 2), (2, 3), (2, 4), (3, 5)):
        p = [sympy.Rational(1, 3), sympy.Rational(2, 3)]
        index = [(k, j) for k, length in enumerate((a, n)) for j in range(length)]
        size = len(index)
        matrix = sympy.zeros(size, size)
        for column, (k, j) in enumerate(index):
            if (k, j + 1) in index:
                matrix[index.index((k, j + 1)), column] += 1
                for h in (0, 1):  # what it will hold after execution is not admitted, p_h each
                    matrix[index.index((h, 0)), column] -= p[h] * sympy.Rational(l0 + 2 + j, l0 + 1)
        characteristic = sympy.Poly(matrix.charpoly(z).as_expr(), z)
        zeros = min(m for (m,), _ in characteristic.terms())
        found.append((a, n, zeros))
    bad = next((f"lengths {a} and {n}: {zeros}" for a, n, zeros in found if zeros != 1), None)
    return sampled(
        bad,
        "; ".join(f"({a}, {n}): {zeros}" for a, n, zeros in found),
        "one zero eigenvalue",
        "l0 = 5, shares 1/3 and 2/3. l1_1 more than on cohorts: deviations from the proportions of "
        "the classes die out within l1_2 iterations.",
    )


def _linearisation() -> Outcome:
    """(9) along the literal model: differences of admissions while nothing is evicted."""
    from fluidkv.exact.mass import iterate
    from fluidkv.exact.survival import eviction_free_equilibrium, survival_weights
    from fluidkv.workload import RequestClass, System, Workload

    mixes = (
        ((2, 3), (50, 50), (1, 1)),
        ((2, 4), (50, 50), (1, 1)),
        ((1, 4), (7, 12), (2, 1)),
        ((2, 4, 6), (5, 3, 9), (1, 2, 3)),
        ((1, 3, 4, 5), (4, 4, 8, 2), (3, 1, 1, 2)),
    )
    tried = 0
    for lengths, inputs, parts in mixes:
        shares = [Fraction(part, sum(parts)) for part in parts]
        rows = zip(inputs, lengths, shares, strict=True)
        system = System(Workload(tuple(RequestClass(i, n, p) for i, n, p in rows)), 700)
        x = eviction_free_equilibrium(system).rate
        v, d = survival_weights(system.workload).memory, lengths[-1]
        cohorts = [x] * d
        cohorts[0] += x / 100
        cohorts[-1] -= x * Fraction(v[0], 100 * v[-1])
        state = [[p * y for y in cohorts[:n]] for p, n in zip(shares, lengths, strict=True)]
        admitted = cohorts[::-1]
        for _ in range(2 * d):
            step = iterate(system, state)
            if any(sum(row) > 0 for row in step.evicted):
                break
            state = step.state
            admitted.append(sum(step.admitted, Fraction(0)))
            delta = [admitted[-1 - m] - admitted[-2 - m] for m in range(d)]
            if printed.equation_9(lengths, shares, inputs, delta) != 0:
                return sampled(f"lengths {lengths}, inputs {inputs}", "not 0", "0")
            tried += 1
    return sampled(None, f"0 at {tried} iterations of {len(mixes)} systems", "0")


CLAIMS = (
    congestion(
        "b-1.literal-model",
        "Changes of admission satisfy (9) while nothing is evicted, whatever the inputs.",
        "equation (9)",
        _linearisation,
        kind="equation",
        checked="5 systems of two to four classes, starts 1 % off the equilibrium",
    ),
    congestion(
        "b-1.token-balance",
        "The token balance of B.1 says that memory stays the same, and gives the equation for D.",
        "B.1, first two displays",
        _token_balance,
        kind="equation",
        checked=_PAIRS,
    ),
    congestion(
        "equation-10.cohort-map",
        "The no-eviction map of cohorts has the roots of F and one zero as its eigenvalues.",
        "equation (10), Theorem 3 (1), B.6.2 and B.8.2",
        _matrix,
        kind="equation",
        checked="d = 2 ... 6, V symbolic",
    ),
    congestion(
        "theorem-3.1.zero-eigenvalue-of-all-stages",
        "The no-eviction map on all stages of both classes has one zero eigenvalue.",
        "Theorem 3 (1), with the state of section 2",
        _class_stage_zeros,
        kind="theorem",
        checked="4 pairs of lengths",
        expected=Verdict.FAILS,
    ),
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
