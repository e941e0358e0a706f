"""Many systems in one call: each as it is alone, by either engine, whatever they are beside."""

from fractions import Fraction
from typing import Any
from unittest.mock import Mock

import jax
import numpy as np
import pytest
import xarray as xr

from fluidkv.errors import InputError
from fluidkv.fluid import (
    burst_state,
    class_model,
    perturbed_starts,
    plain,
    simulate,
    simulation,
    uniform_starts,
)
from fluidkv.fluid.recorded import RECORDS
from fluidkv.systems import Systems
from tests.conventions import complaints

KEY = jax.random.key(3)
HALF = Fraction(1, 2)
EPS = float(np.finfo(np.float64).eps)
ENGINES = ("plain", "labels")

# 36 systems of three shapes among longer ones: alone, each shape is compiled once.
UNLIKE = Systems.of(
    [
        *Systems.grid(input_length=range(2, 8), decode_length=3, capacity=[40, 60]),
        *Systems.grid(input_length=range(2, 8), decode_length=7, capacity=[40, 60]),
        *Systems.grid(
            input_length=range(2, 8), decode_length=(4, 6), share=[HALF, HALF / 4], capacity=50
        ),
    ]
)


def _alone(found: xr.Dataset, i: int, own: xr.Dataset) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Each variable of a system in the sweep and alone; beyond what it has there is 0."""
    pairs = {}
    for name in own.data_vars:
        whole, alone = found[name].values[i], own[name].values
        part = whole[tuple(slice(0, size) for size in alone.shape)]
        assert np.count_nonzero(part) == np.count_nonzero(whole), name
        pairs[str(name)] = part, alone
    return pairs


@pytest.mark.daily(2)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["of cohorts", "by class"])
def test_many_systems_equal_each_alone(kind: str, engine: str) -> None:
    assert len(UNLIKE) == 36
    if kind == "of cohorts":
        starts = uniform_starts(KEY, UNLIKE, count=3)
    else:
        starts = perturbed_starts(KEY, UNLIKE, count=3, size=0.8)
    call: dict[str, Any] = {"iterations": 12, "every": 3, "record": RECORDS, "engine": engine}
    found = simulate(UNLIKE, starts, **call)
    for i, system in enumerate(UNLIKE):
        key = jax.random.fold_in(KEY, i)
        if kind == "of cohorts":
            start = uniform_starts(key, system, count=3)
        else:
            start = perturbed_starts(key, system, count=3, size=0.8)
        for part, alone in _alone(found, i, simulate(system, start, **call)).values():
            # XLA may add in another order: 12 iterations of at most 40 roundings of numbers < 60.
            np.testing.assert_allclose(part, alone, rtol=0, atol=60 * 12 * 40 * EPS)


def test_both_engines_say_the_same_of_many() -> None:
    starts = uniform_starts(KEY, UNLIKE, count=3)
    each_stage, labels = (simulate(UNLIKE, starts, iterations=12, engine=e) for e in ENGINES)
    for name in labels.data_vars:
        np.testing.assert_allclose(each_stage[name], labels[name], rtol=0, atol=60 * 12 * 40 * EPS)


def test_parts_are_as_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = uniform_starts(KEY, UNLIKE, count=3)
    whole = simulate(UNLIKE, starts, iterations=12)
    monkeypatch.setattr(simulation, "_NUMBERS", 1)
    xr.testing.assert_identical(simulate(UNLIKE, starts, iterations=12), whole)
    half = simulate(UNLIKE[10:20], starts[10:20], iterations=12)
    assert half.system.values.tolist() == list(range(10, 20))
    for name in ("memory", "evicted"):
        np.testing.assert_array_equal(half[name], whole[name][10:20])


def test_another_sweep_of_the_same_shape_compiles_nothing() -> None:
    compiled: Any = plain._roll
    starts = uniform_starts(KEY, UNLIKE, count=3)
    simulate(UNLIKE, starts, iterations=12, engine="plain")
    before = compiled._cache_size()
    simulate(UNLIKE[3:], starts[3:], iterations=12, engine="plain")
    simulate(UNLIKE, starts[:, :2], iterations=12, engine="plain")
    assert compiled._cache_size() == before


def test_results_carry_what_tells_systems_apart() -> None:
    systems = Systems.grid(
        input_length=[3, 5], decode_length=(2, 6), share=[HALF, HALF / 2], capacity=50
    )
    found = simulate(
        systems, class_model(systems).equilibrium()[:, None], iterations=4, every=2, record=RECORDS
    )
    assert complaints(found) == []
    assert found.state.dims == ("system", "batch", "iteration", "class", "stage")
    assert found.evicted.dims == ("system", "batch", "iteration", "class")
    assert found.input_length.values.tolist() == [3, 3, 5, 5]
    assert found.shares.values[1].tolist() == [0.25, 0.75]
    plane = found.evicted.set_index(system=["input_length", "share"]).unstack("system")
    assert plane.sizes["input_length"] == plane.sizes["share"] == 2
    assert plane.sel(input_length=5, share=0.25).values.sum() < 1e-9  # at the equilibrium


def test_a_list_of_systems_is_many_systems() -> None:
    listed = [UNLIKE[0], UNLIKE[30]]
    found = simulate(listed, burst_state(Systems.of(listed)), iterations=3)
    again = simulate(Systems.of(listed), burst_state(Systems.of(listed)), iterations=3)
    xr.testing.assert_identical(found, again)
    one = simulate(listed[:1], burst_state(listed[0])[None], iterations=3)
    np.testing.assert_array_equal(one.memory[0], found.memory[0])


def test_one_batch_serves_systems_of_one_shape() -> None:
    systems = Systems.grid(input_length=4, decode_length=5, capacity=[70, 80])
    starts = uniform_starts(KEY, systems[0], count=3)
    found = simulate(systems, starts, iterations=5)
    each = simulate(systems, np.stack([starts, starts]), iterations=5)
    xr.testing.assert_identical(found, each)


def test_the_final_state_can_be_left_out() -> None:
    starts = burst_state(UNLIKE)
    assert not simulate(UNLIKE, starts, iterations=3, record=(), final_state=False).data_vars
    alone = simulate(UNLIKE[0], starts[0, 0, :1, :3], iterations=3, final_state=False)
    assert "final_state" not in alone


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"engine": "fast"}, "engine: got 'fast'; allowed: any of"),
        ({"model": 3}, "model: got 3"),
        ({"model": [UNLIKE[0], "x"]}, r"model\[1\]: got 'x'; allowed: a System"),
        ({"start": np.zeros((35, 3, 7))}, "start: got 'shape"),
        ({"record": ["x"]}, "record: got 'x'"),
    ],
)
def test_bad_input_of_many_is_one_line(given: dict[str, Any], message: str) -> None:
    call: dict[str, Any] = {"model": UNLIKE, "start": np.zeros((36, 3, 7)), "iterations": 3}
    with pytest.raises(InputError, match=message):
        simulate(**call | given)


@pytest.mark.thorough
def test_a_hundred_thousand_systems_with_sixteen_starts() -> None:
    systems = Systems.grid(
        input_length=range(1, 101), decode_length=range(31, 41), capacity=range(1000, 1100)
    )
    starts = uniform_starts(KEY, systems, count=16)
    found = simulate(
        systems, starts, iterations=100, every=100, record=["completed"], final_state=False
    )
    assert found.completed.shape == (100_000, 16, 1, 1)
    for i in (0, 54_321, 99_999):
        own = uniform_starts(jax.random.fold_in(KEY, i), systems[i], count=16)
        alone = simulate(systems[i], own, iterations=100, every=100, record=["completed"])
        np.testing.assert_array_equal(found.completed[i], alone.completed)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "record", [pytest.param((), marks=pytest.mark.thorough), ("completed", "state")]
)
def test_a_long_run_is_cut_into_calls_that_change_no_bit(
    record: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = {"iterations": 20, "record": record, "every": 2, "engine": "plain"}
    for of in (UNLIKE[0], UNLIKE[:2]):
        whole = simulate(of, np.zeros((1, 3)), **call)
        with monkeypatch.context() as patch:
            patch.setattr(plain, "_CALL", {"cpu": 30})
            calls = Mock(wraps=plain.over_devices)
            patch.setattr(plain, "over_devices", calls)
            cut = simulate(of, np.zeros((1, 3)), **call)
        assert calls.call_count > 1
        xr.testing.assert_identical(cut, whole)
