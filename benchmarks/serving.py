"""The engines of whole requests against a plain Python loop of the same rule, and against memory.

    python -m benchmarks.serving

20,000 requests of 512 input tokens, all there at the start, in memory of 30,208 blocks of 16 under
Vidur's rule, until all are done: with 20 or 21 output tokens in turn, as many tokens as events; and
with twenty times as many. One run, and one for each of 64 seeds, which shuffle the order. The plain
loop knows nothing but this rule and records nothing; it, the literal engine and the kernel are
compared before they are timed. Then one run with a closed population, so that as
many wait all the time, for queues of 1,000 to 100,000.

Engines are timed as their users call them, arrays and dataset included.
"""

from dataclasses import dataclass
from functools import partial
from time import process_time

import numpy as np

from benchmarks.report import against, load
from fluidkv.runs.requests import Requests
from fluidkv.serving.arrays import Runs
from fluidkv.serving.checks import NO_HORIZON
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import VIDUR_SARATHI
from fluidkv.serving.kernel.layout import REQUEST, TIMES
from fluidkv.serving.run import serve
from fluidkv.serving.running.engine import run_batch
from fluidkv.serving.server import Server
from fluidkv.suite.serving import BLOCK, BLOCKS, INPUT, LIMITS, OUTPUTS, RULE, plain_loop
from fluidkv.suite.tables import markdown_table as table
from fluidkv.suite.tables import seconds
from fluidkv.suite.timing import times

LONGER = 20
"""Times as many outputs, where a run has far more tokens than events."""
REQUESTS = 20_000
SEEDS = 64
QUEUES = (1_000, 10_000, 100_000)
ITERATIONS = 1_000  # of a run with a closed population
REPEATS = 5
_COPIED = 2**26
"""Bytes of the copy that says what memory can do: more than the caches hold."""


@dataclass(frozen=True)
class ServingTiming:
    """Seconds for the same requests: best of `REPEATS`, of the literal engine once.

    Fields:
        requests, iterations, evictions, tokens: of the run in turn; all engines agree on them.
        seconds: by the name of an engine and what it does; `seeds` runs where it says so.
        phases: seconds of a core for a run in the kernel, by what is left out of it.
        bytes: that the kernel reads and writes for a run, each request's records and results.
        copying: bytes a second of a copy of `_COPIED`, read and written.
    """

    requests: int
    iterations: int
    evictions: int
    tokens: int
    seeds: int
    seconds: dict[str, float]
    phases: dict[str, float]
    bytes: int
    copying: float


@dataclass(frozen=True)
class QueueTiming:
    """One run of `ITERATIONS` iterations in which `waiting` requests wait all the time.

    Fields:
        setup_s: of a run of one iteration: arrays and records as long as the table.
        iteration_s: of each iteration after the first.
    """

    waiting: int
    setup_s: float
    iteration_s: float


