"""Families of lengths that RFC 54644 may have run: every printed number of each, under eight draws.

What is known of the lengths is their sum (`recompute_tax_printed.useful`), so every draw is scaled
to it, and nothing else is fitted: a family is a shape of the prompts, a shape of the outputs and
the share of the prompts; a setting is what the server was told. The rest is predicted: the tax at
four sizes of memory under last come first, and what least computed first saves.

A number agrees if the mean of the draws is no farther from what is printed than 95 of 100 pairs of
draws are from each other, half a unit of the printed digit allowed. The printed order of
four rules has to be that of their mean waste at 400 blocks. Some 15,000 runs stand in
`recompute_tax_families.csv`; the tests compute rows of it again.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from jaxtyping import Float, Int

from fluidkv.runs.requests import Requests
from fluidkv.serving.engines import VLLM, VLLM_0_11
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules, Victim
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv_papers.records import Table
from fluidkv_papers.vllm.instances import recompute_tax_printed as rfc
from fluidkv_papers.vllm.instances.victim_rules import with_victim

DRAWS = 8
_TABLE = Table(__file__, digits=4)

Shape = Callable[[np.random.Generator], Float[np.ndarray, " request"]]
"""Lengths up to a factor, of mean 1."""


def _log_normal(rng: np.random.Generator) -> np.ndarray:
    return rng.lognormal(-0.5, 1.0, rfc.REQUESTS)


def _one_in_ten(rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(rfc.REQUESTS) < 0.1, 10 / 1.9, 1 / 1.9)


SHAPES: dict[str, Shape] = {
    "fixed": lambda rng: np.ones(rfc.REQUESTS),
    "half": lambda rng: rng.uniform(0.5, 1.5, rfc.REQUESTS),  # --random-range-ratio 0.5
    "uniform": lambda rng: rng.uniform(0, 2, rfc.REQUESTS),
    "exponential": lambda rng: rng.exponential(1, rfc.REQUESTS),
    "log-normal": _log_normal,  # standard deviation 1 of the logarithm
    "one in ten": _one_in_ten,  # ten times as long as the others
}
PAIRS = (
    ("fixed", "fixed"),
    ("half", "half"),
    ("uniform", "fixed"),
    ("fixed", "uniform"),
    ("uniform", "uniform"),
    ("exponential", "exponential"),
    ("fixed", "log-normal"),
    ("log-normal", "fixed"),
    ("uniform", "log-normal"),
    ("exponential", "log-normal"),
    ("log-normal", "log-normal"),
    ("one in ten", "log-normal"),
    ("log-normal", "one in ten"),
    ("one in ten", "one in ten"),
)
"""Shapes of prompts and of outputs."""
SHARES = (0.2, 0.35, 0.5)
"""Prompts' part of the tokens."""


@dataclass(frozen=True)
class Setting:
    """What the server was told; `whole`: a prompt is admitted only if all of it fits."""

    whole: bool
    budget: int
    sequences: int

    @property
    def rules(self) -> EngineRules:
        return VLLM if self.whole else VLLM_0_11

    def __str__(self) -> str:
        gate = "whole prompt" if self.whole else "first chunk"
        return f"{gate}, {self.budget} tokens an iteration, {self.sequences} requests"


SETTINGS = (
    Setting(True, 8192, 256),
    Setting(True, 8192, 64),
    Setting(True, 512, 64),
    Setting(False, 512, 64),
    Setting(False, 256, 64),
)


@dataclass(frozen=True)
class Point:
    """A family under a setting."""

    prompts: str
    outputs: str
    share: float
    setting: Setting

    def __str__(self) -> str:
        return f"prompts {self.prompts} ({self.share:.0%}), outputs {self.outputs}; {self.setting}"


POINTS = tuple(
    Point(*pair, share, setting) for setting, share, pair in product(SETTINGS, SHARES, PAIRS)
)

NUMBERS = (
    "tax_2800",
    *(f"{name}_{row.blocks}" for row in rfc.ROWS for name in ("tax", "saved")),
    "preemptions_400",
    "least_preemptions_400",
    "wasted_400",
    "random_400",
    "most_400",
)
"""Of one draw. `saved`: share of the waste that least computed first saves; `least_...`: its own.
`random_...` and `most_...`: waste of random and of most computed first, over last come first's."""
_ROUNDED = {"tax_2800": 0.0005, "preemptions_400": 2, "least_preemptions_400": 2} | {
    f"{name}_{row.blocks}": half
    for row in rfc.ROWS
    for name, half in (("tax", 0.0005), ("saved", 0.005))
}
PRINTED = (
    {"tax_2800": 0.0}
    | {f"tax_{row.blocks}": float(row.tax) for row in rfc.ROWS}
    | {f"saved_{row.blocks}": float(row.saved) for row in rfc.ROWS}
    | {
        "preemptions_400": rfc.WASTED / float(rfc.A_PREEMPTION),
        "least_preemptions_400": rfc.LEAST_WASTED / float(rfc.LEAST_A_PREEMPTION),
    }
)


def drawn(point: Point, seed: int) -> Requests:
    """300 requests that need the printed tokens, but for rounding."""
    rng = np.random.default_rng(seed)
    mean = rfc.middle_useful() / rfc.REQUESTS + 1  # the last output is never stored
    inputs = SHAPES[point.prompts](rng) * point.share * mean
    outputs = SHAPES[point.outputs](rng) * (1 - point.share) * mean
    factor = rfc.middle_useful() / (inputs + outputs - 1).sum()
    return Requests(_whole(inputs * factor), _whole(outputs * factor))


