"""A network with one hidden layer that predicts returns: the predictor of sections 4 and 5."""

from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fluidkv.errors import InputError
from fluidkv.runs.checks import instance
from fluidkv.tokenpd.returns import signals
from fluidkv.tokenpd.returns.known import Told
from fluidkv.tokenpd.returns.signals import NAMES, Signals
from fluidkv.tokenpd.seen import Seen

HIDDEN = 256
"""Units, as in section 5."""


class Layers(NamedTuple):
    """Numbers of the network: signals are shifted and scaled, go through the hidden layer (ReLU)
    and come out as two numbers, which a logistic function makes a mean in [0, 1] and four times a
    variance, which is at most 1/4 of what lies in [0, 1]."""

    shift: Float[Array, " signal"]
    scale: Float[Array, " signal"]
    inward: Float[Array, "signal unit"]
    inner: Float[Array, " unit"]
    outward: Float[Array, "unit 2"]
    outer: Float[Array, " 2"]


def passed(layers: Layers, told: Float[Array, "*place signal"]) -> Told:
    """Mean and variance that the network says; any leading axes."""
    rows = told.reshape(-1, told.shape[-1])
    scaled = (rows - layers.shift[None]) / layers.scale[None]
    hidden = jax.nn.relu(scaled @ layers.inward + layers.inner[None])
    said = jax.nn.sigmoid(hidden @ layers.outward + layers.outer[None])
    mean, quarter = said.T.reshape(2, *told.shape[:-1])
    return mean, quarter / 4


class Mlp(eqx.Module):
    """What a trained network says.

    Args:
        layers: its numbers.

    Raises:
        InputError: layers that do not fit `NAMES` or each other.

    Examples:
        >>> from fluidkv.tokenpd.returns.mlp import trained_mlp
        >>> mlp = trained_mlp()
        >>> mlp.layers.inward.shape, mlp.layers.outward.shape
        ((12, 256), (256, 2))
    """

    layers: Layers

    def __check_init__(self) -> None:
        instance("layers", self.layers, Layers, "Layers")
        shapes = tuple(np.shape(part) for part in self.layers)
        inputs, units = len(NAMES), np.shape(self.layers.inner)[-1]
        fit = ((inputs,), (inputs,), (inputs, units), (units,), (units, 2), (2,))
        if shapes != fit:
            raise InputError("layers", shapes, f"arrays of the shapes {fit}")

    def begin(self, streams: int, keys: int) -> Signals:
        """See `Predictor`."""
        return signals.begin(streams, keys)

    def observe(self, state: Signals, seen: Seen) -> Signals:
        """See `Predictor`."""
        return signals.observe(state, seen)

    def predict(self, state: Signals, seen: Seen) -> Told:
        """See `Predictor`."""
        told = signals.told(state, seen)
        mean, spread = passed(self.layers, told.astype(jnp.float32))  # as it was trained
        return mean.astype(told.dtype), spread.astype(told.dtype)


def save_mlp(mlp: Mlp, path: str | Path) -> None:
    """Write its numbers as an NPZ file.

    Examples:
        >>> from fluidkv.tokenpd.returns.mlp import save_mlp, trained_mlp
        >>> save_mlp(trained_mlp(), "network.npz")
        >>> sorted(np.load("network.npz").files)
        ['inner', 'inward', 'outer', 'outward', 'scale', 'shift']
    """
    layers = mlp.layers
    numbers = {name: np.asarray(part) for name, part in layers._asdict().items()}
    with Path(path).open("wb") as file:
        np.savez(file, allow_pickle=False, **numbers)


def load_mlp(path: str | Path) -> Mlp:
    """Read what `save_mlp` wrote.

    Raises:
        InputError: no file of arrays, or not those of a network.

    Examples:
        >>> from fluidkv.tokenpd.returns.mlp import load_mlp, save_mlp, trained_mlp
        >>> save_mlp(trained_mlp(), "network.npz")
        >>> load_mlp("network.npz").layers.inward.shape
        (12, 256)
    """
    fields = f"an NPZ file of {', '.join(Layers._fields)}"
    try:
        file = np.load(Path(path))
    except (OSError, ValueError, TypeError):
        raise InputError("path", str(path), fields) from None
    if not isinstance(file, np.lib.npyio.NpzFile):
        raise InputError("path", str(path), fields)
    with file as found:
        if set(found) != set(Layers._fields):
            raise InputError("path", str(path), fields)
        return Mlp(Layers(**{name: jnp.asarray(found[name]) for name in Layers._fields}))


@cache
def trained_mlp() -> Mlp:
    """The network that comes with the package: `fluidkv.tokenpd.returns.recorded` trained it.

    Examples:
        >>> from fluidkv.tokenpd import generated, generators
        >>> from fluidkv.tokenpd.returns.mlp import trained_mlp
        >>> from fluidkv.tokenpd.returns.errors import prediction_errors
        >>> for name in ("mixed", "recency"):  # 0 is the truth, 1 the best constant
        ...     attention = generated(generators()[name], 0, requests=2, prompt=16, length=64)
        ...     print(name, round(prediction_errors(trained_mlp(), attention).missed, 2))
        ...
        mixed 0.21
        recency 2.57
    """
    with as_file(files("fluidkv.tokenpd.returns").joinpath("mlp.npz")) as path:
        return load_mlp(path)
