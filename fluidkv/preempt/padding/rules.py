"""From predicted to estimated lengths: padding rules as values with one interface.

In CacheOPT's words *predicted* is what a model says, *estimated* is it with its padding. Estimates
are whole tokens, rounded up, at least 1.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from fluidkv.preempt.padding.hoeffding import hoeffding_padding
from fluidkv.preempt.predictors.buckets import bucket_of
from fluidkv.preempt.predictors.direction import DirectionClassifier
from fluidkv.preempt.predictors.predictor import Outputs, cut_to
from fluidkv.runs.checks import MOST_TOKENS, count, not_negative
from fluidkv.runs.requests import Requests


class Padding(Protocol):
    """Says for how many outputs memory is given.

    Examples:
        >>> from fluidkv.preempt import SharePadding
        >>> from fluidkv.preempt.padding.rules import Padding
        >>> padding: Padding = SharePadding(0.5)
        >>> padding.estimated(np.array([10.0, 30.0]), np.array([12.0, 25.0]), seed=0).tolist()
        [15.0, 45.0]
    """

    def estimated(
        self,
        predicted: Outputs,
        outputs: Outputs,
        seed: int,
    ) -> Outputs:
        """Estimated outputs, each at least 1.

        Args:
            predicted: what a predictor said.
            outputs: the truth, for a classifier to be right or wrong about; nothing else reads it.
            seed: of that classifier.
        """
        ...


def with_estimates(
    requests: Requests, padding: Padding, *, seed: int = 0, most: ArrayLike | None = None
) -> Requests:
    """The same requests, their predictions padded.

    Args:
        requests: with predictions (`with_predictions`); without, the truth is padded.
        padding: the rule.
        seed: of its classifier.
        most: outputs that nobody passes, as in `with_predictions`.

    Raises:
        InputError: as the rule; a limit below 1.

    Examples:
        >>> from fluidkv.preempt import ConstantPadding, with_estimates, with_predictions
        >>> from fluidkv.preempt.predictors.noise import Biased
        >>> table = with_predictions(fk.Requests([9, 9], [20, 500]), Biased(0.5))
        >>> with_estimates(table, ConstantPadding(100), most=300).estimated_output.tolist()
        [110, 300]
    """
    said = padding.estimated(
        requests.predicted_output, requests.output_length, count("seed", seed, least=0)
    )
    return replace(requests, estimated_output=cut_to(said, most))


@dataclass(frozen=True)
class ConstantPadding:
    """So many tokens more for everybody (RLP: 100; 0: none).

    Args:
        tokens: at least 0.

    Raises:
        InputError: it is below 0.

    Examples:
        >>> from fluidkv.preempt import ConstantPadding, with_estimates
        >>> table = fk.Requests([9, 9], [20, 500])
        >>> with_estimates(table, ConstantPadding(100)).estimated_output.tolist()
        [120, 600]
    """

    tokens: float = 100

    def __post_init__(self) -> None:
        not_negative("tokens", self.tokens, most=MOST_TOKENS)

    def estimated(self, predicted: Outputs, outputs: Outputs, seed: int) -> Outputs:
        """See `Padding`."""
        return _up(predicted + np.full(predicted.size, self.tokens))


@dataclass(frozen=True)
class SharePadding:
    """A share of the prediction more (CacheOPT's variant /CKA: a tenth).

    Args:
        share: at least 0.

    Raises:
        InputError: it is below 0.

    Examples:
        >>> from fluidkv.preempt import SharePadding, with_estimates
        >>> table = fk.Requests([9, 9], [20, 500])
        >>> with_estimates(table, SharePadding(0.1)).estimated_output.tolist()
        [22, 550]
    """

    share: float = 0.1

    def __post_init__(self) -> None:
        not_negative("share", self.share, most=100)

    def estimated(self, predicted: Outputs, outputs: Outputs, seed: int) -> Outputs:
        """See `Padding`."""
        # The share in millionths: 10 % of 110 are 11 tokens, which no binary fraction says.
        millionths = round(self.share * 10**6)
        return predicted + -(-predicted * millionths // 10**6)


@dataclass(frozen=True)
class BucketPadding:
    """Up to the upper bound of the prediction's bucket (S3: 50 tokens).

    Args:
        width: tokens a bucket.

    Raises:
        InputError: it is below 1.

    Examples:
        >>> from fluidkv.preempt import with_estimates
        >>> from fluidkv.preempt.padding.rules import BucketPadding
        >>> table = fk.Requests([9, 9, 9], [49, 50, 51])
        >>> with_estimates(table, BucketPadding(50)).estimated_output.tolist()
        [50, 50, 100]
    """

    width: int = 50

    def __post_init__(self) -> None:
        count("width", self.width, most=MOST_TOKENS)

    def estimated(self, predicted: Outputs, outputs: Outputs, seed: int) -> Outputs:
        """See `Padding`."""
        return (bucket_of(predicted, self.width) + 1) * self.width


@dataclass(frozen=True, eq=False)
class ConfidencePadding:
    """CacheOPT's: t of (3), added, or subtracted where a classifier says "overpredicted".

    Args:
        confidence: c in [0, 1), one for all or one for each request (`confidence_at_rate`).
        low, high: a and b: between which lengths a request can be, given its prediction. Only
            b - a counts.
        classifier: None: padding is always added, and only then c is a promise about estimates.

    Raises:
        InputError: a confidence outside of this, b below a.

    Examples:
        >>> from fluidkv.preempt import ConfidencePadding, with_estimates
        >>> padding = ConfidencePadding(0.5, low=100, high=200)
        >>> round(float(padding.padding), 1)
        58.9
        >>> with_estimates(fk.Requests([9, 9], [120, 150]), padding).estimated_output.tolist()
        [179, 209]
    """

    confidence: ArrayLike
    low: ArrayLike
    high: ArrayLike
    classifier: DirectionClassifier | None = None

    def __post_init__(self) -> None:
        _ = self.padding

    @property
    def padding(self) -> Float[np.ndarray, "..."]:
        """t, tokens."""
        return hoeffding_padding(self.confidence, self.low, self.high)

    def estimated(self, predicted: Outputs, outputs: Outputs, seed: int) -> Outputs:
        """See `Padding`."""
        t = np.broadcast_to(self.padding, predicted.shape)
        if self.classifier is not None:
            t = np.where(self.classifier.says_under(outputs, predicted, seed), t, -t)
        return _up(predicted + t)


def _up(lengths: Float[np.ndarray, " request"]) -> Outputs:
    return np.clip(np.ceil(lengths), 1, MOST_TOKENS).astype(np.int64)
