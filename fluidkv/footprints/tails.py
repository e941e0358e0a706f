"""How likely a sum over requests is to fall beyond a level: cumulants of noise, and saddlepoints.

Requests admitted m iterations ago, n of them, each add x_i(m) to a quantity X: tokens that are
free, or tokens held. How many are admitted is set by what is constrained (memory that is full, a
cap on who runs): each request changes later admissions by nu_i(l), l iterations later, where

    sum over l of nu_i(l) z^l = 1 - C_i(z) / E C(z),        C_i what it takes of the constraint.

Given the admissions, footprints are drawn independently; the admissions are linear in what was
drawn. So log E exp(theta X) is a sum over m, from now back into the past, of u c(m), with

    c(m) = log E exp(theta d_i(m) + sum over 0 <= k < m of c(k) nu_i(m - k)),
    d_i = x_i - (E X / E C) C_i:

a process whose rate its own noise drives, and whose batches are as noisy as they are large. The
second order in theta is the variance that `fluidkv.footprints.densities` has from its spectrum; the
next ones bend the tail, by a factor of ten at a hundred running requests. Slack that whole requests
leave is a further independent term an iteration. The probability comes from these
cumulants by the saddlepoint.

An approximation: that the linear map holds while something is about to be evicted, that slack is
independent, and that the number of admissions need not be whole.

Source: R. Lugannani and S. Rice, "Saddle point approximation for the distribution of the sum of
independent random variables", Adv. Appl. Probab. 12 (1980), for the formula of the tail.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.stats import norm
from jaxtyping import Array, Float

_HARMONICS = 16
_NEWTON = 30  # steps at most; each is at most half of 1 / deviation long
_CLOSE = 1e-7  # of 1 / deviation: a step that short is the last


class Driven(NamedTuple):
    """A quantity X of a server that something constrains; a pytree of arrays.

    Fields:
        share: of paths, what requests may hold.
        taken: C_i, what each takes of the constraint at each age; positive at first, on average.
        added: x_i, what each adds to X at each age.
        rate: u, admissions an iteration.
        offset: of X, besides what requests add.
        grain, first: of whole requests: the largest grain of C_i, and C_i(0), what each needs when
            it is admitted; zeros where there is no slack.
        slack: what slack adds to X in the iteration itself, a factor.
        spread, phase: of the newest slack: variance and mean of the number of requests that memory
            would hold were they not whole. With a large variance slack is uniform.
        times: iterations since the server was at its equilibrium exactly.
    """

    share: Float[Array, " path"]
    taken: Float[Array, "path age"]
    added: Float[Array, "path age"]
    rate: Float[Array, ""]
    offset: Float[Array, ""]
    grain: Float[Array, ""]
    first: Float[Array, " path"]
    slack: Float[Array, ""]
    spread: Float[Array, ""]
    phase: Float[Array, ""]
    times: Float[Array, ""]


def cumulants(driven: Driven, lags: int) -> Callable[[Array], Array]:
    """log E exp(theta (X - E X)) and two derivatives, [3], as a function of theta; pure.

    Args:
        lags: iterations of the past that count, at least the longest life.
    """
    share, taken = driven.share, driven.taken
    mean, ages = share @ taken, taken.shape[1]
    older, lead = mean[1:], mean[0]
    inverse = _inverse(mean, lags)
    through = _convolved(share @ driven.added, inverse)  # E X / E C
    own = _padded(driven.added, lags) - _convolved(taken, through)
    ago = jnp.arange(lags, dtype=mean.dtype)
    slack = -through + driven.slack * (ago == 0).astype(mean.dtype)
    first, apart = 1 - taken[:, 0] / lead, older[None] - taken[:, 1:]
    # the larger what one needs, the more often it is the one that does not fit
    met = share * driven.first
    met = met / jnp.where(met.sum() > 0, met.sum(), 1.0)

    def log_moments(theta: Array) -> Array:
        along = jnp.stack([theta, jnp.ones_like(theta), jnp.zeros_like(theta)])

        def lag(past: tuple[Array, Array, Array], now: tuple[Array, ...]) -> tuple[Any, Array]:
            (c, effects, freed), (d, g, counts) = past, now
            later = (c @ apart.T - effects @ older) / lead
            batch = _log_mean(share, along[:, None] * d[None] + later)
            free = (batch - freed @ older) / lead
            of_slack = along * g - free
            term = driven.rate * batch + _slack(of_slack, driven, met)
            effect = later + batch[:, None] * first[None]
            return (
                _pushed(c, batch),
                _pushed(effects, effect),
                _pushed(freed, free),
            ), jnp.where(counts, jnp.stack([term, of_slack]), 0.0)

        none = jnp.zeros((3, ages - 1), mean.dtype)
        start = none, jnp.zeros((3, len(share), ages - 1), mean.dtype), none
        lagged = own.T, slack, ago < driven.times
        terms = lax.scan(lag, start, lagged)[1]
        return terms[:, 0].sum(0) + _lattice(terms[1, 1], driven)

    return log_moments


def chance_below(driven: Driven, level: Float[Array, ""], *, lags: int) -> Float[Array, ""]:
    """P(X < level), by the saddlepoint; pure. `vmap` takes many.

    Args:
        level: about half a grain off the last value that counts where X comes in grains.
        lags: iterations of the past that count: enough for the slowest mode to fade.
    """
    log_moments = cumulants(driven, lags)
    expected = driven.offset + driven.rate * (driven.share @ driven.added).sum()
    wanted = level - expected

    # The moments are written once in the loop: they take most of the time to compile.
    def step(at: tuple[Array, ...]) -> tuple[Array, ...]:
        theta, move, _, scale, steps = at
        theta = theta + move
        found = log_moments(theta)
        scale = jnp.where(steps == 0, jnp.sqrt(found[2]), scale)  # at theta = 0
        move = jnp.clip((wanted - found[1]) / found[2], -0.5 / scale, 0.5 / scale)
        return theta, move, found, scale, steps + 1

    def goes_on(at: tuple[Array, ...]) -> Array:
        _, move, _, scale, steps = at
        return (steps == 0) | ((jnp.abs(move) * scale > _CLOSE) & (steps < _NEWTON))

    zero = jnp.zeros_like(wanted)
    start = zero, zero, jnp.zeros(3, zero.dtype), zero, zero
    theta, _, (value, _, bend), scale, _ = lax.while_loop(goes_on, step, start)
    far = jnp.maximum(2 * (theta * wanted - value), 0.0)
    w, v = jnp.sign(theta) * jnp.sqrt(far), theta * jnp.sqrt(bend)
    near = jnp.abs(w) < 1e-3  # where the two terms cancel
    tail = norm.cdf(w) + norm.pdf(w) * (1 / jnp.where(near, 1.0, w) - 1 / jnp.where(near, 1.0, v))
    return jnp.where(near, norm.cdf(wanted / scale), jnp.clip(tail, 0.0, 1.0))


def _log_mean(share: Array, exponent: Array) -> Array:
    """log E exp(e), with its first two derivatives, from those of e: [3]."""
    value, slope, bend = exponent
    top = jnp.where(share > 0, value, -jnp.inf).max()
    weight = share * jnp.exp(jnp.minimum(value - top, 0.0))
    total = weight.sum()
    first = weight @ slope / total
    second = weight @ (bend + (slope - first) ** 2) / total
    return jnp.stack([top + jnp.log(total), first, second])


def _slack(h: Array, driven: Driven, met: Array) -> Array:
    """log E exp(h (s - E s)), s uniform on grains from 0 to below what is needed; [3]."""
    grain, size = driven.grain, jnp.where(driven.first > 0, driven.first, 1.0)
    middle, at = (size - grain) / 2, h[0]
    whole, fine = _log_sinhc(at * size / 2), _log_sinhc(at * grain / 2)
    exponent = at * (middle - met @ middle) + whole[0] - fine[0]
    slope = middle - met @ middle + (size * whole[1] - grain * fine[1]) / 2
    bend = (size**2 * whole[2] - grain**2 * fine[2]) / 4
    found = _log_mean(met, jnp.stack([exponent, slope * h[1], bend * h[1] ** 2 + slope * h[2]]))
    return jnp.where(met.sum() > 0, found, 0.0)


def _lattice(h: Array, driven: Driven) -> Array:
    """What the newest slack, s, adds to log E exp(h s) as it is not uniform; [3].

    Its density is that of the number of requests that memory holds, of given mean and variance,
    folded by whole requests: uniform but for harmonics that decay as exp(-2 pi^2 n^2 variance).
    """
    size = driven.share @ driven.first
    size = jnp.where(size > 0, size, 1.0)
    n = jnp.arange(1, _HARMONICS, dtype=size.dtype)
    there = n < (size / driven.grain + 1) / 2  # finer ones are those of the grain itself
    weight = jnp.where(there, 2 * jnp.exp(-2 * (math.pi * n) ** 2 * driven.spread), 0.0)
    turn, step = 2 * math.pi * n * driven.phase, 2 * math.pi * n * driven.grain / size

    def exponent(at: Array) -> Array:
        # Re exp(-i turn) (exp(x) - 1) / (exp(x + i step) - 1), x = h grain
        x = at * driven.grain
        real, imaginary = (
            jnp.expm1(x) + jnp.exp(x) * (jnp.cos(step) - 1),
            jnp.exp(x) * jnp.sin(step),
        )
        part = real * jnp.cos(turn) - imaginary * jnp.sin(turn)
        ratio = jnp.expm1(x) * part / jnp.where(there, real**2 + imaginary**2, 1.0)
        return jnp.log(jnp.maximum(1 + weight @ ratio, 1e-12))

    def slope(at: Array, change: Array) -> Array:
        return jax.jvp(exponent, (at,), (change,))[1]

    first, second = jax.jvp(slope, (h[0], h[1]), (h[1], h[2]))
    return jnp.stack([exponent(h[0]), first, second])


def _log_sinhc(x: Array) -> tuple[Array, Array, Array]:
    """log(sinh(x) / x), even and smooth, and two derivatives."""
    near = jnp.abs(x) < 3e-2  # the series are then as exact as what they stand for
    size = jnp.where(near, 1.0, jnp.abs(x))
    fade, rest = jnp.exp(-2 * size), -jnp.expm1(-2 * size)
    value = size + jnp.log(rest / (2 * size))
    slope = jnp.sign(x) * ((1 + fade) / rest - 1 / size)
    bend = 1 / size**2 - 4 * fade / rest**2
    y = x**2
    return (
        jnp.where(near, y * (1 / 6 - y * (1 / 180 - y / 2835)), value),
        jnp.where(near, x * (1 / 3 - y * (1 / 45 - y * 2 / 945)), slope),
        jnp.where(near, 1 / 3 - y * (1 / 15 - y * 2 / 189), bend),
    )


def _inverse(series: Array, lags: int) -> Array:
    """Coefficients of 1 / sum of c_j z^j, from its recursion."""

    def step(past: Array, m: Array) -> tuple[Array, Array]:
        now = ((m == 0).astype(series.dtype) - past @ series[1:]) / series[0]
        return _pushed(past, now), now

    return lax.scan(step, jnp.zeros_like(series[1:]), jnp.arange(lags))[1]


def _convolved(rows: Array, series: Array) -> Array:
    """Products of power series, as many terms as `series` has.

    Each term is summed by itself: of an unstable server the last are so much larger than the first
    that a Fourier transform of all would leave nothing but rounding in those.
    """

    def step(past: Array, now: Array) -> tuple[Array, Array]:
        past = _pushed(past, now)
        return past, rows @ past

    return lax.scan(step, jnp.zeros(rows.shape[-1], series.dtype), series)[1].T


def _padded(rows: Array, lags: int) -> Array:
    return jnp.pad(rows, ((0, 0), (0, lags - rows.shape[1])))


def _pushed(past: Array, now: Array) -> Array:
    """The newest first, along the last axis."""
    return jnp.concatenate([now[..., None], past], axis=-1)[..., : past.shape[-1]]
