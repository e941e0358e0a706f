"""Mutants of the statements about vLLM's watermark: what is compared, or how far off may be."""

from tests.papers.mutants import Mutant

_V = "vllm-44594."
_PREDICTED, _DRAWS = "def as_predicted", "def among_draws"

MUTANTS: list[Mutant] = [
    Mutant(_V + "requests", "drawn()", "drawn(1)"),
    Mutant(_V + "demand", "== 1.5", "== 1.4"),
    Mutant(_V + "preemptions.two-per-cent", "preemptions(_k)", "preemptions(2)", "{_word}-per"),
    Mutant(_V + "preemptions.five-per-cent", "preemptions(_k)", "preemptions(0)", "{_word}-per"),
    *(
        Mutant(f"{_V}{claim}", "> allowed", "> allowed / 1e3", _PREDICTED)
        for claim in (
            *("preemptions.ten-per-cent", "preemptions.fifteen-per-cent", "preemptions.most"),
            *("preemptions.off", "ttft.p99", "throughput", "throughput.gain", "ttft.median"),
        )
    ),
    *(
        Mutant(f"{_V}{claim}", "> allowed", "> allowed * 1e3", _PREDICTED)
        for claim in ("latency.median", "itl.p99")
    ),
    Mutant(_V + "preemptions.level-off", "low <= 0 <= high", "low > 0", "def levels_off"),
    Mutant(_V + "preemptions.level-off.less", "low > 0,", "high < 0,"),
    Mutant(_V + "preemptions.draws", "printed > high", "printed > low", _DRAWS),
    Mutant(_V + "throughput.draws", "printed > high", "printed > low", _DRAWS),
    Mutant(_V + "throughput.best", "fitted_clock()", "clock_of_one_number()", "def _best"),
    Mutant(_V + "throughput.free-prefill", "clock_of_one_number()", "fitted_clock()", "def _free"),
    Mutant(_V + "recompute.tokens", "ours / 3500", "ours / 1700", "def _tokens_of"),
]
