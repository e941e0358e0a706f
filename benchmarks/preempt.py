"""All victim and restore rules on the same requests: what a whole comparison takes.

    python -m benchmarks.preempt [REQUESTS SEEDS [VICTIM ...]]

Every victim rule with every restore rule under vLLM's other rules: 20,000 requests of 64 input and
64 or 65 output tokens, shuffled by each of 64 seeds, all there at the start, in memory of 1,024
blocks of 16; swapped are at most 5,000 tokens at once. The literal engine would take hours for
this: it is timed on one seed and the first requests of it, for each combination; its seconds are
then taken to grow with the requests, as they do where the same number runs at once. That both agree
is held by tests/serving, step by step.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from benchmarks.report import load
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import VLLM
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules, Restore, Victim
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.serving.swap import Swap
from fluidkv.suite.tables import markdown_table as table
from fluidkv.suite.tables import seconds
from fluidkv.suite.timing import times

INPUT, OUTPUTS = 64, (64, 65)
REQUESTS, SEEDS, SLICE = 20_000, 64, 500
LIMITS = Limits(1024 * 16, block_size=16, swap=Swap(1e-6, 1e-4, pool=5_000, sweet_spot=110))
CLOCK = IterationClock(0.02, 1e-7, 1e-4)
EVERY = 10**6  # one record a run


@dataclass(frozen=True)
class RuleTiming:
    """One combination.

    Fields:
        victim, restore: its rules.
        batch_s: all seeds, by the kernel.
        literal_s: of one seed and the slice; preemptions: in it.
    """

    victim: Victim
    restore: Restore
    batch_s: float
    literal_s: float
    preemptions: int


def run_rules(
    victims: Sequence[Victim], *, requests: int = REQUESTS, seeds: int = SEEDS
) -> list[RuleTiming]:
    """Time each combination."""
    outputs = np.resize(OUTPUTS, requests)
    shuffled = [
        Requests(INPUT, np.random.default_rng(seed).permutation(outputs)) for seed in range(seeds)
    ]
    limits = [replace(LIMITS, seed=seed) for seed in range(seeds)]
    part = Requests(INPUT, shuffled[0].output_length[: min(SLICE, requests)])
    found = []
    for victim, restore in product(victims, Restore):
        rules = replace(VLLM, victim=victim, restore=restore)

        def compiled(rules: EngineRules = rules):
            return serve(
                shuffled,
                Server(rules, limits, CLOCK, backend="kernel"),
                every=EVERY,
                keep_requests=False,
            )

        def literal(rules: EngineRules = rules):
            return serve(part, Server(rules, limits[0], clock=CLOCK, backend="reference"))

        batch = times(compiled, calls=1).best
        slow = times(literal, calls=1, warm_up=0).best
        evicted = int(literal().preempt.sum())
        found.append(RuleTiming(victim, restore, batch, slow, evicted))
    return found


def report(
    victims: Sequence[Victim] = tuple(Victim), *, requests: int = REQUESTS, seeds: int = SEEDS
) -> str:
    """The table in Markdown."""
    found = run_rules(victims, requests=requests, seeds=seeds)
    batch = sum(f.batch_s for f in found)
    share = requests / min(SLICE, requests)
    literal = seeds * share * sum(f.literal_s for f in found)
    rows = [
        [
            restore.name.lower(),
            seconds(sum(f.batch_s for f in found if f.restore is restore)),
            seconds(share * sum(f.literal_s for f in found if f.restore is restore)),
            f"{sum(f.preemptions for f in found if f.restore is restore):,}",
        ]
        for restore in Restore
    ]
    slowest = max(found, key=lambda f: f.batch_s)
    header = ["restore", f"{seeds} seeds", "literal, one seed", "preemptions"]
    return "\n".join(
        [
            "## All victim and restore rules",
            "",
            f"{len(found)} combinations, {seeds} seeds of {requests:,} requests each: "
            f"{seconds(batch)}, "
            f"{len(found) * seeds * requests / batch:,.0f} requests/s. The literal engine is taken "
            f"to need {seconds(literal)}: {literal / batch:,.0f} times as long.",
            "",
            table(header, rows),
            "",
            f"Slowest: {slowest.victim.name.lower()}, {slowest.restore.name.lower()}, "
            f"{seconds(slowest.batch_s)}. Preemptions are of the slice of {SLICE} requests, summed "
            f"over victims; the literal seconds are of it, times {share:g}.",
            "",
            f"Load at the end: {load()}.",
        ]
    )


if __name__ == "__main__":
    sizes = dict(zip(("requests", "seeds"), map(int, sys.argv[1:3]), strict=False))
    chosen = [Victim[name.upper().replace("-", "_")] for name in sys.argv[3:]]
    print(report(chosen or tuple(Victim), **sizes))
