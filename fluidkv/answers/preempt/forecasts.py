"""Length predictors with their padding, by name: PREDICTOR or PREDICTOR+PADDING."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from fluidkv.answers.named import named
from fluidkv.errors import InputError
from fluidkv.preempt.padding.hoeffding import confidence_at_rate
from fluidkv.preempt.padding.rules import (
    BucketPadding,
    ConfidencePadding,
    ConstantPadding,
    Padding,
    SharePadding,
    with_estimates,
)
from fluidkv.preempt.predictors.blind import DrawnFromWorkload, MeanOfWorkload
from fluidkv.preempt.predictors.buckets import BucketClassifier, Bucketed
from fluidkv.preempt.predictors.file import Listed, predictions_from
from fluidkv.preempt.predictors.measured import RLP_QUOTED, S3_QUOTED
from fluidkv.preempt.predictors.noise import (
    Biased,
    GaussianNoise,
    LogNormalNoise,
    Perfect,
    UniformNoise,
)
from fluidkv.preempt.predictors.predictor import Outputs, Predictor, with_predictions
from fluidkv.record import Record
from fluidkv.runs.requests import Requests
from fluidkv.text import nearest
from fluidkv.traces import Trace


@dataclass(frozen=True)
class Forecast(Record):
    """What an engine is told of lengths: what a predictor says, and what padding makes of it.

    Args:
        predictor: says how long outputs will be.
        padding: says for how many memory is given; None: for those predicted.

    Examples:
        >>> from fluidkv.answers import forecast_of
        >>> from fluidkv.answers.preempt.forecasts import Forecast
        >>> requests = fk.Requests([8, 8, 8], [10, 20, 30])
        >>> Forecast().of(requests, seed=0).predicted_output  # the truth
        array([10, 20, 30])
        >>> forecast_of("biased:factor=0.5").of(requests, seed=0).predicted_output
        array([ 5, 10, 15])
    """

    predictor: Predictor = field(default_factory=Perfect)
    padding: Padding | None = None

    def of(self, requests: Requests, seed: int, first: int = 0) -> Requests:
        """The requests with predictions and estimates, of a seed.

        Args:
            first: the number of the first of them in a list of predictions.
        """
        predictor = self.predictor
        if isinstance(predictor, Listed):
            here = range(first, first + len(requests))
            predictor = Listed({n - first: predictor.said[n] for n in here})
        told = with_predictions(requests, predictor, seed=seed)
        return told if self.padding is None else with_estimates(told, self.padding, seed=seed)


@dataclass(frozen=True)
class LoadPadding:
    """CacheOPT's padding with the confidence that it takes at an arrival rate, (3) and (4).

    Args:
        alpha, beta: of `confidence_at_rate`.
        rate: arrivals a unit of time.
        low, high: a and b, tokens; only b - a counts.

    Raises:
        InputError: alpha outside of (0, 1], beta not above 0, a rate below 0, b below a, and a
            confidence of 1.
    """

    alpha: float = 0.9
    beta: float = 0.01
    rate: float = 0
    low: float = 0
    high: float = 100

    def __post_init__(self) -> None:
        _ = self._rule

    @property
    def _rule(self) -> ConfidencePadding:
        confidence = confidence_at_rate(self.rate, self.alpha, self.beta)
        return ConfidencePadding(confidence, self.low, self.high)

    def estimated(self, predicted: Outputs, outputs: Outputs, seed: int) -> Outputs:
        """See `Padding`."""
        return self._rule.estimated(predicted, outputs, seed)


PREDICTORS: Mapping[str, Predictor] = {
    "perfect": Perfect(),
    "uniform": UniformNoise(share=0.5),
    "gaussian": GaussianNoise(share=0.5),
    "log-normal": LogNormalNoise(0.7),
    "biased": Biased(factor=0.5),
    "bucketed": Bucketed(),
    "classifier": BucketClassifier(0.79),
    "blind": DrawnFromWorkload(),
    "mean": MeanOfWorkload(),
    "rlp": RLP_QUOTED,
    "s3": S3_QUOTED,
}
"""All that have a name; "file:PATH" is another.

>>> from fluidkv.answers.preempt.forecasts import PREDICTORS
>>> list(PREDICTORS)[:5]
['perfect', 'uniform', 'gaussian', 'log-normal', 'biased']
>>> PREDICTORS["biased"].factor
0.5
"""

PADDINGS: Mapping[str, Padding] = {
    "constant": ConstantPadding(),
    "share": SharePadding(),
    "bucket": BucketPadding(),
    "confidence": LoadPadding(),
}


def check_lists(forecasts: Mapping[str, Forecast], trace: Trace | None) -> None:
    """Refuse predictions out of a list that are not those of a trace.

    Args:
        trace: that is replayed; None: requests are drawn, and have no numbers.

    Raises:
        InputError: a list for requests that are drawn; one that misses a request, or has another.
    """
    for forecast in forecasts.values():
        listed = forecast.predictor
        if not isinstance(listed, Listed):
            continue
        if trace is None:
            allowed = "a predictor by name where requests are drawn: a list is of a trace's own"
            raise InputError("predictions", listed.source, allowed)
        listed.predicted(np.asarray(trace.decode_lengths), 0)


def forecast_of(text: str) -> Forecast:
    """A forecast from its name: "log-normal:sigma=0.5+constant:tokens=100", "file:lengths.csv".

    Raises:
        InputError: an unknown name or parameter, what a predictor or padding refuses, a file that
            cannot be read.

    Examples:
        >>> from fluidkv.answers import forecast_of
        >>> forecast = forecast_of("biased:factor=0.5+constant:tokens=100")
        >>> told = forecast.of(fk.Requests([8, 8], [10, 200]), seed=0)
        >>> told.predicted_output, told.estimated_output
        (array([  5, 100]), array([105, 200]))
    """
    if text.startswith("file:"):
        name, plus, padding = text.rpartition("+")
        if not plus or padding.partition(":")[0] not in PADDINGS:  # a path may have a plus in it
            name, padding = text, ""
        predictor: Predictor = predictions_from(name.removeprefix("file:"))
    else:
        name, _, padding = text.partition("+")
        if name.partition(":")[0] not in PREDICTORS:
            known = [*PREDICTORS, "file:PATH"]
            raise InputError("predictor", text, nearest(name.partition(":")[0], known))
        predictor = named("predictor", name, PREDICTORS)
    if not padding:
        return Forecast(predictor)
    return Forecast(predictor, named("predictor", padding, PADDINGS))