def _whole(lengths: Float[np.ndarray, " request"]) -> Int[np.ndarray, " request"]:
    return np.maximum(1, np.rint(lengths)).astype(int)


def fits(point: Point, seed: int) -> bool:
    """Whether each request alone fits in 400 blocks: else the run cannot have been made."""
    requests = drawn(point, seed)
    return int((requests.input_length + requests.output_length).max()) <= 400 * rfc.BLOCK_SIZE


_RUNS = (
    (Victim.LAST_ADMITTED, (rfc.NO_PREEMPTION, *(row.blocks for row in rfc.ROWS))),
    (Victim.LEAST_COMPUTED, tuple(row.blocks for row in rfc.ROWS)),
    (Victim.RANDOM, (400,)),
    (Victim.MOST_COMPUTED, (400,)),
)


def computed(jobs: Sequence[tuple[Point, int]]) -> list[dict[str, float]]:
    """The numbers of draws, in order; those of one setting in one batch for each victim."""
    found: list[dict[str, float]] = [{} for _ in jobs]
    waste: list[dict[tuple[Victim, int], tuple[float, float, float]]] = [{} for _ in jobs]
    for whole, (victim, sizes) in product((True, False), _RUNS):
        mine = [k for k, (point, _) in enumerate(jobs) if point.setting.whole is whole]
        runs = [(k, blocks) for k in mine for blocks in sizes]
        if not runs:
            continue
        rules = with_victim(VLLM if whole else VLLM_0_11, victim)
        done = serve(
            [drawn(*jobs[k]) for k, _ in runs],
            Server(rules, [_limits(jobs[k][0].setting, blocks, jobs[k][1]) for k, blocks in runs]),
            every=1024,
            keep_requests=False,
        )
        sums = (done[name].sum("window").values for name in _SUMMED)
        for (k, blocks), *row in zip(runs, *sums, strict=True):
            waste[k][victim, blocks] = tuple(map(float, row))
    for numbers, of in zip(found, waste, strict=True):
        numbers.update(_numbers(of))
    return found


_SUMMED = ("recomputed_tokens", "tokens", "preempt")


def _limits(setting: Setting, blocks: int, seed: int) -> Limits:
    return Limits(
        blocks * rfc.BLOCK_SIZE,
        rfc.BLOCK_SIZE,
        max_num_seqs=setting.sequences,
        max_num_batched_tokens=setting.budget,
        seed=seed,
    )


def _numbers(of: dict[tuple[Victim, int], tuple[float, float, float]]) -> dict[str, float]:
    last, least = Victim.LAST_ADMITTED, Victim.LEAST_COMPUTED
    numbers: dict[str, float] = {}
    for blocks in (rfc.NO_PREEMPTION, *(row.blocks for row in rfc.ROWS)):
        wasted, tokens, _ = of[last, blocks]
        numbers[f"tax_{blocks}"] = wasted / tokens
        if blocks != rfc.NO_PREEMPTION:
            numbers[f"saved_{blocks}"] = 1 - of[least, blocks][0] / max(wasted, 1)
    wasted = max(of[last, 400][0], 1)
    numbers |= {
        "preemptions_400": of[last, 400][2],
        "least_preemptions_400": of[least, 400][2],
        "wasted_400": wasted,
        "random_400": of[Victim.RANDOM, 400][0] / wasted,
        "most_400": of[Victim.MOST_COMPUTED, 400][0] / wasted,
    }
    return {name: numbers[name] for name in NUMBERS}


def record(*, at_once: int = 160) -> None:
    """Compute all draws and write them."""
    jobs = [(p, seed) for p in POINTS for seed in range(DRAWS) if fits(p, seed)]
    parts = (jobs[k : k + at_once] for k in range(0, len(jobs), at_once))
    found = (pair for part in parts for pair in zip(part, computed(part), strict=True))
    _TABLE.write(
        ["point", "seed", *NUMBERS],
        ([POINTS.index(p), seed, *(of[name] for name in NUMBERS)] for (p, seed), of in found),
    )


@cache
def recorded() -> dict[Point, dict[str, Float[np.ndarray, " draw"]]]:
    """The numbers of each point, draw by draw."""
    rows: dict[Point, list[dict[str, str]]] = {point: [] for point in POINTS}
    for line in _TABLE.lines():
        rows[POINTS[int(line["point"])]].append(line)
    return {
        point: {name: np.array([float(line[name]) for line in mine]) for name in NUMBERS}
        for point, mine in rows.items()
        if len(mine) > 1
    }


def missed(point: Point) -> tuple[str, ...]:
    """The printed numbers that this point does not give, to within what chance does; the order."""
    draws = recorded()[point]
    in_order = draws["saved_400"].mean() > 0 and draws["random_400"].mean() > 1
    in_order &= draws["random_400"].mean() < draws["most_400"].mean()
    return (*_missed(draws), *(() if in_order else ("order",)))


def _missed(draws: dict[str, Float[np.ndarray, " draw"]]) -> Iterator[str]:
    for name, printed in PRINTED.items():
        values = draws[name]
        one, other = np.triu_indices(len(values), 1)
        chance = float(np.quantile(abs(values[one] - values[other]), 0.95))
        if abs(values.mean() - printed) > chance + _ROUNDED[name]:
            yield name


def agreeing() -> tuple[Point, ...]:
    """Points that miss nothing."""
    return tuple(point for point in recorded() if not missed(point))
