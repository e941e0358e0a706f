"""How far a full server swings by chance alone: spectra and deviations of what runs in it.

Each admitted request draws its footprint. The server keeps sum over requests of phi = M - slack,
where whole requests leave a slack that is nearly a new number each time. Around the equilibrium
this is linear: with A = E P and B = E Q, at z = exp(-i w), the spectral densities are

    admissions   S_u(w) = u E|P / A - 1|^2 + v / |A|^2
    running      S_R(w) = u E|Q - (B / A) P|^2 + v |B / A|^2
    completions  the same of 1 - (1 - z) Q in place of Q

with v the variance of the slack, and variances are their means over the circle. Where requests all
have one footprint, and no slack, nothing swings. Requests that come in an order, as in batches of
like ones, have its spectrum in the second moments (`fluidkv.footprints.order`).

The theorem behind it is the central limit of the linear system: as M grows, what runs deviates by a
stationary Gaussian sequence of this spectrum, on the scale of the root of M (van Kampen's expansion
in the size of the system; A. J. McKane and T. J. Newman, "Predator-prey cycles from resonant
amplification of demographic stochasticity", Phys. Rev. Lett. 94, 218102, 2005: cycles of chance
near an equilibrium that is stable). That slack is independent and uniform is an approximation, as
is the formula where iterations evict, and near the boundary of stability, where it grows beyond
what the linear system holds for.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Complex, Float

from fluidkv.errors import InputError
from fluidkv.footprints.circle import (
    CircleMoments,
    Walks,
    circle_angles,
    circle_moments,
    walks_of,
)
from fluidkv.footprints.footprint import Footprint
from fluidkv.footprints.order import correlated, order_spectrum
from fluidkv.footprints.stability import FootprintStability, FullServer, footprint_stability
from fluidkv.record import Record
from fluidkv.runs.precision import in_float64
from fluidkv.verdict import Stability

_MOST_POINTS = 1 << 18


@dataclass(frozen=True)
class Slack(Record):
    """What whole requests leave free when no other fits: uniform below the first one that waits.

    That one is met in proportion to its first tokens, as an interval that covers a point is.

    Fields:
        mean, variance: tokens, tokens squared.

    Examples:
        >>> from fluidkv.footprints.densities import slack_of
        >>> found = slack_of(fk.RequestFootprint(9, 5), capacity=1000)
        >>> found.mean, found.variance
        (4.5, 8.25)
    """

    mean: float
    variance: float


def slack_of(footprint: Footprint, capacity: float) -> Slack:
    """Slack of a full server; tokens come in grains where whatever is held is whole grains.

    Examples:
        >>> from fluidkv.footprints.densities import slack_of
        >>> slack_of(fk.RequestFootprint(9, 5, block=16), capacity=160).mean
        0.0
    """
    shares, first, grain = first_tokens(footprint)
    places = first / grain
    weight = float((shares * places).sum())
    mean = float((shares * places * (places - 1) / 2).sum()) / weight
    square = float((shares * places * (places - 1) * (2 * places - 1) / 6).sum()) / weight
    rest = float(capacity) % grain
    return Slack(rest + grain * mean, grain**2 * (square - mean**2))


def first_tokens(footprint: Footprint) -> tuple[np.ndarray, np.ndarray, float]:
    """Shares of the growths, what each holds at first, and the largest grain of all tokens."""
    growths = [growth for _, growth in footprint.growths]
    unit = math.lcm(*(growth.unit for growth in growths))
    held = [np.concatenate([g.start, g.held]) * (unit // g.unit) for g in growths]
    grain = math.gcd(*(int(np.gcd.reduce(tokens)) for tokens in held)) / unit
    first = np.array([tokens[0] for tokens in held]) / unit
    return np.array([float(share) for share, _ in footprint.growths]), first, grain


@jax.jit
def spectral_density(
    moments: CircleMoments,
    rate: Float[Array, ""] | float,
    slack: Float[Array, ""] | float = 0.0,
    admissions: Complex[Array, " *frequency"] | float = 0.0,
    running: Complex[Array, " *frequency"] | float = 1.0,
) -> Float[Array, " frequency"]:
    """Density of admissions times one number and running requests times another; mean: variance.

    S_R if these are left out, S_u with 1 and 0; what completes is 1 and z - 1.

    Args:
        rate: u, requests admitted an iteration.
        slack: v, the variance of what is left free, tokens squared.
        admissions, running: the two numbers, or one of each at each frequency.

    Examples:
        >>> from fluidkv.footprints import spectral_density
        >>> from fluidkv.footprints.circle import circle_moments, walks_of
        >>> mix = fk.footprint_of(fk.Workload.from_lengths([(90, 3), (90, 5)]))
        >>> density = spectral_density(circle_moments(walks_of(mix)[0], 8), 2.0)
        >>> density.shape, bool((density >= 0).all())
        ((5,), True)
    """
    A, B, P2, Q2, QP = moments
    one, alive = jnp.asarray(admissions), jnp.asarray(running)
    both = (P2.astype(A.dtype) * (B / A).conj() - QP.conj()) / A
    power = (
        jnp.abs(one) ** 2 * (P2 / jnp.abs(A) ** 2 - 1)
        + jnp.abs(alive) ** 2 * (Q2 - 2 * (QP * (B / A).conj()).real + jnp.abs(B / A) ** 2 * P2)
        + 2 * (one * jnp.conj(alive) * both).real
    )
    return rate * jnp.maximum(power, 0) + slack * jnp.abs((one + alive * B) / A) ** 2


def circle_mean(
    density: Float[Array, "*batch frequency"] | Float[np.ndarray, "*batch frequency"],
) -> Float[Array, "*batch"] | Float[np.ndarray, "*batch"]:
    """The mean over the whole circle of a density at its upper half: a variance.

    Examples:
        >>> from fluidkv.footprints.densities import circle_mean
        >>> float(circle_mean(np.array([1.0, 2.0, 3.0])))
        2.0
    """
    inner = density[..., 1:-1].sum(-1)
    return (density[..., 0] + density[..., -1] + 2 * inner) / (2 * (density.shape[-1] - 1))


@partial(jax.jit, static_argnames="points")
def swings(
    walks: Walks,
    capacity: Float[Array, ""] | float,
    slack: Float[Array, ""] | float = 0.0,
    *,
    points: int = 1024,
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Standard deviations of running requests and of admissions; pure, of one system.

    `vmap` takes thousands at once, `grad` says what moves them. It does not ask whether the system
    is stable: of one that is not, the numbers mean nothing.

    Args:
        walks: growths of one law of steps, whose shares sum to 1.
        capacity: M, less the mean slack.
        slack: its variance.
        points: of the circle; a mode that decays by |z| an iteration adds an error of order
            |z|^points.

    Examples:
        >>> import jax
        >>> from fluidkv.footprints import swings
        >>> from fluidkv.footprints.circle import walks_of
        >>> mix = fk.footprint_of(fk.Workload.from_lengths([(90, 3), (90, 5)]))
        >>> capacities = np.array([1000.0, 4000.0], np.float32)
        >>> running, _ = jax.vmap(lambda M: swings(walks_of(mix)[0], M))(capacities)
        >>> round(float(running[1] / running[0]), 3)
        2.0
    """
    moments = circle_moments(walks, points)
    rate = capacity / moments.memory[0].real
    densities = (
        spectral_density(moments, rate, slack),
        spectral_density(moments, rate, slack, 1.0, 0.0),
    )
    running, admitted = (jnp.sqrt(jnp.asarray(circle_mean(each))) for each in densities)
    return running, admitted


