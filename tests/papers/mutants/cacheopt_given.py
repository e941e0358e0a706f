"""Mutants of the statements about what requests are given, in simulation."""

from tests.papers.mutants import Mutant

MUTANTS: list[Mutant] = [
    Mutant("cacheopt.section-2-2.share-of-waiting", "most <= 0.75", "most <= 75"),
    Mutant(
        "cacheopt.section-2-2.preemption-time",
        "(rlp, lambda value: value < 0)",
        "(rlp, lambda value: value > 0)",
    ),
    Mutant(
        "cacheopt.section-2-2.waiting.longer",
        "(s3, lambda value: value > 0)",
        "(s3, lambda value: value < 0)",
        "def _waiting()",
    ),
    Mutant(
        "cacheopt.section-2-2.waiting.factor",
        "43 <= one <= 72 and 27 <= other <= 65",
        "one > 0 and other > 0",
    ),
    Mutant("cacheopt.section-2-2.shares", "most >= 71", "most >= 1"),
    Mutant("cacheopt.section-2-2.s3-waits-less", '"s3", "rlp")', '"rlp", "s3")'),
    Mutant("cacheopt.section-2-2.s3-preempted-less", '"s3", "rlp")', '"rlp", "s3")'),
    Mutant("cacheopt.figure-3.simulated.vllm", '"vllm", name)', 'name, "vllm")'),
    Mutant("cacheopt.figure-3.simulated.s3", "12 <= value <= 17", "-2 <= value <= 17"),
    Mutant("cacheopt.figure-4.simulated", "each[0] > max", "each[0] < max"),
    Mutant("cacheopt.figure-6.simulated.preemption", "a >= b", "a <= b"),
    Mutant("cacheopt.figure-6.simulated.waiting", "a <= b", "a <= 2 * a + b", "def _waits"),
    Mutant("cacheopt.figure-6.simulated.execution", "<= 10 or", "<= 60 or", "def _exec"),
    Mutant("cacheopt.figure-6.simulated.response", "0 < at", "3 < at", "def _resp"),
    Mutant("cacheopt.figure-6.simulated.best", "> 1 or", "> 2 or", "def _diff"),
    Mutant("cacheopt.figure-6.simulated.rate", "a < b for", "a > b for", "def _rate()"),
]
