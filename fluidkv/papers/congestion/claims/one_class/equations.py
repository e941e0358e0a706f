"""Congestion, sections 3.1 and 3.2: the fixed point (4), the worst cycle and their ratio."""

from fractions import Fraction
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Claim, Outcome
from fluidkv.ledger.outcomes import holds_for
from fluidkv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    import sympy

# Small enough to run in a second, large enough to hold every case of the proofs (one stage, two,
# many; input shorter and longer than output).
_GRID = 30


def _symbols() -> "tuple[sympy.Symbol, sympy.Symbol, sympy.Symbol]":
    """l0, l1, M as positive symbols."""
    import sympy

    l0, l1 = sympy.symbols("l0 l1", integer=True, positive=True)
    return l0, l1, sympy.Symbol("M", positive=True)


def _ratio(l0: int, l1: int) -> Fraction:
    """Throughput of the worst cycle over x*, from the definitions and not from the formula."""
    weights = [l0 + 1 + j for j in range(l1)]
    return Fraction(sum(weights), l1 * weights[-1])


def _smallest_violation(violated: list[tuple[int, int]], say: str) -> str | None:
    """The counterexample with the smallest l1, then l0."""
    if not violated:
        return None
    l0, l1 = min(violated, key=lambda pair: (pair[1], pair[0]))
    return f"l0={l0}, l1={l1}: {say} {_ratio(l0, l1)}"


def _equation_3() -> Outcome:
    import sympy

    l0, l1, _ = _symbols()
    alpha, beta = -1 / (l0 + 1), (l0 + l1) / (l0 + 1)
    total = sympy.simplify(alpha * (l1 - 1) + beta)
    return holds_for(None if total == 1 else f"row sum {total}", ours=str(total), paper="1")


def _equation_4() -> Outcome:
    """Memory of x* requests in each stage, summed symbolically and solved for x*."""
    import sympy

    l0, l1, capacity = _symbols()
    j, x = sympy.Symbol("j", integer=True), sympy.Symbol("x", positive=True)
    memory = sympy.summation((l0 + 1 + j) * x, (j, 0, l1 - 1))
    (ours,) = sympy.solve(sympy.Eq(memory, capacity), x)
    printed = 2 * capacity / (l1 * (2 * l0 + l1 + 1))
    differs = sympy.simplify(ours - printed) != 0
    return holds_for(
        f"difference {sympy.simplify(ours - printed)}" if differs else None,
        ours=str(sympy.factor(ours)),
        paper="2M / (l1 (2 l0 + l1 + 1))",
    )


def _equation_8() -> Outcome:
    """Our general equilibrium, with one class, against (4) as printed."""
    from fluidkv.exact.survival import eviction_free_equilibrium
    from fluidkv.workload import RequestClass, System, Workload

    bad = [
        (l0, l1)
        for l1 in range(1, _GRID + 1)
        for l0 in range(1, _GRID + 1)
        for capacity in (Fraction(7 * (l0 + l1), 3),)
        if eviction_free_equilibrium(System(Workload((RequestClass(l0, l1),)), capacity)).rate
        != 2 * capacity / (l1 * (2 * l0 + l1 + 1))
    ]
    return holds_for(
        f"l0={bad[0][0]}, l1={bad[0][1]}" if bad else None,
        ours=f"equal on {_GRID * _GRID} pairs of lengths" if not bad else "not equal",
        paper="equation (4)",
        evidence=Evidence.SAMPLED,
    )


def _worst_cycle() -> Outcome:
    """Walk the cycle with the literal model and average its completions."""
    from fluidkv.exact.mass import iterate
    from fluidkv.workload import RequestClass, System, Workload

    tried = 0
    for l1 in range(1, 9):
        for l0 in range(1, 9):
            capacity = Fraction(7 * (l0 + l1), 3)
            system = System(Workload((RequestClass(l0, l1),)), capacity)
            start = [[capacity / (l0 + 1), *[Fraction(0)] * (l1 - 1)]]
            state, completed = start, Fraction(0)
            for j in range(l1):
                expected = [Fraction(0)] * l1
                expected[j] = capacity / (l0 + 1 + j)
                if state != [expected]:
                    return holds_for(f"l0={l0}, l1={l1}, step {j}", ours=str(state), paper="cycle")
                step = iterate(system, state)
                state, completed = step.state, completed + step.completed[0]
            if state != start or completed / l1 != capacity / (l1 * (l0 + l1)):
                return holds_for(f"l0={l0}, l1={l1}", ours=str(completed / l1), paper="M/(l1 w)")
            tried += 1
    return holds_for(
        None,
        ours=f"M / (l1 (l0 + l1)) on {tried} systems",
        paper="M / (l1 (l0 + l1))",
        evidence=Evidence.SAMPLED,
    )


