"""Moments of footprints on the unit circle, in JAX: the shape in which noise needs them.

At z = exp(-i w), w = 2 pi k / N:  A = E P,  B = E Q,  E|P|^2,  E|Q|^2  and  E Q conj(P).

Of a walk whose steps are drawn with the generating function p(x), the time spent at place m,
discounted by z an iteration, is the coefficient G_m(z) of x^m in 1 / (1 - z p(x)). So

    E W(z) = sum of held(m) G_m(z),    E|W(z)|^2 = 2 Re sum of c(m) G_m(z) - c(0),
    c(m) = sum over s of G_s(1) held(s) held(s + m),

and G is one recursion along the places, for all frequencies at once. All of it is jit-able, maps
with `vmap` over systems and differentiates by what is held, by shares and by acceptance rates.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Complex, Float, Int

from fluidkv.footprints.footprint import Footprint, Growth

_AT_ONCE = 256  # growths
# What is smaller is padded to this: it is computed in no time, and each shape is compiled anew.
_LEAST_ROWS, _LEAST_COLUMNS = 4, 64


class Walks(NamedTuple):
    """Growths with one law of steps, as arrays padded with zeros; a pytree.

    Fields:
        share: of all requests.
        start: tokens held in the first iterations, the same for every request.
        started: how many those are.
        held: tokens held at each place of the walk that follows.
        places: how many there are.
        steps: chance of steps of 1, 2, ... places.
        silent: first iterations that yield no token.

    Examples:
        >>> from fluidkv.footprints.circle import walks_of
        >>> (walks,) = walks_of(fk.RequestFootprint(2, 3))
        >>> walks.start[0, :4], int(walks.started[0]), walks.held.shape
        (array([3., 4., 5., 0.]), 3, (4, 0))
    """

    share: Float[Array, " growth"] | Float[np.ndarray, " growth"]
    start: Float[Array, "growth iteration"] | Float[np.ndarray, "growth iteration"]
    started: Int[Array, " growth"] | Int[np.ndarray, " growth"]
    held: Float[Array, "growth place"] | Float[np.ndarray, "growth place"]
    places: Int[Array, " growth"] | Int[np.ndarray, " growth"]
    steps: Float[Array, " step"] | Float[np.ndarray, " step"]
    silent: Int[Array, " growth"] | Int[np.ndarray, " growth"]


class CircleMoments(NamedTuple):
    """Moments at exp(-2 pi i k / N), k = 0 ... N/2.

    Fields:
        memory, running: A and B.
        memory_power, running_power: E|P|^2 and E|Q|^2.
        running_memory: E Q conj(P).

    Examples:
        >>> from fluidkv.footprints.circle import CircleMoments
        >>> len(CircleMoments._fields)
        5
    """

    memory: Complex[Array, " frequency"]
    running: Complex[Array, " frequency"]
    memory_power: Float[Array, " frequency"]
    running_power: Float[Array, " frequency"]
    running_memory: Complex[Array, " frequency"]


def walks_of(footprint: Footprint) -> tuple[Walks, ...]:
    """Growths as arrays, one value for each law of steps; 256 at most in one.

    Examples:
        >>> from fluidkv.footprints.circle import walks_of
        >>> drafts = fk.Speculation(1, Fraction(1, 4))
        >>> (walks,) = walks_of(fk.RequestFootprint(2, 3, speculation=drafts))
        >>> walks.start[0, :2], walks.held[0, :3], walks.steps
        (array([4., 0.]), array([5., 6., 0.]), array([0.75, 0.25]))
    """
    return tuple(_padded(group) for group in _groups(footprint))


def _groups(footprint: Footprint) -> Iterator[list[tuple[Fraction, Growth]]]:
    by_steps: dict[tuple[Fraction, ...], list[tuple[Fraction, Growth]]] = {}
    for share, growth in sorted(footprint.growths, key=lambda pair: pair[1].iterations):
        by_steps.setdefault(growth.steps, []).append((share, growth))
    for growths in by_steps.values():
        for first in range(0, len(growths), _AT_ONCE):
            yield growths[first : first + _AT_ONCE]


def _padded(group: list[tuple[Fraction, Growth]]) -> Walks:
    growths = [growth for _, growth in group]
    rows = _rounded_up(len(group), _LEAST_ROWS)  # few shapes, so that little is compiled
    start = np.zeros((rows, _rounded_up(max(len(g.start) for g in growths), _LEAST_COLUMNS)))
    held = np.zeros((rows, _rounded_up(max(len(g.held) for g in growths), _LEAST_COLUMNS)))
    share, started, places = np.zeros(rows), np.zeros(rows, int), np.zeros(rows, int)
    for i, (part, g) in enumerate(group):
        share[i], started[i], places[i] = float(part), len(g.start), len(g.held)
        start[i, : started[i]] = g.start / g.unit
        held[i, : places[i]] = g.held / g.unit
    steps = np.array([float(chance) for chance in growths[0].steps])
    silent = np.array([g.silent for g in growths] + [0] * (rows - len(growths)))
    return Walks(share, start, started, held, places, steps, silent)


def _rounded_up(count: int, least: int) -> int:
    """0, or a power of two from `least` on."""
    return max(1 << (count - 1).bit_length(), least) if count else 0


@partial(jax.jit, static_argnames=("points", "tokens", "steps"))
def circle_moments(
    walks: Walks, points: int, *, tokens: bool = False, steps: bool = True
) -> CircleMoments:
    """Moments of growths at N / 2 + 1 points of the circle; pure. Shares may sum to less than 1.

    Args:
        points: N, even, at least the longest life in iterations.
        tokens: of tokens that requests yield in an iteration, in place of Q = 1 while they run.
        steps: whether drawn steps count as chance; else second moments are those of the mean
            footprint of each growth, which only differ between growths.

    Examples:
        >>> from fluidkv.footprints.circle import circle_moments, walks_of
        >>> (walks,) = walks_of(fk.RequestFootprint(2, 3))
        >>> np.asarray(circle_moments(walks, 4).memory_power).round(2).tolist()
        [144.0, 20.0, 16.0]
    """
    kind = jnp.result_type(float)
    share, start, held = (jnp.asarray(x, kind) for x in (walks.share, walks.start, walks.held))
    angles = circle_angles(points)
    started, places = walks.started, walks.places
    there = _until(started, start)
    if tokens:
        there = there - _until(walks.silent, start)
    first = jnp.fft.rfft(start, points), jnp.fft.rfft(there, points)
    memory, running = first
    walk, of_steps = first, None
    if held.shape[1]:
        alive = _until(places, held)
        delay = _turned(angles[None] * jnp.asarray(started, kind)[:, None])
        if tokens:  # what is left to yield at each place
            alive = alive * (
                jnp.asarray(places, kind)[:, None] - jnp.arange(held.shape[1], dtype=kind)[None]
            )
        walk, of_steps = _walked(held, alive, jnp.asarray(walks.steps, kind), _turned(angles))
        if tokens:
            all_left = jnp.asarray(places, kind)[:, None].astype(walk[0].dtype)
            walk, of_steps = _yielded(walk, of_steps, all_left, _turned(angles)[None].conj())
        memory, running = (a + delay * w for a, w in zip(first, walk, strict=True))
    powers = _products(memory, running)
    if steps and of_steps is not None:
        means = _products(*walk)
        powers = [
            power + drawn - mean for power, drawn, mean in zip(powers, of_steps, means, strict=True)
        ]
    sums = [share.astype(x.dtype) @ x for x in (memory, running, *powers)]
    return CircleMoments(sums[0], sums[1], sums[2].real, sums[3].real, sums[4])


def _products(memory: Array, running: Array) -> list[Array]:
    """|P|^2, |Q|^2 and Q conj(P) of what is the same for all requests of a growth."""
    return [jnp.abs(memory) ** 2, jnp.abs(running) ** 2, running * memory.conj()]


def circle_angles(points: int) -> Float[Array, " frequency"]:
    """w = 2 pi k / N, k = 0 ... N/2.

    Examples:
        >>> from fluidkv.footprints.circle import circle_angles
        >>> circle_angles(4).shape
        (3,)
    """
    return jnp.arange(points // 2 + 1, dtype=jnp.result_type(float)) * (2 * math.pi / points)


def _turned(angles: Array) -> Array:
    """exp(-i w)."""
    return lax.complex(jnp.cos(angles), -jnp.sin(angles))


def _until(counts: Array | np.ndarray, like: Array) -> Array:
    """1 at the first places of each row, 0 behind."""
    places = jnp.arange(like.shape[1], dtype=like.dtype)[None]
    return (places < jnp.asarray(counts, like.dtype)[:, None]).astype(like.dtype)


def _walked(
    held: Array, alive: Array, steps: Array, z: Array
) -> tuple[tuple[Array, Array], tuple[Array, Array, Array]]:
    """(E W, E V) and (E|W|^2, E|V|^2, E V conj(W)) of walks, W of what is held and V of who is."""
    visits = _discounted(steps, jnp.ones(1, z.dtype), held.shape[1])[:, 0].real
    pairs = (held, held), (alive, alive), (held, alive), (alive, held)
    along = [_along(visits[None] * first, then) for first, then in pairs]
    discounted = _discounted(steps, z, held.shape[1])
    columns = [x.astype(z.dtype) @ discounted for x in (held, alive, *along)]
    same, living, ahead, behind = columns[2:]
    drawn = (
        2 * same.real - along[0][:, :1],
        2 * living.real - along[1][:, :1],
        ahead + behind.conj() - along[2][:, :1].astype(z.dtype),
    )
    return (columns[0], columns[1]), drawn


def _yielded(
    walk: tuple[Array, Array], drawn: tuple[Array, ...], left: Array, back: Array
) -> tuple[tuple[Array, Array], tuple[Array, ...]]:
    """`_walked` of the tokens of each step, from what is left before it, D: (1 - 1/z) D + D_0 / z.

    Args:
        left: D_0.
        back: 1 / z.
    """
    (held, ahead), factor, last = walk, 1 - back, left * back
    mean = factor * ahead
    power = jnp.abs(factor) ** 2 * drawn[1] + 2 * (mean * last.conj()).real + jnp.abs(last) ** 2
    both = factor * drawn[2] + last * held.conj()
    return (held, mean + last), (drawn[0], power, both)


def _discounted(steps: Array, z: Array, places: int) -> Array:
    """G_m(z), m = 0 ... places - 1: [place, frequency]."""

    def place(last: Array, m: Array) -> tuple[Array, Array]:
        now = z * (steps.astype(z.dtype) @ last) + (m == 0).astype(z.dtype)
        return jnp.concatenate([now[None], last[:-1]]), now

    none = jnp.zeros((len(steps), len(z)), z.dtype)
    return lax.scan(place, none, jnp.arange(places))[1]


def _along(first: Array, then: Array) -> Array:
    """Sum over s of first(s) then(s + m), m = 0 ...: [growth, m]."""
    n = first.shape[1]
    width = 2 ** math.ceil(math.log2(2 * n))
    product = jnp.fft.rfft(first, width).conj() * jnp.fft.rfft(then, width)
    return jnp.fft.irfft(product, width)[:, :n]
