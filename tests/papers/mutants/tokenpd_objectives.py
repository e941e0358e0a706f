"""Mutants of the statements about returns, risks and what Token-PD maximises."""

from tests.papers.mutants import Mutant

MUTANTS: list[Mutant] = [
    Mutant("tokenpd.section-3.risk.at-most", "of * (1 - of)", "of * (1 - of) / 2", "def _at_most"),
    Mutant("tokenpd.section-3.risk.worth", "Fraction(1))", "Fraction(2))"),
    Mutant("tokenpd.section-3.risk.monotone", "Fraction(1, 2)", "Fraction(1)", "def _monotone"),
    Mutant("tokenpd.section-3.returns.in-unit", "0 <= value", "0 < value"),
    Mutant("tokenpd.section-3.returns.sum", "_returns(rows))", "_returns(rows)[:-1])"),
    Mutant(
        "tokenpd.equation-2.number-kept",
        "returns[k] - aversion",
        "x[k] * returns[k] - aversion",
    ),
    Mutant("tokenpd.equation-2.knapsack", "== case.budget", "<= case.budget"),
    Mutant("tokenpd.equation-2.trades", "Objective.UTILITY", "Objective.REPAIRED"),
    Mutant("tokenpd.equation-2.repaired", "Objective.REPAIRED", "Objective.UTILITY"),
    Mutant(
        "tokenpd.objectives.order",
        "top != tops[0] for top in tops",
        "top != tops[0] for top in [*tops, set()]",
    ),
    Mutant(
        "tokenpd.objectives.same",
        "(Objective.UTILITY, Objective.RULE, Objective.APPENDIX)",
        "(Objective.UTILITY,)",
    ),
    Mutant(
        "tokenpd.objectives.same.when",
        "worth > 0 for worth in _worths(case, Objective.APPENDIX)",
        "worth >= 0 for worth in _worths(case, Objective.RULE)",
        '"objectives.same"',
    ),
    Mutant("tokenpd.section-3.restated", "best(case, Objective.APPENDIX)", "set()"),
    Mutant(
        "tokenpd.section-3.penalty.utility",
        "(Objective.UTILITY, Objective.REPAIRED)",
        "(Objective.UTILITY, Objective.APPENDIX)",
    ),
    Mutant("tokenpd.equation-3.greedy", "reverse=True", "reverse=False"),
]
