"""Predictions that know the workload, and little or nothing of the request."""

from dataclasses import dataclass, field

import numpy as np

from fluidkv.preempt.predictors.noise import Perfect
from fluidkv.preempt.predictors.predictor import Outputs, Predictor, share, stream, whole


@dataclass(frozen=True)
class DrawnFromWorkload:
    """A share of the requests is given the length of one drawn from the whole workload.

    Args:
        share: in [0, 1]; of 1, predictions have the right distribution and no information.
        of: what is said of the others.

    Raises:
        InputError: a share outside of this.

    Examples:
        >>> from fluidkv.preempt import DrawnFromWorkload, with_predictions
        >>> table = fk.Requests([9, 9, 9, 9], [10, 20, 30, 40])
        >>> with_predictions(table, DrawnFromWorkload(), seed=1).predicted_output.tolist()
        [30, 30, 30, 20]
    """

    share: float = 1
    of: Predictor = field(default_factory=Perfect)

    def __post_init__(self) -> None:
        share("share", self.share)

    def predicted(self, outputs: Outputs, seed: int) -> Outputs:
        """See `Predictor`."""
        rng = stream(seed, "drawn from the workload")
        # Both are drawn for everybody: whoever is blind for a share is blind for a larger one.
        blind = rng.random(outputs.size) < self.share
        drawn = outputs[rng.integers(0, outputs.size, outputs.size)]
        return np.where(blind, drawn, self.of.predicted(outputs, seed))


@dataclass(frozen=True)
class MeanOfWorkload:
    """The mean length of the workload for everybody, rounded.

    Examples:
        >>> from fluidkv.preempt import with_predictions
        >>> from fluidkv.preempt.predictors.blind import MeanOfWorkload
        >>> table = fk.Requests([9, 9], [10, 30])
        >>> with_predictions(table, MeanOfWorkload()).predicted_output.tolist()
        [20, 20]
    """

    def predicted(self, outputs: Outputs, seed: int) -> Outputs:
        """See `Predictor`."""
        return np.repeat(whole(outputs.mean(keepdims=True)), outputs.size)
