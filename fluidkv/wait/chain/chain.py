"""One iteration of WAIT or Nested WAIT in pure JAX: wait, select, execute, arrive.

A chain is a pytree of what an iteration depends on. Two kinds fill in what differs: of masses
(`masses`), where arrivals and those who go on are their means, and of counts (`counts`), where they
are drawn. Arrays are NumPy's on the host: they reach JAX as arguments, so that other numbers of the
same shape compile nothing. Axes of runs, where there are several, come last.

Source: WAIT, Algorithms 1 and 2.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from fluidkv.errors import InputError
from fluidkv.runs.rates import RateSteps
from fluidkv.runs.words import Words
from fluidkv.serving.clock import IterationClock
from fluidkv.wait.chain import rates
from fluidkv.wait.chain.model import Model, arrival_rates, shapes
from fluidkv.wait.segments import Segments

OfSegment = Float[Array | np.ndarray, "segment ..."]
OfRun = Float[Array | np.ndarray, "*run"]

Draw = Callable[[int | Array, int], Words]
"""(first place, places) -> words of this iteration."""


class Flows(NamedTuple):
    """What an iteration was.

    Fields:
        wait: time before the batch, 0 where it could be formed at once.
        waited: prompts that came to each segment in it.
        joined: whether each segment is in the batch.
        kv_tokens, held_tokens: in the batch, and in memory.
        duration: of the iteration after the wait.
        entered: prompts that came to wait before each segment during it: arrivals, and those who go
            on from the segment before.
        arrived: prompts that came to the system, in all.
        completed: prompts that computed their last stage.
        outputs: output tokens emitted; a prefill emits none.
        waiting_area, area: prompts in the system, integrated over the wait and over the iteration;
            of counts expected, given them and all times.
    """

    wait: Float[Array, "*run"]
    waited: Array
    joined: Bool[Array, "segment ..."]
    kv_tokens: Float[Array, "*run"]
    held_tokens: Float[Array, "*run"]
    duration: Float[Array, "*run"]
    entered: Array
    arrived: Array
    completed: Array
    outputs: Array
    waiting_area: Float[Array, "*run"]
    area: Float[Array, "*run"]


class Batch(NamedTuple):
    """What is computed in an iteration.

    Fields:
        kv_tokens, held_tokens, outputs: as in `Flows`.
        started, passed: prompts at the first and at the last stage of each segment in the batch.
        after: the state once all have moved on, before anybody comes and at the time before.
    """

    kv_tokens: Float[Array, "*run"]
    held_tokens: Float[Array, "*run"]
    outputs: Float[Array, "*run"]
    started: Float[Array, "segment ..."]
    passed: Array
    after: Any


class Chain(eqx.Module):
    """What masses and counts have in common; the kinds fill in the verbs.

    Fields:
        threshold, span: n and stages of each segment.
        first_tokens: tokens that a prompt holds at a segment's first stage.
        boundary_tokens: tokens that it holds while it waits before a segment; 0 where it has none.
        rate: of arrivals, to each type, or the first segment, then 0.
        share: of the prompts that pass the segment before, those that go on into this one; 0 for
            types.
        base, per_kv_token, per_prefill_token: of the clock.
        pieces: of the rates, where they change.
        nested: each segment is fed by the one before; False: they are types, each with arrivals.
    """

    threshold: OfSegment | Int[Array | np.ndarray, "segment ..."]
    span: Int[Array | np.ndarray, "segment ..."]
    first_tokens: OfSegment
    boundary_tokens: OfSegment
    rate: OfSegment
    share: OfSegment
    base: OfRun
    per_kv_token: OfRun
    per_prefill_token: OfRun
    pieces: rates.Pieces | None
    nested: bool = eqx.field(static=True)

    @abstractmethod
    def empty(self) -> Any:
        """The state where nobody has come yet."""

    @abstractmethod
    def prompts(self, state: Any) -> Float[Array, "*run"]:
        """In the system, between two iterations."""

    @abstractmethod
    def wait(self, state: Any, before: Array, draw: Any) -> tuple[Array, Array, Array]:
        """What is before each segment once a batch can be formed; the time that takes; the prompts
        in the system, `before` and those who come, integrated over it."""

    @abstractmethod
    def execute(self, state: Any, ready: Array, joined: Bool[Array, "segment ..."]) -> Batch:
        """Compute a stage of those in the batch."""

    @abstractmethod
    def arrive(
        self, batch: Batch, joined: Bool[Array, "segment ..."], units: Array, draw: Any
    ) -> Array:
        """Prompts that come to wait before each segment meanwhile: from the segment before, and
        from outside, where `rate` times `units` are expected."""

    def iterate(self, state: Any, draw: Any) -> tuple[Any, Flows]:
        """One iteration of one run, or of several along last axes.

        Args:
            draw: a `Draw`, for counts.
        """
        before = self.prompts(state)
        ready, wait, waiting_area = self.wait(state, before, draw)
        waited, start = ready - state.queue, state.time + wait
        joined = self._select(ready)
        batch = self.execute(state, ready, joined)
        duration = self._duration(batch)
        units = rates.elapsed(self.pieces, start, duration)
        entered = self.arrive(batch, joined, units, draw)
        came = over_segments(entered[:1] if self.nested else entered)
        present = before + f64(over_segments(waited))
        rest = rates.mean_rest(self.pieces, start, duration)
        flows = Flows(
            wait=wait,
            waited=waited,
            joined=joined,
            kv_tokens=batch.kv_tokens,
            held_tokens=batch.held_tokens,
            duration=duration,
            entered=entered,
            arrived=over_segments(waited) + came,
            completed=over_segments(batch.passed) - (over_segments(entered) - came),
            outputs=batch.outputs,
            waiting_area=waiting_area,
            area=present * duration + f64(came) * rest,
        )
        return batch.after.entered(entered, start + duration), flows

    def prefills(self) -> Float[Array, "segment ..."]:
        """1 where a segment's first stage is a prefill, 0 behind a boundary."""
        return jnp.where(jnp.asarray(self.boundary_tokens) > 0, 0.0, 1.0)

    def full_durations(self) -> Float[np.ndarray, " segment"]:
        """Of an iteration in which the segments up to each one are full; on the host."""
        span = np.asarray(self.span, np.float64)
        tokens = self.threshold * (span * self.first_tokens + span * (span - 1) / 2)
        inputs = self.threshold * np.where(self.boundary_tokens > 0, 0.0, self.first_tokens)
        kv = self.per_kv_token * np.cumsum(tokens)
        return np.asarray(self.base + kv + self.per_prefill_token * np.cumsum(inputs))

    def _select(self, ready: Array) -> Bool[Array, "segment ..."]:
        """Types that have reached their threshold; segments before the first that has not."""
        enough = ready >= self.threshold
        if not self.nested:
            return enough
        segment = along(ready)
        return segment < jnp.min(jnp.where(enough, len(ready), segment), axis=0)[None]

    def _duration(self, batch: Batch) -> Float[Array, "*run"]:
        inputs = over_segments(batch.started * (self.prefills() * self.first_tokens))
        kv = self.per_kv_token * batch.kv_tokens
        return jnp.asarray(self.base) + kv + self.per_prefill_token * inputs


