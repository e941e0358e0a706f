"""Mutants of the statements about Token-PD in simulation."""

from tests.papers.mutants import Mutant

MUTANTS: list[Mutant] = [
    Mutant("tokenpd.section-6.simulated.h2o", "HARD, _TOLD, H2O", "HARD, _TOLD, POOLED, _TOLD"),
    Mutant("tokenpd.section-6.simulated.memory", "if bad else None", "if False else None"),
    Mutant("tokenpd.section-6.simulated.window", "lambda d: d.above", "lambda d: True"),
    Mutant("tokenpd.section-2.simulated.pool", "lambda d: d.above", "lambda d: True"),
    Mutant("tokenpd.section-4.simulated.price-adds", "POOLED, told)", 'H2O, "")'),
    Mutant("tokenpd.section-4.simulated.same-peak", '"peak_use"', '"mean_use"'),
    Mutant("tokenpd.section-4.simulated.same-mean", "lambda d: d.above", "lambda d: True"),
    Mutant("tokenpd.section-5.simulated.heap", "HEAP, told", "POOLED, told"),
    Mutant("tokenpd.section-6.simulated.constant", '(_TOLD, "constant")', '("constant", _TOLD)'),
    Mutant("tokenpd.section-6.simulated.noise", "HARD, less, HARD, more", "HARD, more, HARD, less"),
]
