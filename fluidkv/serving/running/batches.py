"""From a batch of runs to the records of the kernel."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from fluidkv.serving.arrays import Runs, stacked
from fluidkv.serving.kernel.grants import ALLOCATIONS, Allocation
from fluidkv.serving.kernel.layout import (
    ASIDE,
    BLOCK,
    EVENT,
    LISTS,
    NAME,
    NONE,
    PASS,
    REQUEST,
    RUN,
    TIMES,
    Blocks,
    Found,
    NamedBlocks,
    Records,
    Space,
    Tables,
)
from fluidkv.serving.kernel.ratio import RatioReset
from fluidkv.serving.kernel.requeue import QUEUES, Requeue
from fluidkv.serving.kernel.restore import RESTORES
from fluidkv.serving.kernel.victims import Victim
from fluidkv.serving.limits import UNLIMITED
from fluidkv.serving.rules import EngineRules, Growth, Guard, Keeps

LONGEST = 2**29
"""Tokens of a request must be fewer, so that keys of victims fit in 64 bits."""
_OF_LIMITS = ("blocks", "block_size", "sequences", "budget", "seed")
"""Numbers of a run that have one name, in `Limits` as well."""
_OF_SWAP = ("shared", "per_token", "per_copy")
_OF_CLOCK = ("base", "per_kv", "per_prefill", "per_pair", "per_request", "experts", "expert_share")
"""In the order of a clock's durations."""


def looks_at_most(rules: EngineRules) -> bool:
    """Whether a rule looks at the most outputs that a request may have."""
    at_most = _counts_peaks(rules) or _counts_possible(rules)
    return at_most or rules.victim.looks_at("max_output")


def _counts_peaks(rules: EngineRules) -> bool:
    return rules.gate.looks_at("peak") or rules.gate.looks_at("to_come")


def _counts_possible(rules: EngineRules) -> bool:
    return rules.gate.looks_at("possible") or rules.gate.looks_at("reserved")


def run_records(
    rules: EngineRules,
    batch: Runs,
    jumps: bool,
    keep_requests: bool,
    *,
    caching: bool = False,
    finds: bool = False,
) -> Records:
    """A record for each run: its numbers and the rules."""
    runs = np.zeros(len(batch.tables), RUN)
    limits, size = batch.limits, len(runs)
    rates = [each.admission_rate or Fraction(0, 1) for each in limits]
    values = rule_numbers(rules)
    values |= {name: [getattr(each, name) for each in limits] for name in _OF_LIMITS}
    values |= {name: [getattr(each.swap, name) for each in limits] for name in _OF_SWAP}
    clocks = [(*clock.durations, *clock.batch_durations) for clock in batch.clocks]
    values |= dict(zip(_OF_CLOCK, zip(*clocks, strict=True), strict=True))
    block_size = np.array(values["block_size"])
    values |= {
        "index": np.arange(size),
        "row": np.arange(size) * keep_requests,
        "table": 0 if _shared(batch) else np.arange(size),
        "requests": [len(table) for table in batch.tables],
        "watermark": [each.watermark_blocks for each in limits],
        "rate": [rate.numerator for rate in rates],
        "rate_unit": [rate.denominator for rate in rates],
        "clients": [clients or 0 for clients in batch.clients],
        "started": [np.count_nonzero(outputs) for outputs in batch.start],
        "pool": [each.swap.tokens for each in limits],
        "sweet_spot": [min(each.swap.sweet_spot, UNLIMITED) for each in limits],
        "more_outputs": [min(each.more_outputs, UNLIMITED) for each in limits],
        "jumps": jumps,
        "keeps_times": keep_requests,
        "caching": caching,
        "finds": finds,
        "oldest": NONE,
        "newest": NONE,
        "free": values["blocks"],
        "blank": values["blocks"],
        "ratio": rules.ratio.scaled[0],
        "half": rules.reserved_tokens + block_size - 0.5,
        "inverse": 1 / block_size,
        "modulus": np.minimum(block_size, _buckets(batch.most("output_length"))),
    }
    for name, value in values.items():
        runs[name] = value
    return runs


