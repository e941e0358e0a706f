"""WAIT by counts against the two literal runs: counts by stage, and single prompts.

    python -m benchmarks.wait

Nested WAIT with 10 segments of 10 stages, four of five prompts going on from each, thresholds a
fiftieth above what is stable. 10,000 runs of 10,000 iterations, from the empty system; then as
many to a horizon, where the clock is set, and waits are drawn, at every iteration. The literal runs
do few iterations of one run. The three agree iteration by iteration in the tests; here the
literal counts are told the draws of a compiled run, and compared with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import jax
import numpy as np

from benchmarks.report import load
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.suite.tables import markdown_table as table
from fluidkv.suite.tables import seconds
from fluidkv.suite.timing import times
from fluidkv.wait.chain.runs import CHAIN_RECORDS
from fluidkv.wait.chain.simulate import simulate_chain
from fluidkv.wait.policy import NestedWait
from fluidkv.wait.runs.reference import WaitEngine
from fluidkv.wait.segments import Segments
from fluidkv.wait.theory.nested import nested_time
from tests.wait.chain.reference import Draws, chain_reference

BASE, PER_KV_TOKEN = Fraction(1, 100), Fraction(1, 10_000_000)
SEGMENTS = Segments(
    64, tuple(range(10, 101, 10)), tuple(2000 * Fraction(4, 5) ** k for k in range(10))
)
RUNS, ITERATIONS = 10_000, 10_000
LITERAL_ITERATIONS, PROMPT_ITERATIONS = 1_000, 20


@dataclass(frozen=True)
class WaitTiming:
    """Seconds and iterations of each way; compiled ones as users call them, dataset included.

    Fields:
        thresholds: n.
        stuck: share of iterations that wait first.
        counts, timed: compiled, to a number of iterations and to a horizon: (seconds, iterations).
        literal, prompts: one run by stages and by single prompts: (seconds, iterations).
        compile_s: of the first, once.
    """

    thresholds: tuple[int, ...]
    stuck: float
    counts: tuple[float, int]
    timed: tuple[float, int]
    literal: tuple[float, int]
    prompts: tuple[float, int]
    compile_s: float


def run_wait(*, runs: int = RUNS, iterations: int = ITERATIONS) -> WaitTiming:
    """Compare, then time."""
    n = _thresholds()
    chain = partial(simulate_chain, SEGMENTS, n, base=BASE, per_kv_token=PER_KV_TOKEN, runs=runs)
    clock = IterationClock(float(BASE), float(PER_KV_TOKEN))
    draws = _compared(n, clock)
    requests = _requests(n)
    engine = WaitEngine(requests, NestedWait(SEGMENTS.ends, n), clock)

    compile_s = times(lambda: chain(iterations=1), calls=1, warm_up=0).best
    found = []
    taken = times(lambda: found.append(chain(iterations=iterations)), calls=1, warm_up=0).best
    horizon = float(found[0].time.mean())
    chain(horizon=1e-9)  # compiles
    timed = times(lambda: found.append(chain(horizon=horizon)), calls=1, warm_up=0).best
    literal = times(
        lambda: list(chain_reference(SEGMENTS, n, clock, draws)), calls=1, warm_up=0
    ).best
    prompts = times(lambda: _steps(engine), calls=1, warm_up=0).best
    done = [int(each.iterations.sum()) for each in found]
    return WaitTiming(
        n,
        float(found[0].stuck.sum() / done[0]),
        (taken, done[0]),
        (timed, done[1]),
        (literal, len(draws)),
        (prompts, PROMPT_ITERATIONS),
        compile_s,
    )


def report() -> str:
    """The table in Markdown."""
    t = run_wait()
    rates = [count / taken for taken, count in (t.counts, t.timed, t.literal, t.prompts)]
    rows = [
        [name, seconds(taken), f"{count:,}", f"{rate:,.0f}", *_ratios(rate, rates[2:])]
        for name, (taken, count), rate in zip(
            (
                f"counts, {RUNS:,} runs",
                f"counts, {RUNS:,} runs to a horizon",
                "literal counts, one run",
                "single prompts, one run",
            ),
            (t.counts, t.timed, t.literal, t.prompts),
            rates,
            strict=True,
        )
    ]
    header = ["", "time", "iterations", "iterations/s", "vs literal counts", "vs prompts"]
    return "\n".join(
        [
            "## Nested WAIT by counts",
            "",
            f"10 segments, thresholds {', '.join(map(str, t.thresholds))};"
            f" {100 * t.stuck:.0f} % of iterations wait first."
            f" Compilation: {seconds(t.compile_s)}.",
            "",
            table(header, rows),
            "",
            f"Measured on a {jax.default_backend()}. The single prompts are those of the first"
            f" {PROMPT_ITERATIONS} iterations, when segments fill and iterations are short.",
            "",
            f"Load at the end: {load()}.",
        ]
    )


def _ratios(rate: float, literal: Sequence[float]) -> list[str]:
    return [f"{rate / each:,.0f}" if rate >= each else f"{rate / each:.3f}" for each in literal]


def _thresholds() -> tuple[int, ...]:
    """The least that leave a fiftieth of slack in each of (12)."""
    n, more = (1,) * len(SEGMENTS), Fraction(51, 50)
    while True:
        time = nested_time(SEGMENTS, n, BASE, PER_KV_TOKEN)
        new = [int(more * SEGMENTS.rates[0] * time) + 1]
        for share in SEGMENTS.thinning:
            new.append(int(more * share * new[-1]) + 1)
        if tuple(new) == n:
            return n
        n = tuple(new)


def _compared(n: tuple[int, ...], clock: IterationClock) -> list[Draws]:
    """Draws of a compiled run, after the literal counts were found equal to it."""
    run = simulate_chain(
        SEGMENTS,
        n,
        base=BASE,
        per_kv_token=PER_KV_TOKEN,
        iterations=LITERAL_ITERATIONS,
        record=CHAIN_RECORDS,
    ).isel(run=0)
    waited, entered = (
        [tuple(row) for row in run[name].values.astype(int).tolist()]
        for name in ("waited", "entered")
    )
    draws = [Draws(*each) for each in zip(run.wait.values.tolist(), waited, entered, strict=True)]
    literal = [count.held_tokens for count in chain_reference(SEGMENTS, n, clock, draws)]
    if literal != run.held_tokens.values.tolist():
        raise AssertionError("literal and compiled counts hold other memory")
    return draws


def _requests(n: tuple[int, ...]) -> Requests:
    """More prompts than come in the iterations that are timed."""
    random = np.random.default_rng(0)
    rates = [float(rate) for rate in SEGMENTS.rates]
    shares = -np.diff([*rates, 0.0]) / rates[0]
    size = int(2 * n[0] * PROMPT_ITERATIONS)
    outputs = np.array(SEGMENTS.ends)[random.choice(len(rates), size, p=shares)]
    arrival = np.cumsum(random.exponential(1 / rates[0], size))
    return Requests(SEGMENTS.input_length, outputs, arrival=arrival)


def _steps(engine: WaitEngine) -> None:
    for _ in range(PROMPT_ITERATIONS):
        if engine.step() is None:
            raise AssertionError("the table of requests is too short")


if __name__ == "__main__":
    print(report())
