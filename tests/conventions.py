"""What docs/results.md says of datasets, as checks."""

import xarray as xr

from fluidkv.labels import INDICES

_LAST = list(INDICES)


def complaints(found: xr.Dataset) -> list[str]:
    """What a dataset does against the convention; empty where it keeps it."""
    said = [f"{dim} has no coordinate" for dim in found.dims if dim not in found.coords]
    for name, column in found.variables.items():
        for attr in ("units", "long_name"):
            if not isinstance(column.attrs.get(attr), str) or not column.attrs[attr]:
                said.append(f"{name} has no {attr}")
        label = column.attrs.get("long_name", "")
        if len(label) > 30 and label != str(name).replace("_", " "):
            said.append(f"{name} has a long_name that does not fit along an axis")
        if list(column.dims) != sorted(column.dims, key=_place):
            said.append(f"{name} has its dimensions in the order {column.dims}")
    for attr in ("fluidkv_version", "jax_version", "numpy_version"):
        if attr not in found.attrs:
            said.append(f"no {attr}")
    for name, value in found.attrs.items():
        if type(value) not in (str, int, float) and not (
            type(value) is list and {type(each) for each in value} <= {int, float}
        ):
            said.append(f"attribute {name} is {type(value).__name__}")
    return said


def _place(dim: object) -> int:
    return -1 if dim == "system" else 1 + _LAST.index(str(dim)) if dim in _LAST else 0
