"""Prompts served by WAIT and by first come, first served, on the paper's clock and outputs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fluidkv import runs, serving, wait
from fluidkv.ledger import np
from fluidkv.wait.policy import Policy
from fluidkv.wait.runs.stages import fcfs

if TYPE_CHECKING:
    from xarray import Dataset

FCFS = {"new first": True, "running first": False}
"""First come, first served by who goes first: the paper's vLLM and its Sarathi."""


def serve(
    tables: "Sequence[runs.Requests]",
    policy: Policy | str,
    clock: "serving.IterationClock",
    *,
    memory: int,
    horizon: float,
) -> "Dataset":
    """One run of each table, literally, up to a time.

    Args:
        tables: prompts; outputs as the paper counts them, in the result as well.
        policy: of WAIT, or a key of `FCFS`.
        clock: d0 and d1.
        memory: M, tokens.
        horizon: no iteration starts at or after it under WAIT; under FCFS as many iterations are
            made as could start before it.
    """
    if not isinstance(policy, str):
        return wait.run_policy(
            tables, policy, clock=clock, capacity=memory, horizon=horizon, backend="reference"
        )
    found = serving.serve(
        [wait.engine_requests(table) for table in tables],
        serving.Server(
            fcfs(new_first=FCFS[policy]), serving.Limits(memory), clock, backend="reference"
        ),
        iterations=int(horizon / clock.base) + 1,
    )
    return found.assign(output_length=found.output_length - 1)


def outputs(run: "Dataset", until: float) -> "tuple[np.ndarray, np.ndarray]":
    """Output tokens of the prompts that completed, and of those that came, up to a time."""
    output = run.output_length.values
    done = run.finished.values & (run.last_token.values <= until)
    came = run.arrival.values <= until
    return np.where(done, output, 0).sum(axis=1), np.where(came, output, 0).sum(axis=1)
