"""Congestion, sections 2.3 to 3.2: the map, the fixed point, the worst cycle, their ratio."""

from fractions import Fraction
from functools import partial

from fluidkv import exact, symbolic
from fluidkv.exact.mass import memory_used
from fluidkv.ledger import Finding, Origin, Verdict, sympy
from fluidkv_papers.congestion.instances.boundary_states import STARTS, Case
from fluidkv_papers.congestion.instances.one_class import grid, system_of, weight
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()
WORST_CASE_RATIO = CLAIMS.section(
    "worst-case-ratio", "section 3.2, below Lemma 1", origin=Origin.READING, kind="equation"
)

_CAPACITY = ", M = 7(l0+l1)/3"


# --- the map and its boundary ------------------------------------------------------------------


@CLAIMS.claim("equation-1", "equation (1)", over=STARTS)
def _queue_does_not_matter(case: Case) -> bool:
    """While the queue does not empty, the state alone decides the next one.

    Ours: the next state of an endless queue, for two queues and arrivals, {count} starts
    Paper: X^{n+1} = F(X^n)"""
    system, enough = case.system(), Fraction(case.capacity, case.l0 + 1)
    steps = (
        exact.iterate(system, [case.masses], waiting=[w], arrivals=[a])
        for w, a in ((enough, 0), (3 * enough, 7))
    )
    return all(step.state == case.step().state for step in steps)


@CLAIMS.claim("equation-1.boundary", "section 2.3, below equation (1)", over=STARTS)
def _reaches_the_boundary(case: Case) -> bool:
    """After admission the state is on the memory boundary, also from half of the masses.

    Paper: post-admission states lie on B"""
    system = case.system()
    half = exact.iterate(system, [[Fraction(x, 2) for x in case.masses]])
    return all(memory_used(system, step.state) == case.capacity for step in (case.step(), half))


# --- the fixed point and the worst cycle ----------------------------------------------------------


def _identical(ours: "sympy.Expr", printed: "sympy.Expr", paper: str) -> Finding:
    """Whether two expressions are the same for all values of their symbols."""
    difference = sympy.simplify(ours - printed)
    bad = None if difference == 0 else f"difference {difference}"
    return Finding(bad, str(sympy.factor(ours)), paper=paper)


@CLAIMS.claim("equation-3.row-sum", "below equation (3)")
def _row_sum() -> Finding:
    """The first row of the eviction-free update sums to one, so equal masses stay equal.

    Checked: all l0, l1 (symbolic)"""
    l0, l1 = sympy.symbols("l0 l1", positive=True)
    alpha, beta = -1 / (l0 + 1), (l0 + l1) / (l0 + 1)
    return _identical(sympy.simplify(alpha * (l1 - 1) + beta), sympy.Integer(1), "1")


@CLAIMS.claim("equation-4", "equation (4)")
def _equation_4() -> Finding:
    """With x* requests in every stage, memory is exactly full for the x* of equation (4).

    Checked: all l0, l1, M (symbolic)"""
    l0, l1 = symbolic.INPUT_LENGTH, symbolic.DECODE_LENGTH
    printed = 2 * symbolic.CAPACITY / (l1 * (2 * l0 + l1 + 1))
    return _identical(symbolic.equilibrium().rate, printed, "2M / (l1 (2 l0 + l1 + 1))")


@CLAIMS.claim(
    "equation-8.one-class", "equation (8)", over=grid(range(1, 31), range(1, 31), _CAPACITY)
)
def _equation_8(l0: int, l1: int) -> bool:
    """The equilibrium rate of several classes reduces to equation (4) for one class."""
    system = system_of(l0, l1)
    printed = 2 * system.capacity / (l1 * (2 * l0 + l1 + 1))
    return exact.eviction_free_equilibrium(system).rate == printed


@CLAIMS.claim(
    "lemma-1.value",
    "section 3.2 and Lemma 1 (the value, not that it is the minimum)",
    over=grid(range(1, 9), range(1, 9), _CAPACITY),
)
def _worst_cycle(l0: int, l1: int) -> bool | str:
    """All requests in one stage, filling memory, is a cycle whose throughput is M/(l1(l0+l1))."""
    # Walk the cycle with the literal model and average its completions.
    system = system_of(l0, l1)
    cycle = [
        [[system.capacity / weight(l0, j) if i == j else Fraction(0) for i in range(l1)]]
        for j in range(l1)
    ]
    steps = [exact.iterate(system, state) for state in cycle]
    completed = sum(step.completed[0] for step in steps)
    closes = [step.state for step in steps] == [*cycle[1:], cycle[0]]
    printed = system.capacity / (l1 * (l0 + l1))
    return (closes and completed / l1 == printed) or f"l0={l0}, l1={l1}: {completed / l1}"


# --- their ratio ----------------------------------------------------------------------------------

_ratio_claim = partial(CLAIMS.claim, kind="equation")
_BELOW = "section 3.2, below Lemma 1"


def _ratio(l0: int, l1: int) -> Fraction:
    """Throughput of the worst cycle over x*, from the definitions and not from the formula."""
    weights = [weight(l0, j) for j in range(l1)]
    return Fraction(sum(weights), l1 * weights[-1])


