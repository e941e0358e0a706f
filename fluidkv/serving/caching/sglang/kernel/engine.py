"""From requests, what they say and a server's options to the records of the kernel, and back."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from fluidkv.prefix.prompts import Prompts
from fluidkv.prefix.radix.kernel.layout import (
    NODE,
    NUMBERS,
    ROOT,
    empty_tree,
    new_spans,
    new_strands,
)
from fluidkv.processes import cores
from fluidkv.runs.batch import Progress, Watch, in_groups
from fluidkv.runs.inlined import as_objects
from fluidkv.runs.interpreted import interpreted
from fluidkv.runs.records import Outcome, RequestTimes, RunRecords, together
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.names import BlockNames, Strands
from fluidkv.serving.caching.sglang.kernel.layout import (
    ENDED,
    EVENT,
    FULL,
    IDLE,
    NONE,
    REQUEST,
    ROWS,
    RUN,
    SHORT,
    Space,
    State,
)
from fluidkv.serving.caching.sglang.seen import COUNTS
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.sglang_settings import (
    DECAY_STEPS,
    FIRST_RATIO,
    LEAST_SHARE,
    SglangSettings,
)

LOOP = "fluidkv.serving.caching.sglang.kernel.loop"
MOST_COST = 20_000_000
"""Of a call of the kernel: some tenths of a second, after which a run can be interrupted."""
_LITERAL_COST = 200_000
"""Of a call of the same as plain Python, likewise."""
_ROWS = 2**14
"""Windows for which memory is taken at a time."""
_NODES = 2**9
"""Of a tree, at first."""


class SglangServer(NamedTuple):
    """One run: its requests, what they say, its options, its clock; a closed population, if any."""

    requests: Requests
    prompts: Prompts
    settings: SglangSettings
    clock: IterationClock
    clients: int | None = None


def run_sglang(
    servers: Sequence[SglangServer],
    *,
    literally: bool = False,
    iterations: int,
    every: int = 1,
    keep_requests: bool = True,
    on_progress: Progress | None = None,
) -> RunRecords:
    """SGLang's scheduler until all requests of a run are done, or it is stuck, or to the horizon.

    A run at a time on each thread.

    Args:
        literally: by the loop as plain Python, which looks at everybody in each iteration.
        iterations: horizon of each run.
        every: iterations of a window.
        keep_requests: record each request's times.
        on_progress: called with the iterations and the requests that are done in all runs.

    Returns:
        Records, whose counts are `seen.COUNTS`.
    """
    strands: dict[tuple[int, int], Strands] = {}
    watch = Watch(on_progress)
    for each in servers:
        key = (id(each.prompts), each.settings.page_size)
        if each.settings.radix and key not in strands:
            strands[key] = BlockNames(each.prompts, each.settings.page_size).strands()

    def run(which: np.ndarray) -> Outcome:
        server = servers[which[0]]
        texts = strands.get((id(server.prompts), server.settings.page_size))
        state = new_state(server, texts, literally=literally)
        return _through(state, iterations, every, keep_requests, watch)

    threads = 1 if literally else min(cores(), len(servers))
    return together(in_groups(run, len(servers), 1, threads, watch))


def _through(
    state: State, iterations: int, every: int, keep_requests: bool, watch: Watch
) -> Outcome:
    """A whole run: its windows, in parts; and what became of its requests."""
    loop = loop_of(state)
    most = _LITERAL_COST if state.runs.dtype == object else MOST_COST
    counts: list[np.ndarray] = [np.empty((_ROWS, len(COUNTS)), np.int64)]
    time: list[np.ndarray] = [np.empty(_ROWS)]
    run, why, told = state.runs[0], None, (0, 0)
    while why != ENDED and not watch.stop.is_set():  # which another run may have set before it
        if why == FULL:
            counts.append(np.empty_like(counts[0]))
            time.append(np.empty_like(time[0]))
            run["row"] = 0
        with np.errstate(all="ignore"):
            why = loop.advance(*state, counts[-1], time[-1], iterations, every, most, np.inf)
        now = int(run["iteration"]), int(run["done"])
        watch.report(now[0] - told[0], now[1] - told[1])
        told = now
        if why == SHORT:
            state = grown(state)
    counts[-1], time[-1] = (part[: run["row"]] for part in (counts[-1], time[-1]))
    if run["row"] < _ROWS // 2:  # what is left of the space does not stay with them
        counts[-1], time[-1] = counts[-1].copy(), time[-1].copy()
    loop.write_down(*state)
    windows = counts[0] if len(counts) == 1 else np.concatenate(counts)
    done = int(run["done"] - run["aborted"])
    outcome = Outcome(windows, np.concatenate(time), done, bool(run["stuck"]), None)
    outcome = outcome._replace(iterations=int(run["iteration"]))
    if not keep_requests:
        return outcome
    requests = state.space.requests

    def column(name: str) -> np.ndarray:
        return np.array([request[name] for request in requests], REQUEST[name])

    times = RequestTimes(*map(column, RequestTimes._fields))
    times = times._replace(finished=times.finished.astype(bool))
    hits = np.stack([column("hit_tokens"), column("first_hit_tokens")])
    return outcome._replace(requests=times, hits=hits)


def loop_of(state: State) -> Any:
    """The functions of `kernel.loop`: compiled, or as plain Python where numbers are objects."""
    return interpreted(LOOP) if state.runs.dtype == object else import_module(LOOP)


def new_state(
    server: SglangServer, texts: Strands | None, *, offered: bool = False, literally: bool = False
) -> State:
    """One server.

    Args:
        texts: what its requests say, in its pages; None: it keeps no prefixes.
        offered: nobody comes by itself.
        literally: for the loop as plain Python.
    """
    table, settings, size = server.requests, server.settings, len(server.requests)
    requests = np.zeros(size, REQUEST)
    for name, column in (
        ("target", table.output_length),
        ("input", table.input_length),
        ("most", table.max_output),
        ("priority", table.priority),
        ("arrival", table.arrival if server.clients is None else np.nan),
    ):
        requests[name] = column
    for name in ("admitted", "first_token", "last_token", "since"):
        requests[name] = np.nan
    texts = texts or _nothing_said(size)
    requests["first_span"], requests["last_span"] = texts.first[:-1], texts.first[1:]
    space = Space(
        requests=requests,
        places=np.empty((ROWS, max(2 * size + 64, settings.page_size)), np.int64),
        nodes=empty_tree(min(_NODES, settings.pages + 1)),
        strands=new_strands(texts.parent, texts.base),
        spans=new_spans(texts.run, texts.end),
        events=np.empty(3 * size + 1, EVENT),
    )
    runs = _run_record(server, offered)
    runs["glides"], runs["spare_nodes"] = not literally, space.nodes.size - 1
    return as_objects(State(runs, space)) if literally else State(runs, space)


def _nothing_said(requests: int) -> Strands:
    nothing = np.zeros(0, np.int64)
    return Strands(nothing, nothing, nothing, nothing, np.zeros(requests + 1, np.int64))


def grown(state: State) -> State:
    """The same, with twice as many nodes."""
    few = state.space.nodes
    more = np.zeros(few.size, NODE)
    nodes = np.concatenate([few, as_objects(more) if few.dtype == object else more])
    state.runs[0]["spare_nodes"] += few.size
    return State(state.runs, state.space._replace(nodes=nodes))


def _run_record(server: SglangServer, offered: bool) -> np.ndarray:
    settings = server.settings
    first = min(FIRST_RATIO * settings.conservativeness, 1.0)
    least = min(first * LEAST_SHARE, 1.0)
    base, per_kv, per_prefill, per_pair = server.clock.durations
    chunk = settings.chunked_prefill_size
    run = np.zeros(1, RUN)
    for name, value in {
        "requests": len(server.requests),
        "clients": min(server.clients or 0, len(server.requests)),
        "offered": offered,
        "tokens": settings.tokens,
        "page": settings.page_size,
        "radix": settings.radix,
        "in_full": settings.reserves_in_full,
        "known": settings.ignore_eos and not settings.radix,
        "chunk": NONE if chunk is None else min(chunk, 2**62),
        "mixed": settings.mixed,
        "prefill_tokens": settings.max_prefill_tokens,
        "max_running": settings.max_running,
        "policy": NUMBERS[settings.policy],
        "overlap": settings.overlap,
        "clip": settings.clip,
        "by_priority": settings.priority_scheduling,
        "least_urgent": settings.retraction == "priority",
        "jumps": server.clock.jumps,
        "available": settings.tokens,
        "fresh": ROOT + 1,
        "given_back": NONE,
        "chunked": NONE,
        "pass_chunked": NONE,
        "pass_mode": IDLE,
        "ratio": first,
        "ratio_first": first,
        "ratio_least": least,
        "ratio_step": (first - least) / DECAY_STEPS,
        "base": base,
        "per_kv": per_kv,
        "per_prefill": per_prefill,
        "per_pair": per_pair,
        "per_request": server.clock.per_request,
        "experts": server.clock.experts,
        "expert_share": server.clock.expert_share,
    }.items():
        run[name] = value
    return run