def _ratio_formula() -> Outcome:
    import sympy

    l0, l1, capacity = _symbols()
    j = sympy.Symbol("j", integer=True)
    best = capacity / sympy.summation(l0 + 1 + j, (j, 0, l1 - 1))
    worst = capacity / (l1 * (l0 + l1))
    ours = sympy.simplify(worst / best)
    printed = (2 * l0 + l1 + 1) / (2 * (l0 + l1))
    same = sympy.simplify(ours - printed) == 0
    return holds_for(
        None if same else f"difference {sympy.simplify(ours - printed)}",
        ours=str(sympy.factor(ours)),
        paper="(2 l0 + l1 + 1) / (2 (l0 + l1))",
    )


def _ratio_sympy() -> "tuple[sympy.Expr, sympy.Symbol, sympy.Symbol]":
    """The ratio for l1 = 2 + k with k >= 0, its l0 and its k."""
    import sympy

    l0 = sympy.Symbol("l0", positive=True)
    k = sympy.Symbol("k", nonnegative=True)
    return (2 * l0 + (2 + k) + 1) / (2 * (l0 + 2 + k)), l0, k


def _positive(expression: "sympy.Expr") -> bool:
    """True only if sympy proves it; its None (undetermined) is no proof."""
    import sympy

    return sympy.factor(sympy.together(expression)).is_positive is True


def _ratio_interval() -> Outcome:
    import sympy

    ratio, _, k = _ratio_sympy()
    gaps = [ratio - sympy.Rational(1, 2), 1 - ratio]
    proved = all(map(_positive, gaps))
    shown = [sympy.factor(gap.subs(k, sympy.Symbol("l1") - 2)) for gap in gaps]
    return Outcome(
        Verdict.HOLDS if proved else Verdict.UNDECIDED,
        Evidence.EXACT,
        ours=f"ratio - 1/2 = {shown[0]} > 0, 1 - ratio = {shown[1]} > 0",
        paper="(1/2, 1)",
    )


def _ratio_interval_every_length() -> Outcome:
    pairs = [(l0, l1) for l1 in range(1, _GRID + 1) for l0 in range(1, _GRID + 1)]
    bad = [pair for pair in pairs if not Fraction(1, 2) < _ratio(*pair) < 1]
    return holds_for(
        _smallest_violation(bad, "the ratio is"),
        ours="exactly 1 for l1 = 1" if bad else "inside",
        paper="(1/2, 1)",
        note="The paper's Theorem 2 assumes l1 >= 2; the sentence on the ratio does not say so.",
    )


def _ratio_decreases() -> Outcome:
    import sympy

    l0, l1 = sympy.symbols("l0 l1", positive=True)
    slope = sympy.diff((2 * l0 + l1 + 1) / (2 * (l0 + l1)), l1)
    return Outcome(
        Verdict.HOLDS if _positive(-slope) else Verdict.UNDECIDED,
        Evidence.EXACT,
        ours=f"slope {sympy.factor(slope)} < 0",
        paper="decreases with l1",
    )


def _ratio_increases() -> Outcome:
    import sympy

    ratio, l0, k = _ratio_sympy()
    slope = sympy.diff(ratio, l0)
    shown = sympy.factor(slope.subs(k, sympy.Symbol("l1") - 2))
    return Outcome(
        Verdict.HOLDS if _positive(slope) else Verdict.UNDECIDED,
        Evidence.EXACT,
        ours=f"slope {shown} > 0",
        paper="increases with l0",
    )


def _ratio_increases_every_length() -> Outcome:
    pairs = [(l0, l1) for l1 in range(1, _GRID + 1) for l0 in range(1, _GRID)]
    bad = [(l0, l1) for l0, l1 in pairs if not _ratio(l0, l1) < _ratio(l0 + 1, l1)]
    return holds_for(
        _smallest_violation(bad, "the ratio stays at"),
        ours="constant for l1 = 1" if bad else "increases",
        paper="increases with l0",
        note="One stage has no memory growth, so input length cannot matter.",
    )


