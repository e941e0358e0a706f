"""Mutants of the statements about Routing's experiments."""

from tests.papers.mutants import Mutant

MUTANTS: list[Mutant] = [
    Mutant("routing.appendix-a.memory", "- 2 * _WEIGHTS_8B)", "- 4 * _WEIGHTS_8B)", "def _memory"),
    Mutant("routing.figure-7.percentage", "Fraction(1, 10)", "Fraction(1, 2)", "def _percentage"),
    Mutant("routing.table-2.within-peak", "2 * _IN_LAYERS_8B", "6 * _IN_LAYERS_8B", "def _within"),
    Mutant("routing.table-2.median.lbgr-lru", '"77.4"', '"77.5"'),
    Mutant("routing.table-2.median.cache-aware-rlt", '"28.1"', '"28.0"'),
    Mutant("routing.table-2.median.lbgr-rlt", '"23"', '"22"', "def _factors"),
    Mutant("routing.table-2.order", "step > 0", "step < 0", "def _order"),
    Mutant("routing.table-2.overhead", '"0.58"', '"0.57"', "def _overhead"),
    Mutant("routing.table-2.up-to", '"14.06"', '"23.06"', "def _up_to"),
    Mutant("routing.table-2.saturated", "Fraction(1, 100)", "Fraction(1, 1000)", "def _saturated"),
    Mutant("routing.table-3.hit-rate", '"6.92"', '"6.95"'),
    Mutant("routing.table-3.throughput", '"77.4")', '"61.3")', "def _throughput"),
    Mutant("routing.table-3.throughput.from-hit-rates", "/ part[1]", "* part[1]", "def _from"),
    Mutant(
        "routing.table-3.percentages",
        '"47"),\n            (_saved("latency_p95"), "45"',
        '"45"),\n            (_saved("latency_p95"), "47"',
    ),
    Mutant("routing.table-3.columns-exchanged", '"latency_p95"', '"ttft"', "def _exchanged"),
    Mutant("routing.tables-2-3.ceiling", "Fraction(SHARED)", "Fraction(SHARED) / 2", "def _ceil"),
    Mutant("routing.table-2.simulated.order", "second[2] > first[2]", "second[2] < first[2]"),
    Mutant("routing.table-2.servers.order", "second[1] < first[1]", "second[1] > first[1]"),
    Mutant("routing.table-2.simulated.factor", ">= 11.8 or", ">= 118 or"),
    Mutant("routing.table-2.cache-aware.blind", "part > rule", "part >= rule"),
    Mutant("routing.table-2.cache-aware.hit-rate", ") < abs(", ") > abs(", "def _nearer"),
    Mutant("routing.table-2.simulated.other-threshold", ">= 11.8 or", ">= 1.1 or"),
    Mutant("routing.table-2.simulated.every-residual", ', "rls", "sgd")', ', "rls")'),
    Mutant("routing.figure-14.simulated", "long > short", "long < short"),
    Mutant("routing.figure-2.simulated.conversations", "late[1] < late[0]", "late[1] > late[0]"),
    Mutant("routing.figure-4.simulated", "(_ahead(lbgr, aware)", "(True"),
    Mutant("routing.figure-5.simulated", "ours[m] < other[m]", "ours[m] > other[m]", "def _ahead"),
    Mutant("routing.figure-6.simulated.lead", '["hit_rate"] > o', '["hit_rate"] < o', "def _ahead"),
    Mutant("routing.figure-6.simulated.throughput", "- 1) < 0.01", "- 1) > 0.01"),
    Mutant("routing.figure-7.simulated", "a < b for", "a > b for"),
    Mutant("routing.figure-11.simulated", "a < b for", "a > b for"),
    Mutant("routing.figure-10.simulated", '"; ".join(bad) or None', "None"),
    Mutant(
        "routing.table-3.simulated.latencies", "_RATIO_NEAR = 0.05", "_RATIO_NEAR = 0.0", "CLAIMS"
    ),
    Mutant("routing.figure-12.simulated.lead", '["hit_rate"] > aware', '["hit_rate"] < aware'),
    Mutant("routing.figure-13.simulated.lead", "factor > 1", "factor > 9", "def _lead"),
    Mutant("routing.figure-12.simulated.throughput", "lbgr > aware or", "lbgr < aware or"),
    Mutant("routing.figure-13.simulated.rlt", "(rlt < lru", "(rlt < 2 * lru"),
    Mutant("routing.section-5.averages", "_BENCHMARKS * _factor", "_factor", "def _leaves"),
    Mutant("routing.section-1.up-to", "_BENCHMARKS * average", "average", "def _up_to"),
    Mutant(
        "routing.section-5.averages.simulated.random",
        '"30.9", "ttft": "44.49"',
        '"9", "ttft": "9"',
        "_PLACE =",
    ),
    Mutant("routing.section-5.averages.simulated.both.tails", "/ other", "/ base", "def _mean_f"),
    *(
        Mutant(f"routing.{claim}", "not short or", "True or", "def _reached")
        for claim in (
            *(f"section-5.averages.simulated.{end}" for end in ("random", "rlt", "lbgr", "both")),
            *(f"figure-{n}.simulated.factors" for n in (3, 4, 8, 9)),
        )
    ),
]
