"""What others measured: a SGLang run, one class on three engines, saturated runs of vLLM 0.10."""

from tests.papers.mutants import Mutant

_S, _O, _F = "measured.sglang.", "measured.one-class.", "measured.fixed-lengths."
_M, _C, _U = "measured.modelled.", "measured.capacity-policies.", "measured.unseen."
_SWAPPED = "served(engines.TRTLLM_NO_EVICT if row.preemptions else engines.TRTLLM, by)"


def _other_engine(claim: str) -> Mutant:
    return Mutant(_O + claim, "served(row, by)", _SWAPPED, near="def _counted")


MUTANTS = [
    # the SGLang run
    Mutant(_S + "retractions", 'retractions",), 0.25', 'running",), 0.001', near="There are 20"),
    Mutant(_S + "running", "0.05", "0.001", near="At most 68"),
    Mutant(_S + "wall", "0.05", "0.01", near="lasts 285.7"),
    Mutant(_S + "recomputed", "0.05", "0.001", near="21,452 tokens"),
    Mutant(_S + "latencies", "0.05", "0.01", near="Median and 99th"),
    Mutant(_S + "ratios", "off <= 0.01", "off <= 0.001", near="def _ratios"),
    Mutant(_S + "any-part", "0.25", "0.05", near="def by_clocks"),
    Mutant(
        _S + "second-half",
        '("second half of the log",)',
        '("whole log",)',
        near="The clock of the second half",
    ),
    Mutant(_S + "noise", "MOVED_S[-1]", "MOVED_S[0]", near="def _noise"),
    Mutant(_S + "noise.milliseconds", "MOVED_S[0]", "MOVED_S[-1]", near="def _milliseconds"),
    Mutant(_S + "settings.wall", '"wall_s", 0.05', '"wall_s", 0.01', near="At three other rates"),
    Mutant(_S + "settings.running", "0.0, 1.0", "0.0, 0.5", near="wait at once"),
    Mutant(_S + "settings.ttft", "0.05", "0.01", near="With caps on memory"),
    Mutant(_S + "settings.retractions", "0.25", "0.5", near="At other rates and caps, retractions"),
    Mutant(_S + "settings.no-tree", "0.05", "1e-4", near="Without a tree"),
    Mutant(_S + "settings.deterministic", "0.25", "0.1", near="whose steps last longer"),
    Mutant(_S + "settings.deterministic.wall", "0.05", "0.1", near="lasts 564.1"),
    # one class
    _other_engine("vllm"),
    _other_engine("sglang.one-pass"),
    _other_engine("sglang.five-passes"),
    _other_engine("sglang.conservativeness"),
    _other_engine("trtllm"),
    Mutant(_O + "sglang.ratios", "/ 600", "/ 60_000", near="def _ratios"),
    Mutant(_O + "sglang.reserves-all", "known=True", "known=False", near="def _reserves_all"),
    Mutant(_O + "duration", "0.05", "0.001", near="def durations"),
    Mutant(_O + "duration.sglang", "0.05", "0.1", near="def durations"),
    # fixed lengths
    Mutant(_F + "memory", "0.005 / server", "0.003 / server", near="def _memory"),
    Mutant(_F + "running", "ours.least <=", "ours.least + 3 <=", near="def _running"),
    Mutant(_F + "duration.32b", "0.05", "0.01", near="Qwen2.5-32B: with"),
    Mutant(_F + "ttft.32b", "0.10", "0.05", near="There, the mean"),
    Mutant(_F + "duration.7b", "0.05", "0.5", near="Qwen2-7B on one GPU"),
    Mutant(_F + "duration.72b", "0.05", "0.5", near="Qwen2-72B: the"),
    Mutant(_F + "duration.two-gpus", "0.05", "0.5", near="two GPUs of one node"),
    Mutant(_F + "duration.same-day", "0.01", "0.005", near="def _same_day"),
    Mutant(_F + "duration.other-lengths", "0.05", "0.9", near="def _other_lengths"),
    # two capacity policies
    Mutant(_C + "no-evict", "0.05", "0.01", near="def _no_evict"),
    Mutant(_C + "first-tokens", "after < before", "after > before", near="def _first_tokens"),
    Mutant(_C + "loss", "0.25", "1.25", near="def _loss"),
    # data sheets alone
    Mutant(_M + "steps", "0.25", "0.1", near="no profiles"),
    Mutant(_M + "steps.held-out", "0.05", "0.001", near="def _held_out"),
    Mutant(_M + "steps.profiles", "0.25", "0.35", near="def _profiles"),
    Mutant(_M + "steps.large-batch", "0.25", "0.4", near="def _large"),
    Mutant(_M + "prefill", "0.25", "0.5", near="def _prefill"),
    Mutant(_M + "pool", "0.15", "0.05", near="def _pool"),
    # logs that were not looked at before
    Mutant(_U + "latency", "LATENCY)", "LATENCY / 9)", near="One GPU: by"),
    Mutant(
        _U + "latency.two-gpus",
        "unseen.LATENCY)",
        "2 * unseen.LATENCY)",
        near="Two GPUs that share a model: by the clock of the first half, latencies",
    ),
    Mutant(_U + "running", "RUNNING)", "RUNNING / 9)", near="Requests running in the second"),
    Mutant(_U + "peak", "PEAK)", "PEAK / 9)", near="As many run at most"),
    Mutant(_U + "duration", "DURATION)", "DURATION / 9)", near="The run lasts"),
    Mutant(_U + "modelled.steps", "MODELLED)", "MODELLED / 9)", near="the least"),
    Mutant(
        _U + "modelled.prefill",
        "unseen.MODELLED)",
        "2 * unseen.MODELLED)",
        near="A token of prefill lasts",
    ),
    Mutant(_U + "bars.throughput", "> bar", "> bar / 2", near="def printed_bar"),
    Mutant(_U + "bars.latency", "> bar", "> bar / 2", near="def printed_bar"),
    Mutant(_U + "bars.ttft", "> bar", "> 2 * bar", near="def printed_bar"),
    Mutant(
        _U + "preemptions", "row.ours >= row.measured", "row.ours <= row.measured", near="def _p"
    ),
]
