"""Training of the network on attention itself: what was predicted is later seen, and is the label.

The loss is section 4's, E (f - R)^2, and the same of the second output and the variance, each over
the variance of what it is to predict: that a constant predicts, is a loss of 1 for either.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from fluidkv.errors import InputError
from fluidkv.plain import plain_tuple
from fluidkv.runs.checks import above_0, count, instance
from fluidkv.runs.precision import in_float32
from fluidkv.tokenpd.attention.weights import Attention
from fluidkv.tokenpd.returns import signals
from fluidkv.tokenpd.returns.mlp import HIDDEN, Layers, Mlp, passed
from fluidkv.tokenpd.returns.rows import all_rows, judged, thinned
from fluidkv.tokenpd.returns.signals import NAMES
from fluidkv.tokenpd.returns.writing import newest
from fluidkv.tokenpd.seen import Seen

STAYING = (1.0, 1 / 2, 1 / 4, 1 / 8)
"""Shares of the keys that caches keep in training: a network that has only seen whole caches is
lost in one that evicts, where weights are shared out over fewer keys."""


class TrainingCurve(NamedTuple):
    """Mean squared error of the mean, over its variance: 1 is the best constant, 0 is the truth.

    Fields:
        step: updates before it was measured.
        train, validation: on the pairs that are trained on, and on those that are held out.

    Examples:
        >>> from fluidkv.runs import random_key
        >>> from fluidkv.tokenpd import generated, generators
        >>> from fluidkv.tokenpd.returns.training import train_mlp
        >>> sinks = generators()["sinks"]
        >>> first, other = (generated(sinks, s, requests=2, prompt=4, length=12) for s in (0, 1))
        >>> few = {"steps": 40, "batch": 64, "hidden": 4, "points": 2}
        >>> _, curve = train_mlp([first], random_key(0), validation=[other], **few)
        >>> curve.step, curve.validation[-1] < curve.validation[0]
        ((0, 20, 40), True)
    """

    step: tuple[int, ...]
    train: tuple[float, ...]
    validation: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return plain_tuple(self)


class Pairs(NamedTuple):
    """A row and a key: what a server saw, and what came."""

    told: Float[Array, "pair signal"]
    future: Float[Array, " pair"]
    spread: Float[Array, " pair"]


def train_mlp(
    attentions: Sequence[Attention],
    key: PRNGKeyArray,
    *,
    validation: Sequence[Attention],
    steps: int = 2000,
    batch: int = 2048,
    rate: float = 3e-3,
    hidden: int = HIDDEN,
    points: int = 20,
) -> tuple[Mlp, TrainingCurve]:
    """Train a network by Adam, with a rate that falls to 0 as a cosine.

    Args:
        attentions: what it learns from; each pair of a row and a key counts the same.
        key: of the first weights and of the batches.
        validation: what the curve is measured on beside.
        steps, batch: updates, and pairs in each.
        rate: of Adam, at the start.
        hidden: units of the hidden layer.
        points: of the curve, besides the start; they share the steps evenly.

    Raises:
        InputError: nothing to learn from or to measure on; a count below 1, a rate not above 0.

    Examples:
        >>> from fluidkv.runs import random_key
        >>> from fluidkv.tokenpd import generated, generators
        >>> from fluidkv.tokenpd.returns.training import train_mlp
        >>> sinks = generators()["sinks"]
        >>> first, other = (generated(sinks, s, requests=2, prompt=4, length=12) for s in (0, 1))
        >>> few = {"steps": 40, "batch": 64, "hidden": 4, "points": 2}
        >>> mlp, curve = train_mlp([first], random_key(0), validation=[other], **few)
        >>> mlp.layers.inner.shape, round(curve.train[0], 3)  # 1: as good as the best constant
        ((4,), 1.0)
    """
    for name, number in (("steps", steps), ("batch", batch), ("hidden", hidden)):
        count(name, number)
    count("points", points, most=steps)
    above_0("rate", rate)
    with in_float32():
        train, measured = _gathered("attentions", attentions), _gathered("validation", validation)
        return _descended(train, measured, key, steps, batch, rate, hidden, points)


def pairs_of(attention: Attention) -> Pairs:
    """What is asked for of an attention: each key that is there once the prompt is computed, and
    each in the row that writes it, as long as there is a row to come. Streams in turn evict nothing
    and as much as leaves a half, a quarter and an eighth."""
    whole = all_rows(attention)
    rows = thinned(whole, np.resize(STAYING, whole.query.shape[1]))
    told = _all_told(rows)
    last = rows.query[..., None] < jnp.asarray(attention.length - 1, jnp.int32)[None, :, None]
    asked = np.asarray(judged(attention, rows) | (jax.vmap(newest)(rows) & last))
    return Pairs(*(jnp.asarray(np.asarray(part)[asked]) for part in (told, *_labels(rows))))


@jax.jit
def _all_told(rows: Seen) -> Float[Array, "query stream key signal"]:
    def step(state: signals.Signals, seen: Seen) -> tuple[signals.Signals, Array]:
        state = signals.observe(state, seen)
        return state, signals.told(state, seen)

    _, streams, keys = rows.weights.shape
    return jax.lax.scan(step, signals.begin(streams, keys), rows)[1]


def _labels(rows: Seen) -> tuple[Array, Array]:
    return rows.future, rows.spread


def _gathered(name: str, attentions: Sequence[Attention]) -> Pairs:
    if not isinstance(attentions, Sequence) or not attentions:
        raise InputError(name, attentions, "a list of at least one Attention")
    for attention in attentions:
        instance(name, attention, Attention, "a list of Attention")
    found = [pairs_of(attention) for attention in attentions]
    return Pairs(*(jnp.concatenate(part) for part in zip(*found, strict=True)))


def _taken(pairs: Pairs, at: Array) -> Pairs:
    return Pairs(*(part[at] for part in pairs))


# ------------------------------------------------------------------------------------- the descent


def _descended(
    train: Pairs,
    measured: Pairs,
    key: PRNGKeyArray,
    steps: int,
    batch: int,
    rate: float,
    hidden: int,
    points: int,
) -> tuple[Mlp, TrainingCurve]:
    start, *keys = jax.random.split(key, points + 1)
    layers, units = _first(start, train, hidden), _units(train)
    optimiser = optax.adam(optax.cosine_decay_schedule(rate, steps))
    state = optimiser.init(_learned(layers))

    @partial(jax.jit, static_argnames="updates")
    def updated(
        layers: Layers, state: optax.OptState, key: PRNGKeyArray, updates: int
    ) -> tuple[Layers, optax.OptState]:
        def update(_: Any, carry: tuple[Layers, optax.OptState, PRNGKeyArray]) -> Any:
            layers, state, key = carry
            key, draw = jax.random.split(key)
            at = jax.random.randint(draw, (batch,), 0, train.future.size)
            gradient = jax.grad(_loss)(_learned(layers), layers, _taken(train, at), units)
            change, state = optimiser.update(gradient, state)
            moved: Any = optax.apply_updates(_learned(layers), change)
            return _with(layers, moved), state, key

        return jax.lax.fori_loop(0, updates, update, (layers, state, key))[:2]

    marks = np.linspace(0, steps, points + 1).astype(int)
    errors = [(_error(layers, train), _error(layers, measured))]
    for drawn, updates in zip(keys, np.diff(marks), strict=True):
        layers, state = updated(layers, state, drawn, int(updates))
        errors.append((_error(layers, train), _error(layers, measured)))
    trained, held_out = zip(*errors, strict=True)
    return Mlp(layers), TrainingCurve(tuple(map(int, marks)), trained, held_out)


# ------------------------------------------------------------------------------------ the network


def _first(key: PRNGKeyArray, train: Pairs, hidden: int) -> Layers:
    """Random inwards (He), zero outwards: the first network says the two means of its labels."""
    inward = jax.random.normal(key, (len(NAMES), hidden)) * (2 / len(NAMES)) ** 0.5
    means = jnp.stack([jnp.mean(train.future), 4 * jnp.mean(train.spread)])
    return Layers(
        shift=jnp.mean(train.told, axis=0),
        scale=jnp.maximum(jnp.std(train.told, axis=0), 1e-3),
        inward=inward,
        inner=jnp.zeros(hidden),
        outward=jnp.zeros((hidden, 2)),
        outer=jax.scipy.special.logit(jnp.clip(means, 1e-6, 1 - 1e-6)),
    )


def _learned(layers: Layers) -> dict[str, Array]:
    return {name: getattr(layers, name) for name in ("inward", "inner", "outward", "outer")}


def _with(layers: Layers, learned: Mapping[str, Array]) -> Layers:
    return Layers(**(layers._asdict() | dict(learned)))


def _units(pairs: Pairs) -> tuple[Array, Array]:
    """What a constant misses; a label that never changes has no say in the scale."""
    least = jnp.finfo(pairs.future.dtype).tiny
    return (
        jnp.maximum(jnp.var(pairs.future), least),
        jnp.maximum(jnp.var(pairs.spread), least),
    )


def _loss(
    learned: dict[str, Array], layers: Layers, pairs: Pairs, units: tuple[Array, Array]
) -> Array:
    mean, spread = passed(_with(layers, learned), pairs.told)
    missed = (mean - pairs.future) ** 2 / units[0] + (spread - pairs.spread) ** 2 / units[1]
    return jnp.mean(missed)


@jax.jit
def _missed(layers: Layers, pairs: Pairs) -> Array:
    mean, _ = passed(layers, pairs.told)
    return jnp.mean((mean - pairs.future) ** 2) / _units(pairs)[0]


def _error(layers: Layers, pairs: Pairs) -> float:
    return float(_missed(layers, pairs))
