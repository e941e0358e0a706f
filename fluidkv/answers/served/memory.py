"""The memory of a server: its blocks, who fits in it, and what it carries."""

from collections.abc import Mapping
from types import MappingProxyType

from fluidkv.errors import InputError
from fluidkv.exact.survival import Equilibrium, eviction_free_equilibrium
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


def check_memory(rules: EngineRules, limits: Limits, workload: Workload) -> None:
    """Of all classes, whether or not a run draws them: the answer must not turn on a seed."""
    table = Requests(
        [c.input_length for c in workload.classes], [c.decode_length for c in workload.classes]
    )
    worst, needed, there = largest_request(rules, limits, table)
    if needed > there:
        largest = workload.classes[worst]
        raise InputError(
            "capacity",
            limits.capacity,
            f"memory for the largest request, {largest.input_length} input + "
            f"{largest.decode_length} output tokens: {needed} blocks of {limits.block_size} under "
            f"{rules.label}; {there} are there",
        )


def equilibrium_of(workload: Workload, capacity: int) -> Equilibrium:
    """Where memory just holds the largest request, an engine may serve what the theory refuses."""
    return eviction_free_equilibrium(
        System(workload, max(capacity, workload.largest_footprint + 1))
    )
