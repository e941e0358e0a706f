"""What a round shows to whatever judges tokens: scorers of policies, predictors of returns."""

from typing import Any, NamedTuple, Protocol, runtime_checkable

from jaxtyping import Array, Bool, Float, Int


class Seen(NamedTuple):
    """One row of attention of each running stream, after it was computed.

    Fields:
        weights: what the query gave to the keys that were there, summing to one over them: an
            engine never sees what an evicted key would have had.
        there: keys that were there, the query's own included; nothing for streams that do not run.
        query: position of the row's query; the stream's newest key.
        round: in which each stream's row was computed; a prompt's rows all have the same.
        prompt: tokens of each stream's prompt.
        future, spread: mean and variance of the true weights that the key will have in the rows
            that are still to come, 0 after the last. Only oracles may look.

    Examples:
        >>> from fluidkv.tokenpd.returns.averages import LastSeen
        >>> from fluidkv.tokenpd.seen import Seen
        >>> row, one = np.array([[0.5, 0.25, 0.25]]), np.array([1])
        >>> seen = Seen(row, row > 0, query=2 * one, round=one, prompt=one, future=row, spread=row)
        >>> mean, variance = LastSeen().predict(None, seen)
        >>> mean.tolist()
        [[0.5, 0.25, 0.25]]
    """

    weights: Float[Array, "stream key"]
    there: Bool[Array, "stream key"]
    query: Int[Array, " stream"]
    round: Int[Array, " stream"]
    prompt: Int[Array, " stream"]
    future: Float[Array, "stream key"]
    spread: Float[Array, "stream key"]


@runtime_checkable
class Scorer(Protocol):
    """What tokens are ordered by; the highest stay. A value with pure functions.

    Each array of a state has the streams as its first axis. One that draws has a method
    `with_key(key)`, which returns it with a run's key. Fields that are no arrays are compiled in,
    so they are hashable; arrays and keys as fields need an `equinox.Module`.

    Examples:
        >>> from fluidkv.tokenpd import Oracle
        >>> from fluidkv.tokenpd.eviction.scorers import Accumulated
        >>> from fluidkv.tokenpd.seen import Scorer
        >>> isinstance(Accumulated(), Scorer), isinstance(Oracle(), Scorer)
        (True, False)
    """

    def begin(self, streams: int, keys: int) -> Any:
        """The state before any row."""
        ...

    def observe(self, state: Any, seen: Seen) -> Any:
        """The state after a row; a stream that does not run keeps its own."""
        ...

    def score(self, state: Any, seen: Seen) -> Float[Array, "stream key"]:
        """After the row was observed."""
        ...


@runtime_checkable
class Predictor(Protocol):
    """What keys will still be worth: R and sigma^2 of section 3. States and keys as in `Scorer`.

    Examples:
        >>> from fluidkv.tokenpd import Oracle
        >>> from fluidkv.tokenpd.eviction.scorers import Accumulated
        >>> from fluidkv.tokenpd.seen import Predictor
        >>> isinstance(Oracle(), Predictor), isinstance(Accumulated(), Predictor)
        (True, False)
    """

    def begin(self, streams: int, keys: int) -> Any:
        """The state before any row."""
        ...

    def observe(self, state: Any, seen: Seen) -> Any:
        """The state after a row; a stream that does not run keeps its own."""
        ...

    def predict(
        self, state: Any, seen: Seen
    ) -> tuple[Float[Array, "stream key"], Float[Array, "stream key"]]:
        """Mean and variance of the weight in the rows to come, as far as it knows."""
        ...
