"""RLT on the sequences that the proofs set against it, thousands of runs at once.

    python -m benchmarks.paging

B = 64, L = 2: 64 paths of two tokens, one more than fit. The loop that Leaf-LRU misses whole
(Theorem 4), and paths drawn uniformly (Theorem 8). The literal run is told the numbers of a
compiled one and compared with it, access by access, before anything is timed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import jax
import numpy as np

from benchmarks.report import load
from fluidkv.prefix.paging.adversaries import drawn, in_a_loop, tails
from fluidkv.prefix.paging.batch import accesses_of, batch_misses, place, uniforms
from fluidkv.prefix.paging.bounds import rlt_ratio
from fluidkv.prefix.paging.lru import lru_misses
from fluidkv.prefix.paging.marking import misses
from fluidkv.prefix.paging.optimum import furthest_misses
from fluidkv.prefix.paging.tokens import Request, singles
from fluidkv.suite.tables import markdown_table as table
from fluidkv.suite.tables import seconds
from fluidkv.suite.timing import times

CAPACITY, SHORTEST = 64, 2
RUNS, LOOPS, DRAWN = 10_000, 40, 4_000


@dataclass(frozen=True)
class PagingTiming:
    """One sequence of requests.

    Fields:
        requests: how many.
        batch_s: of all runs at once, as a user calls it, compiled before.
        literal_s: of one run.
        ratio: misses over the optimum's, mean over runs, and five standard errors of it.
        lru: the ratio of Leaf-LRU.
    """

    requests: int
    batch_s: float
    literal_s: float
    ratio: tuple[float, float]
    lru: float


def run_paging(requests: tuple[Request, ...], *, runs: int = RUNS) -> PagingTiming:
    """Compare, then time."""
    accesses = accesses_of(requests, CAPACITY, "rlt")
    numbers = uniforms(0, 0, len(accesses))

    def literal() -> list[bool]:
        return misses(accesses, CAPACITY, lambda at, free: free[place(numbers[at], len(free))])

    found = batch_misses(requests, CAPACITY, runs=runs)
    if literal() != found[0].tolist():
        raise AssertionError("the literal run and the compiled one differ")
    least = furthest_misses(requests, CAPACITY)
    ratios = found.sum(axis=1) / least
    return PagingTiming(
        len(requests),
        times(lambda: batch_misses(requests, CAPACITY, runs=runs), calls=2, warm_up=0).best,
        times(literal, calls=3, warm_up=0).best,
        (float(ratios.mean()), 5 * float(ratios.std(ddof=1) / np.sqrt(runs))),
        lru_misses(requests, CAPACITY) / least,
    )


def sequences() -> dict[str, tuple[Request, ...]]:
    """By name."""
    paths = singles(tails(CAPACITY, SHORTEST))
    return {
        f"the loop, {LOOPS} times": in_a_loop(paths, LOOPS),
        f"{DRAWN:,} drawn paths": drawn(paths, DRAWN, Random(0)),
    }


def report() -> str:
    """The table in Markdown."""
    bound = float(rlt_ratio(CAPACITY, SHORTEST)[0])
    rows = [_row(name, run_paging(requests)) for name, requests in sequences().items()]
    header = ["", "all runs", "requests/s", "one literal run", "vs literal", "ratio", "Leaf-LRU"]
    return "\n".join(
        [
            f"## RLT, {RUNS:,} runs",
            "",
            f"B = {CAPACITY}, L = {SHORTEST}; ratio to the misses of the optimum on the same"
            f" sequence, ± five standard errors. (13) is {bound:.2f}.",
            "",
            table(header, rows),
            "",
            f"Measured on a {jax.default_backend()}. Load at the end: {load()}.",
        ]
    )


def _row(name: str, t: PagingTiming) -> Sequence[str]:
    rate, literal = RUNS * t.requests / t.batch_s, t.requests / t.literal_s
    mean, wide = t.ratio
    return [
        name,
        seconds(t.batch_s),
        f"{rate:,.0f}",
        seconds(t.literal_s),
        f"{rate / literal:,.0f}",
        f"{mean:.3f} ± {wide:.3f}",
        f"{t.lru:.2f}",
    ]


if __name__ == "__main__":
    print(report())
