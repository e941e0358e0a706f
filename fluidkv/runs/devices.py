"""One batch over all devices of this host: blocks of lanes, sharded over a row of devices.

A *lane* is what a device computes of one trajectory. How XLA rounds a lane may depend, in the last
bit, on how many lanes its program has: on a CPU a loop in vectors and what is left over after it
are not compiled alike. So a device is always given blocks of one number of lanes, whether it is
alone or one of eight, and the results are the same bits on any number of devices. No lane knows of
another: nothing is sent between devices.

Blocks also bound the memory of a call, and few sizes are compiled: a batch that fills no block is
filled up to a power of two.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from fluidkv.errors import InputError
from fluidkv.runs.batch import power_of_two

Found = TypeVar("Found")
Axes: TypeAlias = Any
"""A number, or a tree of numbers that begins like the tree of arrays: which axis is the batch."""
Device: TypeAlias = Any
"""A `jax.Device`, which to a checker of types is no type."""

BATCH = "batch"

_LANES = {"cpu": 1024}  # on a CPU, 16,384 cost more per trajectory than 1,024: they leave its cache
_MANY_LANES = 1 << 17  # an accelerator has that many threads at once, so that fewer take no less


def local_devices() -> list[Device]:
    """Those of this process, or the one that `jax.default_device` names.

    Raises:
        InputError: it names a platform that JAX does not find here.
    """
    chosen = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(chosen, jax.Device):
        return [chosen]
    try:
        return jax.local_devices() if chosen is None else jax.local_devices(backend=chosen)
    except RuntimeError:
        there = ", ".join(sorted({device.platform for device in jax.local_devices()}))
        raise InputError(
            "jax_default_device", chosen, f"a platform that is here: {there}"
        ) from None


def vary_like(tree: Any, like: Any) -> Any:
    """Values that begin a loop, of the type that they have in it, under `jax.shard_map` too.

    There a type says over which axes of the mesh an array varies, and what a loop carries has one
    type: a constant that meets the batch varies as the batch does. Elsewhere nothing changes.
    """
    axes = frozenset[Any]().union(*map(_varies_over, jax.tree.leaves(like)))

    def cast(leaf: Any) -> Any:
        missing = tuple(axes - _varies_over(leaf))
        return jax.lax.pcast(leaf, missing, to="varying") if missing else leaf

    return jax.tree.map(cast, tree) if axes else tree


def _varies_over(leaf: Any) -> frozenset[Any]:
    """By whichever name this JAX has for it."""
    kind: Any = jax.typeof(leaf)
    manual = getattr(kind, "manual_axis_type", None)
    return getattr(kind, "vma", frozenset()) if manual is None else manual.varying


def kernels_on_gpu() -> bool:
    """Whether compiled kernels go to a GPU: JAX computes on one, and numba-cuda finds it."""
    if local_devices()[0].platform != "gpu":
        return False
    from fluidkv.runs.gpu import gpu_problem  # it takes a third of a second

    return gpu_problem() is None


def over_devices(
    call: Callable[[Any], Found],
    values: Any,
    *,
    axes: Axes,
    found_axes: Axes,
    devices: Sequence[Device] | None = None,
    lanes: int | None = None,
) -> Found:
    """What a compiled function finds of a batch, each device at its part of it.

    Args:
        call: takes a tree of arrays like `values`, batched, and returns a tree of batched arrays;
            compiled with `jax.jit`, and no lane of it looks at another.
        values: a tree of arrays on the host, with one size of the batch.
        axes: where the batch is in `values`.
        found_axes: where it is in what is found.
        devices: by default `local_devices()`.
        lanes: of a block; by default what suits the kind of device, and never more than the batch
            filled up to a power of two. The same numbers need the same lanes, not the same devices.

    Returns:
        The tree as arrays of NumPy, as long along the batch as `values`.

    Raises:
        InputError: arrays that are not equally long along the batch, or are empty.
    """
    devices = local_devices() if devices is None else devices
    size = _size(values, axes)
    lanes = min(power_of_two(size), lanes or _LANES.get(devices[0].platform, _MANY_LANES))
    blocks = -(-size // lanes)
    used = devices[: min(len(devices), blocks)]
    mesh = Mesh(np.array(used), (BATCH,))
    at_once = lanes * len(used)
    parts, pending = [], None
    for first in range(0, size, at_once):
        part = _each(lambda axis, v, first=first: _cut(v, axis, first, at_once), axes, values)
        found = call(_each(lambda axis, v: _placed(v, axis, mesh), axes, part))
        if pending is not None:  # the devices work while the host gathers
            parts.append(jax.device_get(pending))
        pending = found
    parts.append(jax.device_get(pending))
    return jax.tree.map(
        lambda axis, *found: jax.tree.map(lambda *v: _joined(v, axis, size), *found),
        found_axes,
        *parts,
    )


def _each(function: Callable[[int, Any], Any], axes: Axes, values: Any) -> Any:
    return jax.tree.map(
        lambda axis, tree: jax.tree.map(lambda v: function(axis, v), tree), axes, values
    )


def _size(values: Any, axes: Axes) -> int:
    sizes = set(jax.tree.leaves(_each(lambda axis, v: np.shape(v)[axis], axes, values)))
    if len(sizes) != 1 or sizes == {0}:
        raise InputError("values", sorted(sizes), "arrays with one size of the batch, at least 1")
    return sizes.pop()


def _cut(values: np.ndarray, axis: int, first: int, size: int) -> np.ndarray:
    """`size` of the batch; beyond its end the last one again, which is as good as any."""
    last = np.shape(values)[axis] - 1
    if first + size <= last + 1:
        return np.moveaxis(np.moveaxis(values, axis, 0)[first : first + size], 0, axis)
    return np.take(values, np.minimum(np.arange(first, first + size), last), axis=axis)


def _placed(values: np.ndarray, axis: int, mesh: Mesh) -> jax.Array:
    dimensions: list[str | None] = [None] * np.ndim(values)
    dimensions[axis] = BATCH
    return jax.device_put(values, NamedSharding(mesh, PartitionSpec(*dimensions)))


def _joined(parts: Sequence[np.ndarray], axis: int, size: int) -> np.ndarray:
    whole = parts[0] if len(parts) == 1 else np.concatenate(parts, axis)
    return np.moveaxis(np.moveaxis(whole, axis, 0)[:size], 0, axis)
