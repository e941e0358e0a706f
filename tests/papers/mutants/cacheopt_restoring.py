"""Mutants of the statements about CacheOPT's choice between swapping and recomputation."""

from tests.papers.mutants import Mutant

MUTANTS: list[Mutant] = [
    Mutant("cacheopt.restoring.orders", "operations(1) * s**2", "operations(1) * s"),
    Mutant("cacheopt.restoring.quadratic", "twice > 3", "twice > 2"),
    Mutant("cacheopt.restoring.observation-4.crossing", "fastest(1) < swap", "fastest(1) > swap"),
    Mutant("cacheopt.restoring.observation-4.sharp", "(9, 11)", "(10, 10)"),
    Mutant("cacheopt.restoring.one-crossing", "== {1}", "== {0, 2}"),
    Mutant("cacheopt.restoring.identified", "recompute(s, 0, 2, 1)", "recompute(s, 0, 2, 2)"),
    Mutant("cacheopt.restoring.identified.four-lengths", "< 1e-3", "< 0"),
    Mutant("cacheopt.restoring.alone", "9, 20, 2", "9, 20, 1"),
]
