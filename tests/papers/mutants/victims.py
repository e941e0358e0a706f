"""Victims: in the mass model, beside the best, in endless streams; and RFC 54644's own numbers."""

from tests.papers.mutants import Mutant

_C, _R = "congestion.victims.", "vllm-54644."

MUTANTS = [
    # the mass model
    Mutant(_C + "linearisation", "_states(server, start, min(ends))", "_states(server, start, 80)"),
    Mutant(_C + "one-class", "l1 * (l0 + l1)", "l1 * (l0 + l1 + 1)", near="def _one_class"),
    Mutant(_C + "kept", "Keeps.OUTPUTS", "Keeps.NOTHING", near="def _kept_progress"),
    Mutant(_C + "kept.tax", "4 / 3", "9 / 8", near="def _rules_cheapen"),
    Mutant(_C + "mix.starved", "Keeps.NOTHING", "Keeps.OUTPUTS", near="def _the_longer"),
    Mutant(_C + "rate-limit", "cap=rate", "cap=1.2 * rate", near="def _a_cap"),
    Mutant(_C + "watermark", "(0.0, 0.1, 0.2, 0.3)", "(0.0, 0.1, 0.9, 0.3)", near="def _a_water"),
    # RFC 54644
    Mutant(_R + "waste", "ROWS[-1]", "ROWS[1]"),
    Mutant(_R + "preemptions", "Fraction(70, 65)", "Fraction(59, 65)"),
    Mutant(_R + "useful", "high < 565", "high < 560"),
    Mutant(_R + "tax-left", "Fraction(1, 4)", "Fraction(1, 5)"),
    Mutant(_R + "pool", "2 * printed.POOL", "3 * printed.POOL"),
    Mutant(_R + "longest", "Fraction(5, 2)", "Fraction(3)"),
    Mutant(_R + "families.whole-prompt", "whole=True", "whole=False", near="def _whole_prompts"),
    Mutant(_R + "families.first-chunk", '"log-normal" and', '"uniform" and'),
    Mutant(_R + "order.spared", "whole=False", "whole=True", near="def _may_waste_more"),
    Mutant(_R + "caps", "8192, 256)", "8192, 64)"),
    # the bench
    Mutant(_R + "bench.tax", "FEWEST_BLOCKS", "COST_AWARE", near="def _lowers_the_tax"),
    Mutant(_R + "bench.throughput", "LEAST_COMPUTED", "MOST_COMPUTED", near="def _is_faster"),
    Mutant(_R + "bench.who-pays", '"gap_short"', '"gap_long"', near="def _the_short_pay"),
    Mutant(_R + "bench.least-progressed", "LEAST_PROGRESSED", "RANDOM", near="def _least_prog"),
    Mutant(_R + "bench.worst", "MOST_COMPUTED}", "RANDOM}", near="def _most_computed_is_worst"),
    # the best victims
    Mutant(_R + "best.recomputed", "7 / 6", "5 / 4"),
    Mutant(_R + "best.smallest", "(2, 2)), 4)", "(2, 2)), 5)", near="_SMALLEST = "),
    # endless streams
    Mutant(
        _R + "starvation.none",
        "with_victim(VLLM, victim)",
        "with_victim(replace(VLLM, keeps=Keeps.NOTHING), victim)",
        near="def _nobody_starves",
    ),
    Mutant(
        _R + "starvation.least-computed.restart",
        "LEAST_COMPUTED",
        "LAST_ADMITTED",
        near="def _least_computed_starves()",
    ),
    Mutant(_R + "starvation.least-computed.tail", "budget=2", "budget=9"),
    Mutant(_R + "starvation.most-computed.locked", "MOST_COMPUTED", "LAST_ADMITTED"),
]
