"""The block-end map in JAX: many starts with the same live positions, one step a block.

Live positions keep their places; only their order of age rotates. So a block writes one row: the
position that is oldest gets the mass of the batch admitted in its place,

    y'_0 = ((l0 + l1) y_{m-1} - g_{m-1} (y_0 + ... + y_{m-2})) / (l0 + g_{m-1}),

and the sum of all masses is carried along, so that the cost of a block depends neither on the
number of live positions nor on the number of stages. `exact/one_class/blocks.py` is the reference,
and says why a batch that is not positive means that the support is lost within the block.

Index order is (position, batch).

Source: Congestion, Proposition A.4, equation (16).
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from fluidkv.errors import InputError
from fluidkv.runs.checks import count as count_of

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
    """What is left after all blocks, and the new batch y'_0 of each block.

    A trajectory whose support is lost stays as it was before that block; its batches are NaN from
    the one after on, and the one that says so is not positive. Block k takes as many iterations as
    the gap of the position that it writes: the last one first, then the one before. Pure; call it
    in float64.

    Args:
        gaps: predecessor gaps g_0 ... g_{m-1}, youngest position first, whose sum is the decode
            length; static.
        input_length: l0, tokens.
        masses: y_h of each position, requests, positive; the state that holds y_h at stage S_h - 1
            is on the memory boundary, which nothing here checks.
        blocks: how many at most; static.

    Raises:
        InputError: gaps that are no positive integers, masses of another shape, no blocks.

    Examples:
        >>> import jax
        >>> from fluidkv.fluid import scan_blocks
        >>> with jax.enable_x64(True):
        ...     end, new = scan_blocks((2, 1), np.array(2.0), np.array([[1.0], [4.0]]), blocks=1)
        >>> round(new.item(), 3), end.lost.item()
        (6.333, -1)
    """
    _check(gaps, masses, blocks)
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


def _check(gaps: tuple[int, ...], masses: Float[Array, "position batch"], blocks: int) -> None:
    """What is known while tracing."""
    if not gaps or min(gaps) < 1:
        raise InputError("gaps", gaps, "positive integers that sum to the decode length")
    if jnp.ndim(masses) != 2 or len(masses) != len(gaps):
        raise InputError("masses", f"shape {jnp.shape(masses)}", f"({len(gaps)}, batch), by gap")
    count_of("blocks", blocks)
