"""One iteration of masses, pure JAX: wait, select, execute, arrive.

The iteration of `fluidkv.wait.chain.reference` in real numbers, where arrivals and those who go on
are their means. It is differentiable wherever a small change moves no segment into the batch or out
of it.

Source: WAIT, Algorithms 1 and 2, in the fluid limit of section 3.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from fluidkv.wait.chain import rates
from fluidkv.wait.chain.chains import Flows, FluidChain, FluidState


def fluid_step(chain: FluidChain, state: FluidState) -> tuple[FluidState, Flows]:
    """One iteration of one run."""
    before, queue = jnp.sum(state.masses), state.masses[:, 0]
    present, wait = _wait(chain, state)
    waited, start = present - queue, state.time + wait
    ready = state.masses.at[:, 0].set(present)

    joined = chain.select(present)
    most = jnp.asarray(chain.threshold)[:, None]
    batch = jnp.where(joined[:, None], jnp.minimum(most, ready), 0.0)
    left = ready - batch
    stage = jnp.arange(ready.shape[1])[None]
    computing = jnp.asarray(chain.first_tokens)[:, None] + stage.astype(ready.dtype)
    paused = jnp.where(stage == 0, jnp.asarray(chain.boundary_tokens)[:, None], computing - 1)
    kv = jnp.sum(batch * computing)
    duration = chain.duration(kv, batch[:, 0])

    is_last = stage == jnp.asarray(chain.span, stage.dtype)[:, None] - 1
    passed = jnp.sum(jnp.where(is_last, batch, 0.0), axis=1)
    onward = jnp.asarray(chain.share) * jnp.roll(passed, 1)  # the share of the first one is 0
    arrivals = jnp.asarray(chain.rate) * rates.elapsed(chain.pieces, start, duration)
    moved = jnp.roll(jnp.where(is_last, 0.0, batch), 1, axis=1)
    inside = before + jnp.sum(waited)
    came = jnp.sum(arrivals)
    flows = Flows(
        wait=wait,
        waited=waited,
        joined=joined,
        kv_tokens=kv,
        held_tokens=kv + jnp.sum(left * paused),
        duration=duration,
        entered=arrivals + onward,
        arrived=jnp.sum(waited) + came,
        completed=jnp.sum(passed) - jnp.sum(onward),
        outputs=jnp.sum(batch) - jnp.sum(batch[:, 0] * chain.prefills),
        waiting_area=before * wait
        + jnp.sum(waited) * rates.mean_rest(chain.pieces, state.time, wait),
        area=inside * duration + came * rates.mean_rest(chain.pieces, start, duration),
    )
    masses = (left + moved).at[:, 0].add(flows.entered)
    return FluidState(masses, start + duration), flows


def _wait(
    chain: FluidChain, state: FluidState
) -> tuple[Float[Array, " segment"], Float[Array, ""]]:
    """What is before each segment once a batch can be formed, and the time that takes."""
    queue, rate = state.masses[:, 0], jnp.asarray(chain.rate)
    missing, comes = jnp.maximum(chain.threshold - queue, 0.0), rate > 0
    needed = missing / jnp.where(comes, rate, 1.0)  # in Lambda, see `rates`
    units = needed[0] if chain.nested else jnp.min(needed)
    # Who was waited for is there exactly, whatever rounding says of the time.
    reached = comes & (needed == units)
    present = jnp.where(reached, jnp.maximum(queue, chain.threshold), queue + rate * units)
    return present, rates.lasting(chain.pieces, state.time, units)
