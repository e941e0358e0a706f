"""What a bus that many share changes: copies queue, and so do computations.

The paper's L_s = gamma S + delta is a copy out and a copy in, alone. Here a copy one way takes
s = c S + d, so that alone L_s = 2 s, and three things are new.

- **n victims at once.** The batch goes on when all copies out are done, n s; the k-th is back k s
  after they may return. On average each is halted (3 n + 1) / 2 copies, of which the paper counts
  2. Computing again shares the GPU in the same way: one after the other, (n + 1) / 2 prefills on
  average. So what is compared with one prefill is (3 n + 1) / (n + 1) copies: 2 alone, 3 in a
  crowd.
- **A bus that is busy a share u of the time.** Copies of one length that come at random wait
  u s / (2 (1 - u)) each (Pollaczek and Khinchine, M/D/1), and a way takes (2 - u) / (2 (1 - u))
  copies.
- **A load that it cannot carry.** v evictions a second take 2 v s of each second; at 1 the queue
  grows without end. Computing again takes v L_r of the GPU.

Latency is one thing and throughput another: while caches come back the GPU computes for others, so
that a swap takes s of its time, the copy out, where computing again takes L_r.

Source: none; the paper's model has neither a bus nor a pool (CacheOPT, section 3.5).
"""

import numpy as np

from fluidkv.preempt.restoring.latency import LatencyFit
from fluidkv.preempt.restoring.spots import SweetSpot, sweet_spots
from fluidkv.serving.swap import Swap


def spots_on_a_bus(recompute: LatencyFit, swap: Swap, copies: float = 2.0) -> tuple[SweetSpot, ...]:
    """Lengths at which so many copies take as long as computing again.

    Args:
        recompute: L_r.
        swap: the time of a copy one way.
        copies: out and in and what is waited for: 2 alone (the paper), up to 3 where many are
            evicted at once, (2 - u) / (1 - u) on a bus that is busy a share u of the time, or 1
            where it is the GPU's time that counts.

    Examples:
        >>> from fluidkv.preempt import copies_of, recompute_of, spots_on_a_bus
        >>> from fluidkv.preempt.restoring.roofline import OPT_13B
        >>> recompute, swap = recompute_of(OPT_13B), copies_of(OPT_13B, per_copy=0.02)
        >>> [round(spots_on_a_bus(recompute, swap, copies)[-1].tokens) for copies in (2.0, 3.0)]
        [399, 873]
    """
    return sweet_spots(recompute, _line(swap, copies))


def one_way(swap: Swap, tokens: float) -> float:
    """The time of a copy, in the swap's unit.

    Examples:
        >>> from fluidkv.preempt.restoring.bus import one_way
        >>> from fluidkv.serving import Swap
        >>> one_way(Swap(per_token=0.25, per_copy=1.0), tokens=16)
        5.0
    """
    return swap.per_token * tokens + swap.per_copy


def _line(swap: Swap, copies: float) -> LatencyFit:
    parameters = (0.0, 1.0, copies * swap.per_token, copies * swap.per_copy)
    return LatencyFit(parameters, np.zeros((4, 4)), 0.0, 0, float("inf"))
