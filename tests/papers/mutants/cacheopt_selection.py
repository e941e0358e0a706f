"""Mutants of the statements about who is critical in CacheOPT."""

from tests.papers.mutants import Mutant

MUTANTS: list[Mutant] = [
    Mutant("cacheopt.selection.epsilon", "if _met(left, epsilon):", "if _met(left, epsilon + 1):"),
    Mutant(
        "cacheopt.selection.epsilon.an-iteration", "_met(left, epsilon)", "_met(left, epsilon / 2)"
    ),
    Mutant(
        "cacheopt.selection.ends", "_ends(_BARE, table", "_ends(CacheOpt(reserved_blocks=0), table"
    ),
    Mutant("cacheopt.selection.ends.spared", "spares_newcomers=True", "spares_newcomers=False"),
    Mutant("cacheopt.section-3-3-2.case-1", ".sum()))", ".sum()) // 2)", "def _fitting"),
]
