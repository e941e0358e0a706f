"""The cohort dynamics in memory shares: an iteration without a division, for very many of them.

A cohort of age s and mass y_s holds the share m_s = V_s y_s / M of memory. In these coordinates the
weights of the model are all 1 and the capacity is 1; what is left of V is the growth of a cohort
that ages by one iteration, g_s = V_s / V_{s-1}. One iteration hands out memory from the oldest
cohort to the youngest:

    free = 1;   for s = d-1 ... 1:   m'_s = min(g_s m_{s-1}, free),   free = free - m'_s;
    m'_0 = free

which is execute (the shift and the growth), evict (least progressed first: what is not left for a
cohort is evicted) and admit (what remains) of `fluidkv.fluid.iteration`. M has gone: it scales all
masses and nothing else. Memory that is full after execution leaves `free` exactly 0.0, so that such
an iteration admits exactly nothing.

The rows m_0 ... m_{d-1} are separate arrays over the batch. Ageing is then a renaming that moves no
data, and the loop over ages is unrolled at compile time: a few operations on contiguous arrays for
each age. With many ages compilation would take too long, and the rows are scanned instead.

Everything expects float64, a call under `in_float64`.

Source: Congestion, section 2.2 on the manifold of Lemma 9; weights V_s of Appendix B.6.1 and B.8.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

Rows = tuple[Float[Array, " batch"], ...]
"""m_0 ... m_{d-1}."""

# Unrolled, compilation takes about 20 ms for each age; the scan is three times slower to run.
_UNROLLED_AGES = 64


def iterate_shares(growth: Float[Array, " age"], rows: Rows) -> Rows:
    """One iteration; `growth[s]` is V_s / V_{s-1}, `growth[0]` is not read."""
    if len(rows) > _UNROLLED_AGES:
        return _scanned(growth, rows)
    free = jnp.ones_like(rows[0])
    after = list(rows)
    for s in range(len(rows) - 1, 0, -1):
        after[s] = jnp.minimum(growth[s] * rows[s - 1], free)
        free = free - after[s]
    return (free, *after[1:])


def _scanned(growth: Float[Array, " age"], rows: Rows) -> Rows:
    def age(free, row):
        mass, factor = row
        kept = jnp.minimum(mass * factor, free)
        return free - kept, kept

    aged = (jnp.stack(rows[:-1]), growth[1:])
    free, kept = lax.scan(age, jnp.ones_like(rows[0]), aged, reverse=True)
    return (free, *kept)
