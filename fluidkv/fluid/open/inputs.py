"""What `simulate_open` takes, checked and as arrays, before any JAX runs."""

from collections.abc import Iterable
from typing import get_args

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.fluid.model import MassModel
from fluidkv.fluid.open.iteration import Blocked, CapOn, Selection


def common_batch(**shapes: tuple[int, ...]) -> int:
    """The length of the batch; what is given once has no leading axis, or one of length 1."""
    lengths = {name: shape[0] for name, shape in shapes.items() if shape and shape[0] != 1}
    batch = max(lengths.values(), default=1)
    for name, length in lengths.items():
        if length != batch:
            raise InputError(name, f"a batch of {length}", f"1 or {batch}, as the longest has")
    return batch


def check_choices(**choices: str) -> None:
    """Each is one of the words that its type lists."""
    allowed = {"selection": Selection, "cap_on": CapOn, "blocked": Blocked}
    for name, value in choices.items():
        if value not in get_args(allowed[name]):
            raise InputError(name, value, " or ".join(get_args(allowed[name])))


def records(record: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """The names asked for, in the order of `known`: the same set is the same compiled function."""
    names = tuple(known)
    asked = (record,) if isinstance(record, str) else tuple(record)
    for name in asked:
        if name not in names:
            raise InputError("record", name, "any of " + ", ".join(names))
    return tuple(name for name in names if name in asked)


def check_windows(iterations: int, every: object) -> None:
    """Whole windows."""
    if isinstance(every, bool) or not isinstance(every, int | np.integer) or every < 1:
        raise InputError("every", every, "an integer of at least 1")
    if iterations % every:
        raise InputError("every", every, f"a divisor of the {iterations} iterations of arrivals")


def amounts(
    name: str, given: ArrayLike, axes: tuple[str, ...], model: MassModel
) -> Float[np.ndarray, "*any"]:
    """Requests of each class, over `axes`, with or without a batch axis."""
    classes = model.shares.size
    allowed = f"amounts of at least 0, shape ({', '.join(axes)}) with {classes} classes, or a batch"
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(name, given, allowed) from None
    if values.ndim not in (len(axes), len(axes) + 1) or not values.size:
        raise InputError(name, f"shape {values.shape}", allowed)
    if values.shape[-1] != classes:
        raise InputError(name, f"shape {values.shape}", allowed)
    if not np.all(np.isfinite(values) & (values >= 0)):
        raise InputError(name, "a negative or non-finite amount", allowed)
    return values


def caps(cap: ArrayLike | None) -> Float[np.ndarray, "*batch"]:
    """Rate limits; infinity where there is none."""
    allowed = "a rate above 0, requests per iteration, or a list of them; None is no cap"
    if cap is None:
        return np.asarray(np.inf)
    try:
        values = np.asarray(cap, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("cap", cap, allowed) from None
    if values.ndim > 1 or not values.size or not np.all(values > 0):
        raise InputError("cap", cap, allowed)
    return values


def masses(model: MassModel, start: ArrayLike) -> Float[np.ndarray, "*batch class stage"]:
    """Masses of at least 0, at stages that their classes have."""
    classes, stages = model.weights.shape
    allowed = f"masses of shape (class, stage) = ({classes}, {stages}), or a batch of them"
    try:
        state = np.asarray(start, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("start", start, allowed) from None
    if state.shape[-2:] != (classes, stages) or state.ndim not in (2, 3) or not state.size:
        raise InputError("start", f"shape {state.shape}", allowed)
    if not np.all(np.isfinite(state) & (state >= 0)):
        raise InputError("start", "a negative or non-finite mass", "finite masses of at least 0")
    if np.any(state[..., model.weights == 0]):
        raise InputError("start", "mass beyond a decode length", "0 at stages of at least l1")
    return state


def check_memory(model: MassModel, state: Float[np.ndarray, "*batch class stage"]) -> None:
    """Memory of every start at or below its run's capacity."""
    used = np.einsum("...ks,ks->...", state, model.weights)
    used, limits = np.broadcast_arrays(used, model.capacity)
    # A start on the boundary may exceed it by the rounding of this sum.
    rounding = (model.weights.size + 2) * np.finfo(np.float64).eps
    if np.any(used > limits * (1 + rounding)):
        worst = np.argmax(used - limits)
        allowed = f"at most {limits.flat[worst]:.17g} tokens"
        raise InputError("start", f"memory {used.flat[worst]:.17g}", allowed)
