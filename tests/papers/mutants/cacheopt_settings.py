"""Mutants of the statements about CacheOPT's settings and words."""

from tests.papers.mutants import Mutant

MUTANTS: list[Mutant] = [
    Mutant("cacheopt.section-2-1.hours", "< table_1", "< 0.1 * table_1", "def _hours"),
    Mutant("cacheopt.section-2-1.positions", "<= opt_13b.POSITIONS", "<= 4000", "def _pos"),
    Mutant("cacheopt.section-2-5.sweet-spot", "> table_1.SWEET_SPOT", "> 2000", "def _sweet"),
    Mutant("cacheopt.table-1.rate.sharegpt", "rate * least", "rate * least / 2", "def _share"),
    Mutant("cacheopt.table-1.rate.bookcorpus", "load <= 1", "load <= 1.5", "def _book"),
    Mutant("cacheopt.figure-4.full.alpaca", '"alpaca"], 5', '"alpaca"], 6', "def _alpaca"),
    Mutant("cacheopt.section-2-2.padding-and-bucket", '["s3"]', '["s3"] * 999', "def _padding"),
    Mutant("cacheopt.section-2-2.padding-and-bucket.back", '["s3"]', '["s3"] * 3', "def _back"),
    Mutant("cacheopt.section-2-3.concave", "<= 0).all())", ">= 0).all())", "def _concave"),
]
