"""Whole requests on a CPU, run after run, each as `reference` would do it, to the bit."""

import math
from typing import Any

import numpy as np

from fluidkv.processes import cores
from fluidkv.runs.batch import Progress, Watch, in_groups
from fluidkv.runs.records import RequestTimes, RunRecords
from fluidkv.serving.arrays import RunArrays
from fluidkv.serving.counts import COUNTS
from fluidkv.serving.kernel.layout import (
    ADMITTED,
    ALLOCATIONS,
    ARRIVAL,
    ASIDE,
    COLUMNS,
    ENDED,
    FIRST,
    FULL,
    GAP,
    GATES,
    HALT,
    LAST,
    LISTS,
    NONE,
    PASS,
    QUEUES,
    REQUEST,
    RESTORES,
    RUN,
    TIMES,
    VICTIMS,
    Batch,
    Found,
    Space,
    Tables,
)
from fluidkv.serving.limits import UNLIMITED
from fluidkv.serving.rules import (
    Allocation,
    EngineRules,
    Gate,
    Growth,
    Guard,
    Keeps,
    NewTokenRatio,
    RatioReset,
    Requeue,
    Victim,
)

MOST_COST = 20_000_000
"""Of a call of the kernel: some tenths of a second, after which a run can be interrupted."""
LONGEST = 2**29
"""Tokens of a request must be fewer, so that keys of victims fit in 64 bits."""
_ROWS = 2**14
"""Windows for which memory is taken at a time."""
_COPIED, _SAID, _FORGOTTEN = len(COUNTS) - 1, len(COUNTS), len(COUNTS) + 1
_WITH_CACHE = [*range(_COPIED), _SAID, _SAID, _FORGOTTEN, _COPIED]
"""Columns of `caching.vllm.COUNTS`: no two blocks say the same where nothing is shared."""
_GROUPS = 4
"""For each thread, so that none waits long for the last."""


def covers(rules: EngineRules, arrays: RunArrays) -> bool:
    """Whether the numbers fit in the kernel's; every rule does."""
    columns = [arrays.input_length, arrays.output_length]
    if _looks_at_most(rules):
        columns.append(arrays.max_output)
    if rules.victim in (Victim.LONGEST_REMAINING, Victim.LOOSEST_OBJECTIVE):
        columns.append(arrays.predicted)
    longest = sum(int(column.max()) for column in columns)
    asked = min(int(arrays.max_output.max()), rules.ratio.clip) + rules.ratio.ahead
    reserved = asked * int(arrays.requests.max()) * NewTokenRatio.SCALE
    return (
        longest < LONGEST
        and rules.reserved_tokens < LONGEST
        and (rules.gate is not Gate.RATIO or reserved < 2**62)
    )


def finds_itself(rules: EngineRules) -> bool:
    """Whether the kernel has the prefix cache of these rules, where no two requests share a prompt.

    What is found then depends on the order in which free blocks are taken. The kernel adds up what
    is asked for; that is the order of those who ask only where victims come from the end of the
    list, behind them.
    """
    return rules.victim is Victim.LAST_ADMITTED and not rules.asker_stays


