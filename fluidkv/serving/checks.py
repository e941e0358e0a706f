"""What is refused before anything runs: first of all a request that no memory here could hold."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool

from fluidkv.errors import InputError
from fluidkv.runs.checks import count
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import UNLIMITED, Limits
from fluidkv.serving.rules import Allocation, EngineRules, Gate, Growth, Guard, Restore

NO_HORIZON = 2**31 - 1
"""Iterations of a run that goes on until every request is done.

>>> from fluidkv.serving.checks import NO_HORIZON
>>> requests = fk.Requests([10, 10], [2, 2])
>>> run = fk.serve(requests, fk.Server("vllm", fk.Limits(100)), iterations=NO_HORIZON)
>>> run.status.item(), run.iterations.item()
('DONE', 2)
"""

LONGEST_OUTPUT = 10**7
"""Outputs of a request that a run can serve. Of the longest it keeps up to 80 bytes a token."""


def largest_request(rules: EngineRules, limits: Limits, requests: Requests) -> tuple[int, int, int]:
    """The request that needs most memory to be served alone, under an engine's rule.

    Returns:
        Its index, the blocks that it needs, and the blocks that there are for it.

    Examples:
        >>> from fluidkv.serving.checks import largest_request
        >>> requests = fk.Requests([10, 30, 20], [5, 5, 5])
        >>> largest_request(fk.engine("vllm"), fk.Limits(64, block_size=16), requests)
        (1, 3, 4)
    """
    outputs = requests.max_output if rules.gate is Gate.PEAK else requests.output_length
    tokens = requests.input_length + rules.peak_tokens(0, 0) + outputs
    available = limits.blocks
    if rules.guard is Guard.ALWAYS:  # it may have to be admitted again at its longest
        available -= limits.watermark_blocks
    if rules.gate is Gate.RATIO:
        # Its length in whole blocks and the outputs that may still come, as far as they count:
        # most of all where it comes back with all but one of its outputs.
        counted = np.minimum(requests.max_output, requests.output_length - 1 + rules.ratio.clip)
        tokens = requests.input_length + counted + limits.block_size - 1
    needed = -(-tokens // limits.block_size)
    if rules.growth is Growth.ONE_FREE:  # who asks sees a free block even where it needs none
        asks = (requests.output_length > 1) | _rest_needs_no_block(rules, limits, requests)
        reserve = limits.blocks - available
        needed = needed + np.where(asks, max(0, 1 - reserve), 0)
    worst = int(np.argmax(needed))
    return worst, int(needed[worst]), available


def _rest_needs_no_block(
    rules: EngineRules, limits: Limits, requests: Requests
) -> Bool[np.ndarray, " request"]:
    """Whose prompt may be cut by the budget while it holds the blocks of its whole length."""
    copied_back = rules.restore is not Restore.RECOMPUTE and limits.budget < UNLIMITED
    granted = rules.allocation is not Allocation.BY_BLOCK
    return copied_back | (granted & (requests.input_length > limits.budget))


def check_runs(
    tables: Sequence[Requests],
    rules: EngineRules,
    all_limits: Sequence[Limits],
    clocks: Sequence[IterationClock],
    populations: Sequence[int | None],
) -> None:
    """Refuse values of another kind, clocks of several units, and requests that never fit.

    Raises:
        InputError: naming the argument, or the request that is larger than the memory.
    """
    check_values("limits", all_limits, Limits, tables, clocks, populations)
    seen: set[tuple[int, Limits]] = set()
    for table, limits in zip(tables, all_limits, strict=True):
        if (id(table), limits) in seen:
            continue
        seen.add((id(table), limits))
        check_fits(table, rules, limits)


def check_fits(table: Requests, rules: EngineRules, limits: Limits, first: int = 0) -> None:
    """Refuse a table of which a request could never be served in this memory, or in ours.

    Args:
        first: row of a trace with which the table begins, for the row that is named.

    Raises:
        InputError: naming the largest request.
    """
    inputs, outputs, most = table.longest
    if outputs > LONGEST_OUTPUT:
        allowed = f"outputs of at most {LONGEST_OUTPUT:,} tokens, for which a run takes 0.7 GB"
        raise InputError("output_length", outputs, allowed)
    longest = inputs + most + rules.reserved_tokens
    if limits.blocks_of(longest + limits.block_size) < limits.blocks - limits.watermark_blocks:
        return  # all fit, whatever the rules ask for: at most a block of slots and one block more
    worst, needed, available = largest_request(rules, limits, table)
    if needed > available:
        lengths = f"{table.input_length[worst]:,} input + {table.output_length[worst]:,} output"
        if rules.gate in (Gate.PEAK, Gate.RATIO):
            lengths += f", at most {table.max_output[worst]:,},"
        raise InputError(
            "capacity",
            limits.capacity,
            f"memory for request {first + worst}, counted from 0 ({lengths} tokens): {needed:,} "
            f"blocks of {limits.block_size} under {rules.label}; there are {available:,}",
        )


def check_values(
    name: str,
    memories: Sequence[object],
    kind: type,
    tables: Sequence[Requests],
    clocks: Sequence[IterationClock],
    populations: Sequence[int | None],
) -> None:
    """Refuse values of another kind, and clocks of several units.

    Args:
        name, memories, kind: of what says how much memory there is: the argument, its values, and
            what they have to be.

    Raises:
        InputError: naming the argument.
    """
    for argument, values, wanted in (
        ("requests", tables, Requests),
        (name, memories, kind),
        ("clock", clocks, IterationClock),
    ):
        for value in values:
            if not isinstance(value, wanted):
                raise InputError(argument, value, f"{wanted.__name__} objects")
    if len({clock.unit for clock in clocks}) > 1:
        raise InputError("clock", "several units", "one unit for all runs")
    for population in populations:
        if population is not None:
            count("clients", population)


def check_horizon(iterations: int | None, every: int, rules: EngineRules) -> int:
    """The iterations after which a run ends, whatever is done by then.

    Raises:
        InputError: a horizon or window below 1; none where a run need not end.
    """
    if iterations is None and rules.may_cycle:
        raise InputError("engine", rules.name, "one under which every run ends by itself")
    for name, value in (("iterations", iterations), ("every", every)):
        if value is not None:
            count(name, value, most=NO_HORIZON)
    return NO_HORIZON if iterations is None else iterations


def check_backend(backend: str) -> None:
    """Refuse a name that is none of an engine's two forms, nor "auto"."""
    if backend not in ("auto", "kernel", "reference"):
        raise InputError("backend", backend, "'auto', 'kernel' or 'reference'")


def check_batch_size(batch_size: int | None) -> None:
    """Refuse what is no number of runs.

    Raises:
        InputError: fewer than 1.
    """
    if batch_size is not None:
        count("batch_size", batch_size)