def common_fields(
    model: Model, thresholds: tuple[int, ...], clock: IterationClock, steps: RateSteps | None
) -> dict[str, Any]:
    """The fields of `Chain`.

    Raises:
        InputError: rates of another kind.
    """
    if steps is not None and not isinstance(steps, RateSteps):
        raise InputError("rate_steps", steps, "RateSteps or None")
    threshold, span, first_tokens, boundary_tokens = zip(*shapes(model, thresholds), strict=True)
    rest = [0.0] * (len(span) - len(arrival_rates(model)))
    share = [0, *model.thinning] if isinstance(model, Segments) else [0] * len(span)
    return {
        "threshold": np.array(threshold, np.int32),
        "span": np.array(span, np.int32),
        "first_tokens": np.array(first_tokens, np.float64),
        "boundary_tokens": np.array(boundary_tokens, np.float64),
        "rate": np.array([*map(float, arrival_rates(model)), *rest]),
        "share": np.array(share, np.float64),
        "base": np.float64(clock.base),
        "per_kv_token": np.float64(clock.per_kv_token),
        "per_prefill_token": np.float64(clock.per_prefill_token),
        "pieces": rates.pieces_of(steps),
        "nested": isinstance(model, Segments),
    }


def along(values: Array) -> Int[Array, "segment ..."]:
    """The number of each segment, along the first axis."""
    return lax.broadcasted_iota(jnp.int32, (len(values), *(1,) * (values.ndim - 1)), 0)


def over_segments(values: Array) -> Array:
    """Summed, in the same kind of numbers: a sum of integers is one of 64 bits by default."""
    return jnp.sum(values, axis=0, dtype=values.dtype)


def i32(values: Array) -> Int[Array, "..."]:
    return values.astype(jnp.int32)


def f64(values: Any) -> Float[Array, "..."]:
    return jnp.asarray(values, jnp.float64)
