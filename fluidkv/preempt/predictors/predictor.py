"""What a length predictor is: a value that says a whole number of outputs for each request.

In simulation the true lengths are known, and a predictor is a way to spoil them. It draws from a
stream of its own, so that the seed of the arrivals may be the same.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from jaxtyping import Float, Int
from numpy.random import Generator
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.runs.checks import MOST_TOKENS, count
from fluidkv.runs.requests import Requests

Outputs = Int[np.ndarray, " request"]
"""Numbers of output tokens, one for each request."""


class Predictor(Protocol):
    """Says how long outputs will be.

    Examples:
        >>> from fluidkv.preempt import Predictor
        >>> from fluidkv.preempt.predictors.noise import Biased
        >>> predictor: Predictor = Biased(2)
        >>> predictor.predicted(np.array([20.0, 50.0]), seed=0).tolist()
        [40, 100]
    """

    def predicted(self, outputs: Outputs, seed: int) -> Outputs:
        """Predicted outputs, each at least 1.

        Args:
            outputs: the true ones; of one workload, in order of arrival.
            seed: of what is drawn; a predictor that draws nothing ignores it.
        """
        ...


def with_predictions(
    requests: Requests, predictor: Predictor, *, seed: int = 0, most: ArrayLike | None = None
) -> Requests:
    """The same requests with what a predictor says of them. Estimates are the predictions again.

    Args:
        requests, predictor: whose lengths are predicted, and by what.
        seed: of the predictor.
        most: outputs that nobody passes, where the engine knows such a number: predictions are cut
            to it. One for all, or one for each, such as `requests.max_output` where users set it;
            where they did not, that column is the truth and would tell it.

    Raises:
        InputError: as the predictor; a limit below 1.

    Examples:
        >>> from fluidkv.preempt import with_predictions
        >>> from fluidkv.preempt.predictors.noise import Biased
        >>> table = fk.Requests([9, 9], [20, 500])
        >>> with_predictions(table, Biased(1.5), most=600).predicted_output.tolist()
        [30, 600]
    """
    said = predictor.predicted(requests.output_length, count("seed", seed, least=0))
    said = cut_to(said, most)
    return replace(requests, predicted_output=said, estimated_output=said)


def cut_to(lengths: Outputs, most: ArrayLike | None) -> Outputs:
    """Lengths, none of them above `most`.

    Raises:
        InputError: a limit that is no whole number of at least 1, or another number of them.
    """
    if most is None:
        return lengths
    limit = np.asarray(most)
    if limit.dtype.kind not in "iu" or limit.shape not in ((), lengths.shape) or limit.min() < 1:
        raise InputError("most", most, f"at least 1 output; one number, or {lengths.size}")
    return np.minimum(lengths, limit)


def stream(seed: int, purpose: str) -> Generator:
    """Random numbers of a seed, others for each purpose."""
    return np.random.default_rng([seed, *purpose.encode()])


def whole(lengths: Float[np.ndarray, " request"]) -> Outputs:
    """The nearest whole numbers of at least 1, none beyond any context."""
    return np.clip(np.rint(lengths), 1, MOST_TOKENS).astype(np.int64)


def share(argument: str, value: float) -> float:
    """The value, in [0, 1].

    Raises:
        InputError: it is outside.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(argument, value, "a share in [0, 1]")
    return float(value)


def probabilities(shares: Sequence[float]) -> bool:
    """Whether these are at least 0 and sum to 1, but for the rounding of printed shares."""
    return all(each >= 0 for each in shares) and abs(sum(shares) - 1) <= 1e-9
