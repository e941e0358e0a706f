"""What goes into an engine, as plain arrays: B runs, N requests."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from fluidkv.runs.batch import filled_up
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import UNLIMITED, Limits


class RunArrays(NamedTuple):
    """The numbers of a batch of runs. Rows shorter than the longest are padded at their end."""

    input_length: Int[np.ndarray, "run request"]
    output_length: Int[np.ndarray, "run request"]
    max_output: Int[np.ndarray, "run request"]
    arrival: Float[np.ndarray, "run request"]
    requests: Int[np.ndarray, " run"]  # how many of a row are real
    blocks: Int[np.ndarray, " run"]
    block_size: Int[np.ndarray, " run"]
    watermark_blocks: Int[np.ndarray, " run"]
    sequences: Int[np.ndarray, " run"]
    budget: Int[np.ndarray, " run"]
    rate: Int[np.ndarray, "run 2"]  # numerator, denominator of the admission rate; (0, 1): none
    clients: Int[np.ndarray, " run"]  # 0: requests come at their arrival times
    clock: Float[np.ndarray, "run 7"]  # d0 to d5, share of experts
    start: Int[np.ndarray, "run started"]  # outputs of those that run at the start; 0: none
    priority: Int[np.ndarray, "run request"]
    predicted: Int[np.ndarray, "run request"]  # outputs that a predictor says
    estimated: Int[np.ndarray, "run request"]  # outputs that memory is given for
    tbt_slo: Float[np.ndarray, "run request"]
    copying: Float[np.ndarray, "run 2"]  # time to copy a token, time of a copy besides
    pool: Int[np.ndarray, " run"]  # tokens that the host holds
    sweet_spot: Int[np.ndarray, " run"]
    shared: Bool[np.ndarray, " run"]  # one copy after the other
    more_outputs: Int[np.ndarray, " run"]
    seed: Int[np.ndarray, " run"]


def arrays_of(
    tables: list[Requests],
    all_limits: list[Limits],
    clocks: list[IterationClock],
    populations: list[int | None],
    start: list[int],
) -> RunArrays:
    """The numbers of all runs; `start`: outputs of those that run already, the same in each.

    What is the same in many places is there once, not to be written to: a table that all runs have,
    and columns that a table takes from another.
    """
    longest = max(len(table) for table in tables)
    stacked: dict[tuple[int, ...], np.ndarray] = {}

    def padded(name: str, fill: float) -> np.ndarray:
        columns = [getattr(table, name) for table in tables]
        same = (*map(id, columns), hash(fill))
        if same not in stacked:
            stacked[same] = _stacked(columns, longest, fill)
        return stacked[same]

    def column(name: str) -> np.ndarray:
        return np.array([getattr(limits, name) for limits in all_limits], np.int64)

    rates = [limits.admission_rate for limits in all_limits]
    return RunArrays(
        input_length=padded("input_length", 1),
        output_length=padded("output_length", 1),
        max_output=padded("max_output", 1),
        arrival=padded("arrival", np.inf),
        requests=np.array([len(table) for table in tables]),
        blocks=column("blocks"),
        block_size=column("block_size"),
        watermark_blocks=column("watermark_blocks"),
        sequences=column("sequences"),
        budget=column("budget"),
        rate=np.array([(0, 1) if r is None else (r.numerator, r.denominator) for r in rates]),
        clients=np.array([population or 0 for population in populations]),
        clock=np.array([(*clock.durations, *clock.batch_durations) for clock in clocks]),
        start=np.array([start] * len(tables), np.int64).reshape(len(tables), -1),
        priority=padded("priority", 0),
        predicted=padded("predicted_output", 1),
        estimated=padded("estimated_output", 1),
        tbt_slo=padded("tbt_slo", np.inf),
        copying=np.array([(each.swap.per_token, each.swap.per_copy) for each in all_limits]),
        pool=np.array([each.swap.tokens for each in all_limits], np.int64),
        sweet_spot=_at_most([each.swap.sweet_spot for each in all_limits]),
        shared=np.array([each.swap.shared for each in all_limits]),
        more_outputs=_at_most([each.more_outputs for each in all_limits]),
        seed=column("seed"),
    )


def _stacked(columns: list[np.ndarray], longest: int, fill: float) -> np.ndarray:
    """A row for each, filled up."""
    shape = (len(columns), longest)
    if all(column is columns[0] for column in columns):
        return np.broadcast_to(columns[0], shape)
    if fill in (0, np.inf) and all((column == fill).all() for column in columns):  # nobody asked
        return np.broadcast_to(np.asarray(fill, columns[0].dtype), shape)
    if all(len(column) == longest and not column.any() for column in columns):
        return np.zeros(shape, columns[0].dtype)  # costs nothing until somebody reads it
    return np.stack([filled_up(column, 0, longest, fill) for column in columns])


def _at_most(tokens: list[int]) -> Int[np.ndarray, " run"]:
    """What is more than any memory here holds is all the same, and fits in 32 bits."""
    return np.array([min(each, UNLIMITED) for each in tokens], np.int64)
