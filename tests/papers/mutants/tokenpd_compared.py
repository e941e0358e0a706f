"""Mutants of the statements about Token-PD beside budgets, one pool and windows."""

from tests.papers.mutants import Mutant

MUTANTS: list[Mutant] = [
    Mutant(
        "tokenpd.section-6.compared.h2o",
        "gains.HARD, _TOLD, gains.H2O",
        "gains.HARD, _TOLD, gains.POOLED, _TOLD",
    ),
    Mutant("tokenpd.section-6.compared.h2o.network", "lambda d: d.above", "lambda d: True"),
    Mutant("tokenpd.section-4.compared.once", "lambda d: d.below", "lambda d: True"),
    Mutant("tokenpd.section-6.compared.memory", "not bad or", "True or"),
    Mutant("tokenpd.section-6.compared.window", "lambda d: d.above", "lambda d: True"),
    Mutant("tokenpd.section-2.compared.pool", "lambda d: d.above", "lambda d: True"),
    Mutant("tokenpd.section-4.compared.price-adds", "POOLED, told)", 'H2O, "")'),
    Mutant("tokenpd.section-4.compared.price-adds.larger", "POOLED, told)", 'H2O, "")'),
    Mutant("tokenpd.section-4.compared.same-peak", '"peak_use"', '"mean_use"'),
    Mutant("tokenpd.section-4.compared.same-mean", "lambda d: d.above", "lambda d: True"),
    Mutant("tokenpd.section-5.compared.heap", "HEAP, told", "POOLED, told"),
    Mutant("tokenpd.section-6.compared.constant", '(_TOLD, "constant")', '("constant", _TOLD)'),
    Mutant(
        "tokenpd.section-6.compared.noise",
        "gains.HARD, less, gains.HARD, more",
        "gains.HARD, more, gains.HARD, less",
    ),
]
