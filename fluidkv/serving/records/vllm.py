"""Records of vLLM's own scheduler: what each step counted, and what it was given.

The format: configuration; `output_lengths` in order of arrival, and maybe `priorities`;
`arrived_by_step`, how many had come before a step was scheduled; `columns` and `records`, a row a
step. Steps count from 0.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Int

from fluidkv.runs.requests import Requests
from fluidkv.serving.limits import Limits
from fluidkv.serving.records.comparison import Progress, Record, Replay, step_by_step
from fluidkv.serving.records.fields import Fields
from fluidkv.serving.records.table import COUNT, read_steps
from fluidkv.serving.records.vllm_settings import (
    NOT_MODELLED,
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

COLUMNS = (
    *("running_in", "running", "waiting", "used_blocks", "preempt", "admit_new", "admit_resumed"),
    *("completed", "sched_reqs", "tokens"),
)
"""What is compared; as in `serving.counts`."""


@dataclass(frozen=True, eq=False)
class VllmRecord(Record):
    """One run of vLLM's scheduler.

    Args:
        source, version, notes: as of every `Record`.
        rules, limits, requests: the run; a request that never came in the record arrives after it.
        columns: names out of `COLUMNS`, in the file's order.
        rows: counts, shape (step, column).

    Examples:
        >>> from fluidkv.serving import VllmRecord, replay
        >>> given = (fk.engine("vllm"), fk.Limits(100), fk.Requests([10], [2]))
        >>> rows = np.array([[1, 10], [1, 1]])
        >>> record = VllmRecord("by hand", "0.33.0", (), *given, ("running", "tokens"), rows)
        >>> replay(record).equal
        True
    """

    rules: EngineRules
    limits: Limits
    requests: Requests
    columns: tuple[str, ...]
    rows: Int[np.ndarray, "step column"]
    engine: ClassVar[str] = "vllm"

    def replay(self, on_progress: Progress) -> Replay:
        """Steps of the literal engine."""
        engine = Engine(self.requests, Server(self.rules, self.limits))
        rows = self.rows.tolist()
        return step_by_step(self.columns, rows, engine.step, "preempt", on_progress)


def vllm_record(fields: Fields) -> VllmRecord:
    """The record in a file.

    Raises:
        InputError: naming file and field: missing, of another kind, not modelled, not fitting the
            others; a request that is larger than the memory.
    """
    version = version_of(fields)
    fields.only("prefix_caching", False, NOT_MODELLED)
    rules, notes = rules_of(fields), []
    limits = limits_of(fields, notes)
    columns, rows = read_steps(fields, dict.fromkeys(COLUMNS, COUNT))
    requests = _requests(fields, limits, len(rows))
    notes += of_version(version, rules, limits)
    notes += fields.notes(fields.unused())
    table = np.array(rows, np.int64)
    return VllmRecord(fields.where, version, tuple(notes), rules, limits, requests, columns, table)


def _requests(fields: Fields, limits: Limits, steps: int) -> Requests:
    outputs = np.array(fields.integers("output_lengths"))
    inputs = _input_lengths(fields, outputs.size)
    by_step = fields.integers("arrived_by_step", least=0)
    if len(by_step) != steps:
        raise fields.wrong("arrived_by_step", f"{len(by_step)} steps", f"the {steps} of records")
    for step, (before, now) in enumerate(zip([0, *by_step], by_step, strict=False)):
        if not before <= now <= outputs.size:
            said = f"from {before}, as before, to {outputs.size}, the output_lengths"
            raise fields.wrong(f"arrived_by_step[{step}]", now, said)
    largest, peak = largest_of(inputs, outputs, limits)
    if peak > limits.blocks:
        raise fields.wrong(
            f"output_lengths[{largest}]",
            int(outputs[largest]),
            f"a request that fits: with {inputs[largest]} inputs it comes to {peak} "
            f"blocks, the memory is {limits.blocks}",
        )
    # the first step before which so many have come; one past the last for the others
    arrival = np.searchsorted(by_step, np.arange(1, outputs.size + 1))
    priorities = priorities_of(fields, outputs.size)
    return Requests(inputs, outputs, arrival=arrival, priority=priorities)


def _input_lengths(fields: Fields, requests: int) -> np.ndarray:
    """One for all, or one for each request; either name takes either."""
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
