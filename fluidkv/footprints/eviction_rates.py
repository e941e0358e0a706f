"""Where chance evicts: how often a full server must, what memory ends it, how long until it does.

An iteration must evict where running requests grow by more than what was free and what completed
ones gave back: where the free memory before admission, X, falls below 0. X is a sum over requests,
driven by what was admitted before (`fluidkv.footprints.tails`). It holds of full memory, with a
watermark too, of a cap on who runs and of a limit on who is admitted, whichever binds.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float
from scipy.optimize import root_scalar

from fluidkv.errors import InputError
from fluidkv.footprints.circle import CircleMoments, circle_angles
from fluidkv.footprints.densities import (
    circle_mean,
    first_tokens,
    moments_on_circle,
    slack_of,
    spectral_density,
)
from fluidkv.footprints.footprint import Footprint, Growth
from fluidkv.footprints.second_moments import mean_weights
from fluidkv.footprints.stability import FootprintStability, FullServer, footprint_stability
from fluidkv.footprints.tails import Driven, chance_below
from fluidkv.record import Record
from fluidkv.runs.checks import count
from fluidkv.runs.precision import in_float64
from fluidkv.verdict import Stability

MOST_PATHS = 256
"""Ways of requests that a tail is made of; more growths, or drawn steps, are sampled.

