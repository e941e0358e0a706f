"""Memory in several pools: which one binds, the split that wastes none, and what another one costs.

Servers of hybrid models keep the layers apart: tokens of full attention in one pool, those of
windows or the states of state-space layers in another (SGLang's `--swa-full-tokens-ratio` and
`--mamba-full-memory-ratio`). A request is admitted where it fits in each. Pool i alone would
admit M_i / A_i(1) an iteration; the least of these binds, and that pool is a full server, with its
own stability and noise. The other ones are used up to u A_i(1) / M_i. All of them bind where M_i is
in proportion to A_i(1): a matter of the mix of lengths, so that no ratio is best for all.

Exact for the equilibrium. Where two pools are within each other's noise of binding, either binds in
turn, and less runs than in the equilibrium.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from fluidkv.errors import InputError
from fluidkv.footprints.footprint import Footprint
from fluidkv.footprints.second_moments import mean_weights
from fluidkv.footprints.stability import FullServer
from fluidkv.record import Record


@dataclass(frozen=True)
class Pool(Record):
    """A pool and what requests hold of it.

    Args:
        footprint: of the requests, in this pool.
        capacity: M, tokens of this pool (or slots, or whatever the footprint counts).
        token_bytes: of one of them; above 0.

    Raises:
        InputError: a capacity that one request may exceed, bytes that are not above 0.

    Examples:
        >>> from fluidkv.footprints import Pool, RecordedFootprint
        >>> Pool(RecordedFootprint([1, 1, 1]), capacity=50, token_bytes=4096).capacity
        Fraction(50, 1)
    """

    footprint: Footprint
    capacity: Fraction
    token_bytes: Fraction = Fraction(1)

    if TYPE_CHECKING:  # what may be passed is wider than what is stored

        def __init__(
            self, footprint: Footprint, capacity: Fraction | int, token_bytes: Fraction | int = 1
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "capacity", self.alone.capacity)
        object.__setattr__(self, "token_bytes", Fraction(self.token_bytes))
        if self.token_bytes <= 0:
            raise InputError("token_bytes", self.token_bytes, "a number above 0")

    @property
    def alone(self) -> FullServer:
        """The server that it would be, were the other pools without end."""
        return FullServer(self.footprint, self.capacity)


@dataclass(frozen=True)
class PoolUse(Record):
    """Which of several pools binds, and what the split costs.

    Fields:
        binding: place of the pool that binds, the first of them where several do.
        rate: u, requests admitted an iteration.
        running: requests.
        used: share of each pool that is used in the equilibrium; 1 of the binding one.
        best: capacities for the same bytes with which all bind, tokens of each pool.
        lost: share of running requests that the split loses beside `best`.

    Examples:
        >>> from fluidkv.footprints import Pool, RecordedFootprint, pool_use
        >>> states = Pool(RecordedFootprint([1] * 20), 60)
        >>> found = pool_use([Pool(fk.RequestFootprint(99, 20), 10_000), states])
        >>> found.binding, float(found.running), str(found.used[0])
        (1, 60.0, '657/1000')
    """

    binding: int
    rate: Fraction
    running: Fraction
    used: tuple[Fraction, ...]
    best: tuple[Fraction, ...]
    lost: Fraction


def pool_use(pools: Sequence[Pool]) -> PoolUse:
    """What binds where a request has to fit in each of several pools.

    Raises:
        InputError: no pool, or footprints whose requests do not live equally long.

    Examples:
        >>> from fluidkv.footprints import Pool, SlidingWindow, pool_use
        >>> full = fk.RequestFootprint(900, 200)
        >>> window = fk.RequestFootprint(900, 200, attention=SlidingWindow(128))
        >>> found = pool_use([Pool(full, 100_000), Pool(window, 80_000)])
        >>> found.binding, round(float(found.used[1]), 3), round(float(found.lost), 3)
        (0, 0.165, 0.371)
        >>> round(float(found.best[1] / found.best[0]), 3)  # the ratio at which both bind
        0.132
    """
    if not pools:
        raise InputError("pools", (), "at least one pool")
    weights = [mean_weights(pool.footprint) for pool in pools]
    if len({tuple(Fraction(n, w.denominator) for n in w.requests) for w in weights}) > 1:
        raise InputError("pools", f"{len(pools)} footprints", "the same lives in each pool")
    lives = weights[0].mean_lifetime
    held = [w.lifetime_memory for w in weights]
    rates = [pool.capacity / tokens for pool, tokens in zip(pools, held, strict=True)]
    rate = min(rates)
    total = sum((pool.capacity * pool.token_bytes for pool in pools), Fraction(0))
    together = total / sum(t * pool.token_bytes for t, pool in zip(held, pools, strict=True))
    return PoolUse(
        binding=rates.index(rate),
        rate=rate,
        running=rate * lives,
        used=tuple(rate / each for each in rates),
        best=tuple(together * tokens for tokens in held),
        lost=1 - rate / together,
    )
