"""Blocks that requests need: the largest of them to be served at all, and all of them together."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fluidkv.answers.served.window import Window
from fluidkv.errors import InputError
from fluidkv.runs.requests import Requests
from fluidkv.serving.checks import largest_request
from fluidkv.serving.engines import with_cache
from fluidkv.serving.limits import UNLIMITED, Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server


def least_blocks(
    engine: str | EngineRules, rules: EngineRules, caps: Limits, table: Requests
) -> int:
    """The smallest memory in which each request can be served; of an engine with a cache, the first
    from there on that it does not refuse.
    """
    blocks = 1
    while True:
        limits = replace(caps, capacity=blocks * caps.block_size)
        _, needed, there = largest_request(rules, limits, table)
        if needed <= there:
            break
        blocks += needed - there
    while with_cache(engine)[1] and _refused(engine, caps, table, blocks):
        blocks += 1 + blocks // 100
    return blocks


def _refused(engine: str | EngineRules, caps: Limits, table: Requests, blocks: int) -> bool:
    """Whether an engine's own scheduler refuses a request in so much memory."""
    limits = replace(caps, capacity=blocks * caps.block_size)
    try:
        serve(table, Server(engine, limits), iterations=1)
    except InputError as error:
        if error.argument != "capacity":
            raise
        return True
    return False


def check_today(
    today: int,
    rules: EngineRules,
    caps: Limits,
    tables: Sequence[Requests],
    window: Window | None,
) -> None:
    """Refuse a memory that cannot hold the largest request, with its place."""
    first = 0
    for table in tables:
        limits = replace(caps, capacity=max(1, today) * caps.block_size)
        worst, needed, there = largest_request(rules, limits, table)
        if needed > there:
            whose = "a request that was drawn"
            if window is not None:
                whose = f"request {first + worst}, counted from 0"
            raise InputError(
                "capacity",
                limits.capacity,
                f"memory for {whose} "
                f"({table.input_length[worst]:,} input + {table.output_length[worst]:,} output "
                f"tokens): {needed:,} blocks of {caps.block_size} under {rules.label}; there are "
                f"{there:,}",
            )
        first += len(table)


def all_at_once(caps: Limits, table: Requests) -> int:
    """Memory in which all requests fit together at their longest, what admission leaves free
    included: more is never used."""
    tokens = table.input_length + np.maximum(table.output_length, table.max_output) + 1
    blocks = int((-(-tokens // caps.block_size) + 1).sum())
    return min(
        math.ceil((blocks + 2) / (1 - caps.watermark)) + 1, (UNLIMITED - 1) // caps.block_size
    )
