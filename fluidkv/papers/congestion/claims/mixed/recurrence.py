"""Congestion, B.1 and B.6.2: the recurrence of admissions, its matrix, and the literal model."""

from fractions import Fraction

from fluidkv import exact
from fluidkv.ledger.ranges import Range, Seen
from fluidkv.papers.congestion.claims.mixed import printed
from fluidkv.papers.congestion.claims.mixed.identities import ALL_PAIRS
from fluidkv.papers.congestion.paper import statements
from fluidkv.workload import RequestClass, System, Workload

CLAIMS = statements()
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


@CLAIMS.over(
    _SYSTEMS,
    "b-1.literal-model",
    "equation (9)",
    "Changes of admission satisfy (9) while nothing is evicted, whatever the inputs.",
    ours=lambda seen: f"0 at {sum(seen)} iterations of {len(seen)} systems",
    paper="0",
)
def _linearisation(
    lengths: tuple[int, ...], inputs: tuple[int, ...], parts: tuple[int, ...]
) -> Seen | bool:
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


@CLAIMS.over(
    ALL_PAIRS,
    "b-1.token-balance",
    "B.1, first two displays",
    "The token balance of B.1 says that memory stays the same, and gives the equation for D.",
    ours="no difference for {count} pairs of lengths",
    paper="the recurrence of B.1",
    note="It is the balance of two iterations already, and equal to the equation for D below it: "
    "no further subtraction of consecutive equations is needed. Symbolic in all but the lengths.",
    kind="equation",
)
def _token_balance(a: int, n: int) -> bool:
    """The recurrence is: memory is the same at two iterations, with V from (28)."""
    import sympy

    l0, p = sympy.symbols("l0 p")
    x = sympy.symbols(f"x0:{n + 1}")  # newest first: x[0] is x^{n+1}
    delta = [x[m] - x[m + 1] for m in range(n)]
    memory = printed.equation_9((a, n), (p, 1 - p), (l0, l0), delta)
    right = printed.token_balance(a, n, p, 1 - p, l0, lambda i: x[1 - i])
    return sympy.expand((l0 + 1) * x[0] - right - memory) == 0


@CLAIMS.over(
    Range(
        f"d = 2 ... {_LARGEST}, V symbolic", lambda: range(2, _LARGEST + 1), name="d = {}".format
    ),
    "equation-10.cohort-map",
    "equation (10), Theorem 3 (1), B.6.2 and B.8.2",
    "The no-eviction map of cohorts has the roots of F and one zero as its eigenvalues.",
    ours=f"V_0 det(z - Phi) = z F(z) for d = 2 ... {_LARGEST}; F(0) = V_(d-1) > 0",
    paper="one zero eigenvalue, the others are the roots of F",
    note="Of the map of cohorts, one entry an age, which is the state of B.6.1; V_0 ... V_(d-1) "
    "symbolic. Memory is a left eigenvector with eigenvalue 0, so on the memory boundary the roots "
    "of F are all there is. On all stages of both classes there would be l1_1 zeros more: "
    "deviations from the proportions of the classes die out within l1_2 iterations.",
)
def _matrix(d: int) -> bool:
    """Phi as printed in B.6.2, for symbols V_s."""
    import sympy

    z = sympy.Symbol("z")
    v = sympy.symbols(f"V0:{d}", positive=True)
    rows = [[-v[j + 1] / v[0] for j in range(d - 1)] + [0]]
    rows += [[1 if j == i else 0 for j in range(d)] for i in range(d - 1)]
    left = v[0] * (z * sympy.eye(d) - sympy.Matrix(rows)).det(method="berkowitz")
    f = sum(v[s] * z ** (d - 1 - s) for s in range(d))
    return sympy.expand(left - z * f) == 0
