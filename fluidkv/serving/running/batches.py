"""From the arrays of a batch of runs to the records of the kernel."""

import math
from typing import Any

import numpy as np

from fluidkv.serving.arrays import RunArrays
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
_OF_RUN = frozenset(RUN.names or ())  # the numbers of a run have one name, in `RunArrays` as well


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
    arrays: RunArrays,
    jumps: bool,
    keep_requests: bool,
    *,
    caching: bool = False,
    finds: bool = False,
) -> Records:
    """A record for each run: its numbers and the rules."""
    runs = np.zeros(arrays.requests.size, RUN)
    columns = arrays._asdict().items()
    values = {name: each for name, each in columns if name in _OF_RUN and each.ndim == 1}
    values |= rule_numbers(rules)
    values |= {
        "index": np.arange(runs.size),
        "row": np.arange(runs.size) * keep_requests,
        "table": 0 if _shared(arrays) else np.arange(runs.size),
        "watermark": arrays.watermark_blocks,
        "rate": arrays.rate[:, 0],
        "rate_unit": arrays.rate[:, 1],
        "started": (arrays.start > 0).sum(axis=1),
        "jumps": jumps,
        "keeps_times": keep_requests,
        "caching": caching,
        "finds": finds,
        "oldest": NONE,
        "newest": NONE,
        "free": arrays.blocks,
        "blank": arrays.blocks,
        "ratio": rules.ratio.scaled[0],
        "base": arrays.clock[:, 0],
        "per_kv": arrays.clock[:, 1],
        "per_prefill": arrays.clock[:, 2],
        "per_pair": arrays.clock[:, 3],
        "per_request": arrays.clock[:, 4],
        "experts": arrays.clock[:, 5],
        "expert_share": arrays.clock[:, 6],
        "per_token": arrays.copying[:, 0],
        "per_copy": arrays.copying[:, 1],
        "half": rules.reserved_tokens + arrays.block_size - 0.5,
        "inverse": 1 / arrays.block_size,
        "modulus": np.minimum(arrays.block_size, _buckets(arrays.output_length)),
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


def _shared(arrays: RunArrays) -> bool:
    """Whether all runs have one table, whose columns are there once."""
    return arrays.requests.size > 1 and not any(
        column.strides[0]
        for column in (
            arrays.input_length,
            arrays.output_length,
            arrays.max_output,
            arrays.arrival,
            arrays.priority,
            arrays.predicted,
            arrays.estimated,
            arrays.tbt_slo,
        )
    )


def _buckets(output_length: np.ndarray) -> int:
    """Passes that are told apart: more than any request is locked for."""
    return 1 << math.ceil(math.log2(int(output_length.max()) + 2))


def tables_of(rules: EngineRules, arrays: RunArrays) -> Tables:
    """Only what a rule looks at; all of one type, so that one compilation serves."""
    nothing = np.zeros((0, 0), np.int64)
    start = arrays.start
    if _shared(arrays):
        arrays = RunArrays(*(column[:1] for column in arrays))
    rank = predicted = looseness = nothing
    if rules.requeue is Requeue.BY_PRIORITY or rules.victim.looks_at("rank"):
        real = np.arange(arrays.arrival.shape[1]) < arrays.requests[:, None]
        last = np.iinfo(np.int64).max
        line = np.argsort(np.where(real, arrays.priority, last), axis=1, kind="stable")
        rank = np.argsort(line, axis=1)
    if rules.victim.looks_at("predicted"):
        predicted = arrays.predicted
    if rules.victim.looks_at("looseness"):
        looseness = np.searchsorted(rules.ranges.tbt_slo, arrays.tbt_slo, side="right")
    estimated = nothing
    if rules.allocation is not Allocation.BY_BLOCK:
        estimated = np.minimum(arrays.estimated, UNLIMITED)  # more than any memory: all the same
    return Tables(
        _only_read(arrays.input_length),
        _only_read(arrays.output_length),
        _only_read(arrays.max_output if looks_at_most(rules) else nothing),
        _only_read(estimated),
        _only_read(rank),
        _only_read(predicted),
        _only_read(looseness),
        _only_read(start),
    )


def _only_read(values: np.ndarray, kind: type = np.int64) -> np.ndarray:
    """Rows one after the other, of one type, not to be written to: a view where it can be."""
    view = np.ascontiguousarray(values, kind).view()
    view.flags.writeable = False
    return view


def arrivals_of(arrays: RunArrays) -> np.ndarray:
    """When requests come, a row for each table."""
    rows = 1 if _shared(arrays) else None
    return _only_read(arrays.arrival[:rows], np.float64)


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
    return np.empty(0 if tables is None else _buckets(tables.output), PASS)


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
