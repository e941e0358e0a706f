"""What layers keep of a request of some length, in tokens of a model whose layers keep all.

A layer of full attention keeps every token; one with a sliding window keeps those that a query may
still see; a state-space or linear layer keeps a state whose size hardly depends on the length. The
layers of a hybrid are of several kinds: what one request holds is their mean by shares.

While an iteration computes `new` tokens, up to a length of `length`, a window of W must show each
of the new tokens the W - 1 before it: it holds W - 1 + new tokens at most. So a prompt that is
computed at once is held whole, and in chunks it is not. A cap on the tokens kept, by whatever rule
they are evicted (H2O, a price), holds the same number.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from fluidkv.errors import InputError
from fluidkv.record import Record

Lengths = Int[np.ndarray, " n"]
"""Tokens, one number for each of many lengths."""


class Attention(Record):
    """How much of a request the layers keep.

    Examples:
        >>> from fluidkv.footprints import FullAttention
        >>> from fluidkv.footprints.attention import Attention
        >>> isinstance(FullAttention(), Attention)
        True
    """

    @property
    def unit(self) -> int:
        """What is held is counted in parts of a token, so many to a token, so that it is whole."""
        return 1

    @abstractmethod
    def held(self, length: Lengths, *, new: int = 1, block: int = 1) -> Lengths:
        """Tokens held, times `unit`, while the last `new` of `length` tokens are computed.

        Args:
            length: tokens so far, the new ones included; at least 1.
            new: tokens of this iteration, 1 ... length.
            block: tokens of a block; what is held is whole blocks.
        """


@dataclass(frozen=True)
class FullAttention(Attention):
    """Every token is kept.

    Examples:
        >>> from fluidkv.footprints import FullAttention
        >>> FullAttention().held(np.array([1, 16, 17]), block=16)
        array([16, 16, 32])
    """

    def held(self, length: Lengths, *, new: int = 1, block: int = 1) -> Lengths:
        return _blocks(length, block) * block


@dataclass(frozen=True)
class SlidingWindow(Attention):
    """The last `window` tokens are kept, or as many by a cap that evicts tokens.

    Args:
        window: W, tokens, at least 1.

    Raises:
        InputError: a window below 1.

    Examples:
        >>> from fluidkv.footprints import SlidingWindow
        >>> window = SlidingWindow(40)
        >>> window.held(np.array([20, 40, 60])), window.held(np.array([60]), new=60)
        (array([20, 40, 40]), array([60]))
    """

    window: int

    def __post_init__(self) -> None:
        if self.window < 1:
            raise InputError("window", self.window, "an integer of at least 1")

    def held(self, length: Lengths, *, new: int = 1, block: int = 1) -> Lengths:
        gone = np.maximum(0, length - new - self.window + 1) // block
        return (_blocks(length, block) - gone) * block


@dataclass(frozen=True)
class StateSpace(Attention):
    """A state that is kept whole, and so much for each token: a state-space or linear layer.

    Args:
        constant: a, tokens of full attention that take as many bytes as the state; at least 0.
        per_token: b, what each token adds, at least 0; 0 for most such layers.

    Raises:
        InputError: a number below 0, or both 0: such a layer holds nothing.

    Examples:
        >>> from fluidkv.footprints import StateSpace
        >>> layer = StateSpace(400, Fraction(1, 8))
        >>> layer.held(np.array([1000])) // layer.unit
        array([525])
    """

    constant: Fraction
    per_token: Fraction = Fraction(0)

    if TYPE_CHECKING:  # what may be passed is wider than what is stored

        def __init__(self, constant: Fraction | int, per_token: Fraction | int = 0) -> None: ...

    def __post_init__(self) -> None:
        for name in ("constant", "per_token"):
            value = Fraction(getattr(self, name))
            if value < 0:
                raise InputError(name, value, "a number of at least 0")
            object.__setattr__(self, name, value)
        if self.constant == self.per_token == 0:
            raise InputError("constant", 0, "a number above 0, or per_token above 0")
        check_unit("constant", self.unit)

    @property
    def unit(self) -> int:
        return math.lcm(self.constant.denominator, self.per_token.denominator)

    def held(self, length: Lengths, *, new: int = 1, block: int = 1) -> Lengths:
        return int(self.constant * self.unit) + int(self.per_token * self.unit) * length


@dataclass(frozen=True)
class Hybrid(Attention):
    """Layers of several kinds in shares: what a request holds is their weighted mean.

    Args:
        layers: (share, kind) of each; shares are rationals in (0, 1] that sum to exactly 1.

    Raises:
        InputError: no layers, a share outside (0, 1], or shares that do not sum to 1.

    Examples:
        >>> from fluidkv.footprints import FullAttention, Hybrid, SlidingWindow
        >>> half = Fraction(1, 2)
        >>> layers = Hybrid(((half, FullAttention()), (half, SlidingWindow(128))))
        >>> layers.held(np.array([1000])) // layers.unit
        array([564])
    """

    layers: tuple[tuple[Fraction, Attention], ...]

    def __post_init__(self) -> None:
        layers = tuple((Fraction(share), kind) for share, kind in self.layers)
        check_shares("layers", [share for share, _ in layers])
        object.__setattr__(self, "layers", layers)
        check_unit("layers", self.unit)

    @property
    def unit(self) -> int:
        return math.lcm(*(share.denominator * kind.unit for share, kind in self.layers))

    def held(self, length: Lengths, *, new: int = 1, block: int = 1) -> Lengths:
        total = np.zeros_like(length)
        for share, kind in self.layers:
            weight = int(share * self.unit / kind.unit)
            total += weight * kind.held(length, new=new, block=block)
        return total


_FINEST = 10**6  # so that what is held of any length is a number of 64 bits


def check_unit(argument: str, unit: int) -> None:
    """Parts of a token that are counted are not finer than a millionth.

    Raises:
        InputError: if they are.
    """
    if unit > _FINEST:
        allowed = f"rationals over a common denominator of at most {_FINEST:,}"
        raise InputError(argument, f"a common denominator of {unit}", allowed)


def check_shares(argument: str, shares: list[Fraction]) -> None:
    """Shares in (0, 1] that sum to exactly 1.

    Raises:
        InputError: if they are not.
    """
    if not shares:
        raise InputError(argument, (), "at least one part")
    for share in shares:
        if not 0 < share <= 1:
            raise InputError(argument, f"a share of {share}", "rational shares in (0, 1]")
    if sum(shares) != 1:
        raise InputError(argument, f"sum {sum(shares)}", "shares that sum to exactly 1")


def _blocks(length: Lengths, block: int) -> Lengths:
    return -(-length // block)
