"""Hypothesis strategies for engines. They build what an engine takes, and filter nothing.

Memory is small against the requests, so that evictions, full memory and requests that can never be
served all show within a few iterations.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fluidkv.serving.arrays import RunArrays
from fluidkv.serving.limits import UNLIMITED
from fluidkv.serving.rules import (
    Allocation,
    EngineRules,
    Gate,
    Growth,
    Guard,
    Keeps,
    NewTokenRatio,
    Ranges,
    RatioReset,
    Requeue,
    Restore,
    Victim,
)

BY_ESTIMATE = [each for each in Allocation if each is not Allocation.BY_BLOCK]

RUNS = 8
"""Runs of a batch: always as many, since their number is compiled in."""

_lengths = st.integers(1, 9)
_rates = st.sampled_from([(0, 1), (0, 1), (1, 1), (1, 3), (3, 2), (5, 2)])
_caps = st.sampled_from([UNLIMITED, UNLIMITED, 1, 3, 8, 20])
_durations = st.floats(0, 2, allow_subnormal=False)
"""Any floats: a clock adds the same numbers in the same order, so that times are equal bit by bit.
But for subnormal ones, which XLA may flush to zero."""


@st.composite
def engine_rules(draw: st.DrawFn, compiled: EngineRules) -> EngineRules:
    """Rules with the compiled-in answers of some rules; the other answers are any."""
    restore = compiled.restore  # whether anybody swaps is compiled in
    if restore is not Restore.RECOMPUTE:
        restore = draw(st.sampled_from([Restore.SWAP, Restore.CHEAPER]))
    tenths = draw(st.tuples(st.integers(0, 9), st.integers(0, 9)))
    allocation = compiled.allocation
    if allocation is not Allocation.BY_BLOCK:  # any other one is compiled as this one is
        allocation = draw(st.sampled_from(BY_ESTIMATE))
    return replace(
        compiled,
        keeps=draw(st.sampled_from(Keeps)) if restore is Restore.RECOMPUTE else Keeps.OUTPUTS,
        restore=restore,
        growth=draw(st.sampled_from(Growth)),
        guard=draw(st.sampled_from(Guard)),
        reserved_tokens=draw(st.integers(0, 2)),
        admits_after_eviction=not compiled.newcomers_first and draw(st.booleans()),
        ratio=NewTokenRatio(
            start=Fraction(max(tenths), 10),
            least=Fraction(min(tenths), 10),
            decay_steps=draw(st.integers(1, 20)),
            clip=draw(st.integers(1, 12)),
            reset=compiled.ratio.reset,
            ahead=draw(st.integers(0, 4)),
        ),
        allocation=allocation,
    )


_ORDERS = {
    "together": tuple(Gate),
    "alone": (Gate.FULL_INPUT, Gate.PEAK, Gate.RATIO),
    "newcomers": (Gate.FIRST_CHUNK, Gate.FULL_INPUT),
}
"""What may be asked at the gate where prefills and decodes go together, alone, newcomers first."""


@st.composite
def any_rules(draw: st.DrawFn) -> EngineRules:
    """Rules of which every answer is drawn."""
    order = draw(st.sampled_from(sorted(_ORDERS)))
    allocation = draw(st.sampled_from([Allocation.BY_BLOCK, *Allocation]))
    gates = [Gate.FULL_INPUT] if allocation is not Allocation.BY_BLOCK else _ORDERS[order]
    in_turn = order != "newcomers" and draw(st.booleans())
    rules = EngineRules(
        "drawn",
        "",
        victim=draw(st.sampled_from(Victim)),
        keeps=Keeps.OUTPUTS,
        requeue=draw(st.sampled_from(Requeue)),
        gate=draw(st.sampled_from(gates)),
        prefill_alone=order == "alone",
        newcomers_first=order == "newcomers",
        ratio=NewTokenRatio(reset=draw(st.sampled_from(RatioReset))),
        restore=draw(st.sampled_from([Restore.RECOMPUTE, *Restore])),
        allocation=allocation,
        in_turn=in_turn,
        asker_stays=in_turn and draw(st.booleans()),
        ranges=Ranges((0.15, 0.5), tokens=draw(st.integers(1, 5))),
    )
    return draw(engine_rules(rules))


@st.composite
def batches(draw: st.DrawFn) -> RunArrays:
    """Some runs, each with settings of its own; what is padding is nonsense on purpose."""
    runs = [draw(_runs()) for _ in range(RUNS)]
    size = 1 + max(len(run["input_length"]) for run in runs)
    started = max(len(run["start"]) for run in runs)
    nonsense: dict[str, Any] = {
        "input_length": 7,
        "output_length": 5,
        "max_output": 6,
        "arrival": 0.0,
        "start": 0,
        "priority": 3,
        "predicted": 2,
        "estimated": 4,
        "tbt_slo": 0.5,
    }

    def column(name: str) -> np.ndarray:
        rows = [run[name] for run in runs]
        if name in nonsense:
            width = started if name == "start" else size
            rows = [row + [nonsense[name]] * (width - len(row)) for row in rows]
        return np.array(rows)

    return RunArrays(**{name: column(name) for name in RunArrays._fields})


@st.composite
def _runs(draw: st.DrawFn) -> dict[str, Any]:
    """The fields of `RunArrays`, of one run and without padding."""
    size = draw(st.integers(1, 12))

    def many(element: st.SearchStrategy) -> list:
        return draw(st.lists(element, min_size=size, max_size=size))

    inputs, outputs = many(_lengths), many(_lengths)
    gaps = many(st.sampled_from([0.0, 0.0, 0.5, 1.0, 3.7]))
    block_size = draw(st.sampled_from([1, 1, 2, 4, 16]))
    blocks = max(1, draw(st.integers(8, 60)) // block_size)
    return {
        "input_length": inputs,
        "output_length": outputs,
        "max_output": [length + draw(st.integers(0, 3)) for length in outputs],
        "arrival": np.cumsum(gaps).tolist(),
        "requests": size,
        "blocks": blocks,
        "block_size": block_size,
        "watermark_blocks": min(blocks - 1, draw(st.sampled_from([0, 0, 1, 3]))),
        "sequences": draw(_caps),
        "budget": draw(_caps),
        "rate": draw(_rates),
        "clients": draw(st.sampled_from([0, 0, 1, 3, 20])),
        "clock": [
            draw(_durations) + 0.1,
            *(draw(_durations) for _ in range(5)),
            draw(st.sampled_from([0.03, 0.5, 1.0])),
        ],
        "start": _started(draw, inputs, outputs, blocks, block_size),
        "priority": many(st.integers(-1, 2)),
        "predicted": many(_lengths),
        "estimated": many(_lengths),
        "tbt_slo": many(st.sampled_from([0.1, 0.3, 1.0, np.inf])),
        "copying": [draw(_durations), draw(_durations)],
        "pool": draw(st.sampled_from([0, 5, 20, UNLIMITED])),
        "sweet_spot": draw(st.sampled_from([0, 3, 8])),
        "shared": draw(st.booleans()),
        "more_outputs": draw(st.integers(1, 5)),
        "seed": draw(st.integers(0, 3)),
    }


def _started(
    draw: st.DrawFn, inputs: list[int], outputs: list[int], blocks: int, block_size: int
) -> list[int]:
    """Outputs of the first few, as long as they fit, whatever is reserved."""
    emitted: list[int] = []
    left = blocks
    for length, most in zip(inputs, outputs, strict=True):
        if most == 1 or not draw(st.booleans()):
            break
        now = draw(st.integers(1, most - 1))
        left -= -(-(length + now + 1) // block_size)
        if left < 0:
            break
        emitted.append(now)
    return emitted
