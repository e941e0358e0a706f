"""The server and the prompts that the paper's text has lost, as chosen for its figures."""

from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fluidkv.serving.clock import IterationClock
    from fluidkv.wait.model import WaitSystem
    from fluidkv.wait.segments import Segments
    from fluidkv.wait.theory.nested import NestedThresholds

BASE = Fraction("9.93e-3")
PER_KV_TOKEN = Fraction("1.656e-7")
"""d0 and d1, s: `fluidkv.serving.clock.VIDUR_LLAMA3_8B_A100`, exactly."""

CLOCK_TOLD = (
    "An iteration takes 9.93 ms and 0.1656 us for each KV token (a line through Vidur's decode "
    "batches of Llama-3-8B on an A100; prefill is free, as in the paper's equation 1)"
)


def clock() -> "IterationClock":
    """The clock of Vidur's A100."""
    from fluidkv.serving.clock import VIDUR_LLAMA3_8B_A100

    return VIDUR_LLAMA3_8B_A100


def full_system(lengths: tuple[tuple[int, int], ...], per_stage: tuple[int, ...]) -> "WaitSystem":
    """The rates whose fluid equilibrium has so many prompts of each type at every stage.

    So M* is the memory of that batch, and the rates are all that this memory can carry.
    """
    from fluidkv.wait.model import PromptType, WaitSystem

    costs = [PromptType(1, *pair).lifetime_cost for pair in lengths]
    memory = sum((n * c for n, c in zip(per_stage, costs, strict=True)), Fraction(0))
    time = BASE + PER_KV_TOKEN * memory
    types = (PromptType(n / time, *pair) for n, pair in zip(per_stage, lengths, strict=True))
    return WaitSystem(types, BASE, PER_KV_TOKEN)


def rate_at(mix: "WaitSystem", memory: int) -> Fraction:
    """Prompts a second at which M* is this memory: all that it can carry."""
    return Fraction(memory) / (BASE + PER_KV_TOKEN * memory) / (mix.token_rate / mix.arrival_rate)


@cache
def largest_that_fits(
    system: "WaitSystem", memory: int, *, horizon: int | None = None, steps: int = 50
) -> tuple["Segments", "NestedThresholds", Fraction]:
    """The least nested thresholds at the largest part of the rates at which they fit.

    Args:
        system: rates, of which multiples of 1 / steps are tried.
        memory: M, tokens.
        horizon: None: M^pi fits; s: the bound of Theorem 2 up to it fits, with delta = 5 %.

    Returns:
        Segments, thresholds, and the part.
    """
    from fluidkv.errors import InputError
    from fluidkv.wait.segments import Segments
    from fluidkv.wait.theory.bounds import theorem_2_memory
    from fluidkv.wait.theory.nested import integer_nested_thresholds

    for step in range(steps, 0, -1):
        part = Fraction(step, steps)
        segments = Segments.of(system.scaled(part))
        try:
            found = integer_nested_thresholds(segments, BASE, PER_KV_TOKEN)
        except InputError:  # a load of the segments of 1 or more
            continue
        needed = float(found.memory)
        if horizon is not None:
            bound = theorem_2_memory(segments, found.thresholds, BASE, horizon, Fraction(1, 20))
            needed = bound.upper
        if needed <= memory:
            return segments, found, part
    raise InputError("memory", memory, f"more, for nested thresholds at 1/{steps} of these rates")
