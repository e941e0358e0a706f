"""Mutants of the statements about Token-PD's predictor, heap and place in vLLM."""

from tests.papers.mutants import Mutant

MUTANTS: list[Mutant] = [
    Mutant("tokenpd.section-4.operations", "Fraction(1, 100)", "Fraction(1, 1000)"),
    Mutant("tokenpd.section-5.kernel", "time > KERNEL_MS", "time > KERNEL_MS / 10"),
    Mutant("tokenpd.section-4.below-a-millisecond", "2 * KERNEL_SD_MS", "20 * KERNEL_SD_MS"),
    Mutant("tokenpd.section-5.hidden", "2 * WEIGHTS", "WEIGHTS // 100"),
    Mutant("tokenpd.section-4.squared-error", "(said - value) ** 2", "abs(said - value)"),
    Mutant("tokenpd.section-4.one-output", "(v - _mean(x)) ** 2", "(v - _mean(x))"),
    Mutant("tokenpd.section-4.risk-from-return", "x * (1 - x)", "2 * x * (1 - x)"),
    Mutant("tokenpd.section-5.heap.price-cancels", "fresh=True)", "fresh=False)"),
    Mutant("tokenpd.section-5.heap.best", "fresh=True", "fresh=False"),
    Mutant("tokenpd.section-5.heap.recorded.one-price", "== 1", "<= 2", "def _best"),
    Mutant(
        "tokenpd.section-5.heap.is-the-rule", "worth >= case.prices[-1]", "worth >= 0 and case.room"
    ),
    Mutant("tokenpd.section-5.heap.peak", "min(len(case.worths), case.room)", "case.room"),
    Mutant("tokenpd.section-5.heap.recorded.after-5", "(False, True)", "(True, True)"),
    Mutant("tokenpd.section-6.constant-return", "(0.5,) * tokens", "(0.5, 0.1, 1, 0)[:tokens]"),
    Mutant("tokenpd.section-5.pages", "evicted**PAGE", "evicted"),
]
