"""Records of vLLM's own scheduler, with prefix caching and without: what each step counted.

The format: configuration; the requests; `columns` and `records`, a row for each step, taken after
scheduling. Steps count from 0. Without prefix caching the requests are `output_lengths` in order of
arrival, `input_length` and `arrived_by_step`, how many had come before a step was scheduled. With
`"prefix_caching": true` they are `requests`, with their texts, and are called by their place in the
file. Either may have `priorities`, one for each request of the file.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from fluidkv.runs.requests import Requests
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.limits import Limits
from fluidkv.serving.records.arrivals import Arrivals, read_arrivals
from fluidkv.serving.records.fields import Fields
from fluidkv.serving.records.steps import Step, StepsRecord
from fluidkv.serving.records.table import COUNT, COUNTS, Cell, lists_of, read_steps
from fluidkv.serving.records.vllm_settings import (
    largest_of,
    limits_of,
    of_version,
    priorities_of,
    rules_of,
    version_of,
)
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.server import Server
from fluidkv.serving.stepped import Engine

_FILLING = ("running_in", "running", "waiting", "used_blocks")
_WORK = ("completed", "sched_reqs", "tokens")
COLUMNS: dict[str, Cell] = dict.fromkeys(
    (*_FILLING, "preempt", "admit_new", "admit_resumed", *_WORK), COUNT
)
"""What is compared without prefix caching; as in `serving.counts`."""

_CACHE = ("cached_blocks", "distinct_hashes", "evicted_blocks")
CACHE_COLUMNS: dict[str, Cell] = {
    **dict.fromkeys(("arrived", "admitted", *_FILLING, *_CACHE), COUNT),
    **dict.fromkeys(("preempted", *_WORK, "hit_tokens"), COUNT),
    "admissions": lists_of(3),
    "preempted_ids": COUNTS,
    "finished_ids": COUNTS,
}
"""What is compared with it, and what its cells hold."""

_FOR_READERS = ("what", "summary")  # of a record with prefix caching; sums of its rows


@dataclass(frozen=True, eq=False)
class VllmRecord(StepsRecord):
    """One run of vLLM's scheduler; with its prefix cache where the requests have texts.

    Args:
        source, version, notes, arrivals, columns, rows: as of every `StepsRecord`; a request that
            never came in the record arrives after it.
        rules, limits: the server.

    Examples:
        >>> from fluidkv.prefix import Prompts
        >>> from fluidkv.serving.records.replay import replay
        >>> from fluidkv.serving.records.vllm import VllmRecord
        >>> from fluidkv.serving.records.arrivals import Arrivals
        >>> alike = Prompts([[(0, 0, 12)], [(0, 0, 12)]], [[(1, 0, 2)], [(2, 0, 2)]])
        >>> arrivals = Arrivals(fk.Requests([12, 12], [2, 2], arrival=[0, 1]), alike)
        >>> rows = [[12, 0], [5, 8], [1, 0]]  # the second prompt finds two of its blocks
        >>> steps, limits = (arrivals, ("tokens", "hit_tokens"), rows), fk.Limits(40, block_size=4)
        >>> replay(VllmRecord("by hand", "0.33.0", (), *steps, fk.engine("vllm"), limits)).equal
        True
    """

    rules: EngineRules
    limits: Limits
    engine: ClassVar[str] = "vllm"
    evictions: ClassVar[str] = "preempt"

    def scheduler(self, *, compiled: bool) -> Step:
        """The literal engine, or the compiled one."""
        requests, prompts = self.arrivals.requests, self.arrivals.prompts
        served = ServedEngine(self.rules, caching=prompts is not None)
        server = Server(served, self.limits, prompts=prompts)
        run, places = Engine(requests, server, compiled=compiled), self.arrivals.places
        if prompts is None:
            return run.step

        def step() -> dict[str, Any]:
            counts = run.step()
            return counts | {
                "arrived": run.arrived,
                "admitted": counts["admit_new"] + counts["admit_resumed"],
                "distinct_hashes": counts["distinct_blocks"],
                "preempted": counts["preempt"],
                "hit_tokens": counts["found_tokens"],
                "admissions": [[places[index], *tokens] for index, *tokens in run.admissions],
                "preempted_ids": sorted(places[index] for index in run.preempted),
                "finished_ids": sorted(places[index] for index in run.finished),
            }

        return step


def vllm_record(fields: Fields) -> VllmRecord:
    """The record in a file.

    Raises:
        InputError: naming file and field: missing, of another kind, not modelled, not fitting the
            others; a request that is larger than the memory.
    """
    version, caching = version_of(fields), fields.flag("prefix_caching")
    rules, notes = rules_of(fields), []
    limits = limits_of(fields, notes, says_capacity=not caching)
    texts = read_arrivals(fields) if caching else None
    columns, rows = read_steps(fields, CACHE_COLUMNS if caching else COLUMNS)
    arrivals = _with_priorities(fields, texts or _of_lengths(fields, len(rows)))
    _check_fit(fields, arrivals, limits)
    notes += of_version(version, rules, limits)
    notes += fields.notes(fields.unused(_FOR_READERS if caching else ()))
    run = arrivals, columns, rows
    return VllmRecord(fields.where, version, tuple(notes), *run, rules, limits)


def _of_lengths(fields: Fields, steps: int) -> Arrivals:
    outputs = np.array(fields.integers("output_lengths"))
    inputs = _input_lengths(fields, outputs.size)
    by_step = fields.integers("arrived_by_step", least=0)
    if len(by_step) != steps:
        raise fields.wrong("arrived_by_step", f"{len(by_step)} steps", f"the {steps} of records")
    for step, (before, now) in enumerate(zip([0, *by_step], by_step, strict=False)):
        if not before <= now <= outputs.size:
            allowed = f"from {before}, as before, to {outputs.size}, the output_lengths"
            raise fields.wrong(f"arrived_by_step[{step}]", now, allowed)
    # the first step before which so many have come; one past the last for the others
    arrival = np.searchsorted(by_step, np.arange(1, outputs.size + 1))
    return Arrivals(Requests(inputs, outputs, arrival=arrival))


def _input_lengths(fields: Fields, requests: int) -> np.ndarray:
    """One length for all requests, or a list of them; either name takes either."""
    names = [name for name in ("input_length", "input_lengths") if name in fields.values]
    if len(names) > 1:
        raise fields.wrong("input_lengths", "beside input_length", "one of the two")
    name = names[0] if names else "input_length"
    lengths = fields.integer_or_integers(name)
    if isinstance(lengths, list) and len(lengths) != requests:
        raise fields.wrong(
            name, f"{len(lengths)} lengths", f"one, or {requests}, one for each request"
        )
    return np.broadcast_to(np.asarray(lengths), requests).copy()


def _with_priorities(fields: Fields, arrivals: Arrivals) -> Arrivals:
    priorities = priorities_of(fields, len(arrivals.places))
    if priorities is None:
        return arrivals
    in_order = [priorities[place] for place in arrivals.places]
    return replace(arrivals, requests=replace(arrivals.requests, priority=in_order))


def _check_fit(fields: Fields, arrivals: Arrivals, limits: Limits) -> None:
    requests = arrivals.requests
    largest, peak = largest_of(requests.input_length, requests.output_length, limits)
    if peak > limits.blocks:
        inputs, outputs = requests.input_length[largest], requests.output_length[largest]
        raise fields.wrong(
            f"{'output_lengths' if arrivals.prompts is None else 'requests'}"
            f"[{arrivals.places[largest]}]",
            f"{inputs} + {outputs} tokens",
            f"a request that fits: it comes to {peak} blocks, the memory is {limits.blocks}",
        )
