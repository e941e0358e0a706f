"""What tokens are ordered by: of each policy that people use, and of a predictor of returns.

Each says what it takes from its authors and what differs. Common to all: one order for a stream,
where the authors often keep one for each head (a stream may be a head); and what is too many goes
at the end of each round.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from fluidkv.errors import InputError
from fluidkv.runs.checks import count, instance, not_negative
from fluidkv.tokenpd.seen import Predictor, Seen

NEVER = -1
"""The round of what did not happen."""


@dataclass(frozen=True)
class Written:
    """By the round in which a key was written: the newest stay.

    First in, first out; with sinks, StreamingLLM. Tokens of one prompt have one round, and of these
    the last ones stay.

    Examples:
        >>> import jax
        >>> from fluidkv.tokenpd.seen import Seen
        >>> from fluidkv.tokenpd.eviction.scorers import Written
        >>> row, one = np.array([[0.5, 0.5, 0]]), np.array([1])
        >>> first = Seen(row, row > 0, query=one, round=one, prompt=one, future=row, spread=row)
        >>> with jax.enable_x64(True):
        ...     state = Written().observe(Written().begin(1, 3), first)
        ...     later = first._replace(there=row >= 0, round=np.array([7]))
        ...     print(Written().score(Written().observe(state, later), later).tolist())
        ...
        [[1.0, 1.0, 7.0]]
    """

    def begin(self, streams: int, keys: int) -> Int[Array, "stream key"]:
        """No key is written."""
        return jnp.full((streams, keys), NEVER, jnp.int64)

    def observe(self, state: Int[Array, "stream key"], seen: Seen) -> Int[Array, "stream key"]:
        """Keys that are there for the first time were written now."""
        return jnp.where(seen.there & (state == NEVER), seen.round[:, None], state)

    def score(self, state: Int[Array, "stream key"], seen: Seen) -> Float[Array, "stream key"]:
        """The round; this one if no row of the key was seen yet."""
        return jnp.where(state == NEVER, seen.round[:, None], state).astype(jnp.float64)


@dataclass(frozen=True)
class LastUsed:
    """By the round in which a key was last used: the least recently used goes.

    The paper compares with LRU and does not say when a token is used, though attention gives some
    weight to all. Here it is when it is written, and when its weight exceeds `multiple` times what
    each would have if all had the same.

    Raises:
        InputError: a multiple below 0.

    Examples:
        >>> import jax
        >>> from fluidkv.tokenpd.eviction.scorers import LastUsed
        >>> from fluidkv.tokenpd.seen import Seen
        >>> row, one = np.array([[0.5, 0.25, 0.25]]), np.array([1])
        >>> seen = Seen(row, row > 0, query=2 * one, round=one, prompt=one, future=row, spread=row)
        >>> with jax.enable_x64(True):
        ...     scorer = LastUsed()
        ...     state = scorer.observe(scorer.begin(1, 3), seen)
        ...     later = seen._replace(round=np.array([7]))
        ...     state = scorer.observe(state, later)  # one has more than 1/3
        ...     print(scorer.score(state, later).tolist())
        ...
        [[7.0, 1.0, 1.0]]
    """

    multiple: float = 1.0

    def __post_init__(self) -> None:
        not_negative("multiple", self.multiple)

    def begin(self, streams: int, keys: int) -> Int[Array, "stream key"]:
        """No key is used."""
        return jnp.full((streams, keys), NEVER, jnp.int64)

    def observe(self, state: Int[Array, "stream key"], seen: Seen) -> Int[Array, "stream key"]:
        """Who has more than its share, or is new, is used now."""
        used = seen.there & ((seen.weights > _share(seen, self.multiple)) | (state == NEVER))
        return jnp.where(used, seen.round[:, None], state)

    def score(self, state: Int[Array, "stream key"], seen: Seen) -> Float[Array, "stream key"]:
        """The round; this one if no row of the key was seen yet."""
        return jnp.where(state == NEVER, seen.round[:, None], state).astype(jnp.float64)


@dataclass(frozen=True)
class Accumulated:
    """By the sum of all weights that a key ever had, as H2O's heavy hitters.

    As its authors do: rows of the prompt count, and a recent window takes half of the cache (their
    scripts have `heavy_ratio` and `recent_ratio` equal). Differs: they sum over the batch and keep
    a set for each head and layer.

    Source: Zhang et al., H2O, NeurIPS 2023; github.com/FMInference/H2O, h2o_hf.

    Examples:
        >>> import jax
        >>> from fluidkv.tokenpd.eviction.scorers import Accumulated
        >>> from fluidkv.tokenpd.seen import Seen
        >>> row, one = np.array([[0.5, 0.25, 0.25]]), np.array([1])
        >>> seen = Seen(row, row > 0, query=2 * one, round=one, prompt=one, future=row, spread=row)
        >>> with jax.enable_x64(True):
        ...     scorer = Accumulated()
        ...     state = scorer.observe(scorer.observe(scorer.begin(1, 3), seen), seen)
        ...     print(scorer.score(state, seen).tolist())
        ...
        [[1.0, 0.5, 0.5]]
    """

    def begin(self, streams: int, keys: int) -> Float[Array, "stream key"]:
        """Nothing."""
        return jnp.zeros((streams, keys), jnp.float64)

    def observe(self, state: Float[Array, "stream key"], seen: Seen) -> Float[Array, "stream key"]:
        """One row more."""
        return state + seen.weights

    def score(self, state: Float[Array, "stream key"], seen: Seen) -> Float[Array, "stream key"]:
        """The sum."""
        return state


@dataclass(frozen=True)
class Votes:
    """By what the last rows of the prompt gave to a key and its neighbours, like SnapKV.

    As its authors do: the last `window` rows of the prompt vote, with their weights; votes are
    pooled over `kernel` neighbouring keys (their average, here its sum, which orders alike); the
    keys of the window itself stay. Their class has a window of 64 and a kernel of 5 by default,
    and 32 and 5 where a model does not say.

    Differs: they compress the prompt once and keep all that is generated, so that memory grows.
    Here what is generated stays, too, but within the budget: each token pushes out the key of the
    prompt with the fewest votes, and when none is left, the oldest one.

    Source: Li et al., SnapKV, NeurIPS 2024; github.com/FasterDecoding/SnapKV, snapkv_utils.py.

    Raises:
        InputError: no row that votes, or no key that is pooled.

    Examples:
        >>> import jax
        >>> from fluidkv.tokenpd.seen import Seen
        >>> from fluidkv.tokenpd.eviction.scorers import Votes
        >>> row, at = np.array([[0.5, 0.25, 0.25]]), np.array([2])
        >>> seen = Seen(row, row > 0, query=at, round=at, prompt=at + 1, future=row, spread=row)
        >>> with jax.enable_x64(True):
        ...     scorer = Votes(window=1, kernel=1)
        ...     state = scorer.observe(scorer.begin(1, 3), seen)
        ...     print(scorer.score(state, seen).tolist())  # the key that votes stays first
        ...
        [[0.5, 0.25, 5.0]]
    """

    window: int = 32
    kernel: int = 5

    def __post_init__(self) -> None:
        count("window", self.window)
        count("kernel", self.kernel)

    def begin(self, streams: int, keys: int) -> Float[Array, "stream key"]:
        """No votes."""
        return jnp.zeros((streams, keys), jnp.float64)

    def observe(self, state: Float[Array, "stream key"], seen: Seen) -> Float[Array, "stream key"]:
        """Rows of the window vote for what is before it."""
        votes = (self._first(seen) <= seen.query) & (seen.query < seen.prompt)
        before = jnp.arange(state.shape[1])[None, :] < self._first(seen)[:, None]
        return state + jnp.where(votes[:, None] & before, seen.weights, 0.0)

    def score(self, state: Float[Array, "stream key"], seen: Seen) -> Float[Array, "stream key"]:
        """Pooled votes; above them, the younger the higher, the window and what was generated."""
        half, keys = self.kernel // 2, state.shape[1]
        padded = jnp.pad(state, ((0, 0), (half, self.kernel - 1 - half)))
        pooled = sum(padded[:, at : at + keys] for at in range(self.kernel))
        position = jnp.arange(keys)[None, :]
        above = 1 + self.kernel * self.window + keys
        newest = (above + position - seen.query[:, None]).astype(jnp.float64)
        return jnp.where(position < self._first(seen)[:, None], pooled, newest)

    def _first(self, seen: Seen) -> Int[Array, " stream"]:
        return seen.prompt - self.window


class _Record(NamedTuple):
    below: Bool[Array, "stream row key"]
    """Of the last rows, by their position modulo how many: which keys had less than their share."""
    times: Int[Array, "stream key"]


@dataclass(frozen=True)
class Persistence:
    """By how seldom a key had less than its share in the last `history` rows, like Scissorhands.

    Theirs, as summaries of the paper describe it: a fixed budget, recent tokens stay, and what
    little attention fell on over a window of rows goes. How that is counted is our reading: a key
    is unimportant in a row that gives it less than one over the number of keys, and those that
    were so most often go first. What is too many goes in each round; `history` is ours.

    Source: after Liu et al., Scissorhands, NeurIPS 2023, whose code was not read.

    Raises:
        InputError: no row.

    Examples:
        >>> import jax
        >>> from fluidkv.tokenpd.eviction.scorers import Persistence
        >>> from fluidkv.tokenpd.seen import Seen
        >>> row, one = np.array([[0.5, 0.25, 0.25]]), np.array([1])
        >>> seen = Seen(row, row > 0, query=2 * one, round=one, prompt=one, future=row, spread=row)
        >>> with jax.enable_x64(True):
        ...     scorer = Persistence(history=8)
        ...     state = scorer.observe(scorer.begin(1, 3), seen)
        ...     print((-scorer.score(state, seen)).tolist())  # two had less than 1/3, once
        ...
        [[0.0, 1.0, 1.0]]
    """

    history: int = 64

    def __post_init__(self) -> None:
        count("history", self.history)

    def begin(self, streams: int, keys: int) -> _Record:
        """No rows."""
        return _Record(
            jnp.zeros((streams, self.history, keys), bool), jnp.zeros((streams, keys), jnp.int64)
        )

    def observe(self, state: _Record, seen: Seen) -> _Record:
        """One row more, one less."""
        stream, slot = jnp.arange(len(seen.query)), seen.query % self.history
        below = seen.there & (seen.weights < _share(seen))
        gone = state.below[stream, slot]
        times = state.times + below.astype(jnp.int64) - gone.astype(jnp.int64)
        return _Record(state.below.at[stream, slot].set(below), times)

    def score(self, state: _Record, seen: Seen) -> Float[Array, "stream key"]:
        """The fewer times, the higher."""
        return -state.times.astype(jnp.float64)


class Drawn(eqx.Module):
    """At random, drawn anew each round.

    Examples:
        >>> import jax
        >>> from fluidkv.tokenpd.eviction.scorers import Drawn
        >>> from fluidkv.tokenpd.seen import Seen
        >>> row, one = np.array([[0.5, 0.25, 0.25]]), np.array([1])
        >>> seen = Seen(row, row > 0, query=2 * one, round=one, prompt=one, future=row, spread=row)
        >>> with jax.enable_x64(True):
        ...     drawn = np.asarray(Drawn().with_key(jax.random.key(0)).score((), seen))
        ...
        >>> drawn.shape, bool(((0 <= drawn) & (drawn < 1)).all())
        ((1, 3), True)
    """

    key: PRNGKeyArray | None = None

    def with_key(self, key: PRNGKeyArray) -> "Drawn":
        """With a run's key."""
        return Drawn(key)

    def begin(self, streams: int, keys: int) -> tuple[()]:
        """Nothing is remembered."""
        return ()

    def observe(self, state: tuple[()], seen: Seen) -> tuple[()]:
        """Nothing."""
        return state

    def score(self, state: tuple[()], seen: Seen) -> Float[Array, "stream key"]:
        """Numbers in [0, 1)."""
        if self.key is None:
            raise InputError("key", None, "a key: `with_key`")
        return draws(self.key, jnp.max(seen.round), seen.there.shape)