def _ratio_limit() -> Outcome:
    import sympy

    l0, growth = sympy.symbols("l0 r", positive=True)
    limit = sympy.limit((2 * l0 + growth * l0 + 1) / (2 * (l0 + growth * l0)), growth, sympy.oo)
    # The excess over 1/2 is (l0+1) / (2 l0 (1+r)), at most 1/(1+r) for l0 >= 1: uniform in l0.
    return Outcome(
        Verdict.HOLDS if limit == sympy.Rational(1, 2) else Verdict.FAILS,
        Evidence.EXACT,
        ours=f"limit {limit} as r = l1/l0 grows, at fixed l0",
        paper="1/2",
        note="Uniform over l0 >= 1: the excess over 1/2 is at most 1/(1+r).",
    )


CLAIMS = (
    Claim(
        "congestion.equation-3.row-sum",
        "equation",
        "The first row of the eviction-free update sums to one, so equal masses stay equal.",
        "Congestion, below equation (3)",
        "all l0, l1 (symbolic)",
        _equation_3,
    ),
    Claim(
        "congestion.equation-4",
        "equation",
        "With x* requests in every stage, memory is exactly full for the x* of equation (4).",
        "Congestion, equation (4)",
        "all l0, l1, M (symbolic)",
        _equation_4,
    ),
    Claim(
        "congestion.equation-8.one-class",
        "equation",
        "The equilibrium rate of several classes reduces to equation (4) for one class.",
        "Congestion, equation (8)",
        f"l0, l1 = 1 ... {_GRID}, M = 7(l0+l1)/3",
        _equation_8,
    ),
    Claim(
        "congestion.lemma-1.value",
        "lemma",
        "All requests in one stage, filling memory, is a cycle whose throughput is M/(l1(l0+l1)).",
        "Congestion, section 3.2 and Lemma 1 (the value, not that it is the minimum)",
        "l0, l1 = 1 ... 8, M = 7(l0+l1)/3",
        _worst_cycle,
    ),
    Claim(
        "congestion.worst-case-ratio.formula",
        "equation",
        "Worst-cycle throughput over x* is (2 l0 + l1 + 1) / (2 (l0 + l1)).",
        "Congestion, section 3.2, below Lemma 1",
        "all l0, l1, M (symbolic)",
        _ratio_formula,
    ),
    Claim(
        "congestion.worst-case-ratio.interval",
        "equation",
        "The ratio lies strictly between 1/2 and 1 when requests have at least two stages.",
        "Congestion, section 3.2, below Lemma 1",
        "all l0 > 0, l1 >= 2 (symbolic)",
        _ratio_interval,
    ),
    Claim(
        "congestion.worst-case-ratio.interval-every-length",
        "equation",
        "The ratio lies strictly between 1/2 and 1 for every decode length, as the text reads.",
        "Congestion, section 3.2, below Lemma 1",
        f"l0, l1 = 1 ... {_GRID}",
        _ratio_interval_every_length,
        Verdict.FAILS,
    ),
    Claim(
        "congestion.worst-case-ratio.decreases-with-l1",
        "equation",
        "The ratio decreases with the decode length.",
        "Congestion, section 3.2, below Lemma 1",
        "all l0, l1 > 0 (symbolic)",
        _ratio_decreases,
    ),
    Claim(
        "congestion.worst-case-ratio.increases-with-l0",
        "equation",
        "The ratio increases with the input length when requests have at least two stages.",
        "Congestion, section 3.2, below Lemma 1",
        "all l0 > 0, l1 >= 2 (symbolic)",
        _ratio_increases,
    ),
    Claim(
        "congestion.worst-case-ratio.increases-with-l0-every-length",
        "equation",
        "The ratio increases with the input length for every decode length, as the text reads.",
        "Congestion, section 3.2, below Lemma 1",
        f"l0, l1 = 1 ... {_GRID}",
        _ratio_increases_every_length,
        Verdict.FAILS,
    ),
    Claim(
        "congestion.worst-case-ratio.limit",
        "equation",
        "The ratio tends to 1/2 as decode lengths outgrow input lengths.",
        "Congestion, section 3.2, below Lemma 1",
        "all l0 >= 1 (symbolic limit)",
        _ratio_limit,
    ),
)
