"""The kernel of whole requests and the engine in JAX, against the literal one and a plain loop.

    python -m benchmarks.serving

20,000 requests of 512 input and 20 or 21 output tokens in turn, all there at the start, in memory
of 30,208 blocks of 16 under Vidur's rule, until all are done: one run, and one for each of 64
seeds, which shuffle the order. The plain loop knows nothing but this rule; it and all engines are
compared before they are timed. Then one run with a closed population, so
that as many wait all the time, for queues of 1,000 to 100,000.

All are timed as their users call them, arrays and dataset included, and every request's times
recorded; compilation stands apart.
"""

from dataclasses import dataclass
from functools import partial

import jax
import numpy as np

from benchmarks.report import against, load
from fluidkv.runs.requests import Requests
from fluidkv.serving.run import serve
from fluidkv.suite.serving import BLOCK, BLOCKS, INPUT, LIMITS, OUTPUTS, RULE, plain_loop
from fluidkv.suite.tables import markdown_table as table
from fluidkv.suite.tables import seconds
from fluidkv.suite.timing import times

REQUESTS = 20_000
SEEDS = 64
QUEUES = (1_000, 10_000, 100_000)
ITERATIONS = 1_000  # of a run with a closed population
REPEATS = 5


@dataclass(frozen=True)
class ServingTiming:
    """Seconds for the same requests: best of `REPEATS`, of the literal engine once.

    Fields:
        requests, iterations, evictions: of the run in turn; all engines agree on them.
        literal_s, plain_s, one_s: one run by the literal engine, the plain loop, the kernel.
        seeds, batch_s, jax_s: so many runs at once, by the kernel and by JAX.
        compile_s, jax_compile_s: first call minus a later one.
    """

    requests: int
    iterations: int
    evictions: int
    literal_s: float
    plain_s: float
    one_s: float
    seeds: int
    batch_s: float
    jax_s: float
    compile_s: float
    jax_compile_s: float


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


def run_requests(*, requests: int = REQUESTS, seeds: int = SEEDS) -> ServingTiming:
    """Compare, then time."""
    outputs = np.resize(OUTPUTS, requests)
    one = Requests(INPUT, outputs)
    shuffled = [
        Requests(INPUT, np.random.default_rng(seed).permutation(outputs)) for seed in range(seeds)
    ]
    by_kernel, by_jax = (
        partial(serve, engine=RULE, limits=LIMITS, backend=backend) for backend in ("kernel", "jax")
    )
    first = times(lambda: by_kernel(one), calls=1, warm_up=0).best
    first_jax = times(lambda: by_jax(shuffled), calls=1, warm_up=0).best

    counts = plain_loop(outputs.tolist())
    literal = partial(serve, one, RULE, LIMITS, backend="reference")
    for run in (by_kernel(one), by_jax(one), literal()):
        found = (int(run.preempt.sum()), int(run.iterations.item()))
        if found != counts:
            raise AssertionError(f"evictions, iterations: {found}, by the plain loop {counts}")

    one_s = times(lambda: by_kernel(one), calls=REPEATS, warm_up=0).best
    jax_s = times(lambda: by_jax(shuffled), calls=REPEATS, warm_up=0).best
    return ServingTiming(
        requests=requests,
        evictions=counts[0],
        iterations=counts[1],
        literal_s=times(literal, calls=1, warm_up=0).best,
        plain_s=times(lambda: plain_loop(outputs.tolist()), calls=REPEATS, warm_up=0).best,
        one_s=one_s,
        seeds=seeds,
        batch_s=times(lambda: by_kernel(shuffled), calls=REPEATS, warm_up=1).best,
        jax_s=jax_s,
        compile_s=first - one_s,
        jax_compile_s=first_jax - jax_s,
    )


def run_queue(waiting: int, *, iterations: int = ITERATIONS) -> QueueTiming:
    """Time an iteration while so many wait."""
    running = BLOCKS // (INPUT // BLOCK)
    clients = running + waiting
    per_iteration = running // OUTPUTS[0] + 1  # completions; more would leave the queue shorter
    outputs = np.resize(OUTPUTS, clients + per_iteration * iterations)
    run = partial(
        serve,
        Requests(INPUT, outputs),
        RULE,
        LIMITS,
        clients=clients,
        every=iterations,
        backend="kernel",
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
    queues = [run_queue(waiting) for waiting in QUEUES]
    in_all = t.seeds * t.requests / t.batch_s
    alone = t.requests / t.literal_s
    rows = [
        [name, seconds(taken), f"{count / taken:,.0f}", f"{count / taken / alone:.1f}", compile_s]
        for name, taken, count, compile_s in (
            ("literal engine", t.literal_s, t.requests, ""),
            ("plain Python loop", t.plain_s, t.requests, ""),
            ("kernel, one run", t.one_s, t.requests, seconds(t.compile_s)),
            (f"kernel, {t.seeds} seeds", t.batch_s, t.seeds * t.requests, ""),
            (f"JAX, {t.seeds} seeds", t.jax_s, t.seeds * t.requests, seconds(t.jax_compile_s)),
        )
    ]
    flat = max(q.iteration_s for q in queues) / min(q.iteration_s for q in queues)
    return "\n".join(
        [
            "## Engines of whole requests",
            "",
            f"{t.requests:,} requests of {INPUT} input and {OUTPUTS[0]} or {OUTPUTS[1]} output"
            f" tokens, {BLOCKS:,} blocks of {BLOCK}, Vidur's rule: {t.iterations} iterations,"
            f" {t.evictions} evictions by all engines.",
            "",
            table(["", "time", "requests/s", "vs literal", "compile"], rows),
            "",
            "- " + against("one run no slower than the literal engine", t.one_s <= t.literal_s),
            "- " + against("64 seeds at 10 times its rate", in_all >= 10 * alone),
            f"- {_gpu()}",
            "",
            "An iteration while requests wait, one run:",
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


def _gpu() -> str:
    backend = jax.default_backend()
    return "measured on a CPU; no GPU here" if backend == "cpu" else f"measured on a {backend}"


if __name__ == "__main__":
    print(report())
