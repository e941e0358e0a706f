"""Below capacity: memory as shot noise, where requests come at random and all of them fit.

Requests come in groups of b, Poisson(lambda / b) groups an iteration, and each adds phi(j) in its
j-th iteration. Memory is then a sum over independent groups, exactly:

    log E exp(theta X) = (lambda / b) sum over j of ((E exp(theta phi(j)))^b - 1),

phi(j) = 0 once a request has left. So mean and variance are lambda A(1) and lambda (sum of E
phi(j)^2 + (b - 1) sum of (E phi(j))^2), the spectral density is lambda (E|P|^2 + (b - 1) |A|^2),
and likewise with psi for what runs. These are theorems (Campbell); the overflow probability by the
saddlepoint is an approximation, within a few percent.

Source: N. Campbell (1909), as in J. F. C. Kingman, "Poisson Processes" (1993), section 3.2; R.
Lugannani and S. Rice, Adv. Appl. Probab. 12 (1980).
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import root_scalar
from scipy.special import ndtr

from fluidkv.errors import InputError
from fluidkv.footprints.densities import moments_on_circle
from fluidkv.footprints.footprint import Footprint, Growth
from fluidkv.record import Record
from fluidkv.runs.checks import count
from fluidkv.runs.precision import in_float64


class _Held(NamedTuple):
    """What a request may hold at some age, and the chance of it: every case once."""

    age: Int[np.ndarray, " case"]
    tokens: Float[np.ndarray, " case"]
    chance: Float[np.ndarray, " case"]


@dataclass(frozen=True)
class OpenMemory(Record):
    """Memory of a server on which every request that comes is admitted at once.

    Args:
        footprint: of the requests.
        arrivals: lambda, requests an iteration on average; above 0.
        batch: b, requests that come together.

    Raises:
        InputError: a rate that is not above 0 or not finite, a batch below 1.

    Examples:
        >>> memory = fk.OpenMemory(fk.RequestFootprint(100, 20), arrivals=0.5)
        >>> memory.mean, round(memory.std, 1), round(memory.overflow(1600), 3)
        (1105.0, 349.9, 0.085)
    """

    footprint: Footprint
    arrivals: float
    batch: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.arrivals < math.inf:
            raise InputError("arrivals", self.arrivals, "a finite number above 0")
        count("batch", self.batch)

    @property
    def mean(self) -> float:
        """Tokens held."""
        return float(self._log_moments(0.0)[1])

    @property
    def std(self) -> float:
        """Standard deviation of tokens held."""
        return float(self._log_moments(0.0)[2]) ** 0.5

    def spectrum(self, points: int = 1024) -> Float[np.ndarray, " frequency"]:
        """Spectral density of memory at 2 pi k / N, k = 0 ... N/2; its mean is the variance.

        Args:
            points: N, even, at least the longest life in iterations.
        """
        with in_float64():
            moments = moments_on_circle(self.footprint, points)
            alike = (self.batch - 1) * np.abs(np.asarray(moments.memory)) ** 2
            return self.arrivals * (np.asarray(moments.memory_power) + alike)

    def overflow(self, capacity: float) -> float:
        """The chance that more than `capacity` tokens are held, by the saddlepoint.

        Raises:
            InputError: a capacity below 0.
        """
        if not 0 <= capacity < math.inf:
            raise InputError("capacity", capacity, "a finite number of at least 0")
        mean, std = self.mean, self.std
        if abs(capacity - mean) < 5e-3 * std:  # where two terms of the formula cancel
            return (self.overflow(mean - 0.01 * std) + self.overflow(mean + 0.01 * std)) / 2

        def beyond(theta: float) -> float:
            return float(self._log_moments(theta)[1]) - capacity

        end = math.copysign(1 / std, capacity - mean)
        while beyond(end) * math.copysign(1, end) < 0:
            end *= 1.5
            if end < -1e4 / std:  # below whatever is likely
                return 1.0
        theta = root_scalar(beyond, bracket=sorted((0.0, end)), xtol=1e-12 / std).root
        value, _, bend = self._log_moments(theta)
        w = math.copysign(math.sqrt(max(2 * (theta * capacity - value), 0.0)), theta)
        v = theta * math.sqrt(bend)
        if not w * v:  # so far below that nothing is left of the moments
            return 1.0
        density = math.exp(-w * w / 2) / math.sqrt(2 * math.pi)
        return float(min(1.0, max(0.0, ndtr(-w) + density * (1 / v - 1 / w))))

    def _log_moments(self, theta: float) -> tuple[float, float, float]:
        """log E exp(theta X) and its first two derivatives."""
        age, tokens, chance = _held(self.footprint)
        weight = chance * np.exp(theta * tokens)
        some = 1 + np.bincount(age, chance * np.expm1(theta * tokens))
        first, second = (np.bincount(age, weight * tokens**k) for k in (1, 2))
        b, groups = self.batch, self.arrivals / self.batch
        slope = b * some ** (b - 1) * first
        bend = b * some ** (b - 1) * second + b * (b - 1) * some ** max(b - 2, 0) * first**2
        return groups * (some**b - 1).sum(), groups * slope.sum(), groups * bend.sum()


def _held(footprint: Footprint) -> _Held:
    parts = [_of_growth(growth, float(share)) for share, growth in footprint.growths]
    return _Held(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _of_growth(growth: Growth, share: float) -> _Held:
    """The first iterations, then every place of the walk after every number of steps."""
    first, places = len(growth.start), len(growth.held)
    step = np.array([0.0, *map(float, growth.steps)])
    reached, now = np.zeros((growth.walk, places)), np.ones(1)
    for k in range(growth.walk):
        reached[k, : len(now)] = now
        now = np.convolve(now, step)[:places]
    later, place = np.nonzero(reached)
    chance = np.concatenate([np.ones(first), reached[later, place]])
    age = np.concatenate([np.arange(first), first + later])
    return _Held(
        age, np.concatenate([growth.start, growth.held[place]]) / growth.unit, share * chance
    )