def _printed_ratio(l0: "sympy.Symbol", l1: "sympy.Expr") -> "sympy.Expr":
    return (2 * l0 + l1 + 1) / (2 * (l0 + l1))


@_ratio_claim("worst-case-ratio.formula", _BELOW)
def _ratio_formula() -> Finding:
    """Worst-cycle throughput over x* is (2 l0 + l1 + 1) / (2 (l0 + l1)).

    Checked: all l0, l1, M (symbolic)"""
    printed = _printed_ratio(symbolic.INPUT_LENGTH, symbolic.DECODE_LENGTH)
    ours = symbolic.worst_cycle().share_of_best
    return _identical(ours, printed, "(2 l0 + l1 + 1) / (2 (l0 + l1))")


def _proved(positive: "dict[str, sympy.Expr]", paper: str) -> Finding:
    """Whether sympy proves each expression positive; its None (undetermined) is no proof.

    Args:
        positive: what is shown before it, and the expression in l0 > 0 and l1 = 2 + k, k >= 0.
    """
    l1 = sympy.Symbol("l1")
    k = sympy.Symbol("k", nonnegative=True)
    simple = {name: sympy.factor(sympy.together(e)) for name, e in positive.items()}
    shown = [f"{name} = {sympy.factor(e.subs(k, l1 - 2))} > 0" for name, e in simple.items()]
    proved = all(e.is_positive is True for e in simple.values())
    return Finding(Verdict.HOLDS if proved else Verdict.UNDECIDED, ", ".join(shown), paper)


def _from_two_stages() -> "tuple[sympy.Expr, sympy.Symbol]":
    """The ratio for l1 = 2 + k, k >= 0, and its l0."""
    l0, k = sympy.Symbol("l0", positive=True), sympy.Symbol("k", nonnegative=True)
    return _printed_ratio(l0, 2 + k), l0


@_ratio_claim("worst-case-ratio.interval", _BELOW)
def _ratio_interval() -> Finding:
    """The ratio lies strictly between 1/2 and 1 when requests have at least two stages.

    Checked: all l0 > 0, l1 >= 2 (symbolic)"""
    ratio, _ = _from_two_stages()
    gaps = {"ratio - 1/2": ratio - sympy.Rational(1, 2), "1 - ratio": 1 - ratio}
    return _proved(gaps, "(1/2, 1)")


@WORST_CASE_RATIO.fails("interval-every-length", over=grid(range(1, 31), range(1, 31)))
def _ratio_inside(l0: int, l1: int) -> bool | str:
    """The ratio lies strictly between 1/2 and 1 for every decode length, as the text reads.

    Ours: exactly 1 for l1 = 1
    Paper: (1/2, 1)
    Note: The paper's Theorem 2 assumes l1 >= 2; the sentence on the ratio does not say so.
    Holds: worst-case-ratio.interval"""
    ratio = _ratio(l0, l1)
    return Fraction(1, 2) < ratio < 1 or f"l0={l0}, l1={l1}: the ratio is {ratio}"


@_ratio_claim("worst-case-ratio.decreases-with-l1", _BELOW)
def _ratio_decreases() -> Finding:
    """The ratio decreases with the decode length.

    Checked: all l0, l1 > 0 (symbolic)"""
    l0, l1 = sympy.symbols("l0 l1", positive=True)
    falling = -sympy.diff(_printed_ratio(l0, l1), l1)
    return _proved({"minus the slope": falling}, "decreases with l1")


@_ratio_claim("worst-case-ratio.increases-with-l0", _BELOW)
def _ratio_increases() -> Finding:
    """The ratio increases with the input length when requests have at least two stages.

    Checked: all l0 > 0, l1 >= 2 (symbolic)"""
    ratio, l0 = _from_two_stages()
    return _proved({"slope": sympy.diff(ratio, l0)}, "increases with l0")


@WORST_CASE_RATIO.fails("increases-with-l0-every-length", over=grid(range(1, 31), range(1, 31)))
def _ratio_grows(l0: int, l1: int) -> bool | str:
    """The ratio increases with the input length for every decode length, as the text reads.

    Ours: constant for l1 = 1
    Paper: increases with l0
    Note: One stage has no memory growth, so input length cannot matter.
    Holds: worst-case-ratio.increases-with-l0"""
    ratio = _ratio(l0, l1)
    return ratio < _ratio(l0 + 1, l1) or f"l0={l0}, l1={l1}: the ratio stays at {ratio}"


@_ratio_claim("worst-case-ratio.limit", _BELOW)
def _ratio_limit() -> Finding:
    """The ratio tends to 1/2 as decode lengths outgrow input lengths.

    Checked: all l0 >= 1 (symbolic limit)
    Paper: 1/2
    Note: Uniform over l0 >= 1: the excess over 1/2 is at most 1/(1+r)."""
    l0, growth = sympy.symbols("l0 r", positive=True)
    limit = sympy.limit(_printed_ratio(l0, growth * l0), growth, sympy.oo)
    # The excess over 1/2 is (l0+1) / (2 l0 (1+r)), at most 1/(1+r) for l0 >= 1: uniform in l0.
    holds = bool(limit == sympy.Rational(1, 2))
    return Finding(holds, f"limit {limit} as r = l1/l0 grows, at fixed l0")
