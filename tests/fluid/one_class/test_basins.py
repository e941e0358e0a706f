"""Basins: labels, paths, and pools of lanes that change nothing."""

from fractions import Fraction

import jax
import numpy as np
import pytest
import xarray as xr

from fluidkv.errors import InputError
from fluidkv.fluid import event_log, nearby_starts, uniform_starts
from fluidkv.fluid.one_class import events
from fluidkv.fluid.one_class.basins import BALANCED, FIXED, MAXIMAL, NOT_SETTLED, basins
from fluidkv.workload import RequestClass, System, Workload

KEY = jax.random.key(11)


def one_class(l0, l1, capacity):
    return System(Workload((RequestClass(l0, l1),)), Fraction(capacity))


FOUR = one_class(2, 4, 63)  # the cycles of Example 6 are made of whole numbers


def test_uniform_starts_reach_the_maximal_eviction_cycle():
    system = one_class(10, 8, 1000)
    found = basins(system, uniform_starts(KEY, system, count=500), iterations=2000)
    assert set(found.attractor.values) == {MAXIMAL}
    assert np.all(found.live.sum("stage") == 1)
    # The path: each level is reached no earlier than the one before, and the last is settling.
    assert np.all(found.reached.diff("level") >= 0)
    assert np.array_equal(found.reached[:, -1], found.settled)


def test_each_attractor_has_its_name():
    starts = [
        [3.5] * 4,
        [17, 3, 0, 0],
        [0, 0, 9, 3],
        [0, 0, 0, 10.5],
        [3.5, 3.5, 3.5 - 6e-9, 3.5 + 5e-9],
    ]
    found = basins(FOUR, starts, iterations=20)
    assert found.attractor.values.tolist() == [FIXED, BALANCED, BALANCED, MAXIMAL, NOT_SETTLED]
    assert found.settled.values.tolist() == [0, 0, 0, 0, -1]
    assert found.live.values[1].tolist() == [True, True, False, False]
    assert found.live.values[2].tolist() == [False, False, True, True]
    assert found.throughput.values[:4].tolist() == [3.5, 3, 3, 2.625]


def test_with_one_stage_there_is_only_the_fixed_point():
    found = basins(one_class(3, 1, 12), [[3.0]], iterations=1)
    assert found.attractor.values.tolist() == [FIXED]


def test_starts_near_every_cycle_leave_it():
    # Example 6 and Theorem 2 (1), (2), in floats: nothing stays within 1e-6 of an unstable cycle.
    for state in ([3.5] * 4, [17, 3, 0, 0], [10.5 - 5.25 / 3, 0, 5.25 - 0.0, 0]):
        scaled = np.array(state) * 63 / (np.array(state) @ [3, 4, 5, 6])
        starts = nearby_starts(KEY, FOUR, scaled, count=50, size=1e-6)
        found = basins(FOUR, starts, iterations=1000)
        assert set(found.attractor.values) == {MAXIMAL}


def test_a_trajectory_does_not_depend_on_those_beside_it(monkeypatch):
    system = one_class(5, 9, 1000)
    starts = uniform_starts(KEY, system, count=300)
    together = basins(system, starts, iterations=60)  # a horizon that some do not reach
    assert 0 < (together.attractor == NOT_SETTLED).sum() < 300
    monkeypatch.setattr(events, "_GROUP", 32)
    monkeypatch.setattr(events, "cores", lambda: 3)
    xr.testing.assert_identical(basins(system, starts, iterations=60), together)
    alone = xr.concat([event_log(system, x, iterations=60) for x in starts[:20]], "batch")
    xr.testing.assert_equal(
        alone.drop_vars("batch"), together[list(alone)].isel(batch=slice(20)).drop_vars("batch")
    )


def test_bad_input_is_named():
    with pytest.raises(InputError, match="off the boundary"):
        basins(FOUR, [[1.0, 1.0, 1.0, 1.0]])
    with pytest.raises(InputError, match=r"^iterations: got 0"):
        basins(FOUR, [[3.5] * 4], iterations=0)
