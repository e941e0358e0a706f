"""What a record of vLLM's scheduler says of its settings, with a prefix cache or without."""

from dataclasses import replace

import numpy as np

from fluidkv.errors import InputError
from fluidkv.serving.engines import VLLM, VLLM_0_11, VLLM_LCF, VLLM_PRIORITY
from fluidkv.serving.limits import Limits
from fluidkv.serving.records.fields import Fields, version_notes
from fluidkv.serving.rules import EngineRules, Gate

NOT_MODELLED = "not modelled"

_OF_0_11 = {"watermark": 0.0, "reserve_full_isl": False}  # settings that 0.11 did not have
_CAPACITY = "capacity_tokens"
_POLICIES = {"fcfs": VLLM, "priority": VLLM_PRIORITY}
_VICTIMS = ("fcfs", "lcf")  # of pull request 53723; the first is what the policy says
_ONE_VALUE = {  # scheduler settings that a file may name; their defaults are what is modelled
    "enable_chunked_prefill": True,
    "chunked_prefill": True,
    "long_prefill_token_threshold": 0,
    "long_prefill_token_threshold_adaptive": False,
    "prefill_schedule_interval": 1,
    "num_speculative_tokens": 0,
    "num_lookahead_tokens": 0,
    "max_num_active_seqs": None,
    "max_num_scheduled_tokens": None,
}


def version_of(fields: Fields) -> str:
    """vLLM's version; a file of 0.11 need not say what came later."""
    version = fields.text("version")
    if version.startswith("0.11."):
        fields.values = _OF_0_11 | fields.values
    return version


def of_version(version: str, rules: EngineRules, limits: Limits) -> list[str]:
    """A note where the rules were not compared with this version."""
    old = rules == replace(VLLM, gate=VLLM_0_11.gate) and limits.watermark == 0
    if version.startswith("0.11.") and old:
        return []
    return version_notes(version, VLLM.version)


def rules_of(fields: Fields) -> EngineRules:
    """The rules that a file's settings ask for.

    Raises:
        InputError: a setting that is missing or not modelled.
    """
    fields.only("async_scheduling", False, NOT_MODELLED)
    for name in fields.values.keys() & _ONE_VALUE.keys():
        fields.only(name, _ONE_VALUE[name], NOT_MODELLED)
    rules = _policy_of(fields)
    return rules if fields.flag("reserve_full_isl") else replace(rules, gate=Gate.FIRST_CHUNK)


def _policy_of(fields: Fields) -> EngineRules:
    """Files need not say it; then it is vLLM's default."""
    rules = _POLICIES[_choice(fields, "policy", tuple(_POLICIES))]
    if _choice(fields, "preemption_victim", _VICTIMS) == "fcfs":
        return rules
    return replace(rules, victim=VLLM_LCF.victim, asker_stays=VLLM_LCF.asker_stays)


def _choice(fields: Fields, name: str, known: tuple[str, ...]) -> str:
    """One of these; the first where the file does not say."""
    value = fields.any(name) if name in fields.values else known[0]
    if value not in known:
        raise fields.wrong(name, value, " or ".join(map(repr, known)))
    return value


def priorities_of(fields: Fields, requests: int) -> list[int] | None:
    """One for each request, the lower the more urgent; None: the file says nothing of them."""
    if "priorities" not in fields.values:
        return None
    priorities = fields.integers("priorities", least=-(2**53))
    if len(priorities) != requests:
        raise fields.wrong("priorities", f"{len(priorities)} of them", f"{requests}, one a request")
    return priorities


def limits_of(fields: Fields, notes: list[str], *, says_capacity: bool = True) -> Limits:
    """`usable_blocks` is what the scheduler had; the capacity is what somebody asked for.

    Args:
        notes: gets one where the two differ.
        says_capacity: a file has to; else it may.
    """
    size, blocks = fields.integer("block_size"), fields.integer("usable_blocks")
    if says_capacity or _CAPACITY in fields.values:
        capacity = fields.integer(_CAPACITY)
        if blocks != capacity // size:
            notes.append(
                f"usable_blocks {blocks:,}, not the {capacity // size:,} of capacity_tokens: "
                f"replayed with {blocks:,}"
            )
    caps = fields.cap("max_num_seqs"), fields.cap("max_num_batched_tokens")
    watermark = fields.any("watermark")
    try:
        return Limits(blocks * size, size, *caps, watermark)
    except InputError as error:
        raise fields.wrong(error.argument, error.value, error.allowed) from None


def largest_of(inputs: np.ndarray, outputs: np.ndarray, limits: Limits) -> tuple[int, int]:
    """The request that comes to most blocks, and how many these are."""
    tokens = inputs + outputs + VLLM.peak_tokens(0, 0)
    largest = int(np.argmax(tokens))
    return largest, limits.blocks_of(int(tokens[largest]))
