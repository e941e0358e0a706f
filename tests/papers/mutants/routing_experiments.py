"""Mutants of the statements about Routing's experiments."""

from tests.papers.mutants import Mutant

MUTANTS: list[Mutant] = [
    Mutant("routing.appendix-a.memory", "- 2 * _WEIGHTS_8B)", "- 4 * _WEIGHTS_8B)", "def _memory"),
    Mutant("routing.figure-7.percentage", "Fraction(1, 10)", "Fraction(1, 2)", "def _percentage"),
    Mutant("routing.table-2.within-peak", "2 * _IN_LAYERS_8B", "6 * _IN_LAYERS_8B", "def _within"),
    Mutant("routing.table-2.median.lbgr-lru", '"77.4"', '"77.5"'),
    Mutant("routing.table-2.median.cache-aware-rlt", '"28.1"', '"28.0"'),
    Mutant("routing.table-2.median.lbgr-rlt", '"23"', '"22"', "def _factors"),
    Mutant("routing.table-2.order", ") < Fraction(", ") > Fraction(", "def _order"),
    Mutant("routing.table-2.overhead", '"0.58"', '"0.57"', "def _overhead"),
    Mutant("routing.table-2.up-to", '"14.06"', '"23.06"', "def _up_to"),
    Mutant("routing.table-2.saturated", "Fraction(1, 100)", "Fraction(1, 1000)", "def _saturated"),
    Mutant("routing.table-3.hit-rate", '"6.92"', '"6.95"', "def _hit_rate"),
    Mutant("routing.table-3.throughput", '"77.4")', '"61.3")', "def _throughput"),
    Mutant("routing.table-3.throughput.from-hit-rates", "/ part[1]", "* part[1]", "def _from"),
    Mutant("routing.table-3.medians", '"47"', '"45"'),
    Mutant("routing.table-3.tails", '"45"', '"47"'),
    Mutant("routing.table-3.columns-exchanged", '"latency_p95"', '"ttft"', "def _exchanged"),
    Mutant("routing.tables-2-3.ceiling", "Fraction(SHARED)", "Fraction(SHARED) / 2", "def _ceil"),
]
