"""Mutants of the statements about the printed numbers of Token-PD's Tables 1 and 2."""

from tests.papers.mutants import Mutant

MUTANTS: list[Mutant] = [
    Mutant("tokenpd.table-1.memory.fifo", '"59"', '"60"'),
    Mutant("tokenpd.table-1.memory.h2o", '"H2O"), "31"', '"LRU"), "31"'),
    Mutant("tokenpd.table-2.memory.fifo", "128,", "256,"),
    Mutant("tokenpd.table-2.memory.h2o", '"23"', '"24"'),
    Mutant("tokenpd.table-2.memory.margin", '"42, 42"', '"42, 43"'),
    Mutant("tokenpd.abstract.throughput", '"FIFO"', '"H2O"'),
    Mutant("tokenpd.abstract.up-to", 'span("6")[0] <=', 'span("7")[0] <='),
    Mutant("tokenpd.table-1.latency", "share // 1 == 23", "share // 1 == 24"),
    Mutant("tokenpd.table-2.throughput", 'span("13")[0], 14', 'span("33")[0], 34'),
    Mutant("tokenpd.table-1.best", '"latency") <', '"latency") >'),
    Mutant("tokenpd.table-2.similar", "here * there < 0", "here * there <= 0"),
    Mutant("tokenpd.table-1.inverse", '"1.06"', '"1.01"'),
    Mutant("tokenpd.tables.quality", "share >= LARGEST_SD", "share >= LARGEST_SD / 10"),
    Mutant("tokenpd.tables.quality.fifo", "perplexity[0]", "perplexity[1]", "def _fifo"),
    Mutant("tokenpd.table-2.noise", "Fraction(2, 3)", "Fraction(1, 3)"),
    Mutant("tokenpd.table-2.full", '"0.99"', '"0.999"'),
    Mutant("tokenpd.table-2.scales", "rates[load] < rates[a]", "rates[load] < rates[a] / 2"),
    Mutant("tokenpd.tables.runs", "lasts < 3", "lasts < 2"),
    Mutant("tokenpd.tables.little", "most >= load", "most >= load / 4"),
    Mutant("tokenpd.tables.outputs", "most >= 25", "most >= 5"),
    Mutant("tokenpd.tables.computes", "most >= 100", "most >= 20"),
    Mutant("tokenpd.tables.weights-inside", "Fraction(2 * WEIGHTS, _GB)", "0"),
    Mutant("tokenpd.tables.in-proportion", "ratio <= 2", "ratio <= 1.9"),
    Mutant("tokenpd.tables.tokens-held", "/ KV_BYTES", "/ KV_BYTES / 2"),
    Mutant("tokenpd.section-6.compute", "Fraction(9, 10)", "Fraction(1, 2)"),
    Mutant("tokenpd.section-6.because-of-transfers", "gains[256] / 10", "2 * gains[256]"),
    Mutant("tokenpd.section-6.naive-saturates", "printed(256", "printed(128"),
]