>>> from fluidkv.footprints.eviction_rates import MOST_PATHS
>>> MOST_PATHS
256
"""
_MOST_LAGS = 4096
_LEAST_PADDED = 16  # ways and ages: fewer are computed in no time, and each shape is compiled
_TIMES = 24  # at which an unstable server is looked at
_LIKELY = 0.25  # of an eviction in an iteration, which ends at a half


@dataclass(frozen=True)
class Evictions(Record):
    """How often chance evicts.

    Fields:
        stability: the certificate.
        rate: chance that an iteration must evict; None where the server swings without end.
        first: mean iterations from the equilibrium to the first eviction, as if iterations evicted
            independently of one another: it takes longer where those that do come in groups.
        ripple: 2 exp(-2 pi^2 v), v the variance of running requests without slack: how far whole
            requests are from leaving uniform slack. Below 0.05 it does not matter; above, rate is
            corrected for it, well near the peaks of rate over memory and less well in its troughs.
            Where requests give memory back before they end, as behind a window, and fewer than 40
            run, rate is too high whatever it is: by up to 300 times.

    Examples:
        >>> mix = fk.footprint_of(fk.Workload.from_lengths((300, n) for n in range(5, 41)))
        >>> found = fk.evictions(fk.FullServer(mix, capacity=20_000))
        >>> 6e-3 < found.rate < 1e-2, round(found.first * found.rate, 9)
        (True, 1.0)
    """

    stability: FootprintStability
    rate: float | None
    first: float
    ripple: float


def evictions(
    server: FullServer,
    *,
    watermark: Fraction | int = 0,
    most_running: int | None = None,
    most_admitted: int | None = None,
) -> Evictions:
    """The rate at which an iteration must evict, and the time to the first.

    Of an unstable server, how long noise takes to grow along its modes until the first eviction.

    Args:
        watermark: tokens that are left free when a request is admitted.
        most_running: a cap on who runs.
        most_admitted: a limit on who is admitted an iteration. Of memory, cap and limit the one
            that admits least is taken to bind always. As memory that is nearly full admits less
            than a cap or limit, with these the rate is less than what is said.

    Raises:
        InputError: a watermark that leaves no memory, a cap or limit below 1.

    Examples:
        >>> mix = fk.footprint_of(fk.Workload.from_lengths((300, n) for n in range(5, 41)))
        >>> server = fk.FullServer(mix, capacity=20_000)
        >>> fk.evictions(server, watermark=400).rate < fk.evictions(server).rate
        True
        >>> alike = fk.FullServer(fk.RequestFootprint(100, 24), capacity=60_000)
        >>> shows = fk.evictions(alike)
        >>> shows.rate is None, 10 < shows.first < 1000
        (True, True)
    """
    most = server.capacity - server.largest
    if not 0 <= watermark < most:
        raise InputError("watermark", watermark, f"a number from 0 to below {most}")
    for name, limit in (("most_running", most_running), ("most_admitted", most_admitted)):
        if limit is not None:
            count(name, limit)
    found = footprint_stability(server)
    paths = paths_of(server.footprint)
    endless = found.verdict is not Stability.STABLE
    driven = _of_memory(server.footprint, paths, float(server.capacity - watermark))
    fold = _fold(server, driven)
    if not (endless or watermark):  # below a watermark slack may be any number
        driven = driven._replace(**fold)
    ripple = float(2 * np.exp(-2 * np.pi**2 * fold["spread"]))
    there, newest = paths[1] > 0, np.arange(paths[1].shape[1]) == 0
    for most, constrained in ((most_running, there), (most_admitted, there & newest)):
        if most is not None:
            other = _of_limit(paths, float(server.capacity), most, constrained.astype(float))
            if other.rate < driven.rate:
                driven, endless, watermark = other, False, 0
    lags = _lags(found, paths[1].shape[1])
    level = -float(watermark) - 0.5 * first_tokens(server.footprint)[2]
    if not endless:
        rate = float(_chances(driven, np.array([level]), np.array([lags]), lags)[0])
        return Evictions(found, rate, 1 / rate if rate else math.inf, ripple)
    times, chances = _grown(driven, level, lags)
    while chances[-1] < _LIKELY and lags < _MOST_LAGS:  # the larger a server, the longer it takes
        lags *= 2
        times, chances = _grown(driven, level, lags)
    return Evictions(found, None, _first(times, chances), ripple)


def _grown(driven: Driven, level: float, lags: int) -> tuple[np.ndarray, np.ndarray]:
    """Times up to `lags` after the equilibrium, and the chance of an eviction at each."""
    times = np.unique(np.geomspace(1, lags, _TIMES).astype(int))
    return times, _chances(driven, np.full(len(times), level), times, lags)


def least_memory(footprint: Footprint, rate: float = 1e-6) -> float | None:
    """The memory, tokens, from which on an iteration must evict with less than this chance.

    None where it is unstable: no memory is enough. Slack is taken to be uniform (see `Evictions`).

    Args:
        rate: chance an iteration, in (0, 1/2).

    Raises:
        InputError: a rate outside of it.

    Examples:
        >>> from fluidkv.footprints.eviction_rates import least_memory
        >>> mix = fk.footprint_of(fk.Workload.from_lengths((300, n) for n in range(5, 41)))
        >>> memory = least_memory(mix, 1e-3)
        >>> 9e-4 < fk.evictions(fk.FullServer(mix, round(memory))).rate < 11e-4
        True
    """
    if not 0 < rate < 0.5:
        raise InputError("rate", rate, "a number in (0, 1/2)")
    paths = paths_of(footprint)
    largest = float(max(growth.largest for _, growth in footprint.growths))
    found = footprint_stability(FullServer(footprint, math.ceil(largest) + 1))
    if found.verdict is not Stability.STABLE:
        return None
    lags, grain = _lags(found, paths[1].shape[1]), first_tokens(footprint)[2]

    def excess(log_memory: float) -> float:
        driven = _of_memory(footprint, paths, math.exp(log_memory))
        chance = float(_chances(driven, np.array([-grain / 2]), np.array([lags]), lags)[0])
        return math.log(max(chance, 1e-300) / rate)

    low, high = math.log(4 * largest), math.log(32 * largest)
    if excess(low) <= 0:
        return math.exp(low)
    while excess(high) > 0:
        low, high = high, high + math.log(4)
    return math.exp(root_scalar(excess, bracket=(low, high), xtol=1e-4).root)


def paths_of(
    footprint: Footprint, *, seed: int = 0
) -> tuple[Float[np.ndarray, " path"], Float[np.ndarray, "path age"]]:
    """Shares of ways that requests may go, and what is held at each age, 0 behind the end.

    Exact where there are at most `MOST_PATHS` growths and no step is drawn; else so many ways, at
    even distances along the growths in order of length, with steps drawn.

    Examples:
        >>> from fluidkv.footprints.eviction_rates import paths_of
        >>> paths_of(fk.RequestFootprint(2, 3))
        (array([1.]), array([[3., 4., 5.]]))
    """
    growths = sorted(footprint.growths, key=lambda pair: (pair[1].iterations, pair[1].largest))
    shares = np.array([float(share) for share, _ in growths])
    chosen = np.arange(len(growths))
    if len(growths) > MOST_PATHS or any(len(growth.held) for _, growth in growths):
        middles = (np.arange(MOST_PATHS) + 0.5) / MOST_PATHS
        chosen = np.minimum(np.searchsorted(np.cumsum(shares), middles), len(growths) - 1)
        shares = np.full(MOST_PATHS, 1 / MOST_PATHS)
    rng = np.random.default_rng(seed)
    ways = [_way(growths[i][1], rng) for i in chosen]
    held = np.zeros((len(ways), max(map(len, ways))))
    for row, way in zip(held, ways, strict=True):
        row[: len(way)] = way
    return shares, held


def _way(growth: Growth, rng: np.random.Generator) -> np.ndarray:
    places = np.zeros(0, int)
    if len(growth.held):
        chances = np.array([float(chance) for chance in growth.steps])
        steps = rng.choice(len(chances), growth.walk, p=chances) + 1
        places = np.concatenate([[0], np.cumsum(steps)])
    walked = growth.held[places[places < len(growth.held)]]
    return np.concatenate([growth.start, walked]) / growth.unit


@jax.jit
def _variances(moments: CircleMoments) -> Float[Array, "3"]:
    """At u = 1: of running requests, of admissions, and of those who run and are admitted next."""
    angles = circle_angles(2 * (moments.memory.shape[0] - 1))
    turned = lax.complex(jnp.cos(angles), -jnp.sin(angles))
    of = (0.0, 1.0), (1.0, 0.0), (1.0, turned)
    return jnp.stack(
        [jnp.asarray(circle_mean(spectral_density(moments, 1.0, 0.0, *each))) for each in of]
    )


_Paths = tuple[Float[np.ndarray, " path"], Float[np.ndarray, "path age"]]


def _of_memory(footprint: Footprint, paths: _Paths, capacity: float) -> Driven:
    """Free memory before admission, beyond a watermark that `capacity` is less."""
    share, held = paths
    slack, grain = slack_of(footprint, capacity), first_tokens(footprint)[2]
    added = np.where(np.arange(held.shape[1]) == 0, held, 0.0)
    rate = (capacity - slack.mean) / float((share @ held).sum())
    return _driven(share, held, added, rate, slack.mean, grain=grain, first=held[:, 0])


def _fold(server: FullServer, driven: Driven) -> dict[str, Any]:
    """Variance and mean of how many requests the memory would hold were they not whole.

    What runs is that number, Y, rounded down: with e what a request holds beyond its first tokens,
    first * Y + e * E floor(Y) = M on average. Where an iteration evicts, next to none was admitted;
    so Y is shifted by its regression on admissions. Without slack the two are linear in each other.
    """
    mean, rate = mean_weights(server.footprint), float(driven.rate)
    points = max(2048, 2 << mean.ages.bit_length())
    with in_float64():
        moments = moments_on_circle(server.footprint, points)
        spread, of_admissions, of_both = rate * np.asarray(_variances(moments))
    first = float(np.asarray(driven.share) @ np.asarray(driven.first))
    beyond = float(mean.lifetime_memory / mean.mean_lifetime) / first - 1
    memory, n = float(server.capacity) / first, np.arange(1, 40)
    weight = np.exp(-2 * (np.pi * n) ** 2 * spread) / (np.pi * n)

    def excess(y: float) -> float:
        waves = float(weight @ np.sin(2 * np.pi * n * y))
        return y + beyond * (y - 0.5 + waves) - memory

    middle = memory / (1 + beyond)
    together = (of_both - spread - of_admissions) / 2
    shift = -rate * together / max(of_admissions, 1e-12)
    phase = root_scalar(excess, bracket=(middle - 2, middle + 2)).root + shift
    return {"spread": np.float64(spread), "phase": np.float64(phase)}


def _of_limit(paths: _Paths, capacity: float, most: int, taken: np.ndarray) -> Driven:
    """The same where so many always run or are admitted: memory that those who stay do not take."""
    share, held = paths
    stayed = np.where(np.arange(held.shape[1]) == 0, 0.0, held)
    return _driven(share, taken, -stayed, most / float((share @ taken).sum()), capacity)


def _driven(
    share: np.ndarray,
    taken: np.ndarray,
    added: np.ndarray,
    rate: float,
    offset: float,
    *,
    grain: float = 1.0,
    first: np.ndarray | None = None,
) -> Driven:
    """Padded to few shapes: it takes longer to compile than to compute."""
    rows, ages = (max(1 << (n - 1).bit_length(), _LEAST_PADDED) for n in taken.shape)
    wide = ((0, rows - taken.shape[0]), (0, ages - taken.shape[1]))
    slack = first is not None
    arrays: tuple[Any, ...] = (
        np.pad(share, wide[0]),
        np.pad(taken, wide),
        np.pad(added, wide),
        np.float64(rate),
        np.float64(offset),
        np.float64(grain),
        np.pad(first if first is not None else np.zeros(len(share)), wide[0]),
        np.float64(slack),
        np.float64(100),  # spread: uniform
        np.float64(0),  # phase
        np.float64(0),  # times, of each case
    )
    return Driven(*arrays)  # jnp's, once JAX counts in float64


def _lags(found: FootprintStability, ages: int) -> int:
    """Enough for the slowest mode to fade, or for the fastest to show."""
    gap = max(abs(found.spectral_radius[1] - 1), 1e-6)
    wanted = min(_MOST_LAGS, ages + 8 / gap)
    return max(1 << math.ceil(math.log2(wanted)), 1 << (ages - 1).bit_length(), 2)


def _chances(driven: Driven, levels: np.ndarray, times: np.ndarray, lags: int) -> np.ndarray:
    """P(X < level) so long after the equilibrium, for each level and time."""
    lags = max(lags, 256)  # beyond `times` nothing counts
    with in_float64():
        return np.asarray(_below(driven, levels.astype(float), times.astype(float), lags=lags))


@partial(jax.jit, static_argnames="lags")
def _below(
    driven: Driven,
    levels: Float[Array, " case"],
    times: Float[Array, " case"],
    *,
    lags: int,
) -> Float[Array, " case"]:
    def at(level: Array, time: Array) -> Array:
        return chance_below(driven._replace(times=time), level, lags=lags)

    return jax.vmap(at)(levels, times)


def _first(times: np.ndarray, chances: np.ndarray) -> float:
    """Mean time to the first, from its chance at some times: between them by the logarithm."""
    every = np.arange(1, times[-1] + 1)
    logs = np.log(np.clip(np.nan_to_num(chances, nan=0.5), 1e-300, 0.5))
    alive = np.cumprod(1 - np.exp(np.interp(every, times, logs)))
    last = float(chances[-1]) if chances[-1] > 0 else math.inf
    return float(1 + alive.sum() + alive[-1] / max(min(last, 0.5), 1e-300))