def rule_numbers(rules: EngineRules) -> dict[str, Any]:
    """Fields of a run that say what its rules are."""
    start, least, decay = rules.ratio.scaled
    return {
        "victim": rules.victim.number,
        "first_of_equals": rules.victim.first_of_equals and not rules.asker_stays,
        "counts_blocks": rules.victim.looks_at("blocks") or rules.victim.looks_at("own_blocks"),
        "counts_own": rules.victim.looks_at("own_blocks"),
        "requeue": QUEUES[rules.requeue],
        "gate": rules.gate.number,
        "counts_peaks": _counts_peaks(rules),
        "counts_possible": _counts_possible(rules),
        "restore": RESTORES[rules.restore],
        "allocation": ALLOCATIONS[rules.allocation],
        "grants": rules.allocation is not Allocation.BY_BLOCK,
        "evicts_itself": rules.allocation.evicts_itself,
        "reserved": rules.reserved_tokens,
        "keeps_outputs": rules.keeps is Keeps.OUTPUTS,
        "one_free": rules.growth is Growth.ONE_FREE,
        "always_guarded": rules.guard is Guard.ALWAYS,
        "admits_after_eviction": rules.admits_after_eviction,
        "prefill_alone": rules.prefill_alone,
        "newcomers_first": rules.newcomers_first,
        "in_turn": rules.in_turn
        and (rules.asker_stays or rules.victim is not Victim.LAST_ADMITTED),
        "asker_stays": rules.asker_stays,
        "ratio_start": start,
        "ratio_least": least,
        "ratio_decay": decay,
        "clip": min(rules.ratio.clip, 2**62),
        "ahead": rules.ratio.ahead,
        "estimates": rules.ratio.reset is RatioReset.ESTIMATE,
        "range_tokens": min(rules.ranges.tokens, 2 * LONGEST),
    }


def _shared(batch: Runs) -> bool:
    """Whether all runs have one table, which then is there once."""
    return all(table is batch.tables[0] for table in batch.tables)


def _buckets(longest: int) -> int:
    """Passes that are told apart: more than any request is locked for."""
    return 1 << math.ceil(math.log2(longest + 2))


def tables_of(rules: EngineRules, batch: Runs) -> Tables:
    """Only what a rule looks at; all of one type, so that one compilation serves."""
    nothing = np.zeros((0, 0), np.int64)
    rank = predicted = looseness = estimated = most = nothing
    if rules.requeue is Requeue.BY_PRIORITY or rules.victim.looks_at("rank"):
        line = np.argsort(batch.column("priority", np.iinfo(np.int64).max), axis=1, kind="stable")
        rank = np.argsort(line, axis=1)
    if looks_at_most(rules):
        most = batch.column("max_output", 1)
    if rules.victim.looks_at("predicted"):
        predicted = batch.column("predicted_output", 1)
    if rules.victim.looks_at("looseness"):
        objectives = batch.column("tbt_slo", np.inf)
        looseness = np.searchsorted(rules.ranges.tbt_slo, objectives, side="right")
    if rules.allocation is not Allocation.BY_BLOCK:  # more than any memory: all the same
        estimated = np.minimum(batch.column("estimated_output", 1), UNLIMITED)
    return Tables(
        _only_read(batch.column("input_length", 1)),
        _only_read(batch.column("output_length", 1)),
        _only_read(most),
        _only_read(estimated),
        _only_read(rank),
        _only_read(predicted),
        _only_read(looseness),
        _only_read(stacked([np.array(row) for row in batch.start], max(map(len, batch.start)), 0)),
    )


def _only_read(values: np.ndarray, kind: type = np.int64) -> np.ndarray:
    """Rows one after the other, of one type, not to be written to: a view where it can be."""
    view = np.ascontiguousarray(values, kind).view()
    view.flags.writeable = False
    return view


def arrivals_of(batch: Runs) -> np.ndarray:
    """When requests come, a row for each table."""
    return _only_read(batch.column("arrival", np.inf), np.float64)


def new_times(runs: int, size: int) -> np.ndarray:
    """For times of the requests of so many runs."""
    return np.empty((runs, TIMES, size))


def new_space(times: np.ndarray, arrival: np.ndarray) -> Space:
    """For the one run that a thread is at; `new_times` and `arrivals_of` are those of all runs."""
    size = arrival.shape[1]
    return Space(
        requests=np.empty(size, REQUEST),
        aside=np.empty(size, ASIDE),
        lists=np.empty(2 * size + 64, LISTS),
        times=times,
        arrival=arrival,
    )


def new_passes(tables: Tables | None) -> Records:
    """For its calendar; None: it has none."""
    return np.empty(0 if tables is None else _buckets(int(tables.output.max())), PASS)


def new_blocks(blocks: int, names: NamedBlocks, requests: int) -> Blocks:
    """Scratch for the prefix cache of a run.

    Where there are more blocks than all requests together can hold, the others are never taken.
    """
    return Blocks(
        line=np.empty(min(blocks, names.names.size) + 1, BLOCK),
        copies=np.empty(names.different, NAME),
        names=names.names,
        first=names.first,
        held=np.empty(names.names.size, np.int32),
        events=np.empty(2 * requests, EVENT),  # each enters or is preempted, and finishes
    )


def new_found(runs: int, size: int, *, caching: bool = False) -> Found:
    """For what is written of the requests of so many runs."""
    shape = (runs, size)
    return Found(
        np.empty(shape, np.int64),
        np.empty(shape, np.int64),
        np.empty(shape, bool),
        np.empty((runs, 2, size) if caching else (1, 2, 1), np.int64),
    )
