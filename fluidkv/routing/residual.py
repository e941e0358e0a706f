"""One linear regression for each worker, online: what a cost model misses of the latencies.

The paper says that it minimizes the squared error online, with a learning rate of 0.992, on three
features and a bias, all times in units of 1,000 tokens. What one step is, it does not say:

- `sgd`: theta + rate x error x features. Errors along the features of a request grow where
  rate x |features|^2 > 2. A prompt of 2,000 tokens has |features|^2 >= 5, so that with a rate of
  0.992 the regression diverges (`docs/routers.md` says how soon).
- `nlms`: the same divided by |features|^2 (normalized least mean squares), stable for any features
  and rates between 0 and 2. The reading that is used.
- `rls`: recursive least squares, with the rate as the factor by which the weight of what was
  observed before falls at each observation.
"""

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

Step = Literal["nlms", "sgd", "rls", "none"]
STEPS: tuple[Step, ...] = ("nlms", "sgd", "rls", "none")
FEATURES = 4

_PRIOR = 1e2  # variance of each weight before the first observation, as RLS has it
_TINY = 1e-12


class Residual(NamedTuple):
    """The weights of each worker, and what RLS knows of them."""

    weights: Float[np.ndarray, "worker feature"]
    covariance: Float[np.ndarray, "worker feature feature"]


def no_residual(workers: int) -> Residual:
    """All weights 0."""
    covariance = np.broadcast_to(_PRIOR * np.eye(FEATURES), (workers, FEATURES, FEATURES))
    return Residual(np.zeros((workers, FEATURES)), covariance)


def updated(
    residual: Residual,
    worker: int,
    features: Float[np.ndarray, " feature"],
    error: float,
    *,
    step: Step,
    rate: float,
) -> Residual:
    """After one observation of a worker.

    Args:
        residual: before it.
        worker: whose.
        features: of the request.
        error: observed less predicted.
        step, rate: see above.
    """
    if step == "none":
        return residual
    weights, covariance = residual.weights.copy(), residual.covariance
    with np.errstate(over="ignore", invalid="ignore"):  # sgd, where it diverges
        if step == "rls":
            before = covariance[worker]
            spread = before @ features
            gain = spread / (rate + features @ spread)
            covariance = covariance.copy()
            covariance[worker] = (before - np.outer(gain, spread)) / rate
            weights[worker] += gain * error
        else:
            scale = features @ features + _TINY if step == "nlms" else 1.0
            weights[worker] += rate * error * features / scale
    return Residual(weights, covariance)
