"""The numbers of a server: how much memory, and the caps that an operator sets."""

from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Rational

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.runs.checks import count
from fluidkv.serving.swap import UNLIMITED as UNLIMITED
from fluidkv.serving.swap import Swap


@dataclass(frozen=True)
class Limits(Record):
    """Memory and caps. A sweep is a list of these: none of them is compiled in.

    Args:
        capacity: M, KV tokens.
        block_size: tokens a block; memory is handed out in whole blocks.
        max_num_seqs: most requests running at once.
        max_num_batched_tokens: most tokens that an iteration computes; None for no limit.
        watermark: share of the blocks that admission leaves free, in [0, 1): int(w (blocks + 1)).
        admission_rate: most admissions per iteration, fractions by an accumulator (Congestion 5.1);
            None for no limit. A permit that is not used lapses, so that any W iterations admit
            fewer than 1 + W times the rate.
        swap: the host's memory and the bus to it, for rules that swap.
        more_outputs: outputs that `Allocation.ESTIMATE_THEN_MORE` gives at a time.
        seed: of `Victim.RANDOM`.

    Raises:
        InputError: a number outside of what is said here; a block that does not fit in the memory.

    Examples:
        >>> limits = fk.Limits(1000, block_size=16, max_num_seqs=64)
        >>> limits.blocks, limits.blocks_of(17)
        (62, 2)
        >>> fk.Limits(10, block_size=16)
        Traceback (most recent call last):
            ...
        fluidkv.errors.InputError: capacity: got 10; allowed: at least one block, of 16 tokens
    """

    capacity: int
    block_size: int = 1
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    watermark: float = 0.0
    admission_rate: Fraction | int | None = None
    swap: Swap = field(default_factory=Swap)
    more_outputs: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("capacity", "block_size"):
            object.__setattr__(self, name, count(name, getattr(self, name)))
        for name in ("max_num_seqs", "max_num_batched_tokens"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, count(name, getattr(self, name)))
        object.__setattr__(self, "more_outputs", count("more_outputs", self.more_outputs))
        object.__setattr__(self, "seed", count("seed", self.seed, least=0, most=UNLIMITED))
        if self.block_size > self.capacity:
            allowed = f"at least one block, of {self.block_size} tokens"
            raise InputError("capacity", self.capacity, allowed)
        if self.capacity >= UNLIMITED:
            raise InputError("capacity", self.capacity, f"fewer than {UNLIMITED} tokens")
        watermark = self.watermark
        if (
            isinstance(watermark, bool)
            or not isinstance(watermark, int | float)
            or not 0 <= watermark < 1
        ):
            raise InputError("watermark", watermark, "a number in [0, 1)")
        rate = self.admission_rate
        if rate is not None:
            if isinstance(rate, bool) or not isinstance(rate, Rational) or not rate > 0:
                raise InputError("admission_rate", rate, "an integer or a Fraction above 0")
            if rate.denominator > 10**6 or rate.numerator > 10**9:
                raise InputError("admission_rate", rate, "at most 10^9, denominator at most 10^6")
            object.__setattr__(self, "admission_rate", Fraction(rate))

    @property
    def blocks(self) -> int:
        """Whole blocks in the memory; what is left over is not used."""
        return self.capacity // self.block_size

    @property
    def watermark_blocks(self) -> int:
        return int(self.watermark * (self.blocks + 1))

    @property
    def sequences(self) -> int:
        return min(self.max_num_seqs or UNLIMITED, UNLIMITED)

    @property
    def budget(self) -> int:
        return min(self.max_num_batched_tokens or UNLIMITED, UNLIMITED)

    def blocks_of(self, tokens: int) -> int:
        """Blocks that hold so many tokens of one request."""
        return -(-tokens // self.block_size)
