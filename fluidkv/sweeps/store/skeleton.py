"""The files of a store before any chunk is in it: metadata of every array, and all coordinates.

They follow from the plan alone, byte by byte, so that what a killed sweep has written of them can
be told from files of somebody else's.
"""

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from fluidkv.labels import titled
from fluidkv.questions.kinds import Word, shown
from fluidkv.sweeps.analysis import ABSENT, DONE, REFUSED, SEED, STATUS, Setting
from fluidkv.sweeps.computed_by import versions
from fluidkv.sweeps.planning import Plan
from fluidkv.sweeps.store.checksums import listing_of

ROOT = "zarr.json"
LISTING = f"{ROOT}.sha256"
"""Checksums of all files that are here."""
FORMAT = 2
STATUS_VARIABLE = {
    **titled(STATUS, "whether a point has been computed, and whether there is an answer"),
    "units": "1",
    "flag_values": [ABSENT, DONE, REFUSED],
    "flag_meanings": "not_computed done refused",
}


def skeleton(plan: Plan) -> dict[str, bytes]:
    """Path inside the store -> content; the last one, `ROOT`, makes a folder a store."""
    import zarr
    from zarr.storage import MemoryStore

    store = MemoryStore()
    group = zarr.create_group(store, zarr_format=3)
    for name, (dims, values, attributes) in _coordinates(plan).items():
        _put(group, name, dims, values, attributes)
    for name in [each.name for each in plan.variables] + [STATUS]:
        make_array(group, plan, name)
    files = {path: buffer.to_bytes() for path, buffer in sorted(store._store_dict.items())}
    del files[ROOT]
    nodes = {
        path.removesuffix(f"/{ROOT}"): json.loads(content)
        for path, content in files.items()
        if path.endswith(f"/{ROOT}")
    }
    root = _root(plan, nodes)
    return files | {LISTING: listing_of(files | {ROOT: root}), ROOT: root}


def make_array(group: Any, plan: Plan, name: str) -> Any:
    """The array of a variable, without a chunk, in a group of Zarr's."""
    from zarr.codecs import ZstdCodec

    dims, sizes, dtype, fill, attributes = _described(plan, name)
    inner = sizes[len(plan.shape) :]
    return group.create_array(
        name,
        shape=sizes,
        chunks=plan.chunk_shape + inner,
        dtype=dtype,
        fill_value=fill,
        dimension_names=dims,
        attributes=attributes,
        compressors=ZstdCodec(level=1, checksum=True),
        chunk_key_encoding={"name": "default", "separator": "."},
        config={"write_empty_chunks": True},
    )


def unit_of(plan: Plan, units: str) -> str:
    """With the unit of the clock for "time", where the clocks of all points have one."""
    clocks = {plan.spec.settings.get("clock")}
    for axis in plan.spec.axes:
        clocks = set(axis.columns["clock"]) if "clock" in axis.columns else clocks
    if "clock" not in {each.name for each in plan.spec.analysis.settings}:
        return units
    if clocks == {None}:
        return units.replace("time", "iteration")
    return units if None in clocks else units.replace("time", "s")


def _described(plan: Plan, name: str) -> tuple[Any, ...]:
    """Dimensions, sizes, type, fill and attributes of a variable."""
    if name == STATUS:
        return plan.dims, plan.shape, np.dtype("int8"), ABSENT, STATUS_VARIABLE
    (variable,) = (each for each in plan.variables if each.name == name)
    labels = plan.spec.analysis.labels
    sizes = plan.shape + tuple(len(labels[dim]) for dim in variable.dims)
    attributes: dict[str, Any] = {
        **titled(name, variable.title),
        "units": unit_of(plan, variable.units),
    }
    if variable.kind == "flag":
        attributes["flag_values"] = list(range(len(variable.words)))
        attributes["flag_meanings"] = " ".join(word.replace(" ", "_") for word in variable.words)
    return plan.dims + variable.dims, sizes, variable.dtype, variable.fill, attributes


def _coordinates(plan: Plan) -> dict[str, tuple[tuple[str, ...], np.ndarray, dict[str, str]]]:
    """Name -> dimension, values and attributes; exact numbers also as texts, `share_exact`."""
    found: dict[str, Any] = {}
    for axis in plan.spec.axes:
        if axis.dim not in axis.columns:
            numbers = np.arange(axis.size, dtype=np.int64)
            said = {**titled(axis.dim, f"number of the {axis.dim}"), "units": "1"}
            found[axis.dim] = ((axis.dim,), numbers, said)
        for name, values in axis.columns.items():
            setting = plan.spec.analysis.setting(name)
            assert setting is not None
            said = {**titled(name, setting.title), "units": unit_of(plan, setting.units)}
            found[name] = ((axis.dim,), _array(setting, values), said)
            if any(isinstance(each, Fraction) for each in values):
                exact = np.array([shown(each) for each in values], object)
                said = {**titled(f"{name}_exact", f"{setting.title}, exactly"), "units": "1"}
                found[f"{name}_exact"] = ((axis.dim,), exact, said)
    for dim, names in plan.spec.analysis.labels.items():
        said = {**titled(dim, f"name of the {dim}"), "units": "1"}
        found[dim] = ((dim,), np.array(names, object), said)
    return found


def _array(setting: Setting, values: Any) -> np.ndarray:
    if isinstance(setting.kind, Word) or any(isinstance(each, tuple) for each in values):
        return np.array([shown(each) for each in values], object)
    if any(each is None for each in values):
        return np.array([np.nan if each is None else float(each) for each in values])
    if all(isinstance(each, int) for each in values):
        return np.array(values, np.int64)
    return np.array([float(each) for each in values])


def _put(group: Any, name: str, dims: Any, values: np.ndarray, attributes: Any) -> None:
    from zarr.codecs import ZstdCodec
    from zarr.core.dtype import VariableLengthUTF8

    array = group.create_array(
        name,
        shape=values.shape,
        chunks=values.shape,
        dtype=VariableLengthUTF8() if values.dtype == object else values.dtype,
        dimension_names=dims,
        attributes=attributes,
        compressors=ZstdCodec(level=1, checksum=True),
        chunk_key_encoding={"name": "default", "separator": "."},
        config={"write_empty_chunks": True},
    )
    array[:] = values


def _root(plan: Plan, nodes: Mapping[str, Any]) -> bytes:
    """The group with the metadata of all its arrays inside, so that opening reads one file."""
    spec = plan.spec
    along = _coordinates(plan)
    coordinates = " ".join(name for name in along if name not in plan.dims)
    # Where seeds are an axis there is not one of all.
    drawn = {} if SEED.name in along else {"seed": spec.settings.get(SEED.name, spec.seed)}
    attributes = {
        "title": spec.title,
        "coordinates": coordinates,
        "analysis": spec.analysis.name,
        "call": spec.analysis.call,
        **drawn,
        "spec": spec.text,
        "spec_sha256": spec.digest,
        "fluidkv_sweep": FORMAT,
        **{f"{name.replace('-', '_')}_version": number for name, number in versions().items()},
    }
    group = {
        "attributes": attributes,
        "zarr_format": 3,
        "node_type": "group",
        "consolidated_metadata": {
            "kind": "inline",
            "must_understand": False,
            "metadata": nodes,
        },
    }
    return (json.dumps(group, indent=1) + "\n").encode()