def run_kernel(
    rules: EngineRules,
    arrays: RunArrays,
    *,
    jumps: bool,
    iterations: int,
    every: int = 1,
    keep_requests: bool = True,
    finds: bool = False,
    batch_size: int | None = None,
    on_progress: Progress | None = None,
) -> RunRecords:
    """Serve until all requests of a run are done, or it is stuck, or to the horizon.

    Arguments as of `compiled.engine.run_engine`. Threads share the runs. `finds`: requests that
    come back find what is left of themselves in a prefix cache, under rules that `finds_itself`
    says; the counts are then those of `caching.vllm`.
    """
    total, size = arrays.output_length.shape
    runs = _runs(rules, arrays, jumps, keep_requests)
    runs["finds"] = finds
    tables = _tables(rules, arrays)
    found = _found(total, size) if keep_requests else _found(1, 1)
    threads = min(cores(), total)
    group = batch_size or -(-total // (threads * _GROUPS))
    watch = Watch(on_progress)

    def run(which: np.ndarray) -> _Rows:
        """A group: records of runs are views, so that all groups write to the same."""
        part = runs[which[0] : which[-1] + 1]
        batch = Batch(part, tables, _space(tables), found)
        return _through(batch, iterations, every, watch)

    rows = in_groups(run, total, group, threads, watch)
    counts, time = _together(rows, runs["rows"], group)
    counts = counts[..., _WITH_CACHE if finds else slice(len(COUNTS))]
    requests = None
    if keep_requests:
        requests = RequestTimes(
            found.times[:, ARRIVAL],
            found.times[:, ADMITTED],
            found.times[:, FIRST],
            found.times[:, LAST],
            found.times[:, GAP],
            found.evictions,
            found.outputs,
            found.finished,
            found.times[:, HALT],
        )
    columns = (runs["iteration"].copy(), runs["done"].copy(), runs["stuck"].astype(bool))
    return RunRecords(counts, time, *columns, requests, hits=found.hits if finds else None)


_Rows = tuple[list[np.ndarray], list[np.ndarray]]


def _through(batch: Batch, iterations: int, every: int, watch: Watch) -> _Rows:
    """All runs of a group: their windows, one after the other, in parts."""
    from fluidkv.serving.kernel.loop import advance

    at = np.zeros(4, np.int64)
    counts, time = [], []
    rows, clock = np.empty((_ROWS, COLUMNS), np.int64), np.empty(_ROWS)
    ended, told = False, (0, 0)
    passed = 0
    while not ended and not watch.stop.is_set():
        why = advance(batch, rows, clock, at, iterations, every, MOST_COST)
        now = int(batch.runs["iteration"].sum()), int(batch.runs["done"].sum())
        watch.report(now[0] - told[0], now[1] - told[1])
        told, ended = now, why == ENDED
        if why in (ENDED, FULL):
            counts.append(rows[: at[1]])
            time.append(clock[: at[1]])
            passed += int(at[1])
            at[1] = 0
            rows, clock = np.empty_like(rows), np.empty_like(clock)
    return counts, time


def _together(groups: list[_Rows], rows: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Windows by run, those of shorter runs filled up: (run, window, count) and (run, window)."""
    counts = [part for group in groups for part in group[0]]
    time = [part for group in groups for part in group[1]]
    flat = counts[0] if len(counts) == 1 else np.concatenate(counts)
    clock = time[0] if len(time) == 1 else np.concatenate(time)
    longest = int(rows.max())
    if (rows == longest).all():
        return flat.reshape(rows.size, longest, COLUMNS), clock.reshape(rows.size, longest)
    place = np.arange(longest) < rows[:, None]
    padded = np.zeros((rows.size, longest, COLUMNS), np.int64)
    ends = np.full((rows.size, longest), np.nan)
    padded[place], ends[place] = flat, clock
    return padded, ends


def _looks_at_most(rules: EngineRules) -> bool:
    return rules.gate in (Gate.PEAK, Gate.RATIO) or rules.victim is Victim.COST_AWARE


def _runs(rules: EngineRules, arrays: RunArrays, jumps: bool, keep_requests: bool) -> Any:
    """A record for each run: its numbers and the rules."""
    runs = np.zeros(arrays.requests.size, RUN)
    start, least, decay = rules.ratio.scaled
    values = {
        "index": np.arange(runs.size),
        "row": np.arange(runs.size) * keep_requests,
        "table": 0 if _shared(arrays) else np.arange(runs.size),
        "requests": arrays.requests,
        "blocks": arrays.blocks,
        "block_size": arrays.block_size,
        "watermark": arrays.watermark_blocks,
        "sequences": arrays.sequences,
        "budget": arrays.budget,
        "rate": arrays.rate[:, 0],
        "rate_unit": arrays.rate[:, 1],
        "clients": arrays.clients,
        "started": (arrays.start > 0).sum(axis=1),
        "pool": arrays.pool,
        "sweet_spot": arrays.sweet_spot,
        "shared": arrays.shared,
        "more_outputs": arrays.more_outputs,
        "seed": arrays.seed,
        "victim": VICTIMS[rules.victim],
        "first_of_equals": rules.victim.first_of_equals and not rules.asker_stays,
        "requeue": QUEUES[rules.requeue],
        "gate": GATES[rules.gate],
        "restore": RESTORES[rules.restore],
        "allocation": ALLOCATIONS[rules.allocation],
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
        "clip": min(rules.ratio.clip, 2 * LONGEST),
        "ahead": rules.ratio.ahead,
        "estimates": rules.ratio.reset is RatioReset.ESTIMATE,
        "range_tokens": min(rules.ranges.tokens, 2 * LONGEST),
        "jumps": jumps,
        "keeps_times": keep_requests,
        "free": arrays.blocks,
        "blank": arrays.blocks,
        "oldest": NONE,
        "newest": NONE,
        "ratio": start,
        "base": arrays.clock[:, 0],
        "per_kv": arrays.clock[:, 1],
        "per_prefill": arrays.clock[:, 2],
        "per_pair": arrays.clock[:, 3],
        "per_token": arrays.copying[:, 0],
        "per_copy": arrays.copying[:, 1],
        "half": rules.reserved_tokens + arrays.block_size - 0.5,
        "inverse": 1 / arrays.block_size,
        "modulus": np.minimum(arrays.block_size, _buckets(arrays.output_length)),
    }
    for name, value in values.items():
        runs[name] = value
    return runs


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


def _tables(rules: EngineRules, arrays: RunArrays) -> Tables:
    """Only what a rule looks at; all of one type, so that one compilation serves."""
    nothing = np.zeros((0, 0), np.int64)
    start = arrays.start
    if _shared(arrays):
        arrays = RunArrays(*(column[:1] for column in arrays))
    rank = predicted = looseness = nothing
    if rules.requeue is Requeue.BY_PRIORITY or rules.victim is Victim.LEAST_URGENT:
        real = np.arange(arrays.arrival.shape[1]) < arrays.requests[:, None]
        last = np.iinfo(np.int64).max
        line = np.argsort(np.where(real, arrays.priority, last), axis=1, kind="stable")
        rank = np.argsort(line, axis=1)
    if rules.victim in (Victim.LONGEST_REMAINING, Victim.LOOSEST_OBJECTIVE):
        predicted = arrays.predicted
    if rules.victim is Victim.LOOSEST_OBJECTIVE:
        looseness = np.searchsorted(rules.ranges.tbt_slo, arrays.tbt_slo, side="right")
    estimated = nothing
    if rules.allocation is not Allocation.BY_BLOCK:
        estimated = np.minimum(arrays.estimated, UNLIMITED)  # more than any memory: all the same
    return Tables(
        _only_read(arrays.input_length),
        _only_read(arrays.output_length),
        _only_read(arrays.arrival, np.float64),
        _only_read(arrays.max_output if _looks_at_most(rules) else nothing),
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


def _space(tables: Tables) -> Space:
    size = tables.input.shape[1]
    return Space(
        requests=np.empty(size, REQUEST),
        aside=np.empty(size, ASIDE),
        lists=np.empty(2 * size + 64, LISTS),
        passes=np.empty(_buckets(tables.output), PASS),
    )


def _found(runs: int, size: int) -> Found:
    shape = (runs, size)
    return Found(
        np.empty((runs, TIMES, size)),
        np.empty(shape, np.int64),
        np.empty(shape, np.int64),
        np.empty(shape, bool),
        np.empty(shape, np.int64),
    )
