"""Records of vLLM's own scheduler with prefix caching on: each step, and each admission in it.

The format: configuration with `"prefix_caching": true`; `requests`, which say what they say;
`columns` and `records`, a row a step, taken after scheduling. Requests are called by their place in
the file.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.limits import Limits
from fluidkv.serving.records.arrivals import Arrivals, read_arrivals
from fluidkv.serving.records.comparison import Progress, Record, Replay, step_by_step
from fluidkv.serving.records.fields import Fields
from fluidkv.serving.records.table import COUNT, COUNTS, lists_of, read_steps
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

_OURS = {
    **{name: name for name in ("running_in", "running", "waiting", "used_blocks")},
    "cached_blocks": "cached_blocks",
    "distinct_hashes": "distinct_blocks",
    "evicted_blocks": "evicted_blocks",
    "preempted": "preempt",
    **{name: name for name in ("completed", "sched_reqs", "tokens")},
    "hit_tokens": "found_tokens",
}
"""Column -> the count of ours, of those that are one."""

COLUMNS = {
    **dict.fromkeys(("arrived", "admitted", *_OURS), COUNT),
    "admissions": lists_of(3),
    "preempted_ids": COUNTS,
    "finished_ids": COUNTS,
}
"""What is compared, and what its cells hold."""

_SAID = ("what", "summary")  # for a reader of the file; sums of its rows


@dataclass(frozen=True, eq=False)
class VllmPrefixRecord(Record):
    """One run of vLLM's scheduler with its prefix cache.

    Args:
        source, version, notes: as of every `Record`.
        rules, limits, arrivals: the run.
        columns: names out of `COLUMNS`, in the file's order.
        rows: counts and lists, a row a step.

    Examples:
        >>> from fluidkv.prefix import Prompts
        >>> from fluidkv.serving import VllmPrefixRecord, replay
        >>> from fluidkv.serving.records.arrivals import Arrivals
        >>> alike = Prompts([[(0, 0, 12)], [(0, 0, 12)]], [[(1, 0, 2)], [(2, 0, 2)]])
        >>> arrivals = Arrivals(fk.Requests([12, 12], [2, 2], arrival=[0, 1]), alike, np.arange(2))
        >>> given = (fk.engine("vllm"), fk.Limits(40, block_size=4), arrivals)
        >>> rows = [[12, 0], [5, 8], [1, 0]]  # the second prompt finds two of its blocks
        >>> given = (*given, ("tokens", "hit_tokens"), rows)
        >>> replay(VllmPrefixRecord("by hand", "0.33.0", (), *given)).equal
        True
    """

    rules: EngineRules
    limits: Limits
    arrivals: Arrivals
    columns: tuple[str, ...]
    rows: list[list[Any]]
    engine: ClassVar[str] = "vllm"

    def replay(
        self,
        on_progress: Progress,
        *,
        compiled: bool = False,
    ) -> Replay:
        """Steps of the literal engine, or of the compiled one."""
        arrivals, engine = self.arrivals, ServedEngine(self.rules, caching=True)
        server = Server(engine, self.limits, prompts=arrivals.prompts)
        run = Engine(arrivals.requests, server, compiled=compiled)
        places = arrivals.places.tolist()

        def step() -> dict[str, Any]:
            counts = run.step()
            return {name: counts[ours] for name, ours in _OURS.items()} | {
                "arrived": run.arrived,
                "admitted": counts["admit_new"] + counts["admit_resumed"],
                "admissions": [[places[index], *tokens] for index, *tokens in run.admissions],
                "preempted_ids": sorted(places[index] for index in run.preempted),
                "finished_ids": sorted(places[index] for index in run.finished),
            }

        return step_by_step(self.columns, self.rows, step, "preempted", on_progress)


def vllm_prefix_record(fields: Fields) -> VllmPrefixRecord:
    """The record in a file.

    Raises:
        InputError: naming file and field: missing, of another kind, not modelled, not fitting the
            others; a request that is larger than the memory.
    """
    version = version_of(fields)
    fields.flag("prefix_caching")
    rules, notes = rules_of(fields), []
    limits = limits_of(fields, notes, says_capacity=False)
    arrivals = _with_priorities(fields, read_arrivals(fields))
    _check_fit(fields, arrivals, limits)
    columns, rows = read_steps(fields, COLUMNS)
    notes += of_version(version, rules, limits)
    notes += fields.notes(fields.unused(_SAID))
    return VllmPrefixRecord(
        fields.where, version, tuple(notes), rules, limits, arrivals, columns, rows
    )


def _with_priorities(fields: Fields, arrivals: Arrivals) -> Arrivals:
    """A file has one for each request, by its place."""
    priorities = priorities_of(fields, len(arrivals.places))
    if priorities is None:
        return arrivals
    in_order = np.array(priorities)[arrivals.places]
    return replace(arrivals, requests=replace(arrivals.requests, priority=in_order))


def _check_fit(fields: Fields, arrivals: Arrivals, limits: Limits) -> None:
    requests = arrivals.requests
    largest, peak = largest_of(requests.input_length, requests.output_length, limits)
    if peak > limits.blocks:
        lengths = requests.input_length[largest], requests.output_length[largest]
        raise fields.wrong(
            f"requests[{arrivals.places[largest]}]",
            f"{lengths[0]} + {lengths[1]} tokens",
            f"a request that fits: it comes to {peak} blocks, the memory is {limits.blocks}",
        )
