"""Chains of masses: arrivals and the prompts that go on are their means.

The iteration of the chain of counts in real numbers. It is differentiable wherever a
small change moves no segment into the batch or out of it.

Source: WAIT, section 3.
"""

from collections.abc import Iterable
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from fluidkv.runs.checks import above_0
from fluidkv.runs.rates import RateSteps
from fluidkv.wait.chain import rates
from fluidkv.wait.chain.chain import Batch, Chain, common_fields
from fluidkv.wait.chain.model import Model, clock_of, levels_of
from fluidkv.wait.model import Exact


class FluidState(NamedTuple):
    """Between two iterations.

    Fields:
        masses: prompts at each stage of each segment; at a first stage those that wait before it.
            0 at stages that a segment does not have.
        time: the clock.

    Examples:
        >>> from fluidkv.wait import Segments, empty, fluid_chain
        >>> from fluidkv.wait.chain.masses import FluidState
        >>> chain = fluid_chain(Segments(3, (1, 3), (6, 2)), (9, 4.5), base=1, per_kv_token=0)
        >>> empty(chain).masses.tolist(), FluidState._fields
        ([[0.0, 0.0], [0.0, 0.0]], ('masses', 'time'))
    """

    masses: Float[Array, "segment stage"]
    time: Float[Array, ""]

    @property
    def queue(self) -> Float[Array, " segment"]:
        """Prompts that wait before each segment."""
        return self.masses[:, 0]

    def entered(self, prompts: Float[Array, " segment"], time: Float[Array, ""]) -> "FluidState":
        """At a later time, when so many more wait before each segment."""
        return FluidState(self.masses.at[:, 0].add(prompts), time)


class FluidChain(Chain):
    """A chain of masses; `fluid_chain` makes one.

    Fields, besides those of `Chain`, whose thresholds may be any numbers above 0 here:
        stages: of the longest segment.
    """

    stages: int = eqx.field(static=True)

    def empty(self) -> FluidState:
        return FluidState(jnp.zeros((*np.shape(self.span), self.stages)), jnp.zeros(()))

    def prompts(self, state: FluidState) -> Float[Array, ""]:
        return jnp.sum(state.masses)

    def wait(self, state: FluidState, before: Array, draw: None) -> tuple[Array, Array, Array]:
        rate = jnp.asarray(self.rate)
        missing, comes = jnp.maximum(self.threshold - state.queue, 0.0), rate > 0
        needed = missing / jnp.where(comes, rate, 1.0)  # in Lambda, see `rates`
        units = needed[0] if self.nested else jnp.min(needed)
        # Who was waited for is there exactly, whatever rounding says of the time.
        reached = comes & (needed == units)
        full = jnp.maximum(state.queue, self.threshold)
        ready = jnp.where(reached, full, state.queue + rate * units)
        wait = rates.lasting(self.pieces, state.time, units)
        came = jnp.sum(ready - state.queue)
        return ready, wait, before * wait + came * rates.mean_rest(self.pieces, state.time, wait)

    def execute(self, state: FluidState, ready: Array, joined: Bool[Array, " segment"]) -> Batch:
        masses = state.masses.at[:, 0].set(ready)
        most = jnp.asarray(self.threshold)[:, None]
        batch = jnp.where(joined[:, None], jnp.minimum(most, masses), 0.0)
        left = masses - batch
        stage = jnp.arange(self.stages)[None]
        computing = jnp.asarray(self.first_tokens)[:, None] + stage.astype(masses.dtype)
        paused = jnp.where(stage == 0, jnp.asarray(self.boundary_tokens)[:, None], computing - 1)
        kv = jnp.sum(batch * computing)
        is_last = stage == jnp.asarray(self.span, stage.dtype)[:, None] - 1
        moved = jnp.roll(jnp.where(is_last, 0.0, batch), 1, axis=1)
        return Batch(
            kv_tokens=kv,
            held_tokens=kv + jnp.sum(left * paused),
            outputs=jnp.sum(batch) - jnp.sum(batch[:, 0] * self.prefills()),
            started=batch[:, 0],
            passed=jnp.sum(jnp.where(is_last, batch, 0.0), axis=1),
            after=state._replace(masses=left + moved),
        )

    def arrive(
        self, batch: Batch, joined: Bool[Array, " segment"], units: Array, draw: None
    ) -> Float[Array, " segment"]:
        onward = jnp.asarray(self.share) * jnp.roll(batch.passed, 1)  # the share of the first is 0
        return jnp.asarray(self.rate) * units + onward


def fluid_chain(
    model: Model,
    thresholds: Iterable[float],
    *,
    base: Exact | None = None,
    per_kv_token: Exact | None = None,
    per_prefill_token: Exact | None = None,
    rate_steps: RateSteps | None = None,
) -> FluidChain:
    """The chain of masses: `count_chain` where prompts are many and small.

    Scaled by zeta (thresholds and rates zeta times as large, tokens as quick), counts over zeta
    tend to these masses. A threshold may be any number above 0, such as the equilibrium's.

    Args:
        others: of `count_chain`.

    Raises:
        InputError: as `count_chain`.

    Source: WAIT, section 3.

    Examples:
        >>> import jax
        >>> from fluidkv.wait import PromptType, WaitSystem, fluid_chain, fluid_equilibrium, step
        >>> from fluidkv.wait.chain.masses import FluidState
        >>> system = WaitSystem([PromptType(1, 2, 1)], base=1, per_kv_token=Fraction(1, 10))
        >>> chain = fluid_chain(system, fluid_equilibrium(system).per_stage)
        >>> with jax.enable_x64(True):  # 2 prompts at each stage: an iteration lasts 2
        ...     state, flows = step(chain, FluidState(np.array([[2.0, 2.0]]), np.array(0.0)))
        >>> state.masses.tolist(), state.time.item(), flows.completed.item()
        ([[2.0, 2.0]], 2.0, 2.0)
    """
    clock, levels = (
        clock_of(model, base, per_kv_token, per_prefill_token),
        levels_of(model, thresholds),
    )
    fields = common_fields(model, (1,) * len(levels), clock, rate_steps)
    fields["threshold"] = np.array([above_0("thresholds", level) for level in levels])
    return FluidChain(**fields, stages=int(fields["span"].max()))