@dataclass(frozen=True)
class Noise(Record):
    """How a full server swings by chance around its equilibrium.

    Fields:
        stability: the certificate. Unless it is stable, the deviations and the period are None, and
            the spectra are those of the formula, which nothing has.
        running_mean: requests, whole requests' slack left out of the memory.
        running_std, admissions_std, completions_std: standard deviations.
        peak_period: iterations; where the spectrum of running requests peaks, None where that is at
            frequency 0 or there is no noise.
        slack: what whole requests leave free.
        frequency: radians an iteration, 0 ... pi.
        running, admissions, completions: spectral densities there.
        order: f of `order_spectrum`; None where requests are independent.

    Examples:
        >>> mix = fk.footprint_of(fk.Workload.from_lengths((300, n) for n in range(5, 41)))
        >>> found = fk.noise(fk.FullServer(mix, capacity=120_000))
        >>> round(found.running_std, 2), round(found.admissions_std, 2), round(found.peak_period)
        (0.68, 4.35, 37)
    """

    stability: FootprintStability
    running_mean: float
    running_std: float | None
    admissions_std: float | None
    completions_std: float | None
    peak_period: float | None
    slack: Slack
    frequency: Float[np.ndarray, " frequency"]
    running: Float[np.ndarray, " frequency"]
    admissions: Float[np.ndarray, " frequency"]
    completions: Float[np.ndarray, " frequency"]
    order: Float[np.ndarray, " frequency"] | None

    @cached_property
    def tokens(self) -> Float[np.ndarray, " frequency"]:
        """The density of the tokens that requests yield in an iteration."""
        rate = self.running_mean / float(self.stability.weights.mean_lifetime)
        with in_float64():
            footprint = self.stability.server.footprint
            points = 2 * len(self.frequency) - 2
            yielded = moments_on_circle(footprint, points, tokens=True, order=self.order)
            return np.asarray(spectral_density(yielded, rate, self.slack.variance))

    @property
    def tokens_std(self) -> float | None:
        """Its standard deviation."""
        return None if self.running_std is None else float(circle_mean(self.tokens)) ** 0.5


