"""Mutants of the statements about CacheOPT's preemption policies."""

from tests.papers.mutants import Mutant

_WORSE = "def _fcfs_is_worse"

MUTANTS: list[Mutant] = [
    Mutant("cacheopt.observation-3.preemptions.srtf", "least > 1", "least < 2", _WORSE),
    Mutant("cacheopt.observation-3.preemptions.lkvo", "least > 1", "least < 2", _WORSE),
    Mutant("cacheopt.observation-3.tail.srtf", "least > 1", "least < 2", _WORSE),
    Mutant("cacheopt.observation-3.tail.lkvo", "least > 1", "least < 2", _WORSE),
    Mutant("cacheopt.observation-3.recomputed.srtf", "other > first", "other < first"),
    Mutant("cacheopt.observation-3.recomputed.least-computed", "< first.sum", "> first.sum"),
    Mutant("cacheopt.observation-3.padding", '"alpaca", 100,', '"alpaca", 0,', "def _padding"),
]
