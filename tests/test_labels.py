"""Datasets by the convention: what the helper adds, and that files keep it."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import fluidkv
from fluidkv import InputError, RequestClass, System, Workload, labels
from fluidkv.labels import column, completed, dataset, in_order, system_of, system_text
from tests.conventions import complaints

HALVES = (RequestClass(5, 4, Fraction(1, 3)), RequestClass(7, 2, Fraction(2, 3)))
SYSTEM = System(Workload(HALVES), Fraction(1001, 3))


def made() -> xr.Dataset:
    return dataset(
        {
            "mass": (("stage", "policy", "system"), np.ones((4, 3, 2)), "request", "mass by stage"),
            "ended": ("system", np.array([True, False]), "1", "whether it ended"),
            "kind": ("policy", np.array(["a", "b", "c"]), "1", "what it is"),
        },
        {"policy": ("policy", ["lifo", "fifo", "lcf"], "1", "who goes")},
        system=SYSTEM,
        seed=3,
        every=np.int64(7),
        whole=True,
        share=Fraction(1, 3),
        nothing=None,
        levels=(1, 2.5),
    )


def test_a_dataset_keeps_the_convention() -> None:
    assert complaints(made()) == []


def test_dimensions_come_in_one_order() -> None:
    assert made().mass.dims == ("system", "policy", "stage")
    assert in_order(["stage", "share", "batch", "iteration"]) == [
        "share",
        "batch",
        "iteration",
        "stage",
    ]


def test_each_dimension_has_a_coordinate_and_its_own_one_stays() -> None:
    found = made()
    assert found.stage.values.tolist() == [0, 1, 2, 3]
    assert found.policy.values.tolist() == ["lifo", "fifo", "lcf"]


def test_attributes_are_plain() -> None:
    attrs = made().attrs
    assert attrs["seed"] == 3
    assert attrs["every"] == 7
    assert type(attrs["every"]) is int
    assert attrs["whole"] == 1
    assert attrs["share"] == "1/3"
    assert attrs["levels"] == [1, 2.5]
    assert "nothing" not in attrs
    assert attrs["fluidkv_version"] == fluidkv.__version__
    assert attrs["numpy_version"] == np.__version__


def test_a_system_is_in_the_attributes_exactly() -> None:
    assert system_of(made().attrs["system"]) == SYSTEM
    assert system_of(system_text(SYSTEM)) == SYSTEM


@pytest.mark.parametrize("text", ["", "{}", '{"classes": [], "capacity": "1/0"}', "3"])
def test_other_text_is_no_system(text: str) -> None:
    with pytest.raises(InputError):
        system_of(text)


def test_what_lacks_a_unit_or_a_name_is_complained_about() -> None:
    bare = completed(xr.Dataset({"mass": ("batch", [1.0]), "held": ("batch", [1.0])}))
    bare["held"].attrs = {"units": "token", "long_name": "held"}
    assert complaints(bare) == ["mass has no units", "mass has no long_name"]
    assert "no numpy_version" in complaints(xr.Dataset())
    assert "attribute ended is bool" in complaints(made().assign_attrs(ended=True))


def test_a_column_is_what_was_computed() -> None:
    held = xr.DataArray(np.ones((2, 3)), dims=("run", "window"))
    found = dataset({"held": column(held.mean("window"), "token", "held")})
    assert found.held.dims == ("run",)
    assert complaints(found) == []


@pytest.mark.parametrize("kind", ["netcdf", "zarr"])
def test_files_keep_it(kind: str, tmp_path: Path) -> None:
    found = made()
    path = tmp_path / f"found.{kind}"
    if kind == "netcdf":
        found.to_netcdf(path)
        with xr.open_dataset(path) as again:
            read = again.load()
    else:
        found.to_zarr(path, zarr_format=2)
        read = xr.open_zarr(path).load()
    xr.testing.assert_equal(read, found)
    assert read.attrs["system"] == found.attrs["system"]
    for name, each in found.variables.items():
        assert read[name].attrs == each.attrs


@pytest.mark.parametrize("inner_way", [True, False])
def test_a_dataset_put_together_at_once_is_the_one_that_xarray_makes(
    inner_way: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labels, "_inner_way", labels._inner_way if inner_way else lambda: None)
    at_once = made()
    columns = {name: each.variable for name, each in at_once.data_vars.items()}
    along = {name: each.variable for name, each in at_once.coords.items()}
    public = xr.Dataset(columns, along, at_once.attrs)
    xr.testing.assert_identical(at_once, public)
    assert at_once.indexes.keys() == public.indexes.keys() == at_once.sizes.keys()
    assert at_once.sel(policy="fifo", stage=2).mass.sum() == 2


def test_lengths_that_contradict_each_other_are_refused() -> None:
    column = ("batch", [1.0], "1", "mass")
    with pytest.raises(ValueError, match="2 along batch, elsewhere 1"):
        dataset({"mass": column, "held": ("batch", [1.0, 2.0], "1", "held")})
