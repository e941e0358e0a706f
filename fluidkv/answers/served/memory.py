"""The memory of a server: its blocks, which requests fit, and what it carries."""

from collections.abc import Mapping
from types import MappingProxyType

from fluidkv.errors import InputError
from fluidkv.exact.survival import Equilibrium, eviction_free_equilibrium
from fluidkv.runs.max_tokens import EXACT, MaxTokens
from fluidkv.runs.requests import Requests
from fluidkv.serving.checks import largest_request
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.workload import System, Workload

BLOCK_SIZES: Mapping[str, int] = MappingProxyType(
    {
        "vllm": 16,
        "vllm-0.11": 16,
        "vidur-sarathi": 16,
        "trtllm-max-utilization": 32,
        "trtllm-no-evict": 32,
    }
)
"""Tokens a block where nobody says otherwise: the engines' own defaults; 1 for the others."""


def check_memory(
    rules: EngineRules, limits: Limits, workload: Workload, asks: MaxTokens = EXACT
) -> None:
    """Of all classes, whether or not a run draws them: the answer must not turn on a seed.

    Args:
        rules, limits, workload: of a run.
        asks: for how many outputs requests ask.

    Raises:
        InputError: the largest request does not fit, or one asks for less than it puts out.
    """
    table = asks.at_most(
        Requests(
            [c.input_length for c in workload.classes], [c.decode_length for c in workload.classes]
        )
    )
    worst, needed, there = largest_request(rules, limits, table)
    if needed > there:
        largest, most = workload.classes[worst], int(table.max_output[worst])
        asked = f", {most} asked for" if most > largest.decode_length else ""
        raise InputError(
            "capacity",
            limits.capacity,
            f"memory for the largest request, {largest.input_length} input + "
            f"{largest.decode_length} output tokens{asked}: {needed} blocks of "
            f"{limits.block_size} under {rules.label}; {there} are there",
        )


def equilibrium_of(workload: Workload, capacity: int) -> Equilibrium:
    """Where memory just holds the largest request, an engine may serve what the theory refuses."""
    return eviction_free_equilibrium(
        System(workload, max(capacity, workload.largest_footprint + 1))
    )
