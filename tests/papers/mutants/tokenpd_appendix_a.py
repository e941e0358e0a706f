"""Mutants of the statements about Token-PD's Appendix A."""

from tests.papers.mutants import Mutant

MUTANTS: list[Mutant] = [
    Mutant("tokenpd.appendix-a.lagrangian", "b * y + price", "b * x * y + price"),
    Mutant("tokenpd.appendix-a.greedy-maximiser", "cost >= 0)", "cost >= HALF)"),
    Mutant("tokenpd.appendix-a.algorithm-1.same-rule", "value - penalty - price", "value - price"),
    Mutant(
        "tokenpd.appendix-a.algorithm-1.same-rule.no-penalty",
        "penalty == 0",
        "penalty == HALF",
        "_TOKENS.where(",
    ),
    Mutant("tokenpd.appendix-a.payoff.range", "aversion <= 1", "aversion <= 2", "_LAWS.where("),
    Mutant("tokenpd.appendix-a.payoff.range-every-lambda", "aversion * variance", "0 * variance"),
    Mutant("tokenpd.appendix-a.payoff.bound", "range(1, 9)", "range(1, 2)", '"requests with one'),
    Mutant("tokenpd.appendix-a.payoff.bound.one-token", "<= 1 + penalty", "<= penalty"),
    Mutant("tokenpd.appendix-a.gap.finite", "turn.excess > 0:", "turn.excess > 9:", "def _gap"),
    Mutant("tokenpd.appendix-a.gap.feasible", "== -turn.price", "== turn.price"),
    Mutant("tokenpd.appendix-a.gap.upper-bounds", "gap >= max", "gap > max"),
    Mutant("tokenpd.appendix-a.gap.signed.regret", "-turn.price * turn", "turn.price * turn"),
    Mutant("tokenpd.appendix-a.gap.ceiling", "(ceiling - turn.price)", "(2 * ceiling)"),
    Mutant("tokenpd.appendix-a.gap.sum.ceiling", "(ONE, ONE), ()", "(ONE,), (ONE,)", "_BY_TURNS"),
    Mutant("tokenpd.appendix-a.gap.sum.never-full", "**-market.memory)", "**-99)"),
    Mutant("tokenpd.appendix-a.descent.step", "eta * excess / memory", "eta * excess"),
    Mutant("tokenpd.appendix-a.descent.regulariser", "price * (sympy", "(sympy"),
    Mutant(
        "tokenpd.appendix-a.descent.inequality", "eta * payoff**2", "9 * payoff**2", "def _right"
    ),
    Mutant(
        "tokenpd.appendix-a.descent.inequality.any-constant", "-(horizon - 1)", "0", "def _right"
    ),
    Mutant(
        "tokenpd.appendix-a.descent.inequality.repaired", "distance + rate * rate", "distance + 0"
    ),
    Mutant("tokenpd.appendix-a.descent.log-ratio", "[(ZERO,)]", "[(HALF,)]"),
    Mutant("tokenpd.appendix-a.descent.step-size", "[(Fraction(),)]", "[(Fraction(1),)]"),
    Mutant("tokenpd.appendix-a.rounding.same", "cost > 0)", "cost >= 0)", "def rounded"),
    Mutant("tokenpd.appendix-a.rounding.preserves", "cost > 0)", "cost > HALF)", "def rounded"),
    Mutant("tokenpd.appendix-a.rounding.increases", "cost > 0)", "cost >= 0)", "def rounded"),
    Mutant(
        "tokenpd.appendix-a.rounding.no-ties", "if not _tie", "if _tie", "_ROUND,\n        cases"
    ),
]
