"""Requests and what their prompts share: of a trace that says so, or of a generator."""

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from fluidkv.errors import InputError
from fluidkv.prefix.pieces import Content, Piece, content
from fluidkv.prefix.prompts import Prompts, prompts_of_blocks
from fluidkv.prefix.workloads import GENERATORS
from fluidkv.record import Record
from fluidkv.runs.requests import Requests
from fluidkv.text import nearest
from fluidkv.traces import Trace
from fluidkv.traces.report import LoadReport

_BRING = (
    "prompts that say what they share: Mooncake lines with hash_ids, lines of format segments "
    "(arrival, prompt, output), or a generator"
)


@dataclass(frozen=True, eq=False)
class Prompted(Record):
    """A table of requests and their prompts, and where they came from.

    Fields:
        requests, prompts: in order of arrival.
        name: of the trace or generator.
        read: what the reader of the trace did; "" for a generator.
        block: tokens of the blocks that the prompts are known by; None: known token by token.
        parameters: of a generator, as plain values, its seed included; empty for a trace.

    Examples:
        >>> found = fk.prompted_generator("gsp", parameters={"groups": 2, "queries": 3})
        >>> len(found.requests), len(found.prompts.prompts), found.name, found.parameters["groups"]
        (6, 6, 'gsp', 2)
    """

    requests: Requests
    prompts: Prompts
    name: str
    read: str = ""
    block: int | None = None
    parameters: Mapping[str, Any] | None = None


def prompted_trace(trace: Trace, report: LoadReport | None = None) -> Prompted:
    """The prompts of a trace; those that came at one time stay in the order of the file.

    Args:
        report: of its reader; with rows dropped the trace is refused, since what is missing is
            missing in the cache too.

    Raises:
        InputError: a trace that does not say what its prompts share, dropped rows, ids that
            contradict each other.

    Examples:
        >>> blocks = {"prefix_blocks": ((0, 1), (0, 2)), "prefix_block_size": 4}
        >>> found = fk.prompted_trace(fk.Trace((8, 8), (1, 1), (0.0, 1.0), **blocks))
        >>> found.block, len(found.requests)
        (4, 2)
        >>> [[piece.length for piece in prompt] for prompt in found.prompts.prompts]
        [[8], [4, 4]]
    """
    if report is not None and report.dropped:
        allowed = f"a request in every row (dropped: {report.dropped_because[0]})"
        raise InputError("source", report.source, allowed)
    source = trace.name if report is None else report.source
    prompts = prompts_of_trace(trace)
    if prompts is None:
        raise InputError("source", source, _BRING)
    if trace.arrival_times_s is None:
        raise InputError("source", source, "a trace with times of arrival")
    order = np.argsort(trace.arrival_times_s, kind="stable")
    times = np.array(trace.arrival_times_s)[order]
    requests = Requests(
        np.array(trace.input_lengths)[order], np.array(trace.decode_lengths)[order], arrival=times
    )
    places = order.tolist()
    ordered = Prompts([prompts.prompts[i] for i in places], [prompts.outputs[i] for i in places])
    read = "" if report is None else report.summary().splitlines()[0]
    return Prompted(requests, ordered, trace.name, read, trace.prefix_block_size)


def prompts_of_trace(trace: Trace) -> Prompts | None:
    """What its requests say, in the order of the trace; None: it does not say what they share.

    Raises:
        InputError: ids of blocks that contradict each other.
    """
    if trace.prefix_blocks is not None and trace.prefix_block_size is not None:
        return prompts_of_blocks(
            trace.prefix_blocks,
            trace.prefix_block_size,
            trace.input_lengths,
            trace.decode_lengths,
        )
    return None if trace.prompt_segments is None else _of_segments(trace)


def prompted_generator(
    name: str, *, seed: int = 0, parameters: Mapping[str, Any] | None = None
) -> Prompted:
    """What a generator of `fluidkv.prefix.workloads` makes.

    Args:
        name: one of `GENERATORS`.
        seed: of its order and its times.
        parameters: those that are not to be as the generator has them.

    Raises:
        InputError: an unknown name or parameter, and what the generator refuses.

    Examples:
        >>> found = fk.prompted_generator("loop", parameters={"turns": 2}, seed=3)
        >>> len(found.requests), found.parameters["capacity"], found.parameters["seed"]
        (10, 6, 3)
        >>> [prompt[-1].segment for prompt in found.prompts.prompts]  # what is a prompt's own
        [1, 2, 3, 4, 5, 1, 2, 3, 4, 5]
    """
    if name not in GENERATORS:
        raise InputError("generator", name, nearest(name, GENERATORS))
    make, given = GENERATORS[name], dict(parameters or {})
    usual = {p.name: p.default for p in signature(make).parameters.values() if p.name != "rng"}
    for key in given:
        if key not in usual:
            raise InputError(key, given[key], f"of {name}: {', '.join(usual)}")
    requests, prompts = make(seed, **given)
    return Prompted(requests, prompts, name, parameters={**usual, **given, "seed": seed})


def _of_segments(trace: Trace) -> Prompts:
    assert trace.prompt_segments is not None
    assert trace.output_segments is not None
    named = [segment for prompt in trace.prompt_segments for segment, _ in prompt]
    own = 1 + max([*named, *(s for s in trace.output_segments if s is not None)])
    outputs: list[Content] = []
    for row, (segment, tokens) in enumerate(
        zip(trace.output_segments, trace.decode_lengths, strict=True)
    ):
        outputs.append((Piece(own + row if segment is None else segment, 0, tokens),))
    return Prompts(map(content, trace.prompt_segments), outputs)
