"""Eight victim rules on one bench: mixes, loads, sizes of memory, prompts whole or cut, six draws.

All run by vLLM's rules but for the victim, on the clock that pull request 44594 gave
(`watermark_runs.fitted_clock`, rounded). The load is the arrival rate over what memory carries:
x* requests an iteration, an iteration as long as it is with memory full. Each draw is one set of
requests, the same for every rule, so that differences are paired. Numbers stand in
`victims_bench.csv`; the tests compute rows of it again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

import numpy as np
import xarray as xr
from jaxtyping import Float

from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import VLLM, VLLM_0_11
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules, Victim
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv_papers.records import Table
from fluidkv_papers.vllm.instances.victim_rules import RULES, with_victim

DRAWS, REQUESTS, BLOCK_SIZE, CHUNK = 6, 250, 16, 512
CLOCK = IterationClock(3.0e-3, 11.3e-9, 6.5e-6, unit="s")
_TABLE = Table(__file__, digits=4)


@dataclass(frozen=True)
class Mix:
    """Mean lengths and their shapes: "fixed", "exponential", or one in ten ten times as long."""

    name: str
    inputs: int
    input_shape: str
    outputs: int
    output_shape: str


MIXES = (
    Mix("equal", 256, "fixed", 256, "fixed"),
    Mix("chat", 160, "exponential", 340, "exponential"),
    Mix("documents", 1000, "exponential", 200, "exponential"),
    Mix("one in ten", 300, "one in ten", 200, "exponential"),
)
LOADS = (0.9, 1.2)
SIZES = (8, 32)
"""Memory, in mean requests at their longest."""


@dataclass(frozen=True)
class Setting:
    """One of the bench; `whole`: prompts are computed whole, else 512 tokens an iteration."""

    mix: Mix
    load: float
    size: int
    whole: bool

    @property
    def rules(self) -> EngineRules:
        return VLLM if self.whole else VLLM_0_11

    @property
    def capacity(self) -> int:
        tokens = self.size * (self.mix.inputs + self.mix.outputs)
        return tokens // BLOCK_SIZE * BLOCK_SIZE

    @property
    def limits(self) -> Limits:
        budget = None if self.whole else CHUNK
        return Limits(self.capacity, BLOCK_SIZE, max_num_batched_tokens=budget)

    def __str__(self) -> str:
        prompts = "whole" if self.whole else "cut"
        return f"{self.mix.name}, load {self.load}, {self.size} requests, prompts {prompts}"


SETTINGS = tuple(Setting(*of) for of in product(MIXES, LOADS, SIZES, (True, False)))
NUMBERS = ("tax", "ttft_p99", "gap_p99", "output_per_s", "gap_short", "gap_long")
"""Recompute tax; 99th percentiles over requests of the time to first token and of the longest gap,
seconds; tokens/s; mean longest gap of the shortest and of the longest third of requests."""


def drawn(setting: Setting, seed: int) -> Requests:
    """Requests of one draw, with Poisson arrivals at the setting's load."""
    rng, mix = np.random.default_rng(seed), setting.mix
    most = setting.capacity // 4  # nobody needs more than half the memory
    inputs = _lengths(mix.inputs, mix.input_shape, rng, most)
    outputs = _lengths(mix.outputs, mix.output_shape, rng, most)
    per_iteration = carried(setting, Requests(inputs, outputs))
    computed = per_iteration * float(inputs.mean())
    iteration = CLOCK.base + CLOCK.per_kv_token * setting.capacity
    iteration += CLOCK.per_prefill_token * computed
    gaps = rng.exponential(iteration / (setting.load * per_iteration), REQUESTS)
    return Requests(inputs, outputs, arrival=np.cumsum(gaps))


def carried(setting: Setting, requests: Requests) -> float:
    """x*: requests an iteration that memory carries, full and without evictions."""
    inputs, outputs = requests.input_length, requests.output_length
    return setting.capacity / float((outputs * (inputs + (outputs + 1) / 2)).mean())


def _lengths(mean: int, shape: str, rng: np.random.Generator, most: int) -> np.ndarray:
    match shape:
        case "fixed":
            lengths = np.full(REQUESTS, float(mean))
        case "exponential":
            lengths = rng.exponential(mean, REQUESTS)
        case _:
            lengths = mean / 1.9 * np.where(rng.random(REQUESTS) < 0.1, 10, 1)
    return np.clip(np.rint(lengths), 1, most).astype(int)


def computed(
    jobs: Sequence[tuple[Setting, int]], victim: Victim
) -> list[Float[np.ndarray, " number"]]:
    """`NUMBERS` of draws under one rule; those that cut prompts run in a batch of their own."""
    limits = [replace(setting.limits, seed=seed) for setting, seed in jobs]
    return served(jobs, limits, victim)


def served(
    jobs: Sequence[tuple[Setting, int]], limits: Sequence[Limits], victim: Victim
) -> list[Float[np.ndarray, " number"]]:
    """`NUMBERS` of draws under limits of their own."""
    found: dict[int, np.ndarray] = {}
    for whole in (True, False):
        mine = [k for k, (setting, _) in enumerate(jobs) if setting.whole is whole]
        if not mine:
            continue
        tables = [drawn(*jobs[k]) for k in mine]
        rules = with_victim(VLLM if whole else VLLM_0_11, victim)
        runs = serve(tables, Server(rules, [limits[k] for k in mine], clock=CLOCK), every=1024)
        found |= {k: _numbers(runs.isel(run=i)) for i, k in enumerate(mine)}
    return [found[k] for k in range(len(jobs))]


def _numbers(run: xr.Dataset) -> Float[np.ndarray, " number"]:
    waited = (run.first_token - run.arrival).values
    gaps, lengths = run.longest_gap.values, (run.input_length + run.output_length).values
    third = np.argsort(lengths, kind="stable")
    cut = len(third) // 3
    return np.array(
        [
            float(run.recomputed_tokens.sum() / run.tokens.sum()),
            np.quantile(waited, 0.99),
            np.quantile(gaps, 0.99),
            float(run.new_outputs.sum() / run.time.max()),
            gaps[third[:cut]].mean(),
            gaps[third[-cut:]].mean(),
        ]
    )


def record() -> None:
    """Compute everything and write it."""
    jobs = [(setting, seed) for setting in SETTINGS for seed in range(DRAWS)]
    rows = (
        [victim.name, SETTINGS.index(setting), seed, *numbers]
        for victim in RULES
        for (setting, seed), numbers in zip(jobs, computed(jobs, victim), strict=True)
    )
    _TABLE.write(["victim", "setting", "seed", *NUMBERS], rows)


@cache
def recorded() -> dict[Victim, Float[np.ndarray, "setting draw number"]]:
    """The numbers of each rule."""
    found = {v: np.full((len(SETTINGS), DRAWS, len(NUMBERS)), np.nan) for v in RULES}
    for line in _TABLE.lines():
        row = found[Victim[line["victim"]]][int(line["setting"]), int(line["seed"])]
        row[:] = [float(line[name]) for name in NUMBERS]
    return found


def of(victim: Victim, name: str) -> Float[np.ndarray, "setting draw"]:
    """One number of one rule."""
    return recorded()[victim][:, :, NUMBERS.index(name)]
