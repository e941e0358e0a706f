"""What matters: how much of what differs over all combinations each of the four values explains."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from fluidkv.answers.preempt.rules import FACTORS, Combination
from fluidkv.record import Record


@dataclass(frozen=True)
class Effect(Record):
    """One of the four values, and one metric.

    Fields:
        factor: out of `FACTORS`.
        levels: the values compared.
        means: of the metric at each level, over all combinations that have it.
        share: of the variance between combinations that these means explain, 0 to 1; what all
            shares leave to 1 is how the values act together.
    """

    factor: str
    levels: tuple[str, ...]
    means: tuple[float, ...]
    share: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"share": self.share, "means": dict(zip(self.levels, self.means, strict=True))}


@dataclass(frozen=True)
class Effects(Record):
    """Main effects on one metric over a full grid.

    Fields:
        of: those of values with more than one level, the largest share first.
        together: share of the variance that no value explains alone.
        noise: variance of a combination's mean from seed to seed, over the variance between
            combinations: near 1 or above, the grid shows little but noise; NaN of one run.
    """

    of: tuple[Effect, ...]
    together: float
    noise: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "of": {effect.factor: effect.to_dict() for effect in self.of},
            "together": self.together,
            "noise": None if np.isnan(self.noise) else self.noise,
        }


def main_effects(
    values: Float[np.ndarray, "combination run"], combinations: Sequence[Combination]
) -> Effects | None:
    """Main effects of the four values; None where nothing differs, or where a value is missing.

    Args:
        values: of a metric; the runs of all combinations serve the same requests.
        combinations: every combination of some levels, in any order.
    """
    means = values.mean(axis=1)
    around = means - means.mean()
    whole = float(around @ around)
    if not np.isfinite(whole) or whole <= 1e-24 * float(means @ means):
        return None
    effects = []
    for factor in FACTORS:
        names = [combination.names[factor] for combination in combinations]
        levels = tuple(dict.fromkeys(names))
        if len(levels) < 2:
            continue
        of_level = [np.array([name == level for name in names]) for level in levels]
        explained = sum(here.sum() * around[here].mean() ** 2 for here in of_level)
        effects.append(
            Effect(
                factor,
                levels,
                tuple(float(means[here].mean()) for here in of_level),
                float(explained / whole),
            )
        )
    effects.sort(key=lambda effect: -effect.share)
    together = max(0.0, 1 - sum(effect.share for effect in effects))
    return Effects(tuple(effects), together, _noise(values, whole / (len(means) - 1)))


def _noise(values: Float[np.ndarray, "combination run"], between: float) -> float:
    """Of what is left when the level of each combination and of each run is taken away."""
    combinations, runs = values.shape
    if runs < 2:
        return np.nan
    rest = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
    variance = float((rest**2).sum()) / ((combinations - 1) * (runs - 1))
    return variance / runs / between
