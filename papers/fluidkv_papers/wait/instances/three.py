"""Runs of Proposition 3's instance in its memory of nine tokens, by policy."""

from functools import cache
from typing import TYPE_CHECKING

from fluidkv import wait
from fluidkv_papers.wait.instances.served import serve
from fluidkv_papers.wait.instances.systems import proposition_3

if TYPE_CHECKING:
    from xarray import Dataset

HORIZON, RUNS = 600, 6
TIMES = (75, 150, 300, 600)
WORDS = f"its instance with d0 = 1/2, {RUNS} runs to T = {HORIZON} (seeds 0 to {RUNS - 1})"


@cache
def three_runs(policy: str, memory: int = 9) -> "Dataset":
    """WAIT with the equilibrium's thresholds, or FCFS; outputs as the paper counts them."""
    system = proposition_3()
    tables = [wait.poisson_prompts(system, rng=seed, horizon=HORIZON) for seed in range(RUNS)]
    rule = wait.Wait((1, 1)) if policy == "WAIT" else policy
    return serve(tables, rule, system.clock, memory=memory, horizon=HORIZON)
