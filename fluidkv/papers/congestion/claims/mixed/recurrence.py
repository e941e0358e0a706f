"""Congestion, B.1 and B.6.2: the recurrence of admissions, its matrix, and the literal model."""

from fractions import Fraction
from itertools import combinations
from typing import Any

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import sampled
from fluidkv.papers.congestion.claims.mixed import printed
from fluidkv.papers.congestion.paper import congestion
from fluidkv.verdict import Verdict

_PAIRS_UP_TO = 7
_PAIRS = f"all pairs of lengths up to {_PAIRS_UP_TO}; p, l0 and z symbolic"


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

    pairs = list(combinations(range(1, _PAIRS_UP_TO + 1), 2))
    bad = next((pair for pair in pairs if sympy.expand(difference(pair)) != 0), None)
    return sampled(
        None if bad is None else f"lengths {bad}",
        f"no difference for {len(pairs)} pairs of lengths" if bad is None else "differs",
        "the recurrence of B.1",
        "It is the balance of two iterations already, and equal to the equation for D below it: "
        "no further subtraction of consecutive equations is needed.",
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
)
