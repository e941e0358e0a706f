"""What the runs of a policy add up to."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from fluidkv.answers.price.forecasts import foresees
from fluidkv.answers.price.result import Kept, Shown
from fluidkv.tokenpd.attention.weights import Attention
from fluidkv.tokenpd.eviction.policy import EvictionPolicy
from fluidkv.tokenpd.eviction.run import EvictionRun


@dataclass(eq=False)
class Tally:
    """Runs of a policy, added one by one."""

    policy: EvictionPolicy
    mass: list[Float[np.ndarray, " request"]] = field(default_factory=list)
    error: list[Float[np.ndarray, " request"]] = field(default_factory=list)
    total: list[float] = field(default_factory=list)
    used: list[np.ndarray] = field(default_factory=list)
    recomputed: list[int] = field(default_factory=list)
    price: np.ndarray | None = None
    there: np.ndarray | None = None
    optimum: list[float] = field(default_factory=list)

    def add(self, run: EvictionRun, attention: Attention, shown: Shown) -> None:
        """One run more; of the first one, what is looked at more closely."""
        rows = _measured(attention)
        self.mass.append(_by_request(run.mass, rows, attention))
        self.error.append(_by_request(run.error, rows, attention))
        self.total.append(float(np.sum(run.mass)))
        self.optimum.append(float(np.sum(run.optimum)))
        self.used.append(np.asarray(run.kept))
        self.recomputed.append(int(np.sum(run.recomputed)))
        if self.there is None:
            last = shown.start + shown.length - shown.prompt
            assert run.masks is not None  # the first run is recorded
            self.there = np.asarray(run.masks)[shown.start : last + 1, shown.stream, : shown.length]
            priced = self.policy.pricing is not None
            self.price = np.asarray(run.price, float) if priced else None

    def kept(self, budget: int, held: Sequence[float] | None) -> Kept:
        """All of them together.

        Args:
            held: of each run, the most mass where nothing comes back; None: not computed.
        """
        assert self.there is not None  # at least one run was added
        total = np.array(self.total)
        predictor: Any = getattr(self.policy.score, "predictor", None)
        over = [each - budget for each in self.used]
        peak = int(max(each.max() for each in self.used))
        return Kept(
            name=self.policy.name,
            scope=self.policy.scope.value,
            choice=self.policy.choice.value,
            foresees=foresees(predictor),
            mean=float(np.mean([each.mean() for each in self.mass])),
            worst=float(min(each.min() for each in self.mass)),
            low=float(np.quantile(np.concatenate(self.mass), 0.05)),
            mass=tuple(self.mass),
            output_error=float(np.mean([each.mean() for each in self.error])),
            average=float(np.mean([_held(each).mean() for each in self.used])),
            peak=peak,
            fits=peak <= budget,
            netted=float(np.mean([max(0, int(each.sum())) for each in over])),
            positive=float(np.mean([np.maximum(each, 0).sum() for each in over])),
            largest=max(0, peak - budget),
            recomputed=float(np.mean(self.recomputed)),
            regret=float(np.mean(np.array(self.optimum) - total)),
            regret_held=None if held is None else float(np.mean(np.array(held) - total)),
            used_by_round=tuple(self.used[0].tolist()),
            price=self.price,
            there_by_round=tuple(map(np.flatnonzero, self.there)),
            there=self.there,
            policy=self.policy,
            error=tuple(self.error),
            used=tuple(self.used),
        )


def _held(used: np.ndarray) -> np.ndarray:
    return used[used > 0] if (used > 0).any() else used


def _measured(attention: Attention) -> Bool[np.ndarray, "round stream"]:
    """In which rounds a stream computes a row that is measured: all after its prompt's."""
    age = np.arange(attention.rounds)[:, None] - attention.start
    return (age >= 1) & (age <= attention.length - attention.prompt)


def _by_request(
    values: np.ndarray, rows: Bool[np.ndarray, "round stream"], attention: Attention
) -> Float[np.ndarray, " request"]:
    """The mean over a request's rows, and over its streams; requests without rows are left out."""
    sums = np.where(rows, np.asarray(values, float), 0).sum(0)
    requests, which = np.unique(attention.request, return_inverse=True)
    counts = np.bincount(which, rows.sum(0), len(requests))
    with np.errstate(invalid="ignore"):
        means = np.bincount(which, sums, len(requests)) / counts
    return means[counts > 0]
