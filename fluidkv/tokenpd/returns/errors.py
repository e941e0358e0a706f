"""How far a predictor is off on an attention in which nothing is evicted."""

from typing import Any, NamedTuple

import numpy as np

from fluidkv.errors import InputError
from fluidkv.plain import plain_tuple
from fluidkv.runs.precision import in_float64
from fluidkv.tokenpd.attention.weights import Attention
from fluidkv.tokenpd.returns.rows import all_rows, judged, predictions
from fluidkv.tokenpd.seen import Predictor


class Errors(NamedTuple):
    """Over the keys that a server asks about: those there once the prompt is computed, in each row
    before the last.

    Fields:
        variance: of the return, which is what the best constant misses.
        squared: mean squared error of the prediction.
        bias: mean of prediction less return.
        rank: Spearman's correlation of prediction and return; 0 where either is constant.
        risk_variance, risk_squared: the first two of the predicted variance.

    Examples:
        >>> from fluidkv.tokenpd import Oracle, generated, generators
        >>> from fluidkv.tokenpd.returns.errors import prediction_errors
        >>> attention = generated(generators()["mixed"], 0, requests=2, prompt=16, length=64)
        >>> errors = prediction_errors(Oracle(), attention)
        >>> errors.squared, errors.bias, round(errors.rank, 6)
        (0.0, 0.0, 1.0)
    """

    variance: float
    squared: float
    bias: float
    rank: float
    risk_variance: float
    risk_squared: float

    @property
    def missed(self) -> float:
        """Squared error over variance: 0 is the truth, 1 the best constant."""
        return self.squared / self.variance

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return plain_tuple(self)


def prediction_errors(predictor: Predictor, attention: Attention) -> Errors:
    """Measure a predictor.

    Raises:
        InputError: something that predicts nothing; an attention of which no row that a server asks
            about is followed by another.

    Examples:
        >>> from fluidkv.tokenpd import Oracle, generated, generators
        >>> from fluidkv.tokenpd.returns.averages import LastSeen
        >>> from fluidkv.tokenpd.returns.errors import prediction_errors
        >>> attention = generated(generators()["mixed"], 0, requests=2, prompt=16, length=64)
        >>> [round(prediction_errors(each, attention).missed, 2) for each in (Oracle(), LastSeen())]
        [0.0, 0.62]
    """
    with in_float64():
        rows = all_rows(attention)
        at = np.asarray(judged(attention, rows))
        mean, spread = (np.asarray(part)[at] for part in predictions(predictor, rows))
        future, risk = np.asarray(rows.future)[at], np.asarray(rows.spread)[at]
    if not future.size:
        raise InputError("attention", attention.length, "a stream longer than its prompt")
    return Errors(
        float(future.var()),
        float(((mean - future) ** 2).mean()),
        float((mean - future).mean()),
        _rank_correlation(mean, future),
        float(risk.var()),
        float(((spread - risk) ** 2).mean()),
    )


def _rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    from scipy.stats import rankdata  # half a second to import

    ranks = [rankdata(values) for values in (a, b)]
    spread = [part.std() for part in ranks]
    if min(spread) == 0:
        return 0.0
    return float(
        ((ranks[0] - ranks[0].mean()) * (ranks[1] - ranks[1].mean())).mean() / np.prod(spread)
    )
