"""Is what one sees an instability, or noise: a measured series of running against its spectrum.

Around a stable equilibrium, running requests are a Gaussian series of known spectrum S_R
(`fluidkv.footprints.densities`): its periodogram I over S_R is a standard exponential number at
each frequency, nearly independent of the others. A limit cycle, which evicts and admits again and
again, has far more power at its frequency and the harmonics, where S_R is finite: the formula's S_R
exists for an unstable server, too, though nothing has it. So the means of I / S_R over bands of
frequencies are held to what chance gives to the largest of so many.

The level is that of the linear Gaussian series; slack, evictions and lengths that are not drawn
independently are beyond it. What the log's requests hold has to be known, as they were drawn.

Source: P. J. Brockwell and R. A. Davis, Time Series: Theory and Methods (1991), sections 10.1 to
10.3, for the periodogram; the variance of a tapered one is 35 / 18 of that of an untapered one.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.stats import chi2

from fluidkv.errors import InputError
from fluidkv.footprints.densities import noise
from fluidkv.footprints.stability import FullServer
from fluidkv.record import Record
from fluidkv.runs.checks import count, floats

_BAND = 24  # frequencies of a band
_SHORTEST = 64  # one band
_TAPERED = 35 / 18  # of Hann's window: how many frequencies count as one
_LEAST = 1e-4  # of the mean density, below which leakage from elsewhere is all that is seen


@dataclass(frozen=True)
class SwingTest(Record):
    """Whether chance around a stable equilibrium explains a series of running requests.

    Fields:
        p_value: chance that noise has a band as far from what is predicted, or further.
        level: of the test.
        frequency: radians an iteration, the middles of the bands.
        ratio: power that was measured over what noise has, in each band.
        low, high: what noise stays within in all bands but for a chance of `level`.
        angle: radians an iteration, of the periodogram, the ends left out.
        power, expected: of the series there, and of noise: densities, requests squared.

    Examples:
        >>> mix = fk.footprint_of(fk.Workload.from_lengths([(200, 10), (300, 31), (400, 17)]))
        >>> server = fk.FullServer(mix, capacity=60_000)
        >>> runs = fk.simulate_footprints(server, iterations=2000)
        >>> found = fk.swing_test(runs.running[0, 500:], server)
        >>> found.ratio.shape == found.frequency.shape
        True
    """

    p_value: float
    level: float
    frequency: Float[np.ndarray, " band"]
    ratio: Float[np.ndarray, " band"]
    low: float
    high: float
    angle: Float[np.ndarray, " frequency"]
    power: Float[np.ndarray, " frequency"]
    expected: Float[np.ndarray, " frequency"]

    @property
    def noise(self) -> bool:
        """Whether noise explains it; else it is an instability, or the footprint is another."""
        return self.p_value >= self.level

    @property
    def most(self) -> float:
        """The most power of a band over what noise has."""
        return float(self.ratio.max())

    @property
    def period(self) -> float:
        """Iterations; of the band with the most power over what noise has."""
        return float(2 * np.pi / self.frequency[self.ratio.argmax()])

    @property
    def peak_period(self) -> float:
        """Iterations; where the series has most power, within the band of `period`."""
        start = int(self.ratio.argmax()) * (_BAND // 2)
        band = slice(start, start + _BAND)
        return float(2 * np.pi / self.angle[band][self.power[band].argmax()])


def swing_test(
    running: ArrayLike, server: FullServer, *, every: int = 1, level: float = 0.05
) -> SwingTest:
    """Hold requests that run in a full server to what chance does around its equilibrium.

    Args:
        running: [n] requests in flight, at least 64, while memory was full throughout.
        server: what its requests hold, and its memory.
        every: iterations from one number to the next.
        level: of the test, in (0, 1).

    Raises:
        InputError: a series that is too short, not finite or constant; a level outside (0, 1).

    Examples:
        >>> mix = fk.footprint_of(fk.Workload.from_lengths([(100, 10), (100, 20)]))
        >>> server = fk.FullServer(mix, capacity=60_000)  # unstable: the lengths share 10
        >>> runs = fk.simulate_footprints(server, iterations=3000)
        >>> found = fk.swing_test(runs.running[0, 1000:], server)
        >>> found.noise, bool(found.ratio.max() > 10)
        (False, True)
    """
    series = np.asarray(floats("running", running, "finite numbers")).astype(float)
    if series.ndim != 1 or len(series) < _SHORTEST:
        raise InputError(
            "running", f"shape {series.shape}", f"at least {_SHORTEST} numbers in a row"
        )
    if not np.isfinite(series).all():
        raise InputError("running", "numbers that are not finite", "finite numbers")
    if not np.ptp(series):
        raise InputError("running", "a constant series", "one that swings")
    if not 0 < level < 1:
        raise InputError("level", level, "a number in (0, 1)")
    count("every", every)
    window = np.hanning(len(series))
    tapered = (series - series.mean()) * window / np.sqrt((window**2).sum())
    power = np.abs(np.fft.rfft(tapered)) ** 2
    angle = 2 * np.pi * np.arange(len(power)) / len(series)
    expected = _sampled(server, angle, every)
    inner = slice(2, -2)  # the mean that was taken off, and the end, leak into their neighbours
    expected = np.maximum(expected, _LEAST * expected.mean())
    power, expected, angle = power[inner], expected[inner], angle[inner]
    ratios = power / expected
    starts = np.arange(0, len(ratios) - _BAND + 1, _BAND // 2)
    means = np.array([ratios[k : k + _BAND].mean() for k in starts])
    middles = angle[starts + _BAND // 2] / every
    degrees = 2 * _BAND / _TAPERED
    tails = np.minimum(chi2.sf(degrees * means, degrees), chi2.cdf(degrees * means, degrees))
    sides = 2 * len(means)
    low, high = (float(x) / degrees for x in chi2.ppf([level / sides, 1 - level / sides], degrees))
    p_value = min(1.0, float(sides * tails.min()))
    whole = angle / every, power, expected
    return SwingTest(p_value, level, middles, means, low, high, *whole)


def _sampled(
    server: FullServer, angle: Float[np.ndarray, " frequency"], every: int
) -> Float[np.ndarray, " frequency"]:
    """The density of every so many iterations: that of all, folded."""
    found = noise(server)
    aliases = (angle[:, None] + 2 * np.pi * np.arange(every)) / every
    folded = np.pi - np.abs(np.pi - aliases % (2 * np.pi))  # it is even
    return np.interp(folded, found.frequency, found.running).mean(axis=1)
