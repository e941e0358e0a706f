"""A run of which every time is known, on one clock: what fitting a clock and a replay need."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fluidkv.errors import InputError
from fluidkv.logs.held import held_tokens
from fluidkv.record import Record
from fluidkv.traces.report import LoadReport

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TimedRun(Record):
    """One run. All times are seconds on the clock of the ticks.

    Fields, of shape (request,) to `last_token_s` and of shape (tick,) from `tick_ends_s` on:
        input_lengths, decode_lengths: tokens, in the order of the file.
        arrival_s: when each came.
        queued_s, scheduled_s, first_token_s, last_token_s: scheduled is the first time only.
        tick_ends_s: strictly increasing.
        running, waiting: requests, as seen at the end of each tick.
        kv_used: part of the KV blocks in use there, 0 to 1; NaN where no file says.
        prompt_tokens, generated_tokens: during each tick, as `LoggedTicks` counts them; NaN where
            prompts are not counted.
        capacity: KV tokens in the pool; None where no file says.
        iterations, preempted: during each tick, shape (tick,); None where no file counts them.
        delay_s: as `ServerLog.delay_s` has it.
        report: what became of the rows of requests.
        stood_in: of the times, those that no file says: `queued_s` is then the arrival, and
            `scheduled_s` the first token.

    Examples:
        >>> run = fk.read_log("sample:vllm-rtx4090").timed()
        >>> run.capacity, run.stood_in
        (41408, ())
        >>> round(float((run.last_token_s - run.first_token_s).max()), 1), int(run.kv_tokens.max())
        (42.9, 41408)
    """

    input_lengths: NDArray[np.int64]
    decode_lengths: NDArray[np.int64]
    arrival_s: Array
    queued_s: Array
    scheduled_s: Array
    first_token_s: Array
    last_token_s: Array
    tick_ends_s: Array
    running: Array
    waiting: Array
    kv_used: Array
    prompt_tokens: Array
    generated_tokens: Array
    capacity: int | None
    report: LoadReport = field(repr=False)
    iterations: Array | None = None
    preempted: Array | None = None
    delay_s: float = 0.0
    stood_in: tuple[str, ...] = ()

    def clock_arrays(self) -> dict[str, Any]:
        """The arguments of `fluidkv.serving.clock_fit.points.tick_points`.

        Raises:
            InputError: a log without a capacity, of which the memory in use is logged as a part.
        """
        return {
            "tick_ends_s": self.tick_ends_s,
            "running": self.running,
            "kv_tokens": self.kv_tokens,
            "generated_tokens": self.generated_tokens,
            "input_lengths": self.input_lengths,
            "scheduled_s": self.scheduled_s,
            "first_token_s": self.first_token_s,
            "last_token_s": self.last_token_s,
            "capacity": self.capacity,
            "iterations": self.iterations,
            "preempted": self.preempted,
        }

    @property
    def kv_tokens(self) -> Array:
        """KV tokens in use at the end of each tick, as logged; else reckoned from the requests.

        Raises:
            InputError: a log without a capacity, of which the memory in use is logged as a part.
        """
        if not np.isnan(self.kv_used).all():
            if self.capacity is None:
                raise InputError("capacity", None, "a meta.json with kv_cache.num_kv_tokens")
            return self.kv_used * self.capacity
        order = np.argsort(self.arrival_s, kind="stable")
        times = (self.scheduled_s, self.first_token_s, self.last_token_s)
        of_requests = (self.input_lengths, self.decode_lengths, *times)
        held = held_tokens(self.tick_ends_s, self.running, *(x[order] for x in of_requests))
        return held if self.capacity is None else np.minimum(held, self.capacity)
