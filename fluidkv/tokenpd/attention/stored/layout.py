"""How arrays in a file are laid out: axes, what several arrays are, numbers for each request.

Each setting is taken from the call, else from the file.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, get_args

import numpy as np
from jaxtyping import Int
from numpy.typing import ArrayLike

from fluidkv.errors import InputError
from fluidkv.tokenpd.attention.stored.tensors import TensorFile

Axis = Literal["request", "layer", "head", "query", "key"]
AXES: tuple[str, ...] = get_args(Axis)
NUMBERS = ("prompt", "length", "start", "request")
"""Arrays of one whole number for each request, beside the weights."""
SIDES = ("right", "left")


@dataclass(frozen=True)
class Layout:
    """Where the weights of a file are.

    Fields:
        tensors: names of the arrays of weights, in order.
        axes: of each.
        several: the axis along which several arrays stand side by side; None for one array.
        padding: on which side of its real tokens a request is padded.
    """

    tensors: tuple[str, ...]
    axes: tuple[str, ...]
    several: str | None
    padding: str


def layout_of(
    file: TensorFile,
    *,
    axes: str | Sequence[str] | None,
    tensors: str | Sequence[str] | None,
    several: str | None,
    padding: str | None,
) -> Layout:
    """Of a file, as said in the call or in the file.

    Raises:
        InputError: a setting that is missing, unknown or does not fit the others.
    """
    named = _named(file, tensors)
    given = _axes(axes if axes is not None else file.words.get("axes"))
    side = padding if padding is not None else file.words.get("padding", "right")
    if side not in SIDES:
        raise InputError("padding", side, '"right" or "left", where requests are filled up')
    if len(named) == 1:
        return Layout(named, given, None, side)
    free = [axis for axis in ("layer", "request") if axis not in given]
    along = several if several is not None else file.words.get("several")
    if along is None and len(free) == 1:
        (along,) = free
    if along is None and len(free) == 2:
        allowed = (
            "with layer or request among them, and the arrays are the other of the two; or "
            "`several` in the file; or one array, as tensors chooses"
        )
        raise InputError("axes", f"{','.join(given)} for {len(named)} arrays", allowed)
    if along not in free:
        what = f"what the {len(named)} arrays are, beside their axes"
        allowed = " or ".join(f'"{axis}"' for axis in free) or "one array, as tensors= can choose"
        raise InputError("several", along, f"{allowed}: {what}")
    return Layout(named, given, along, side)


def canonical(array: np.ndarray, layout: Layout, name: str) -> np.ndarray:
    """A view with the axes (request, layer, head, query, key), of length one where it has none.

    Raises:
        InputError: axes that do not fit, or not as many queries as keys.
    """
    said = ",".join(layout.axes)
    if array.ndim != len(layout.axes):
        allowed = f"as many as {name!r} has: {array.ndim}, its shape is {array.shape}"
        raise InputError("axes", said, allowed)
    order = [layout.axes.index(axis) for axis in AXES if axis in layout.axes]
    missing = tuple(at for at, axis in enumerate(AXES) if axis not in layout.axes)
    whole = np.expand_dims(array.transpose(order), missing)
    if whole.shape[-1] != whole.shape[-2]:
        allowed = "as many queries as keys: the rows of the prompt belong to it, too"
        raise InputError("axes", f"{said} of shape {array.shape} in {name!r}", allowed)
    if 0 in whole.shape:
        raise InputError("source", f"{name!r} of shape {array.shape}", "no axis of length 0")
    return whole


def numbers_of(
    file: TensorFile, name: str, given: ArrayLike | None, requests: int
) -> Int[np.ndarray, " request"] | None:
    """One whole number for each request, from the call or the file; None where nobody says.

    Raises:
        InputError: no whole numbers, or too many or few.
    """
    found = given
    if found is None and name in file.names:
        found = file.read(name)
    elif found is None and name in file.words:
        text = file.words[name]
        if not re.fullmatch(r"\s*\d{1,18}\s*(,\s*\d{1,18}\s*)*", text):
            raise InputError(name, text, "whole numbers with commas between, in the file")
        found = [int(part) for part in text.split(",")]
    if found is None:
        return None
    one_each = f"a whole number for each of {requests} requests, or one for all"
    try:
        array = np.asarray(found)
    except ValueError:  # lists of different lengths
        raise InputError(name, found, one_each) from None
    if array.dtype.kind not in "iu" or array.shape not in ((), (1,), (requests,)):
        raise InputError(name, found, one_each)
    if array.max(initial=0) > np.iinfo(np.int32).max:
        raise InputError(name, found, "numbers below 2^31")
    return np.broadcast_to(array.astype(np.int64), (requests,)).copy()


def _named(file: TensorFile, tensors: str | Sequence[str] | None) -> tuple[str, ...]:
    """The names of arrays of weights, numbers in them by size: layer.2 before layer.10."""
    there = sorted((name for name in file.names if name not in NUMBERS), key=_by_number)
    listed = f"of {', '.join(there[:8])}{', ...' if len(there) > 8 else ''}" if there else "none"
    if tensors is None:
        if not there:
            raise InputError("source", str(file.path), "a file with arrays of weights")
        return tuple(there)
    if isinstance(tensors, str):
        chosen = [name for name in there if fnmatchcase(name, tensors)]
    else:
        chosen = list(tensors)
        unknown = [name for name in chosen if name not in there]
        if unknown:
            raise InputError("tensors", unknown[0], f"names {listed}")
    if not chosen or len(set(chosen)) < len(chosen):
        raise InputError("tensors", tensors, f"names, each once, or a pattern, {listed}")
    return tuple(chosen)


def _by_number(name: str) -> list[tuple[int, str]]:
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if at % 2 else (0, part) for at, part in enumerate(parts)]


def _axes(given: str | Sequence[str] | None) -> tuple[str, ...]:
    axes = given.split(",") if isinstance(given, str) else list(given or ())
    names = tuple(axis.strip() if isinstance(axis, str) else "" for axis in axes)
    allowed = "request, layer, head, query and key, in the order of the array; the last two in any"
    if not set(names) <= set(AXES) or len(set(names)) < len(names):
        raise InputError("axes", given, allowed)
    if not {"query", "key"} <= set(names):
        raise InputError("axes", given, allowed)
    return names
