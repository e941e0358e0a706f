"""Mutants of the statements about CacheOPT's experiments in simulation."""

from tests.papers.mutants import Mutant

_BEHIND = ("not behind or", "True or", "def _ahead")
_WORSE = ("not bad or", "True or", "def _each_is_worse")
_PEAK = ("set(top) <= set(best)", "True", "def _peak")
_WAYS = ("if not right:", "if False:", "def _goes")

MUTANTS: list[Mutant] = [
    *(
        Mutant(f"cacheopt.figure-12.simulated.{name}", *_BEHIND)
        for name in ("ttft-attainment", "ttft-tail", "tbt-attainment", "tbt-tail", "latency")
    ),
    Mutant("cacheopt.figure-12.simulated.reservers.loaded", "ours >= theirs", "ours < theirs"),
    Mutant("cacheopt.figure-12.simulated.reservers", "if rate >= least and", "if False and"),
    Mutant("cacheopt.figure-12.simulated.with-the-rate", "name, a,", "name, 1.5,"),
    Mutant("cacheopt.figure-12.simulated.all-critical", "factor >= 3", "factor >= 300"),
    *(
        Mutant(f"cacheopt.figure-14.simulated.{name}", *_WORSE)
        for name in ("tail-ttft", "ttft-attainment", "tail-tbt", "tbt-attainment")
    ),
    Mutant("cacheopt.figure-14.simulated.restore", '"/PSS", measure', '"/RSA", measure'),
    Mutant("cacheopt.figure-14.simulated.padding", "fixed >= whole", "fixed < whole"),
    Mutant(
        "cacheopt.figure-14.simulated.embedding.padded-up", "inside >= without", "inside < without"
    ),
    Mutant(
        "cacheopt.figure-14.simulated.embedding.underestimated",
        "inside >= without",
        "inside < without",
    ),
    Mutant("cacheopt.figure-17.a.simulated", "min(steps) >= 0", "min(steps) > 0", "def _goes"),
    *(Mutant(f"cacheopt.figure-17.{x}.simulated", *_PEAK) for x in "bcd"),
    *(Mutant(f"cacheopt.figure-17.{x}.simulated", *_WAYS) for x in "efg"),
    Mutant("cacheopt.figure-17.h.simulated", "values[-1] >= values[0]", "False", "def _deviations"),
]
