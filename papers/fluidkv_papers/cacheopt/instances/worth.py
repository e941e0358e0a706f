"""From which error on a length predictor is worse than none: a table of docs/preemption.md.

    python -m fluidkv_papers.cacheopt.instances.worth [AZURE_CONVERSATIONS.csv]

prints a line for each entry. A minute or two; without the trace its rows are left out.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fluidkv import preempt, runs, serving
from fluidkv.preempt.worth import Crossing
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import VLLM
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import Allocation, EngineRules, Victim
from fluidkv.traces import preset, read_trace

RUNS, REQUESTS = 8, 800
SIGMAS = (0, 0.25, 0.5, 0.75, 1, 1.5)
CLOCK = IterationClock(9.93e-3, 1.656e-7, 8e-5)
METRICS = ("output_throughput_per_time", "ttft_p99", "longest_gap_p99")
"""The first with requests that all wait from the start, the others with Poisson arrivals."""
RULES = {
    "ESTIMATE_THEN_BLOCKS": replace(VLLM, allocation=Allocation.ESTIMATE_THEN_BLOCKS),
    "ESTIMATE_THEN_DOUBLE": replace(VLLM, allocation=Allocation.ESTIMATE_THEN_DOUBLE),
    "LONGEST_REMAINING": replace(VLLM, victim=Victim.LONGEST_REMAINING),
}


@dataclass(frozen=True)
class Case:
    """Whose requests, in how much memory, served how fast, and the rules that are tried."""

    name: str
    capacity: int
    clock: IterationClock = CLOCK
    rules: tuple[str, ...] = tuple(RULES)

    @property
    def limits(self) -> Limits:
        return Limits(self.capacity, 16, max_num_batched_tokens=2048, max_num_seqs=256)


DEARER = replace(CLOCK, per_prefill_token=5 * CLOCK.per_prefill_token)
CASES = (
    Case("sharegpt", 16_384),
    Case("sharegpt", 65_536),
    Case("azure", 32_768),
    Case("sharegpt", 16_384, DEARER, ("ESTIMATE_THEN_BLOCKS",)),
)


def tables(case: Case, trace: Path | None, rate: float | None) -> list[Requests]:
    """The requests of each run, all at the start or at a rate; of a trace consecutive parts."""
    found = []
    for run in range(RUNS):
        rng = np.random.default_rng([run, 7])
        if trace is not None:
            lengths = read_trace(trace)[0]
            part = slice(run * REQUESTS, (run + 1) * REQUESTS)
            inputs, outputs = lengths.input_lengths[part], lengths.decode_lengths[part]
            times = rng.standard_exponential(REQUESTS).cumsum()
            found.append(Requests(inputs, outputs, arrival=times / rate if rate else None))
        elif rate is None:
            found.append(runs.saturated(preset(case.name), REQUESTS, rng=rng))
        else:
            mix = preset(case.name)
            found.append(runs.poisson(mix, rate, REQUESTS, rng=rng, per_iteration=False))
    return found


def served_rate(case: Case, waiting: Sequence[Requests]) -> float:
    """Requests a second that vLLM serves of those that all wait."""
    run = serving.serve(waiting, serving.Server(VLLM, case.limits, clock=case.clock), every=10**6)
    return float(runs.metrics(run).throughput_per_time.mean())


def entry(
    case: Case, rules: EngineRules, served: Sequence[Requests], metrics: Sequence[str]
) -> dict[str, Crossing]:
    """Where the gain in each metric ends."""
    told = {sigma: preempt.LogNormalNoise(sigma) for sigma in SIGMAS}
    found = preempt.with_and_without(served, rules, VLLM, case.limits, case.clock, told)
    return {name: preempt.crossing(SIGMAS, preempt.gains(found, name)) for name in metrics}


def entries(trace: Path | None) -> Iterator[tuple[Case, str, dict[str, Crossing]]]:
    """Each row of the table."""
    for case in CASES:
        if case.name == "azure" and trace is None:
            continue
        lengths = trace if case.name == "azure" else None
        waiting = tables(case, lengths, None)
        coming = tables(case, lengths, served_rate(case, waiting))
        for name in case.rules:
            first = entry(case, RULES[name], waiting, METRICS[:1])
            yield case, name, first | entry(case, RULES[name], coming, METRICS[1:])


def main(arguments: Sequence[str], say: Callable[[str], None] = print) -> None:
    trace = Path(arguments[0]) if arguments else None
    for case, name, row in entries(trace):
        shown = ", ".join(f"{c.level:.2f} ({c.low:.2f} to {c.high:.2f})" for c in row.values())
        d2 = case.clock.per_prefill_token
        say(f"{case.name} {case.capacity} d2={d2:g} {name}: {shown}")


if __name__ == "__main__":
    main(sys.argv[1:])
