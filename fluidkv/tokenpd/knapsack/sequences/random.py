"""Random rounds: all alike (stochastic), or with a mean and a load that move slowly (drifting)."""

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, UInt32

from fluidkv.errors import InputError
from fluidkv.runs.checks import above_0, count, not_negative
from fluidkv.tokenpd.knapsack.sequences.draws import check_share, elapsed, uniforms


@dataclass(frozen=True)
class Stochastic:
    """Independent rounds of one law.

    Fields:
        tokens: the most in a round. load: each of them comes with this probability.
        low, high: returns are low + (high - low) u^skew with u uniform.
        skew: 1 is uniform; above 1 most returns are small, a few large.

    Raises:
        InputError: no token, a probability or a return outside [0, 1], low above high.

    Examples:
        >>> from fluidkv.tokenpd import Stochastic
        >>> from fluidkv.tokenpd.knapsack.sequences.stored import drawn_pool
        >>> pool = drawn_pool(Stochastic(tokens=4, load=0.5), rounds=100)
        >>> round(float(pool.present.sum(axis=1).mean()), 1), round(float(pool.returns.max()), 1)
        (1.9, 1.0)
    """

    tokens: int = 8
    load: float = 1.0
    low: float = 0.0
    high: float = 1.0
    skew: float = 1.0

    def __post_init__(self) -> None:
        count("tokens", self.tokens)
        for name in ("load", "low", "high"):
            check_share(name, getattr(self, name))
        if self.low > self.high:
            raise InputError("low", self.low, f"at most high, {self.high}")
        above_0("skew", self.skew)

    def draw(
        self, keys: UInt32[Array, "2 seed"], at: Int[Array, " round"], rounds: Int[Array, ""]
    ) -> Float[Array, "round token seed"]:
        """See `Sequence`."""
        value, comes = uniforms(keys, at, self.tokens)
        skewed = value if self.skew == 1 else value**self.skew
        return jnp.where(comes < self.load, self.low + (self.high - self.low) * skewed, -jnp.inf)


@dataclass(frozen=True)
class Drifting:
    """Returns and load follow two slow waves.

    Fields:
        tokens: the most in a round.
        load, load_wave: each of them comes with the probability load + load_wave sin, kept in
            [0, 1].
        mean, mean_wave, width: returns are uniform on mean + mean_wave sin -+ width / 2, kept in
            [0, 1].
        load_periods, mean_periods: waves in the whole run, however long it is.

    Raises:
        InputError: no token, a share outside [0, 1], fewer than 0 periods.

    Examples:
        >>> from fluidkv.tokenpd.knapsack.sequences.random import Drifting
        >>> from fluidkv.tokenpd.knapsack.sequences.stored import drawn_pool
        >>> pool = drawn_pool(Drifting(tokens=8), rounds=12)
        >>> pool.present.sum(axis=1).tolist()  # three waves
        [6, 8, 4, 4, 6, 7, 5, 1, 6, 7, 6, 4]
    """

    tokens: int = 8
    load: float = 0.6
    load_wave: float = 0.3
    mean: float = 0.5
    mean_wave: float = 0.3
    width: float = 0.4
    load_periods: float = 3.0
    mean_periods: float = 2.0

    def __post_init__(self) -> None:
        count("tokens", self.tokens)
        for name in ("load", "load_wave", "mean", "mean_wave", "width"):
            check_share(name, getattr(self, name))
        for name in ("load_periods", "mean_periods"):
            not_negative(name, getattr(self, name))

    def draw(
        self, keys: UInt32[Array, "2 seed"], at: Int[Array, " round"], rounds: Int[Array, ""]
    ) -> Float[Array, "round token seed"]:
        """See `Sequence`."""
        value, comes = uniforms(keys, at, self.tokens)
        angle = 2 * jnp.pi * elapsed(at, rounds)
        mean = self.mean + self.mean_wave * jnp.sin(self.mean_periods * angle)
        load = self.load + self.load_wave * jnp.sin(self.load_periods * angle)
        returns = jnp.clip(mean + self.width * (value - 0.5), 0.0, 1.0)
        return jnp.where(comes < load, returns, -jnp.inf)
