"""Chains of many systems in one call are the chains of each by itself: counts, and times."""

from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest
import xarray as xr

from fluidkv.errors import InputError
from fluidkv.runs.rates import RateSteps
from fluidkv.wait.chain import runs
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
    WaitSystem(
        (PromptType(4, 3, 1), PromptType(2, 3, 6), PromptType(1, 2, 2)),
        Fraction(1, 2),
        Fraction(1, 500),
    ),
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


RECORDED: dict[str, Any] = {"horizon": 40.0, "record": ("queue", "time", "entered"), "runs": 3}


@pytest.mark.thorough
def test_nested_chains_are_those_of_each_system_alone() -> None:
    levels = [300.0, 60.0, 100.0]
    found = simulate_chain(NESTED, LEVELS, seed=4, **CLOCK, memory=levels, **RECORDED)
    assert found.sizes["system"] == 3
    # SHORT is filled up to three segments; MIDDLE is held to itself alone below.
    clock = {"base": BASES[1], "per_kv_token": Fraction(1, 500), "memory": levels[1]}
    same(found.isel(system=1), simulate_chain(SHORT, LEVELS[1], seed=4, **clock, **RECORDED))


@pytest.mark.thorough
def test_types_are_those_of_each_system_alone() -> None:
    options: dict[str, Any] = {"runs": 4, "seed": 1, "record": tuple(runs.CHAIN_RECORDS)}
    options["rate_steps"] = RateSteps((0, 9, 30), (1, 0, 1.5))
    found = simulate_chain(TYPES, [(2, 5, 1), (3, 0, 0)], horizon=[30.0, 20.0], **options)
    for place, (thresholds, horizon) in enumerate((((2, 5, 1), 30.0), ((3,), 20.0))):
        alone = simulate_chain(TYPES[place], thresholds, horizon=horizon, **options)
        same(found.isel(system=place), alone)


def test_groups_may_begin_and_end_within_a_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of 3 systems in groups of 128, more than of one system; waits are drawn together."""
    monkeypatch.setattr(runs, "cores", lambda: 3)
    options: dict[str, Any] = {"runs": 110, "iterations": 40, "seed": 2}
    found = simulate_chain(NESTED, LEVELS, **CLOCK, **options)
    clock = {"base": BASES[2], "per_kv_token": Fraction(1, 500)}
    same(found.isel(system=2), simulate_chain(MIDDLE, LEVELS[2], **clock, **options))


def test_a_sweep_over_thresholds_compiles_once() -> None:
    simulate_chain(NESTED, LEVELS, **CLOCK, **RECORDED)
    compiled = cast(Any, runs._advance)._cache_size  # of JAX, which its types do not say
    before = compiled()
    thresholds = [(10, 5, 2), (5, 0, 0), (7, 3, 0)]
    labels = {"first": ([10, 5, 7], "request", "first threshold")}
    found = simulate_chain(NESTED, thresholds, **CLOCK, **RECORDED, coords=labels)
    assert compiled() == before
    assert found.threshold.values.tolist() == [list(row) for row in thresholds]
    assert found["first"].attrs["units"] == "request"
    assert found.sizes["system"] == 3
    assert complaints(found) == []


def test_one_of_several_of_one_system_has_that_dimension() -> None:
    clock: dict[str, Any] = {"base": BASES[0], "per_kv_token": Fraction(1, 500)}
    one = simulate_chain(SHORT, [LEVELS[1]], **clock, **RECORDED)
    assert one.sizes["system"] == 1
    assert "system" not in simulate_chain(SHORT, LEVELS[1], **clock, **RECORDED).dims


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
