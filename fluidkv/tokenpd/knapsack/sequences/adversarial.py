"""Rounds set against the price: what it learns in one part of the run misleads it in the next."""

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, UInt32

from fluidkv.tokenpd.knapsack.sequences.draws import (
    check_share,
    check_tokens,
    elapsed,
    equal_tokens,
    uniforms,
)


@dataclass(frozen=True)
class Alternating:
    """`many` tokens of return `high` in the first round, `few` of return `low` in the next, and so
    on.

    Raises:
        InputError: no token at all, a return outside [0, 1].

    Examples:
        >>> from fluidkv.tokenpd import Alternating
        >>> from fluidkv.tokenpd.knapsack.sequences.stored import drawn_pool
        >>> pool = drawn_pool(Alternating(many=2, few=1, high=1, low=0.5), rounds=4)
        >>> [row[here].tolist() for row, here in zip(pool.returns, pool.present)]
        [[1.0, 1.0], [0.5], [1.0, 1.0], [0.5]]
    """

    many: int = 2
    few: int = 1
    high: float = 1.0
    low: float = 0.5

    def __post_init__(self) -> None:
        check_tokens(many=self.many, few=self.few)
        check_share("high", self.high)
        check_share("low", self.low)

    @property
    def tokens(self) -> int:
        """The most in a round."""
        return max(self.many, self.few)

    def draw(
        self, keys: UInt32[Array, "2 seed"], at: Int[Array, " round"], rounds: Int[Array, ""]
    ) -> Float[Array, "round token seed"]:
        """See `Sequence`; the same for all seeds."""
        first = (at % 2 == 0)[:, None, None]
        number = jnp.where(first, self.many, self.few)
        return equal_tokens(number, jnp.where(first, self.high, self.low), self.tokens, keys)


@dataclass(frozen=True)
class Overload:
    """`few` tokens in each round of the first part of the run, `many` in the rest, all of one
    return.

    Fields:
        turn: share of the run that the first part is.

    Raises:
        InputError: no token at all, a return or a share outside [0, 1].

    Examples:
        >>> from fluidkv.tokenpd.knapsack.sequences.adversarial import Overload
        >>> from fluidkv.tokenpd.knapsack.sequences.stored import drawn_pool
        >>> drawn_pool(Overload(few=1, many=3, turn=0.5), rounds=4).present.sum(axis=1).tolist()
        [1, 1, 3, 3]
    """

    few: int = 0
    many: int = 2
    value: float = 1.0
    turn: float = 0.5

    def __post_init__(self) -> None:
        check_tokens(few=self.few, many=self.many)
        check_share("value", self.value)
        check_share("turn", self.turn)

    @property
    def tokens(self) -> int:
        """The most in a round."""
        return max(self.many, self.few)

    def draw(
        self, keys: UInt32[Array, "2 seed"], at: Int[Array, " round"], rounds: Int[Array, ""]
    ) -> Float[Array, "round token seed"]:
        """See `Sequence`; the same for all seeds."""
        passed = elapsed(at, rounds)
        number = jnp.where(passed < self.turn, self.few, self.many)
        return equal_tokens(number, jnp.full_like(passed, self.value), self.tokens, keys)


@dataclass(frozen=True)
class Growing:
    """`tokens` in each round, whose return grows from `low` to `high` over the run.

    Raises:
        InputError: no token, a return outside [0, 1].

    Examples:
        >>> from fluidkv.tokenpd.knapsack.sequences.adversarial import Growing
        >>> from fluidkv.tokenpd.knapsack.sequences.stored import drawn_pool
        >>> pool = drawn_pool(Growing(tokens=1, low=0, high=1), rounds=4)
        >>> pool.returns[pool.present].tolist()
        [0.0, 0.25, 0.5, 0.75]
    """

    tokens: int = 2
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        check_tokens(tokens=self.tokens)
        check_share("low", self.low)
        check_share("high", self.high)

    def draw(
        self, keys: UInt32[Array, "2 seed"], at: Int[Array, " round"], rounds: Int[Array, ""]
    ) -> Float[Array, "round token seed"]:
        """See `Sequence`; the same for all seeds."""
        value = self.low + (self.high - self.low) * elapsed(at, rounds)
        return equal_tokens(jnp.full(value.shape, self.tokens), value, self.tokens, keys)


@dataclass(frozen=True)
class Turning:
    """`tokens` of return `middle` in each round of the first half; in the second all are worth
    `high`, or all 0, by a coin of the seed: nobody knows in time whether to save memory for it.

    Raises:
        InputError: no token, a return outside [0, 1].

    Examples:
        >>> from fluidkv.tokenpd.knapsack.sequences.adversarial import Turning
        >>> from fluidkv.tokenpd.knapsack.sequences.stored import drawn_pool
        >>> pools = [drawn_pool(Turning(tokens=1), rounds=4, seed=seed) for seed in (0, 2)]
        >>> [pool.returns[pool.present].tolist() for pool in pools]
        [[0.5, 0.5, 0.0, 0.0], [0.5, 0.5, 1.0, 1.0]]
    """

    tokens: int = 1
    middle: float = 0.5
    high: float = 1.0

    def __post_init__(self) -> None:
        check_tokens(tokens=self.tokens)
        check_share("middle", self.middle)
        check_share("high", self.high)

    def draw(
        self, keys: UInt32[Array, "2 seed"], at: Int[Array, " round"], rounds: Int[Array, ""]
    ) -> Float[Array, "round token seed"]:
        """See `Sequence`."""
        coin, _ = uniforms(keys, jnp.zeros_like(at[:1]), 1)
        later = jnp.where(coin < 0.5, self.high, 0.0)
        passed = elapsed(at, rounds)
        value = jnp.where(passed < 0.5, self.middle, later)
        number = jnp.full(passed.shape, self.tokens)
        return equal_tokens(number, value, self.tokens, keys)