def run_requests(
    *,
    requests: int = REQUESTS,
    seeds: int = SEEDS,
    outputs: tuple[int, ...] = OUTPUTS,
) -> ServingTiming:
    """Compare, then time."""
    one = Requests(INPUT, np.resize(outputs, requests))
    shuffled = [
        Requests(INPUT, np.random.default_rng(seed).permutation(one.output_length))
        for seed in range(seeds)
    ]
    answers = one.output_length.tolist()
    kernel, literally = (Server(RULE, LIMITS, backend=form) for form in ("kernel", "reference"))
    named = {
        "plain Python loop": lambda: plain_loop(answers),
        "kernel, one run": lambda: serve(one, kernel),
        "kernel, all seeds": lambda: serve(shuffled, kernel),
        "kernel, all seeds, no times": lambda: serve(shuffled, kernel, keep_requests=False),
    }
    counts = plain_loop(answers)
    for server in (kernel, literally):
        run = serve(one, server)
        found = int(run.preempt.sum()), int(run.iterations.item())
        if found != counts:
            raise AssertionError(f"evictions, iterations: {found}, by the plain loop {counts}")
    taken = {name: times(run, calls=REPEATS, warm_up=0).best for name, run in named.items()}
    literal = times(lambda: serve(one, literally), calls=1, warm_up=0).best
    return ServingTiming(
        requests=requests,
        iterations=counts[1],
        evictions=counts[0],
        tokens=int(one.output_length.sum()),
        seeds=seeds,
        seconds={"literal engine": literal} | taken,
        phases=_phases(shuffled),
        bytes=requests * (3 * 8 + 2 * REQUEST.itemsize + 8 * TIMES + 17),
        copying=2 * _COPIED / times(np.ones(_COPIED // 8).copy, calls=REPEATS).best,
    )


def _phases(tables: list[Requests]) -> dict[str, float]:
    """Seconds of a core for a run, by leaving out what is not meant.

    Of all threads, so that nobody else's work counts.
    """
    runs, clock = len(tables), IterationClock.iterations()
    batch = Runs(tables, [LIMITS] * runs, [clock] * runs, [None] * runs, [()] * runs)

    def kernel(iterations: int, keep_requests: bool) -> float:
        how = {"iterations": iterations, "keep_requests": keep_requests, "jumps": False}
        taken = []
        for _ in range(REPEATS):
            before = process_time()
            run_batch(VIDUR_SARATHI, batch, **how)
            taken.append(process_time() - before)
        return min(taken) / runs

    nothing = kernel(0, False)
    bare, whole = kernel(NO_HORIZON, False), kernel(NO_HORIZON, True)
    return {
        "requests are written down": nothing,
        "iterations and events": bare - nothing,
        "the times of each request": whole - bare,
    }


def run_queue(waiting: int, *, iterations: int = ITERATIONS) -> QueueTiming:
    """Time an iteration while so many wait."""
    running = BLOCKS // (INPUT // BLOCK)
    clients = running + waiting
    per_iteration = running // OUTPUTS[0] + 1  # completions; more would leave the queue shorter
    outputs = np.resize(OUTPUTS, clients + per_iteration * iterations)
    run = partial(
        serve,
        Requests(INPUT, outputs),
        Server("vidur-sarathi", LIMITS, backend="kernel"),
        clients=clients,
        every=iterations,
    )
    seen = run(iterations=iterations).waiting.item()
    if not 0.95 * waiting <= seen <= 1.1 * waiting:
        raise AssertionError(f"{seen:g} waited on average, not {waiting}")
    setup = times(lambda: run(iterations=1), calls=REPEATS).best
    whole = times(lambda: run(iterations=iterations), calls=REPEATS).best
    return QueueTiming(waiting, setup, (whole - setup) / (iterations - 1))


def report() -> str:
    """The tables in Markdown."""
    t = run_requests()
    answers = tuple(LONGER * outputs for outputs in OUTPUTS)
    longer = run_requests(outputs=answers)
    queues = [run_queue(waiting) for waiting in QUEUES]
    flat = max(q.iteration_s for q in queues) / min(q.iteration_s for q in queues)
    return "\n".join(
        [
            "## Engines of whole requests",
            "",
            *_engines(t),
            *_engines(longer),
            "An iteration while requests wait, one run of the kernel:",
            "",
            table(
                ["waiting", "iteration", "setup"],
                [[f"{q.waiting:,}", seconds(q.iteration_s), seconds(q.setup_s)] for q in queues],
            ),
            "",
            f"The slowest iteration takes {flat:.2f} times the quickest.",
            "",
            f"Load at the end: {load()}.",
        ]
    )


def _engines(t: ServingTiming) -> list[str]:
    """One set of requests: engines, targets, and where the kernel's time goes."""
    plain = t.seconds["plain Python loop"]

    def faster(name: str) -> float:
        return _runs(name, t) * plain / t.seconds[name]

    rows = [
        [
            name.replace("all seeds", f"{t.seeds} seeds"),
            seconds(taken),
            f"{_runs(name, t) * t.requests / taken:,.0f}",
            f"{faster(name):.3g}",
        ]
        for name, taken in t.seconds.items()
    ]
    kernel = sum(t.phases.values())
    limit = t.bytes / t.copying
    return [
        f"{t.requests:,} requests of {INPUT} input tokens and {t.tokens:,} outputs in all,"
        f" {BLOCKS:,} blocks of {BLOCK}, Vidur's rule: {t.iterations} iterations,"
        f" {t.evictions} evictions by all engines.",
        "",
        table(["", "time", "requests/s", "vs plain"], rows),
        "",
        "- " + against("one run at 10 times the plain loop", faster("kernel, one run") >= 10),
        "- " + against("batched at 100 times", faster("kernel, all seeds") >= 100),
        "- " + against("batched without times at 100 times",
                       faster("kernel, all seeds, no times") >= 100),
        "",
        f"Where a run's time goes in the kernel, in a batch: {seconds(kernel)} of a core:",
        "",
        table(
            ["", "time", "of a request"],
            [[name, seconds(each), seconds(each / t.requests)] for name, each in t.phases.items()],
        ),
        "",
        f"A run takes {seconds(t.seconds['kernel, all seeds'] / t.seeds)} of all cores, arrays and"
        f" dataset included. The kernel reads and writes {t.bytes / 1e6:.1f} MB for it; at the"
        f" {t.copying / 1e9:.1f} GB/s of a copy on one core this takes {seconds(limit)},"
        f" {limit / kernel:.0%} of its time.",
        "",
    ]  # fmt: skip


def _runs(name: str, t: ServingTiming) -> int:
    return t.seeds if "all seeds" in name else 1


if __name__ == "__main__":
    print(report())