def draws(
    key: PRNGKeyArray, round_: Int[Array, ""] | int, shape: tuple[int, ...]
) -> Float[Array, "stream key"]:
    """The numbers of a round."""
    return jax.random.uniform(jax.random.fold_in(key, round_), shape, jnp.float64)


class Return(eqx.Module):
    """By R - lambda sigma^2 of a predictor: what rule (4) weighs against the price.

    Fields:
        predictor: a `Predictor`.
        risk_aversion: lambda, where no `Pricing` says it.

    Raises:
        InputError: something that predicts nothing, or a risk aversion below 0.

    Examples:
        >>> from fluidkv.tokenpd import Oracle
        >>> from fluidkv.tokenpd.eviction.scorers import Return
        >>> from fluidkv.tokenpd.seen import Seen
        >>> row, one = np.array([[0.5, 0.25, 0.25]]), np.array([1])
        >>> seen = Seen(row, row > 0, query=2 * one, round=one, prompt=one, future=row, spread=row)
        >>> Return(Oracle(), risk_aversion=0.5).score(None, seen).tolist()  # R - sigma^2 / 2
        [[0.25, 0.125, 0.125]]
    """

    predictor: Predictor
    risk_aversion: float = 0.0

    def __check_init__(self) -> None:
        instance("predictor", self.predictor, Predictor, "a Predictor")
        not_negative("risk_aversion", self.risk_aversion)

    def with_key(self, key: PRNGKeyArray) -> "Return":
        """With a run's key, if the predictor draws."""
        if not hasattr(self.predictor, "with_key"):
            return self
        return Return(self.predictor.with_key(key), self.risk_aversion)  # pyright: ignore[reportAttributeAccessIssue]  # asked for above

    def begin(self, streams: int, keys: int) -> Any:
        """The predictor's state."""
        return self.predictor.begin(streams, keys)

    def observe(self, state: Any, seen: Seen) -> Any:
        """The predictor's state."""
        return self.predictor.observe(state, seen)

    def predict(
        self, state: Any, seen: Seen
    ) -> tuple[Float[Array, "stream key"], Float[Array, "stream key"]]:
        """R and sigma^2."""
        return self.predictor.predict(state, seen)

    def score(self, state: Any, seen: Seen) -> Float[Array, "stream key"]:
        """R - lambda sigma^2."""
        returns, risk = self.predict(state, seen)
        return returns - self.risk_aversion * risk


def _share(seen: Seen, multiple: float = 1.0) -> Float[Array, "stream 1"]:
    """So many times what each key that is there would have if all had the same."""
    return multiple / jnp.maximum(seen.there.sum(1, keepdims=True), 1).astype(jnp.float64)
