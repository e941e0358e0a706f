"""Chains of many systems in one call are the chains of each by itself: counts, and times."""

from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest
import xarray as xr

from fluidkv.errors import InputError
from fluidkv.wait.chain.runs import _advance
from fluidkv.wait.chain.simulate import simulate_chain
from fluidkv.wait.model import PromptType, WaitSystem
from fluidkv.wait.segments import Segments
from tests.conventions import complaints

SHORT = Segments(3, (4,), (Fraction(2),))
MIDDLE = Segments(2, (2, 5), (Fraction(3), Fraction(1)))
LONG = Segments(2, (1, 3, 6), (Fraction(8), Fraction(4), Fraction(1)))
NESTED = [LONG, SHORT, MIDDLE]
LEVELS = [(9, 5, 2), (4,), (6, 3)]
BASES = [Fraction(1, 2), Fraction(1), Fraction(3, 4)]
CLOCK = {"base": BASES, "per_kv_token": Fraction(1, 500)}
TYPES = [
    WaitSystem((PromptType(4, 3, 1), PromptType(2, 3, 6)), Fraction(1, 2), Fraction(1, 500)),
    WaitSystem((PromptType(1, 2, 2),), Fraction(1), Fraction(0)),
]


def same(one: xr.Dataset, other: xr.Dataset) -> None:
    """Count by count, on the segments that the second has; times up to the order of roundings.

    A program for other shapes may contract a product and a sum into one rounding: an ulp of each of
    some hundred iterations.
    """
    for name, values in other.data_vars.items():
        of_all = one[name]
        if "segment" in values.dims:
            own = other.sizes["segment"]
            assert (of_all.isel(segment=slice(own, None)).fillna(0) == 0).all()
            of_all = of_all.isel(segment=slice(own))
        if "iteration" in values.dims:
            of_all = of_all.isel(iteration=slice(values.sizes["iteration"]))
        rounding = 1e-13 if values.dtype.kind == "f" else 0
        np.testing.assert_allclose(of_all.values, values.values, rtol=rounding, err_msg=str(name))


@pytest.mark.parametrize(
    "how",
    [
        {"iterations": 300},
        {"horizon": 40.0, "memory": [300.0, 60.0, 100.0], "record": ("queue", "time", "entered")},
    ],
    ids=["iterations", "horizon"],
)
def test_nested_chains_are_those_of_each_system_alone(how: dict) -> None:
    found = simulate_chain(NESTED, LEVELS, runs=3, seed=4, **CLOCK, **how)
    assert found.sizes["system"] == 3
    for place, (model, thresholds, base) in enumerate(zip(NESTED, LEVELS, BASES, strict=True)):
        one = how | ({"memory": how["memory"][place]} if "memory" in how else {})
        clock = {"base": base, "per_kv_token": Fraction(1, 500)}
        alone = simulate_chain(model, thresholds, runs=3, seed=4, **clock, **one)
        same(found.isel(system=place), alone)


def test_types_are_those_of_each_system_alone() -> None:
    found = simulate_chain(TYPES, [(2, 5), (3, 0)], runs=4, horizon=[30.0, 20.0], seed=1)
    for place, (thresholds, horizon) in enumerate((((2, 5), 30.0), ((3,), 20.0))):
        alone = simulate_chain(TYPES[place], thresholds, runs=4, horizon=horizon, seed=1)
        same(found.isel(system=place), alone)


def test_groups_may_begin_and_end_within_a_system() -> None:
    """Runs of 3 systems in groups of 128, more than of one system."""
    found = simulate_chain(NESTED, LEVELS, runs=110, iterations=40, seed=2, **CLOCK)
    alone = simulate_chain(
        MIDDLE, LEVELS[2], base=BASES[2], per_kv_token=Fraction(1, 500), runs=110, iterations=40,
        seed=2,
    )  # fmt: skip
    same(found.isel(system=2), alone)


def test_a_sweep_over_thresholds_of_one_model_compiles_once() -> None:
    thresholds = np.array([[n, 5, 2] for n in (6, 7, 8, 9)])
    clock: dict[str, Any] = {"base": BASES[0], "per_kv_token": Fraction(1, 500)}
    simulate_chain(LONG, thresholds, runs=2, iterations=10, **clock)
    compiled = cast(Any, _advance)._cache_size  # of JAX, which its types do not say
    before = compiled()
    said = {"first": ([6, 7, 8, 9], "request", "first threshold")}
    found = simulate_chain(LONG, thresholds + 1, runs=2, iterations=10, coords=said, **clock)
    assert compiled() == before
    assert found.threshold.values.tolist() == (thresholds + 1).tolist()
    assert found["first"].attrs["units"] == "request"
    assert found.sizes["system"] == 4
    assert complaints(found) == []


def test_one_of_several_of_one_system_has_that_dimension() -> None:
    clock: dict[str, Any] = {"base": BASES[0], "per_kv_token": Fraction(1, 500)}
    one = simulate_chain(LONG, [LEVELS[0]], iterations=5, **clock)
    assert one.sizes["system"] == 1
    assert "system" not in simulate_chain(LONG, LEVELS[0], iterations=5, **clock).dims


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"base": BASES[:2]}, "3 as the other arguments|1, or 3"),
        ({"model": [LONG, TYPES[0], SHORT], "base": None, "per_kv_token": None}, "base|one kind"),
        ({"thresholds": [(9, 5), (4,), (6, 3)]}, "3, one for each"),
        ({"thresholds": []}, "at least one|3, one for each"),
        ({"coords": {"seed": [1, 2]}}, "3, one for each system"),
        ({"coords": {"queue": [1, 2, 3]}}, "a name that the dataset does not have"),
        ({"model": []}, "at least one"),
    ],
)
def test_what_does_not_fit_is_refused(changed: dict, said: str) -> None:
    given = {"model": NESTED, "thresholds": LEVELS, "iterations": 5, **CLOCK} | changed
    with pytest.raises(InputError, match=said):
        simulate_chain(**given)
