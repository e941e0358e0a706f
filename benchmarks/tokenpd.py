"""Token-PD's price rule: one round over a batch of streams, and long runs of many seeds.

    python -m benchmarks.tokenpd

One round weighs 256 streams of 4,096 tokens: what each is worth, rule (4), their sum, (5). It reads
two numbers and a flag of each token and writes a flag, so that memory bandwidth bounds it: beside
it stands a plain copy that moves as many bytes. A long run draws 8 tokens a round for 1,000 seeds,
keeps sums for both readings of the budget and for the optimum of each round; the loop in NumPy does
a round of all seeds at a time. Both are compared with NumPy before they are timed.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.report import load
from fluidkv.runs.precision import in_float64
from fluidkv.runs.words import run_keys
from fluidkv.suite.tables import markdown_table as table
from fluidkv.suite.tables import seconds
from fluidkv.suite.timing import times
from fluidkv.tokenpd.knapsack.sequences.random import Stochastic
from fluidkv.tokenpd.knapsack.sequences.sums import price_sums
from fluidkv.tokenpd.knapsack.step import price_step
from fluidkv.tokenpd.pricing import Pricing

STREAMS, TOKENS = 256, 4096
PAPER_MS = 0.37
"""Section 5: predictor and excess values of the new tokens of 256 requests, on an A100."""
SEQUENCE, BUDGET = Stochastic(tokens=8, load=0.8), 3
SEEDS, ROUNDS, NUMPY_ROUNDS = 1_000, 100_000, 300
PRICES, PRICED_ROUNDS = 16, 10_000


@dataclass(frozen=True)
class StepTiming:
    """Seconds of one round, and of a plain copy; `moved`: bytes of either."""

    compiled: float
    numpy: float
    copy: float
    moved: int


@dataclass(frozen=True)
class RunTiming:
    """Seconds and rounds of all seeds: compiled, compiled with fixed prices beside, NumPy."""

    compiled: tuple[float, int]
    priced: tuple[float, int]
    numpy: tuple[float, int]


def run_step(*, streams: int = STREAMS, tokens: int = TOKENS, calls: int = 50) -> StepTiming:
    """Compare, then time."""
    random = np.random.default_rng(0)
    shape, budget = (streams, tokens), streams * tokens // 4
    returns, risk = (random.random(shape, np.float32) for _ in range(2))
    there = random.random(shape) < 0.9
    pricing = Pricing(0.01, 0.25, risk_aversion=0.5)
    on_device = jnp.asarray(returns), jnp.asarray(risk), jnp.asarray(there)

    def compiled() -> tuple[jax.Array, int]:
        keep, after = price_step(*on_device, 7, budget, pricing)
        return keep.block_until_ready(), after

    def in_numpy() -> tuple[np.ndarray, int]:
        bar = np.float32(0.25 * np.exp(0.01 * 7 / budget))
        keep = (returns - np.float32(0.5) * risk >= bar) & there
        return keep, 7 + int(keep.sum()) - budget

    mine, other = compiled(), in_numpy()
    if mine[1] != other[1] or not (np.asarray(mine[0]) == other[0]).all():
        raise AssertionError("the compiled round and NumPy's differ")
    moved = returns.nbytes + risk.nbytes + 2 * there.nbytes
    source = random.random(moved // 16)
    target = np.empty_like(source)
    return StepTiming(
        times(compiled, calls=calls).best,
        times(in_numpy, calls=calls).best,
        times(lambda: np.copyto(target, source), calls=calls).best,
        moved,
    )


def run_long(*, seeds: int = SEEDS, rounds: int = ROUNDS, few: int = NUMPY_ROUNDS) -> RunTiming:
    """Compare over a few rounds, then time."""
    with in_float64():
        draw = jax.jit(SEQUENCE.draw)
        keys = run_keys(0, np.arange(seeds))
        values = np.asarray(draw(keys, jnp.arange(few), jnp.int64(few)))
    found = numpy_sums(lambda at: values[at], few, seeds)
    pricing = Pricing(rounds**-0.5, 0.5)
    if price_sums(SEQUENCE, BUDGET, pricing, few, seeds=seeds).imbalance.tolist() != found.tolist():
        raise AssertionError("the compiled run and NumPy's differ")

    random = np.random.default_rng(0)

    def fresh(at: int) -> np.ndarray:
        value = random.random((SEQUENCE.tokens, seeds))
        return np.where(random.random(value.shape) < SEQUENCE.load, value, -np.inf)

    def compiled(rounds: int, prices: int) -> None:
        grid = np.linspace(0, 1, prices)
        price_sums(SEQUENCE, BUDGET, pricing, rounds, seeds=seeds, prices=grid)

    compiled(1, PRICES)  # compiles
    some = min(PRICED_ROUNDS, rounds)
    return RunTiming(
        (times(lambda: compiled(rounds, 0), calls=1, warm_up=0).best, rounds),
        (times(lambda: compiled(some, PRICES), calls=1, warm_up=0).best, some),
        (times(lambda: numpy_sums(fresh, few, seeds), calls=1, warm_up=0).best, few),
    )


def numpy_sums(values: Callable[[int], np.ndarray], rounds: int, seeds: int) -> np.ndarray:
    """What `price_sums` adds up, a round of all seeds at a time; S at the end."""
    step, imbalance = ROUNDS**-0.5, np.zeros(seeds, np.int64)
    netted, hard, optimum, priced, above = (np.zeros(seeds) for _ in range(5))
    for at in range(rounds):
        worth = -np.sort(-values(at), axis=0)
        price = 0.5 * np.exp(step * imbalance / BUDGET)
        wanted = worth >= price
        gain = np.where(worth > 0, worth, 0)
        chosen = np.where(wanted, gain, 0)
        over = wanted.sum(axis=0) - BUDGET
        netted += chosen.sum(axis=0)
        hard += chosen[:BUDGET].sum(axis=0)
        optimum += gain[:BUDGET].sum(axis=0)
        priced += price * over
        above += np.maximum(over, 0)
        imbalance += over
    return imbalance


def report() -> str:
    """The tables in Markdown."""
    one, long = run_step(), run_long()
    steps = [
        [name, seconds(taken), f"{one.moved / taken / 1e9:.1f}", f"{taken / one.copy:.2f}"]
        for name, taken in (("JAX", one.compiled), ("NumPy", one.numpy), ("a plain copy", one.copy))
    ]
    runs = []
    for name, (taken, rounds) in (
        (f"JAX, {SEEDS:,} seeds", long.compiled),
        (f"JAX, {PRICES} fixed prices beside", long.priced),
        ("NumPy", long.numpy),
    ):
        ratio = long.numpy[0] / long.numpy[1] / (taken / rounds)
        runs.append([name, seconds(taken), f"{rounds:,}", seconds(taken / rounds), f"{ratio:.1f}"])
    return "\n".join(
        [
            "## Token-PD: the price rule",
            "",
            f"One round over {STREAMS} streams of {TOKENS:,} tokens, {one.moved / 1e6:.0f} MB read"
            " and written, float32.",
            "",
            table(["", "time", "GB/s", "vs a plain copy"], steps),
            "",
            f"JAX is {one.numpy / one.compiled:.1f} times as fast as NumPy. (The paper reports"
            f" {PAPER_MS} ms on an A100 for predictor and excess values of a batch of 256 requests,"
            " whose newest tokens they are: another machine and other work, so no ratio.)",
            "",
            f"Rounds of up to {SEQUENCE.tokens} tokens; draws, order, both readings of the budget,"
            " the optimum of each round. Ratios are per round; NumPy's loop has no fixed prices.",
            "",
            table(["", "time", "rounds", "a round", "vs NumPy"], runs),
            "",
            f"Measured on a {jax.default_backend()}. Load at the end: {load()}.",
        ]
    )


if __name__ == "__main__":
    print(report())
