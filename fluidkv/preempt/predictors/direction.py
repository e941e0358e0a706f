"""Which way a prediction is wrong, as a classifier says: CacheOPT's second output.

Source: CacheOPT, section 3.2, Figure 10.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from fluidkv.preempt.predictors.predictor import Outputs, share, stream


@dataclass(frozen=True)
class DirectionClassifier:
    """Says "underpredicted" or not, and is right in a stated share of the cases.

    Args:
        accuracy: in [0, 1]; 0.5 is no information.

    Raises:
        InputError: a number outside of this.

    Examples:
        >>> from fluidkv.preempt import DirectionClassifier
        >>> outputs, predicted = np.array([10, 30]), np.array([20, 20])
        >>> DirectionClassifier(1.0).says_under(outputs, predicted, seed=0).tolist()
        [False, True]
    """

    accuracy: float = 1

    def __post_init__(self) -> None:
        share("accuracy", self.accuracy)

    def says_under(
        self,
        outputs: Outputs,
        predicted: Outputs,
        seed: int,
    ) -> Bool[np.ndarray, " request"]:
        """Whether it takes each prediction for too short. One that is exact is not too short."""
        right = stream(seed, "direction").random(outputs.size) < self.accuracy
        return (outputs > predicted) == right
