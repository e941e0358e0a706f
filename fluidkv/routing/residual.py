"""One linear regression for each worker, online: what a cost model misses of the latencies.

The paper says that it minimizes the squared error online, with a learning rate of 0.992, on three
features and a bias, times in units of 1,000 tokens. What one step is, it does not say:

- `sgd`: weights + rate x error x features. Errors along the features of a request grow where
  rate x |features|^2 > 2, and a prompt of 2,000 tokens, none of them cached, has |features|^2 of
  at least 5: with a rate of 0.992 the weights diverge (docs/routers.md).
- `nlms`: the same over |features|^2 (normalized least mean squares), which stays bounded. With
  0.992 the weights explain the last observation almost alone.
- `smooth`: the same with 1 - rate in place of the rate: each observation counts for 0.8 %, as in
  an exponential average with factor 0.992. The reading that is used.
- `rls`: recursive least squares with the rate as factor of forgetting.
"""

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

Step = Literal["smooth", "nlms", "sgd", "rls", "none"]
STEPS: tuple[Step, ...] = ("smooth", "nlms", "sgd", "rls", "none")
FEATURES = 4

_PRIOR = 1e2  # variance of each weight before the first observation, as RLS has it


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
            share = 1 - rate if step == "smooth" else rate
            scale = 1.0 if step == "sgd" else features @ features
            weights[worker] += share * error * features / scale
    return Residual(weights, covariance)
