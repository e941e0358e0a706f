"""Predictors of returns by name, as users write them: NAME or NAME:PARAMETER=VALUE,..."""

from typing import Any

from fluidkv.answers.named import named
from fluidkv.tokenpd.returns.averages import AccumulatedMean, ExponentialAverage, LastSeen
from fluidkv.tokenpd.returns.known import Constant, NoisyOracle, Oracle
from fluidkv.tokenpd.returns.mlp import trained_mlp
from fluidkv.tokenpd.returns.writing import AtWriting
from fluidkv.tokenpd.seen import Predictor

MLP = "mlp"
FORECASTS: dict[str, Any] = {
    "last-seen": LastSeen(),
    "average": ExponentialAverage(),
    "accumulated": AccumulatedMean(),
    "constant": Constant(),
    "oracle": Oracle(),
    "noisy-oracle": NoisyOracle(0.7),
}
"""Name -> predictor as it is without parameters; `MLP` is read from a file when it is asked for.

>>> from fluidkv.answers.price.forecasts import FORECASTS
>>> list(FORECASTS)
['last-seen', 'average', 'accumulated', 'constant', 'oracle', 'noisy-oracle']
>>> FORECASTS["noisy-oracle"]
NoisyOracle(sigma=0.7)
"""

AT_WRITING = "-at-writing"
"""Behind a name: asked once, when the token is written, as in section 4."""


def predictor_of(text: str) -> Predictor:
    """The predictor of a name, such as "average", "average:rate=0.5" or "oracle-at-writing".

    Raises:
        InputError: an unknown name or parameter, and what the predictor refuses.

    Examples:
        >>> from fluidkv.answers.price.forecasts import predictor_of
        >>> predictor_of("average:rate=0.5")
        ExponentialAverage(rate=0.5)
        >>> predictor_of("last-seen-at-writing")
        AtWriting(predictor=LastSeen())
    """
    name, colon, parameters = text.partition(":")
    inner = name.removesuffix(AT_WRITING)
    known = FORECASTS | ({MLP: trained_mlp()} if inner == MLP else {MLP: None})
    found = named("predictor", f"{inner}{colon}{parameters}", known)
    return AtWriting(found) if name.endswith(AT_WRITING) else found


def foresees(predictor: Any) -> bool:
    """Whether it is told weights to come."""
    if isinstance(predictor, AtWriting):
        return foresees(predictor.predictor)
    return isinstance(predictor, Oracle | NoisyOracle)
