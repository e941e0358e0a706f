"""Predictions that are the truth, with noise or with bias.

Noise is unbiased: the mean of what is said of a request is its length. A prediction below one token
is one token, which only raises it.
"""

from dataclasses import dataclass, field

import numpy as np

from fluidkv.errors import InputError
from fluidkv.preempt.predictors.predictor import Outputs, Predictor, stream, whole
from fluidkv.runs.checks import MOST_TOKENS, above_0, not_negative, real


@dataclass(frozen=True)
class Perfect:
    """The true lengths.

    Examples:
        >>> from fluidkv.preempt import Perfect, with_predictions
        >>> with_predictions(fk.Requests([9, 9], [20, 50]), Perfect()).predicted_output.tolist()
        [20, 50]
    """

    def predicted(self, outputs: Outputs, seed: int) -> Outputs:
        """See `Predictor`."""
        return outputs.copy()


@dataclass(frozen=True)
class UniformNoise:
    """An error uniform on a symmetric interval, so that its range is known.

    Args:
        tokens, share: half the interval: so many tokens, and such a share of the length;
            at least 0.

    Raises:
        InputError: a number below 0.

    Examples:
        >>> from fluidkv.preempt.predictors.noise import UniformNoise
        >>> UniformNoise(tokens=10, share=0.1).spread(np.array([100.0, 500.0])).tolist()
        [40, 120]
    """

    tokens: float = 0
    share: float = 0

    def __post_init__(self) -> None:
        not_negative("tokens", self.tokens, most=MOST_TOKENS)
        not_negative("share", self.share, most=MOST_TOKENS)

    def predicted(self, outputs: Outputs, seed: int) -> Outputs:
        """See `Predictor`."""
        drawn = stream(seed, "uniform noise").uniform(-1, 1, outputs.size)
        return whole(outputs + drawn * self._half(outputs))

    def spread(self, outputs: Outputs) -> Outputs:
        """b - a: how far apart two predictions of one request can be, tokens."""
        return 2 * np.rint(self._half(outputs)).astype(np.int64)

    def _half(self, outputs: Outputs) -> np.ndarray:
        return self.tokens + self.share * outputs


@dataclass(frozen=True)
class GaussianNoise:
    """A normal error, which has no bounds.

    Args:
        tokens, share: its standard deviation: so many tokens, and such a share of the length.

    Raises:
        InputError: a number below 0.

    Examples:
        >>> from fluidkv.preempt import with_predictions
        >>> from fluidkv.preempt.predictors.noise import GaussianNoise
        >>> table = fk.Requests(np.full(1000, 9), np.full(1000, 500))
        >>> said = with_predictions(table, GaussianNoise(share=0.1), seed=0).predicted_output
        >>> round(float(said.std()))
        50
    """

    tokens: float = 0
    share: float = 0

    def __post_init__(self) -> None:
        not_negative("tokens", self.tokens, most=MOST_TOKENS)
        not_negative("share", self.share, most=MOST_TOKENS)

    def predicted(self, outputs: Outputs, seed: int) -> Outputs:
        """See `Predictor`."""
        drawn = stream(seed, "gaussian noise").standard_normal(outputs.size)
        return whole(outputs + drawn * (self.tokens + self.share * outputs))


@dataclass(frozen=True)
class LogNormalNoise:
    """The length times a log-normal factor of mean 1.

    Args:
        sigma: standard deviation of the factor's logarithm, at least 0; 0.7 is wrong by a factor of
            two either way in a third of the cases.

    Raises:
        InputError: it is below 0.

    Examples:
        >>> from fluidkv.preempt import LogNormalNoise, with_predictions
        >>> table = fk.Requests(np.full(1000, 9), np.full(1000, 500))
        >>> said = with_predictions(table, LogNormalNoise(0.7), seed=0).predicted_output
        >>> round(float(np.log(said).std()), 2)
        0.71
    """

    sigma: float

    def __post_init__(self) -> None:
        not_negative("sigma", self.sigma, most=100)  # of a logarithm

    def predicted(self, outputs: Outputs, seed: int) -> Outputs:
        """See `Predictor`."""
        drawn = stream(seed, "log-normal noise").standard_normal(outputs.size)
        return whole(outputs * np.exp(self.sigma * drawn - self.sigma**2 / 2))


@dataclass(frozen=True)
class Biased:
    """What another predictor says, times a factor, plus an offset.

    Args:
        factor: above 0.
        offset: tokens, of either sign.
        of: the other one.

    Raises:
        InputError: a factor not above 0, an offset that is not finite.

    Examples:
        >>> from fluidkv.preempt import with_predictions
        >>> from fluidkv.preempt.predictors.noise import Biased
        >>> table = fk.Requests([9, 9], [20, 50])
        >>> with_predictions(table, Biased(1.5, offset=-5)).predicted_output.tolist()
        [25, 70]
    """

    factor: float = 1
    offset: float = 0
    of: Predictor = field(default_factory=Perfect)

    def __post_init__(self) -> None:
        above_0("factor", self.factor, most=MOST_TOKENS)
        if not abs(real(self.offset)) <= MOST_TOKENS:
            raise InputError("offset", self.offset, f"at most {MOST_TOKENS:,} tokens either way")

    def predicted(self, outputs: Outputs, seed: int) -> Outputs:
        """See `Predictor`."""
        return whole(self.factor * self.of.predicted(outputs, seed) + self.offset)
