"""What `simulate_open` takes, checked and as arrays, before any JAX runs."""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.runs.checks import count as count_of


def common_batch(**shapes: tuple[int, ...]) -> int:
    """The length of the batch; what is given once has no leading axis, or one of length 1."""
    lengths = {name: shape[0] for name, shape in shapes.items() if shape and shape[0] != 1}
    batch = max(lengths.values(), default=1)
    for name, length in lengths.items():
        if length != batch:
            raise InputError(name, f"a batch of {length}", f"1 or {batch}, as the longest has")
    return batch


def check_windows(iterations: int, every: int) -> None:
    """Whole windows."""
    if iterations % count_of("every", every):
        raise InputError("every", every, f"a divisor of the {iterations} iterations of arrivals")


def amounts(
    name: str, given: ArrayLike, axes: tuple[str, ...], classes: int
) -> Float[np.ndarray, "*any"]:
    """Requests of each class, over `axes`, with or without a batch axis."""
    allowed = f"amounts of at least 0, shape ({', '.join(axes)}) with {classes} classes, or a batch"
    values = floats(name, given, allowed)
    shaped = values.ndim in (len(axes), len(axes) + 1) and values.size
    if not shaped or values.shape[-1] != classes:
        raise InputError(name, f"shape {values.shape}", allowed)
    if not np.all(np.isfinite(values) & (values >= 0)):
        raise InputError(name, "a negative or non-finite amount", allowed)
    return values


def caps(cap: ArrayLike | None) -> Float[np.ndarray, "*batch"]:
    """Rate limits; infinity where there is none."""
    allowed = "a rate above 0, requests per iteration, or a list of them; None is no cap"
    values = floats("cap", np.inf if cap is None else cap, allowed)
    if values.ndim > 1 or not values.size or not np.all(values > 0):
        raise InputError("cap", cap, allowed)
    return values


def floats(name: str, value: ArrayLike, allowed: str) -> Float[np.ndarray, "*any"]:
    """Any array of numbers."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(name, value, allowed) from None