def noise(
    server: FullServer,
    *,
    points: int | None = None,
    correlation: Sequence[float] | Float[np.ndarray, " lag"] = (),
) -> Noise:
    """Spectra and deviations of a full server, in floats; `certified_variances` encloses them.

    Args:
        points: of the circle, even; enough for the slowest mode if left out.
        correlation: rho_1, rho_2, ... of the growths of requests in a row, as `batch_correlation`
            has it; requests are independent if left out.

    Raises:
        InputError: points that are odd or fewer than the longest life in iterations; a correlation
            that no order of requests has.

    Examples:
        >>> one = fk.noise(fk.FullServer(fk.RequestFootprint(100, 24), capacity=120_000))
        >>> one.running_std is None, str(one.stability.verdict)
        (True, 'unstable')
        >>> from fluidkv.footprints import batch_correlation
        >>> mix = fk.footprint_of(fk.Workload.from_lengths((300, n) for n in range(5, 41)))
        >>> server, fours = fk.FullServer(mix, 120_000), batch_correlation([0, 0, 0, 1])
        >>> alone, alike = fk.noise(server), fk.noise(server, correlation=fours)
        >>> round(alike.admissions_std / alone.admissions_std, 2)
        1.92
    """
    found = footprint_stability(server)
    ages = found.weights.ages
    if points is None:
        points = _enough(found.spectral_radius[1], ages)
    elif points % 2 or points < ages:
        raise InputError("points", points, f"an even number of at least {ages}, the longest life")
    slack = slack_of(server.footprint, float(server.capacity))
    rate = (float(server.capacity) - slack.mean) / float(found.weights.lifetime_memory)
    with in_float64():
        order = order_spectrum(correlation, rate, points) if len(correlation) else None
        moments = moments_on_circle(server.footprint, points, order=order)
        running, admissions, completions = map(
            np.asarray, _three_densities(moments, rate, slack.variance)
        )
    stable = found.verdict is Stability.STABLE

    def deviation(density: Float[np.ndarray, " frequency"]) -> float | None:
        return float(circle_mean(density)) ** 0.5 if stable else None

    peak = int(running.argmax())
    swinging = stable and peak and running[peak] > 1e-9 * rate
    return Noise(
        stability=found,
        running_mean=rate * float(found.weights.mean_lifetime),
        running_std=deviation(running),
        admissions_std=deviation(admissions),
        completions_std=deviation(completions),
        peak_period=points / peak if swinging else None,
        slack=slack,
        frequency=2 * np.pi * np.arange(points // 2 + 1) / points,
        running=running,
        admissions=admissions,
        completions=completions,
        order=order,
    )


@jax.jit
def _three_densities(
    moments: CircleMoments, rate: float, slack: float
) -> tuple[Float[Array, " frequency"], ...]:
    """Of running requests, of admissions, of completions, compiled together."""
    angles = circle_angles(2 * (moments.memory.shape[0] - 1))
    gone = lax.complex(jnp.cos(angles) - 1, -jnp.sin(angles))
    of = (0.0, 1.0), (1.0, 0.0), (1.0, gone)
    return tuple(spectral_density(moments, rate, slack, *each) for each in of)


def _enough(radius: float, ages: int) -> int:
    """Points for the slowest mode, a power of two."""
    gap = max(1e-6, abs(1 - radius))
    wanted = max(64, ages, min(max(4.0 * ages, 40 / gap), _MOST_POINTS))
    return 2 ** math.ceil(math.log2(wanted))


def moments_on_circle(
    footprint: Footprint,
    points: int,
    *,
    tokens: bool = False,
    order: Float[np.ndarray, " frequency"] | None = None,
) -> CircleMoments:
    """`circle_moments` of a whole footprint, whatever steps its growths take.

    Args:
        order: spectrum of the order of growths (`order_spectrum`); None: they are independent.

    Examples:
        >>> from fluidkv.footprints.densities import moments_on_circle
        >>> moments_on_circle(fk.RequestFootprint(2, 3), 4).memory_power.round(3).tolist()
        [144.0, 20.0, 16.0]
    """
    longest = max(growth.iterations for _, growth in footprint.growths)
    least = min(points, 2 << (longest - 1).bit_length())
    walks = walks_of(footprint)

    def summed(*, steps: bool) -> CircleMoments:
        parts = [circle_moments(part, least, tokens=tokens, steps=steps) for part in walks]
        moments = jax.tree.map(lambda *column: sum(column[1:], column[0]), *parts)
        return moments if points == least else _finer(moments, points)

    moments = summed(steps=True)
    return moments if order is None else correlated(moments, summed(steps=False), order)


@partial(jax.jit, static_argnames="points")
def _finer(moments: CircleMoments, points: int) -> CircleMoments:
    """The same at more points: sums over z^-n ... z^n are known from any 2 n of them."""

    def values(few: Array) -> Array:
        ahead, behind = jnp.split(jnp.fft.irfft(few.astype(moments.memory.dtype)), 2)
        between = jnp.zeros(points - 2 * len(ahead), ahead.dtype)
        return jnp.fft.rfft(jnp.concatenate([ahead, between, behind]))

    memory, running, *powers, both = map(values, moments)
    return CircleMoments(memory, running, powers[0].real, powers[1].real, both)
