"""Mutants of the statements about CacheOPT's preemption policies."""

from tests.papers.mutants import Mutant

MUTANTS: list[Mutant] = [
    Mutant("cacheopt.observation-3.preemptions.srtf", '"srtf", "pre', '"lkvo", "pre'),
    Mutant("cacheopt.observation-3.preemptions.lkvo", '"lkvo", "pre', '"srtf", "pre'),
    Mutant("cacheopt.observation-3.tail.srtf", '"srtf", "halt', '"fcfs", "halt'),
    Mutant("cacheopt.observation-3.tail.lkvo", '"lkvo", "halt', '"fcfs", "halt'),
    Mutant("cacheopt.observation-3.recomputed.srtf", "other > first", "other < first"),
    Mutant("cacheopt.observation-3.recomputed.least-computed", "< first.sum", "> first.sum"),
    Mutant("cacheopt.observation-3.padding", '"alpaca", 100,', '"alpaca", 0,', "def _padding"),
]
