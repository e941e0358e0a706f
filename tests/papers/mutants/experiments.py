"""Sections 5 and 6 and Appendix D of Congestion, and the measured watermark."""

from tests.papers.mutants import Mutant

_C = "congestion."

MUTANTS = [
    # what printed numbers say by themselves
    Mutant(_C + "table-5.averages", "219, 69.80", "220, 69.80"),
    Mutant(_C + "table-4.throughput-gain", '"5.3"', '"5.4"'),
    Mutant(_C + "table-4.latency-gain", '"4.0"', '"4.1"'),
    Mutant(_C + "table-7.cut", '"1259"', '"1258"'),
    Mutant(_C + "tables.one-device-a-row", "20_000", "30_000"),
    Mutant(_C + "tables.within-peak-of-the-gpu", "512", "20"),
    # the limit on the rate
    Mutant(
        _C + "section-5-1.transient.one-class",
        "longest = system.workload.longest_decode",
        "longest = system.workload.longest_decode - 2",
        near="def _ends",
    ),
    Mutant(
        _C + "section-5-1.transient.in-proportion-to-the-queue",
        'selection="queued"',
        'selection="shares"',
    ),
    Mutant(_C + "section-5-1.throughput", "steps[d:]", "steps[1:]"),
    Mutant(_C + "section-5-1.low-demand", "Fraction(9, 10)", "Fraction(11, 10)"),
    Mutant(_C + "section-5-1.transient.whole-requests-below", "(_BELOW,)", "(_BEST,)"),
    # random arrivals
    Mutant(_C + "figure-4.best-rate", '"1.64"', '"1.65"'),
    Mutant(_C + "figure-4.queue-grows", "float(worst_rate())", "float(best_rate())"),
    Mutant(_C + "section-6-1.time-to-collapse.memory", "2000, 4000, 8000", "8000, 4000, 2000"),
    # mixing
    Mutant(_C + "section-6-2.divisors", "5,6,1", "5,6,2"),
    Mutant(_C + "table-1.mixed-stable", "512", "9000", near="_TABLE_1 = "),
    Mutant(_C + "table-2.mixed-stable", "300", "3", near="_TABLE_2 = "),
    Mutant(_C + "figure-18.mixed-stable", ", 30)", ", 1)", near="_TABLE_4 = "),
    Mutant(_C + "table-4.evictions.saturated", "1.0", "0.5"),
    Mutant(_C + "table-4.counts", "TABLE_4", "TABLE_5"),
    # runs on a GPU, in the model
    Mutant(_C + "figure-26.growing-modes", "(430, 599)", "(429, 599)"),
    Mutant(_C + "figure-27.segregated", "((5, 10), 5)", "((5, 10), 10)"),
    # one class with a cap
    Mutant(_C + "table-8.mean-eviction-rate", '"0.666"', '"0.667"'),
    Mutant(_C + "table-8.greedy-evictions", "1.325 <= done < 1.335", "1.335 <= done < 1.345"),
    # Vidur
    Mutant(
        _C + "table-7.gain.theory",
        "gain >= Fraction(printed)",
        "gain <= Fraction(printed)",
        near="def _theory_gain",
    ),
    Mutant(_C + "table-3.cap-at-most-equilibrium", "x >= TABLE_3_CAP", "x <= TABLE_3_CAP"),
    Mutant(_C + "figure-5.exceeds-capacity", "float(FIGURE_5_SHARE)", "16.7"),
    Mutant(
        _C + "figure-32.rate-limit", '"vidur-sarathi"', '"restart"', near="{_number}.rate-limit"
    ),
    # bursts; restart and resume
    Mutant(
        _C + "figure-30.longer-windows.not-the-shortest",
        "given=(_NOT_SHORTEST,)",
        "given=(WINDOWS,)",
    ),
    Mutant(_C + "restart-resume.oscillation", "(keeping.ONE,)", "(keeping.PAIR,)"),
]
