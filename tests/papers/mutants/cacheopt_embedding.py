"""Mutants of the statements about CacheOPT's embedding."""

from tests.papers.mutants import Mutant

MUTANTS: list[Mutant] = [
    Mutant("cacheopt.embedding.condition", "+ case.buffer", "+ case.buffer + 1"),
    Mutant(
        "cacheopt.embedding.condition.needed",
        "_starts(case)",
        "_starts(case, last_token=False)",
        "def _needed",
    ),
    Mutant("cacheopt.embedding.condition.last-token", "last_token=False", "last_token=True"),
    Mutant("cacheopt.embedding.start.from-the-end", "- case.s0", "- case.s0 - 1"),
    Mutant("cacheopt.embedding.start.from-the-front", "case.s0", "case.allocated - case.s0"),
    Mutant("cacheopt.embedding.start.from-the-tip", "+ case.s0", "+ case.outputs"),
    Mutant("cacheopt.embedding.start.when-right", "(p <= b)", "(p < b)"),
    Mutant("cacheopt.embedding.start.b-tokens-before", "- case.s0]", "- case.s0 + 1]"),
    Mutant("cacheopt.embedding.buffer.keeps-away", "late <= case.buffer", "late < case.buffer"),
    Mutant("cacheopt.embedding.buffer.own-end", "late=late)", "late=0)", "def _own_end"),
    Mutant("cacheopt.embedding.second-guest", "<= before]", "<= case.allocated]"),
]
