"""Sections 2 and 3, 4.2, 4.3, 5.3, Appendix A and B.10 of Congestion, each statement made wrong."""

from tests.papers.mutants import Mutant


def _mutant(claim: str, old: str, new: str, near: str = "") -> Mutant:
    return Mutant(f"congestion.{claim}", old, new, near)


MUTANTS: list[Mutant] = [
    # equations
    _mutant("equation-1", "waiting=[w]", "waiting=[0 * w]"),
    _mutant("equation-4", "2 * l0 + l1 + 1", "2 * l0 + l1"),
    _mutant("lemma-1.value", "(l1 * (l0 + l1))", "(l1 * (l0 + l1 + 1))", "def _worst_cycle"),
    _mutant("worst-case-ratio.interval", "sympy.Rational(1, 2)", "sympy.Rational(3, 5)"),
    _mutant(
        "worst-case-ratio.interval-every-length",
        "range(1, 31), range(1, 31)",
        "range(1, 31), range(2, 31)",
        "def _ratio_interval",
    ),
    # cycles, families, envelope
    _mutant("lemma-1.minimum", "found >= worst", "found > worst"),
    _mutant("proposition-8.throughput", "l1 * l1 + squares, 2", "l1 * l1 + squares, 3"),
    _mutant("proposition-5.adjacent-throughput", "l1 - 2))", "l1 - 1))", "def _adjacent"),
    _mutant("equation-26", "(i + 1) * b", "i * b"),
    _mutant("proposition-7.increasing", "a < b", "a > b"),
    _mutant("figure-1.level-8", '"0.16"', '"0.17"'),
    _mutant("figure-1.widest", "1 <= peak <= 10", "peak == 8"),
    # examples
    _mutant("example-1.first.admit", '"5, 5, 1, 1, 24, 8"', '"4, 4, 1, 1, 21, 9"', "_EXAMPLE_1"),
    _mutant("example-3.n-0.state", '"5/2, 2, 17/10"', '"5/2, 2, 9/5"', "_ROWS"),
    _mutant("example-6.n-0.state", '"17, 3, 0, 0"', '"16, 3, 0, 0"', "_ORBIT"),
    _mutant("example-3.n-6.spread", '"2636/729"', '"2637/729"', "_ROWS"),
    _mutant("example-6.block-ends", '"2, 3"', '"1, 2"', '"block-ends",'),
    _mutant("appendix-a1.l1-4.evictions", '20, 21")', '20, 22")', "def _eviction_times"),
    # the cascade
    _mutant("equation-5", "case.spread == 0", "case.spread <= 1"),
    _mutant("equation-6.admission", "(case.l0 + 1)", "(case.l0 + 2)"),
    _mutant("lemma-a-1.spread", "_spread(y) >= _spread(x)", "_spread(y) > _spread(x)"),
    _mutant("lemma-a-3.overflow", "+ sum(case.masses)", "+ 2 * sum(case.masses)"),
    _mutant("proposition-a-4.map", "- g * sum(old)", "- sum(old)"),
    _mutant("lemma-a-6.monotone", "after.spread >= end.spread", "after.spread > end.spread"),
    _mutant("equation-40", "done >= window.least", "done > window.least"),
    # Theorem 2
    _mutant("theorem-2.3.basin", "and Seen(_live(end) == 1)", "and _live(end) == 1"),
    _mutant("lemma-a-9.measure-zero", "missing >= len(gaps) - 1", "missing >= len(gaps)"),
    _mutant("lemma-a-10.absorption", "Fraction(l0 + l1, l0 + 1)", "1", "def _absorbed"),
    # requests of several lengths
    _mutant("lemma-9.entry", "on[second] and", "on[second - 1] and"),
    _mutant("proposition-31.sum", "2 * l0 + a + b + g", "2 * l0 + a + b"),
    _mutant("proposition-31.drop", "(u + r + 1)", "(u + r + 2)"),
    _mutant("example-12.condition", "l0 + 2, l0 + 4", "l0 + 1, l0 + 4"),
    _mutant("remark-3.equilibrium-mode", "(g - 1, 0, b - 1)", "(g, 0, b - 1)"),
    _mutant("theorem-3.1.count", "gcd(a, n) - 1, 0)", "gcd(a, n), 0)"),
    _mutant("section-5-3.tiers.coprime", "127, 255, 509", "127, 254, 508", "_ADJUSTED"),
]
