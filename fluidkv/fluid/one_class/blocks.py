"""The block-end map in JAX: many starts with the same live positions, one step a block.

Live positions keep their places; only their order of age rotates. So a block writes one row: the
position that is oldest gets the mass of the batch admitted in its place,

    y'_0 = ((l0 + l1) y_{m-1} - g_{m-1} (y_0 + ... + y_{m-2})) / (l0 + g_{m-1}),

and the sum of all masses is carried along, so that the cost of a block depends neither on the
number of live positions nor on the number of stages. `exact/one_class/blocks.py` is the reference,
and says why a batch that is not positive means that the support is lost within the block.

Index order inside is (position, batch). Expects float64; `simulate_blocks` sees to it.

Source: Congestion, Proposition A.4, equation (16).
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import lax
from jaxtyping import Array, Float, Int
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.boundary import weights_of_one_class
from fluidkv.labels import dataset
from fluidkv.runs.precision import in_float64
from fluidkv.workload import System

KEPT = -1
"""Stands for "the support lasted" where the block that lost it is given."""


class Blocks(NamedTuple):
    """What a scan over blocks carries.

    Fields:
        masses: of each live position, requests; position h is the h-th youngest at the start.
        total: their sum.
        lost: the first block, counted from 1, that lost support; KEPT if none did.
    """

    masses: Float[Array, "position batch"]
    total: Float[Array, " batch"]
    lost: Int[Array, " batch"]


def scan_blocks(
    gaps: tuple[int, ...],
    input_length: Float[Array, ""],
    masses: Float[Array, "position batch"],
    blocks: int,
) -> tuple[Blocks, Float[Array, "block batch"]]:
    """The engine: what is left after all blocks, and the new batch y'_0 of each block.

    A trajectory whose support is lost stays as it was before that block; its batches are NaN from
    the one after on, and the one that says so is not positive. Pure; `gaps` and `blocks` are
    static. Checks nothing. Call it under `in_float64`.

    Examples:
        >>> from fluidkv.fluid import scan_blocks
        >>> from fluidkv.runs.precision import in_float64
        >>> with in_float64():
        ...     end, new = scan_blocks((2, 1), np.array(2.0), np.array([[1.0], [4.0]]), blocks=1)
        >>> round(new.item(), 3), end.lost.item()
        (6.333, -1)
    """
    m, l1 = len(gaps), sum(gaps)
    released = input_length + l1

    def block(carry, position):
        total, lost, k = carry
        oldest, gap = position
        younger = total - oldest
        batch = (released * oldest - gap * younger) / (input_length + gap)
        kept = lost == KEPT
        moves = kept & (batch > 0)
        after = jnp.where(moves, batch, oldest)
        lost = jnp.where(kept & ~moves, k, lost)
        return (younger + after, lost, k + 1), (after, jnp.where(kept, batch, jnp.nan))

    # The oldest position is the last one, then the one before: a round runs backwards through them.
    # Rows enter and leave the scan as its inputs and outputs; an array of all of them in the carry,
    # indexed by the block, is copied as a whole in every step.
    gap_of = jnp.asarray(gaps, dtype=masses.dtype)

    def round_(carry, masses, count):
        head, tail = masses[: m - count], masses[m - count :]
        carry, (after, batches) = lax.scan(block, carry, (tail, gap_of[m - count :]), reverse=True)
        return carry, jnp.concatenate([head, after]), batches[::-1]

    def full(carry, _):
        *counts, masses = carry
        counts, masses, batches = round_(tuple(counts), masses, m)
        return (*counts, masses), batches

    lost = jnp.full(masses.shape[1:], KEPT, dtype=jnp.int32)
    carry = (jnp.sum(masses, axis=0), lost, jnp.int32(1), masses)
    (*counts, masses), batches = lax.scan(full, carry, None, length=blocks // m)
    batches = batches.reshape(-1, *masses.shape[1:])
    (total, lost, _), masses, rest = round_(tuple(counts), masses, blocks % m)
    return Blocks(masses, total, lost), jnp.concatenate([batches, rest])


def simulate_blocks(
    system: System, gaps: Sequence[int], masses: ArrayLike, *, blocks: int
) -> xr.Dataset:
    """Follow block-ends from many block-ends with the same predecessor gaps.

    Args:
        system: one class.
        gaps: g_0 ... g_{m-1}, youngest position first, with sum l1.
        masses: y_0 ... y_{m-1}, shape (position,) or (batch, position), requests, positive; the
            state that holds y_h at stage S_h - 1 is on the memory boundary.
        blocks: how many at most, at least 1.

    Returns:
        A dataset with dimensions batch, block (1 ... blocks) and position. Coordinate `iteration`
        (block), physical iterations since the start. Variables: `new_mass` (batch, block), y'_0,
        not positive where the support is lost and NaN after that; `lost` (batch), the block that
        lost support, or -1; `final_masses` (batch, position), the masses by position after the last
        block that kept the support; position h is the h-th youngest of the start.

    Raises:
        InputError: more than one class; gaps that do not sum to l1; masses of another shape, not
            positive, or off the memory boundary; no blocks.
    """
    weights, capacity = weights_of_one_class(system)
    checked = _checked_gaps(gaps, weights.size)
    start = _checked_masses(masses, checked, weights, float(capacity))
    if isinstance(blocks, bool) or not isinstance(blocks, int | np.integer) or blocks < 1:
        raise InputError("blocks", blocks, "an integer of at least 1")
    input_length = weights[0] - 1
    with in_float64():
        end, new = _scan_jit(checked, input_length, start.T, int(blocks))
        end, new = jax.device_get((end, new))
    oldest = [checked[(len(checked) - 1 - k) % len(checked)] for k in range(blocks)]
    return dataset(
        {
            "new_mass": (
                ("batch", "block"),
                np.asarray(new).T,
                "request",
                "mass admitted by the block; NaN after the support is lost",
            ),
            "lost": ("batch", np.asarray(end.lost), "1", "block that lost support; -1: none"),
            "final_masses": (
                ("batch", "position"),
                np.asarray(end.masses).T,
                "request",
                "mass by position after the last block that kept the support",
            ),
        },
        {
            "block": ("block", np.arange(1, blocks + 1), "1", "number of the block"),
            "iteration": ("block", np.cumsum(oldest), "iteration", "iterations since the start"),
            "gap": ("position", np.array(checked), "iteration", "predecessor gap"),
        },
        system=system,
    )


_scan_jit = partial(jax.jit, static_argnums=(0, 3))(scan_blocks)


def _checked_gaps(gaps: Sequence[int], stages: int) -> tuple[int, ...]:
    whole = all(isinstance(g, int | np.integer) and g >= 1 for g in gaps)
    if not whole or sum(gaps) != stages:
        raise InputError("gaps", tuple(gaps), f"positive integers that sum to {stages}")
    return tuple(int(g) for g in gaps)


def _checked_masses(
    masses: ArrayLike, gaps: tuple[int, ...], weights: np.ndarray, capacity: float
) -> Float[np.ndarray, "batch position"]:
    start = np.asarray(masses, dtype=np.float64)
    if start.ndim not in (1, 2) or start.shape[-1] != len(gaps) or start.size == 0:
        allowed = f"shape ({len(gaps)},), one a gap, or a batch of them"
        raise InputError("masses", f"shape {start.shape}", allowed)
    start = start.reshape(-1, len(gaps))
    if not np.all(np.isfinite(start) & (start > 0)):
        raise InputError("masses", "one that is not positive and finite", "positive masses")
    off = start @ weights[np.cumsum(gaps) - 1] - capacity
    # What rounding the masses and this sum can do to a start on the boundary.
    if np.any(np.abs(off) > (len(gaps) + 2) * np.finfo(np.float64).eps * capacity):
        worst = off[np.argmax(np.abs(off))]
        allowed = f"memory equal to the capacity, {capacity:.17g} tokens"
        raise InputError("masses", f"memory {worst:+.6g} tokens off", allowed)
    return start
