"""Figure 17h: how far estimates lie from the truth, without any run."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from fluidkv.preempt.padding.rules import Padding, with_estimates
from fluidkv_papers.cacheopt.instances.runs import CONFIDENCES, SEEDS
from fluidkv_papers.cacheopt.instances.segment import ALPACA, METHODS, confident, requests_of


@dataclass(frozen=True, eq=False)
class Deviation:
    """Estimated minus true outputs of all requests.

    Args:
        tokens: one for each.
    """

    tokens: np.ndarray

    def share(self, side: str) -> float:
        """Of requests that are estimated too long, or too short."""
        return float(np.mean(self._of(side)))

    def mean(self, side: str) -> float:
        """Tokens, of those; 0 where there are none."""
        there = self._of(side)
        return float(np.abs(self.tokens[there]).mean()) if there.any() else 0.0

    def _of(self, side: str) -> np.ndarray:
        return self.tokens > 0 if side == "over" else self.tokens < 0


@cache
def deviations() -> Mapping[float | str, Deviation]:
    """Of CacheOPT's padding at each confidence, of RLP and of S3; Alpaca's lengths."""
    named: dict[float | str, Padding] = {c: confident(c) for c in CONFIDENCES}
    named |= {name: METHODS[name].padding for name in ("rlp", "s3")}
    return {name: Deviation(_tokens(padding)) for name, padding in named.items()}


def _tokens(padding: Padding) -> np.ndarray:
    tables = (requests_of(ALPACA, 1.0, seed) for seed in SEEDS)
    padded = [with_estimates(table, padding, seed=seed) for seed, table in enumerate(tables)]
    return np.concatenate([t.estimated_output - t.output_length for t in padded])
