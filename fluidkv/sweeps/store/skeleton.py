"""The files of a store before any chunk is in it: metadata of every array, and all coordinates.

They follow from the plan alone, byte by byte, so that what a killed sweep has written of them can
be told from files of somebody else's.
"""

import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from fluidkv.labels import titled
from fluidkv.questions.kinds import Word, shown
from fluidkv.sweeps.analysis import SEED, Setting, Variable
from fluidkv.sweeps.computed_by import versions
from fluidkv.sweeps.planning import Plan
from fluidkv.sweeps.store.checksums import listing_of

ROOT = "zarr.json"
LISTING = f"{ROOT}.sha256"
"""Checksums of all files that are here."""
FORMAT = 2


def skeleton(plan: Plan) -> dict[str, bytes]:
    """Path inside the store -> content; the last one, `ROOT`, makes a folder a store."""
    import zarr
    from zarr.core.dtype import VariableLengthUTF8
    from zarr.storage import MemoryStore

    store = MemoryStore()
    group = zarr.create_group(store, zarr_format=3)
    for name, (dims, values, attributes) in _coordinates(plan).items():
        array = _create(
            group,
            name,
            shape=values.shape,
            chunks=values.shape,
            dtype=VariableLengthUTF8() if values.dtype == object else values.dtype,
            dimension_names=dims,
            attributes=attributes,
        )
        array[:] = values
    for variable in plan.stored:
        make_array(group, plan, variable)
    files = {path: buffer.to_bytes() for path, buffer in sorted(store._store_dict.items())}
    del files[ROOT]
    nodes = {
        path.removesuffix(f"/{ROOT}"): json.loads(content)
        for path, content in files.items()
        if path.endswith(f"/{ROOT}")
    }
    root = _root(plan, nodes)
    return files | {LISTING: listing_of(files | {ROOT: root}), ROOT: root}


def make_array(group: Any, plan: Plan, variable: Variable) -> Any:
    """The array of a variable, without a chunk, in a group of Zarr's."""
    own = tuple(len(plan.spec.analysis.labels[dim]) for dim in variable.dims)
    attributes: dict[str, Any] = {
        **titled(variable.name, variable.title),
        "units": unit_of(plan, variable.units),
    }
    if variable.kind == "flag":
        attributes["flag_values"] = list(range(len(variable.words)))
        attributes["flag_meanings"] = " ".join(word.replace(" ", "_") for word in variable.words)
    return _create(
        group,
        variable.name,
        shape=plan.shape + own,
        chunks=plan.chunk_shape + own,
        dtype=variable.dtype,
        fill_value=variable.fill,
        dimension_names=plan.dims + variable.dims,
        attributes=attributes,
    )


def _create(group: Any, name: str, **described: Any) -> Any:
    from zarr.codecs import ZstdCodec

    return group.create_array(
        name,
        compressors=ZstdCodec(level=1, checksum=True),
        chunk_key_encoding={"name": "default", "separator": "."},
        config={"write_empty_chunks": True},
        **described,
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


def _coordinates(plan: Plan) -> dict[str, tuple[tuple[str, ...], np.ndarray, dict[str, str]]]:
    """Name -> dimension, values and attributes; exact numbers also as texts, `share_exact`."""
    found: dict[str, Any] = {}

    def put(name: str, dim: str, values: np.ndarray, title: str, units: str = "1") -> None:
        found[name] = (dim,), values, {**titled(name, title), "units": units}

    for axis in plan.spec.axes:
        if axis.dim not in axis.columns:
            numbers = np.arange(axis.size, dtype=np.int64)
            put(axis.dim, axis.dim, numbers, f"number of the {axis.dim}")
        for name, values in axis.columns.items():
            setting = plan.spec.analysis.setting(name)
            assert setting is not None
            units = unit_of(plan, setting.units)
            put(name, axis.dim, _array(setting, values), setting.title, units)
            if any(isinstance(each, Fraction) for each in values):
                put(f"{name}_exact", axis.dim, _texts(values), f"{setting.title}, exactly")
    for dim, names in plan.spec.analysis.labels.items():
        put(dim, dim, np.array(names, object), f"name of the {dim}")
    return found


def _texts(values: Iterable[Any]) -> np.ndarray:
    return np.array([shown(each) for each in values], object)


def _array(setting: Setting, values: Any) -> np.ndarray:
    if isinstance(setting.kind, Word) or any(isinstance(each, tuple) for each in values):
        return _texts(values)
    if all(isinstance(each, int) for each in values):
        return np.array(values, np.int64)
    return np.array([np.nan if each is None else float(each) for each in values])


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
