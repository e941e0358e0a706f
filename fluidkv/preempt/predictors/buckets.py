"""Predictions of a bucket of lengths: its upper bound is what is said (S3: buckets of 50)."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from fluidkv.errors import InputError
from fluidkv.preempt.predictors.noise import Perfect
from fluidkv.preempt.predictors.predictor import (
    Outputs,
    Predictor,
    share,
    stream,
)
from fluidkv.runs.checks import MOST_TOKENS, count


def bucket_of(lengths: Outputs, width: int) -> Outputs:
    """The bucket of each length: 0 for 1 ... width, 1 for width + 1 ... 2 width, and so on."""
    return (lengths - 1) // width


@dataclass(frozen=True)
class Bucketed:
    """The upper bound of the bucket that another predictor's word falls in.

    Args:
        width: tokens a bucket.
        of: the other one.

    Raises:
        InputError: a width below 1.

    Examples:
        >>> from fluidkv.preempt import with_predictions
        >>> from fluidkv.preempt.predictors.buckets import Bucketed
        >>> with_predictions(fk.Requests([9, 9], [20, 51]), Bucketed(50)).predicted_output.tolist()
        [50, 100]
    """

    width: int = 50
    of: Predictor = field(default_factory=Perfect)

    def __post_init__(self) -> None:
        count("width", self.width, most=MOST_TOKENS)

    def predicted(self, outputs: Outputs, seed: int) -> Outputs:
        """See `Predictor`."""
        return (bucket_of(self.of.predicted(outputs, seed), self.width) + 1) * self.width


@dataclass(frozen=True)
class BucketClassifier:
    """The right bucket in a stated share of the cases, as classifiers are measured.

    Args:
        accuracy: share of requests whose bucket is right, in [0, 1].
        width: tokens a bucket.
        wrong: what a wrong bucket is. "any": of those up to the longest length each as likely;
            "neighbour": the next one above or below.

    Raises:
        InputError: a number outside of this.

    Examples:
        >>> from fluidkv.preempt import with_predictions
        >>> from fluidkv.preempt.predictors.buckets import BucketClassifier
        >>> table = fk.Requests(np.full(1000, 9), np.arange(1, 1001))
        >>> said = with_predictions(table, BucketClassifier(0.79), seed=0).predicted_output
        >>> float(np.mean((said - 1) // 50 == (table.output_length - 1) // 50))
        0.78
    """

    accuracy: float
    width: int = 50
    wrong: Literal["any", "neighbour"] = "any"

    def __post_init__(self) -> None:
        share("accuracy", self.accuracy)
        count("width", self.width, most=MOST_TOKENS)
        if self.wrong not in ("any", "neighbour"):
            raise InputError("wrong", self.wrong, '"any" or "neighbour"')

    def predicted(self, outputs: Outputs, seed: int) -> Outputs:
        """See `Predictor`."""
        rng = stream(seed, "bucket classifier")
        right = bucket_of(outputs, self.width)
        correct = rng.random(outputs.size) < self.accuracy
        if self.wrong == "any":
            # One of the others, each as likely; where there is no other one, the next.
            others = max(int(right.max()), 1)
            drawn = rng.integers(0, others, outputs.size)
            said = drawn + (drawn >= right)
        else:
            up = rng.random(outputs.size) < 0.5
            said = np.where(up | (right == 0), right + 1, right - 1)
        return (np.where(correct, right, said) + 1) * self.width
