"""What a sequence of rounds is, and the random numbers that it may use."""

from typing import Protocol

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, UInt32

from fluidkv.errors import InputError
from fluidkv.runs.checks import count, real
from fluidkv.runs.words import threefry

MOST_SEED = 2**63 - 1


class Sequence(Protocol):
    """Rounds of tokens that live for one round each: a hashable value with a pure function."""

    @property
    def tokens(self) -> int:
        """The most that come in a round."""
        ...

    def draw(
        self, keys: UInt32[Array, "2 seed"], at: Int[Array, " round"], rounds: Int[Array, ""]
    ) -> Float[Array, "round token seed"]:
        """Returns in the rounds `at` (from 0) of `rounds`, within [0, 1]; -inf where none comes.

        Args:
            keys: of `fluidkv.runs.words.run_keys`. Rounds drawn alone and together are the same.
        """
        ...


def uniforms(
    keys: UInt32[Array, "2 seed"], at: Int[Array, " round"], tokens: int
) -> tuple[Float[Array, "round token seed"], Float[Array, "round token seed"]]:
    """Two numbers in (0, 1) for each token, on the middles of 2^32 equal parts."""
    shape = (at.shape[0], tokens, keys.shape[1])
    place = jnp.arange(tokens, dtype=jnp.uint32)
    high, low = threefry(
        keys[0][None, None],
        keys[1][None, None],
        jnp.broadcast_to(at.astype(jnp.uint32)[:, None, None], shape),
        jnp.broadcast_to(place[None, :, None], shape),
    )
    return _unit(high), _unit(low)


def _unit(word: UInt32[Array, "*shape"]) -> Float[Array, "*shape"]:
    return (word.astype(jnp.float64) + 0.5) * 2.0**-32


def elapsed(at: Int[Array, " round"], rounds: Int[Array, ""]) -> Float[Array, "round 1 1"]:
    """Which share of the run has passed: 0 in its first round, below 1 in its last."""
    return (at.astype(jnp.float64) / rounds.astype(jnp.float64))[:, None, None]


def equal_tokens(
    number: Int[Array, "round 1 1"],
    value: Float[Array, "round 1 #seed"],
    tokens: int,
    keys: UInt32[Array, "2 seed"],
) -> Float[Array, "round token seed"]:
    """So many tokens of one value in each round."""
    place = jnp.arange(tokens, dtype=jnp.int64)[None, :, None]
    shape = (number.shape[0], tokens, keys.shape[1])
    return jnp.broadcast_to(jnp.where(place < number, value, -jnp.inf), shape)


def check_sequence(sequence: object) -> None:
    """Raise InputError unless it can be drawn."""
    if not (hasattr(sequence, "draw") and hasattr(sequence, "tokens")):
        raise InputError("sequence", sequence, "a sequence, such as Stochastic()")


def check_seed(name: str, value: object) -> int:
    """The seed; InputError unless it is one."""
    return count(name, value, least=0, most=MOST_SEED)


def check_share(name: str, value: object) -> None:
    """Raise InputError unless it is within 0 and 1."""
    if not 0 <= real(value) <= 1:
        raise InputError(name, value, "a number within 0 and 1")


def check_tokens(**counts: object) -> None:
    """Raise InputError unless each is a number of tokens, and one of them above 0."""
    found = [count(name, value, least=0) for name, value in counts.items()]
    if not any(found):
        raise InputError(" and ".join(counts), tuple(found), "at least one token in some round")
