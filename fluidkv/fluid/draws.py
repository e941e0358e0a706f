"""Drawn starts, of one system or of each of many: a recipe says what it draws, and what it makes.

System i of many draws with `fold_in(key, systems.index[i])`: its starts are those that it would
have alone with that key, to the bit, however the systems are cut. Systems of one shape are made
together. All is drawn by threefry, of which a draw of n numbers begins with the draw of fewer: so
numbers are drawn in few sizes, and little is ever compiled.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt

from fluidkv.errors import InputError
from fluidkv.fluid.model import MassModel
from fluidkv.fluid.states import lifted
from fluidkv.processes import free_memory
from fluidkv.runs.batch import power_of_two
from fluidkv.runs.checks import count as count_of
from fluidkv.runs.precision import in_float64
from fluidkv.systems import Systems
from fluidkv.workload import System

Key = PRNGKeyArray | UInt[Array, "2"]

Path = tuple[tuple[int, int], ...]
"""Which key of which split, one after the other: ((4, 1),) is `split(key, 4)[1]`."""

_CHUNK = 2**20  # numbers drawn at a time
_LEAST = 1024  # of one key, which takes no time
_KINDS = {
    "uniform": partial(jax.random.uniform, dtype=np.float64),  # in [0, 1)
    "signed": partial(jax.random.uniform, dtype=np.float64, minval=-1.0, maxval=1.0),
    "exponential": partial(jax.random.exponential, dtype=np.float64),
}


class Draw(NamedTuple):
    """What a recipe draws for each start.

    Fields:
        kind: "uniform" in [0, 1), "signed" in [-1, 1), "exponential".
        numbers: how many, for a model of (class, stage).
        path: the splits of the key to draw with.
    """

    kind: str
    numbers: Callable[[int, int], int]
    path: Path = ()


Recipe = Callable[..., Float[np.ndarray, "*axes stage"]]
"""A pure function of a model of systems of one shape, as `lifted` gives it, and of the numbers of
each draw (system, batch, number). It makes masses of classes, or of cohorts, without that axis."""


def drawn_starts(
    key: Key,
    of: MassModel | System | Systems,
    model: Callable[[Any], MassModel],
    recipe: Recipe,
    *draws: Draw,
    count: int,
) -> Float[np.ndarray, "*axes stage"]:
    """What a recipe makes for one system, or for each of many.

    Args:
        model: of one system or of many, by class or by cohort.
        count: of starts (of each system), at least 1.

    Returns:
        Masses; of many systems with an axis for them, 0 where one has no such class or stage.

    Raises:
        InputError: a count below 1, or of starts that do not fit into the memory that is free; a
            key that is none.
    """
    key, count = one_key(key), count_of("count", count)

    def tables(shapes: list, index: Int[np.ndarray, " system"] | None) -> list[np.ndarray]:
        """A row for each system, with numbers for the largest of these shapes."""
        most = [count * max(draw.numbers(*shape) for shape in shapes) for draw in draws]
        return [_numbers(key, *each, index) for each in zip(draws, most, strict=True)]

    def made(alike: MassModel, numbers: Iterable[np.ndarray]) -> np.ndarray:
        """Of systems of one shape."""
        shape = alike.weights.shape[1:]
        own = [
            table[:, : count * draw.numbers(*shape)].reshape(len(table), count, -1)
            for draw, table in zip(draws, numbers, strict=True)
        ]
        return recipe(alike, *own)

    if not isinstance(of, Systems):
        one = lifted(model(of))
        _check_room(count, one.weights[0].size)
        return made(one, tables([one.weights.shape[1:]], None))[0]
    extents = np.stack([of.classes, of.longest_decode], axis=1)
    padded = (of.decode_length.shape[1], extents[:, 1].max())
    _check_room(count, len(of) * int(np.prod(padded)))
    starts = np.empty(0)
    for part in _parts(count * extents.prod(axis=1)):
        shapes, shape_of = np.unique(extents[part], axis=0, return_inverse=True)
        drawn = tables(shapes.tolist(), of.index[part])
        for i, (classes, _) in enumerate(shapes.tolist()):
            alike = shape_of.ravel() == i
            systems = _cut(lifted(model(of[part[alike]])), classes)
            masses = made(systems, [table[alike] for table in drawn])
            if not starts.size:  # with an axis of classes if the recipe makes one
                starts = np.zeros((len(of), count, *padded[4 - masses.ndim :]))
            starts[(part[alike], slice(None), *map(slice, masses.shape[2:]))] = masses
    return starts


def _check_room(count: int, masses: int) -> None:
    """Of one start of all systems; what is drawn takes as much again."""
    free, whole = free_memory(), 16 * count * masses
    if free is not None and whole > free:
        fits = f"at most {free // (16 * masses):,}, for which {free / 1e9:.1f} GB are free"
        raise InputError("count", f"{count:,} starts, {whole / 1e9:,.1f} GB", fits)


def one_key(key: object) -> PRNGKeyArray:
    """A key of JAX, of either of its two styles, as one of the new.

    Raises:
        InputError: it is none, or several.
    """
    try:
        typed = jnp.issubdtype(key.dtype, jax.dtypes.prng_key)  # pyright: ignore[reportAttributeAccessIssue]  # or caught
        new = key if typed else jax.random.wrap_key_data(key)  # pyright: ignore[reportArgumentType]
        if new.shape == ():  # pyright: ignore[reportAttributeAccessIssue]
            return new  # pyright: ignore[reportReturnType]
    except (AttributeError, TypeError, ValueError):
        pass
    raise InputError("key", key, "a JAX random key, as jax.random.key makes; one, not several")


def _parts(sizes: Int[np.ndarray, " system"]) -> Iterator[Int[np.ndarray, " some"]]:
    """Systems of like sizes, as many as draw so many numbers together, the largest first."""
    order = np.argsort(-sizes, kind="stable")
    while order.size:
        some = max(1, _CHUNK // power_of_two(int(sizes[order[0]]), 64))
        yield order[:some]
        order = order[some:]


def _cut(model: MassModel, classes: int) -> MassModel:
    """Without the rows that no system has."""
    rows = {name: getattr(model, name)[:, :classes] for name in ("weights", "survival", "shares")}
    return replace(model, **rows)


def _numbers(
    key: PRNGKeyArray, draw: Draw, size: int, index: Int[np.ndarray, " system"] | None
) -> Float[np.ndarray, "system number"]:
    """Of the key, or of a key for each system, which is folded into it."""
    splits = tuple(count for count, _ in draw.path)  # only these are compiled
    which = np.array([place for _, place in draw.path], np.int32)
    systems, width, folded = 1, power_of_two(size, _LEAST), None
    if index is not None:
        systems, width = len(index), power_of_two(size, 64)
        folded = np.resize(index.astype(np.uint32), power_of_two(systems))
    with in_float64():
        table = np.asarray(_draw(draw.kind, width, splits, key, which, folded))
    return table[:systems, :size].copy()


@partial(jax.jit, static_argnums=(0, 1, 2))
def _draw(
    kind: str,
    size: int,
    splits: tuple[int, ...],
    key: Any,
    which: Int[Array, " split"],
    index: UInt[Array, " system"] | None,
) -> Float[Array, "system number"]:
    def of_key(key: Any) -> Array:
        # Of another generator, the first words: a key of threefry, folded as threefry folds.
        key = jax.random.wrap_key_data(jax.random.key_data(key)[:2], impl="threefry2x32")
        for place, count in enumerate(splits):
            key = jax.random.split(key, count)[which[place]]
        return _KINDS[kind](key, (size,))

    if index is None:
        return of_key(key)[None]
    return jax.vmap(lambda i: of_key(jax.random.fold_in(key, i)))(index)
