"""Mutants of the statements about Token-PD's tables in simulation."""

from tests.papers.mutants import Mutant

MUTANTS: list[Mutant] = [
    Mutant("tokenpd.table-1.simulated.order", "bad for bad in found if bad", "bad for bad in []"),
    Mutant("tokenpd.table-1.simulated.order.heavy-hitters", '("heavy-hitters",)', '("mixed",)'),
    Mutant("tokenpd.table-1.simulated.fifo", 'OURS, "fifo", _ALIKE)', 'OURS, "fifo")'),
    Mutant(
        "tokenpd.table-1.simulated.h2o",
        '_not_below(OURS, "h2o")',
        '_not_below(OURS, "h2o", ("heavy-hitters",))',
    ),
    Mutant(
        "tokenpd.table-1.simulated.h2o.known",
        '_not_below(ORACLE, "h2o")',
        '_not_below(OURS, "h2o")',
    ),
    Mutant("tokenpd.table-1.simulated.fifty-nine", "> 0.05", "> 5"),
    Mutant("tokenpd.table-2.simulated.similar", "<= 0.03", "< 0"),
    Mutant("tokenpd.section-6.simulated.constant", "0.25 <= left", "-0.25 <= left"),
    Mutant("tokenpd.section-6.simulated.aversion", "<= 3", "<= 0.3", "def _within"),
    Mutant("tokenpd.section-5.simulated.rule", "<= 3", "<= 0.05", "def _within"),
]
