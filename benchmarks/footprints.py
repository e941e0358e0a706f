"""Noise of a hundred thousand servers at once, and rates of evictions, against a loop over them.

    python -m benchmarks.footprints

Each server has its own mix of four classes and its own memory. Rates, whose tails are searched lag
by lag, take a hundred times longer, and are timed of a part. All at once is `vmap` of the pure
functions, some hundreds a call; the loop calls the same jitted function for one server after the
other, so that the ratio is what a batch saves. Both are timed without compilation, and compared
first.
"""

import time
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.report import load
from fluidkv.footprints import spectral_density, swings
from fluidkv.footprints.circle import Walks, circle_moments
from fluidkv.footprints.tails import Driven, chance_below
from fluidkv.runs.precision import in_float64
from fluidkv.suite.tables import markdown_table as table
from fluidkv.suite.tables import seconds

SYSTEMS = {"spectra": 100_000, "variances": 100_000, "eviction rates": 4_000}
_CLASSES, _AGES, _POINTS, _LAGS = 4, 32, 256, 128
_AT_ONCE = {"spectra": 1000, "variances": 1000, "eviction rates": 250}
_LOOPED = 200


@dataclass(frozen=True)
class BatchTiming:
    """Times of one quantity.

    Fields:
        name: what is computed.
        systems: how many.
        together_s: of all of them, in batches.
        alone_s: of the loop, a system.
    """

    name: str
    systems: int
    together_s: float
    alone_s: float

    @property
    def ratio(self) -> float:
        return self.alone_s * self.systems / self.together_s


def drawn(systems: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shares [system, class], what is held [system, class, age], memory [system]."""
    rng = np.random.default_rng(seed)
    inputs = rng.integers(50, 200, (systems, _CLASSES, 1))
    outputs = rng.integers(4, _AGES + 1, (systems, _CLASSES, 1))
    ages = np.arange(_AGES)
    held = np.where(ages < outputs, inputs + 1.0 + ages, 0.0)
    shares = rng.dirichlet(np.full(_CLASSES, 3.0), systems)
    running = 10 ** rng.uniform(1.5, 2.5, systems)
    lives = (shares * outputs[..., 0]).sum(1)
    return shares, held, running * (shares[..., None] * held).sum((1, 2)) / lives


def _walks(share: jax.Array, held: jax.Array) -> Walks:
    none, zero = jnp.zeros((_CLASSES, 0), held.dtype), jnp.zeros(_CLASSES, int)
    started = (held > 0).sum(1)
    return Walks(share, held, started, none, zero, jnp.ones(1, held.dtype), zero)


def _spectrum(share: jax.Array, held: jax.Array, memory: jax.Array) -> jax.Array:
    moments = circle_moments(_walks(share, held), _POINTS)
    return spectral_density(moments, memory / moments.memory[0].real)


def _variances(share: jax.Array, held: jax.Array, memory: jax.Array) -> jax.Array:
    return jnp.stack(swings(_walks(share, held), memory, points=_POINTS))


def _rate(share: jax.Array, held: jax.Array, memory: jax.Array) -> jax.Array:
    first = held[:, 0]
    slack = (share @ (first * (first - 1))) / 2 / (share @ first)
    rate = (memory - slack) / (share @ held).sum()
    added = jnp.where(jnp.arange(_AGES)[None] == 0, held, 0.0)
    one, none = jnp.ones_like(rate), jnp.zeros_like(rate)
    driven = Driven(
        share, held, added, rate, slack, one, first, one, 100 * one, none, float(_LAGS) * one
    )
    return chance_below(driven, -0.5 * one, lags=_LAGS)


_QUANTITIES = {"spectra": _spectrum, "variances": _variances, "eviction rates": _rate}


def run() -> list[BatchTiming]:
    """Compare, then time, each quantity."""
    systems = drawn(max(SYSTEMS.values()))
    with in_float64():
        return [_timed(name, systems) for name in _QUANTITIES]


def _timed(name: str, systems: tuple[np.ndarray, ...]) -> BatchTiming:
    one, size = jax.jit(_QUANTITIES[name]), _AT_ONCE[name]
    many = jax.jit(jax.vmap(_QUANTITIES[name]))

    def batch(start: int) -> Any:
        return many(*(column[start : start + size] for column in systems))

    def alone(i: int) -> Any:
        return one(*(jnp.asarray(column[i]) for column in systems))

    both = np.asarray(batch(0))[:3], np.stack([np.asarray(alone(i)) for i in range(3)])
    if not np.allclose(*both, rtol=1e-6, equal_nan=True):
        raise AssertionError(f"{name}: at once {both[0]}, alone {both[1]}")
    start = time.perf_counter()
    for first in range(0, SYSTEMS[name], size):
        jax.block_until_ready(batch(first))
    together = time.perf_counter() - start
    start = time.perf_counter()
    for i in range(_LOOPED):
        jax.block_until_ready(alone(i))
    return BatchTiming(name, SYSTEMS[name], together, (time.perf_counter() - start) / _LOOPED)


def report() -> str:
    """The table in Markdown."""
    rows = [
        [
            t.name,
            f"{t.systems:,}",
            seconds(t.together_s),
            seconds(t.alone_s * t.systems),
            f"{t.ratio:.1f}",
        ]
        for t in run()
    ]
    header = ["quantity", "servers", "all at once", f"a loop, from {_LOOPED}", "ratio"]
    lines = [
        "## Footprints",
        "",
        f"Servers with {_CLASSES} classes each and lives of up to {_AGES} iterations;"
        f" {_POINTS} points of the circle, {_LAGS} lags of a tail.",
        "",
        table(header, rows),
        "",
        f"Load at the end: {load()}.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(report())
