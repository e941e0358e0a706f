"""Basins: labels, paths, and pools of lanes that change nothing."""

from fractions import Fraction

import jax
import numpy as np
import pytest
import xarray as xr
from scipy import stats

from fluidkv.errors import InputError
from fluidkv.fluid import event_log, uniform_starts
from fluidkv.fluid.labels import engine
from fluidkv.fluid.outcomes.basins import BALANCED, FIXED, MAXIMAL, NOT_SETTLED, basins
from fluidkv.fluid.outcomes.results import discovered
from fluidkv.systems import Systems
from fluidkv.workload import RequestClass, System, Workload
from tests.conventions import complaints
from tests.small_systems import one_class

KEY = jax.random.key(11)


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
        starts = uniform_starts(KEY, FOUR, count=50, around=scaled, size=1e-6)
        found = basins(FOUR, starts, iterations=1000)
        assert set(found.attractor.values) == {MAXIMAL}


def test_a_trajectory_does_not_depend_on_those_beside_it(monkeypatch):
    system = one_class(5, 9, 1000)
    starts = uniform_starts(KEY, system, count=300)
    together = basins(system, starts, iterations=60)  # a horizon that some do not reach
    assert 0 < (together.attractor == NOT_SETTLED).sum() < 300
    monkeypatch.setattr(engine, "CPU", engine.CPU._replace(size=lambda labels, lane: 32, call=640))
    monkeypatch.setattr(engine, "cores", lambda: 3)
    xr.testing.assert_identical(basins(system, starts, iterations=60), together)
    alone = xr.concat([event_log(system, x, iterations=60) for x in starts[:20]], "batch")
    xr.testing.assert_equal(
        alone.drop_vars("batch"), together[list(alone)].isel(batch=slice(20)).drop_vars("batch")
    )


def test_many_systems_are_the_loop_over_them():
    systems = Systems.grid(input_length=[1, 6], decode_length=[1, 3, 7], capacity=[50, 61])
    longest = 7
    starts = np.zeros((len(systems), 5, longest))
    for i, system in enumerate(systems):
        stages = system.workload.longest_decode
        weights = system.workload.classes[0].input_length + 1 + np.arange(stages)
        starts[i, 0, :stages] = float(system.capacity) / weights.sum()
        starts[i, 1:, :stages] = uniform_starts(jax.random.key(i), system, count=4)
    together = basins(systems, starts, iterations=200)
    logged = event_log(systems, starts, iterations=200)
    for name, column in logged.items():
        xr.testing.assert_identical(together[name].variable, column.variable)
    assert next(iter(together.dims)) == "system"
    assert together.input_length.values.tolist() == [1] * 6 + [6] * 6
    assert complaints(together) == []
    for i, system in enumerate(systems):
        stages = system.workload.longest_decode
        alone = basins(system, starts[i, :, :stages], iterations=200)
        assert complaints(alone) == []
        part = together.isel(
            system=i,
            stage=slice(stages),
            level=slice(stages),
            position=slice(stages),
            attractor_id=slice(alone.sizes["attractor_id"]),
        )
        for name, column in alone.items():
            assert np.array_equal(part[name], column, equal_nan=column.dtype.kind == "f"), name
        beyond = together.isel(system=i).drop_isel(stage=range(stages), level=range(stages))
        assert not beyond.final_state.any()
        assert np.all(beyond.reached == -1)


def test_starts_of_one_batch_serve_systems_that_they_all_fill():
    same = Systems.of([FOUR, FOUR])
    found = basins(same, [[17.0, 3, 0, 0], [3.5] * 4], iterations=20)
    assert found.attractor.values.tolist() == [[BALANCED, FIXED]] * 2
    assert found.start.shape == (2, 2, 4)


def test_an_attractor_has_an_id_a_start_and_a_share():
    # Two phases of the cycle (2, 2), one of (3, 1); one start leads nowhere within the horizon.
    starts = [
        [3.5, 3.5, 3.5 - 6e-9, 3.5 + 5e-9],
        [17, 3, 0, 0],
        [0, 0, 9, 3],
        [0, 0, 0, 10.5],
        [0, 0, 0, 10.5],
        [10.5, 0, 6.3, 0],
        [3.5] * 4,
    ]
    found = basins(FOUR, starts, iterations=20)
    assert found.id.values.tolist() == [-1, 0, 0, 1, 1, 2, 3]
    assert found.name.values.tolist() == [BALANCED, MAXIMAL, BALANCED, FIXED]
    assert found.gaps.values.tolist() == [[3, 1, 0, 0], [4, 0, 0, 0], [2, 2, 0, 0], [1, 1, 1, 1]]
    assert found.first_start.values.tolist() == [1, 3, 5, 6]
    assert found.starts.values.tolist() == [2, 2, 1, 1]
    assert found.basin_share.values.tolist() == [2 / 7, 2 / 7, 1 / 7, 1 / 7]
    assert found.rate.values[:2].tolist() == [3, 2.625]
    for low, high, count in zip(found.basin_low, found.basin_high, found.starts, strict=True):
        exact = stats.binomtest(int(count), 7).proportion_ci(0.95, method="exact")
        assert (float(low), float(high)) == pytest.approx((exact.low, exact.high), rel=1e-12)


def test_ids_do_not_change_where_starts_are_added_behind():
    random = np.random.default_rng(3)
    codes = random.integers(-1, 5, size=(40, 30))
    fewer, more = discovered(codes[:, :11]), discovered(codes)
    assert np.array_equal(more.ids[:, :11], fewer.ids)
    for i, row in enumerate(codes):
        seen = list(dict.fromkeys(row[row >= 0].tolist()))
        assert more.ids[i].tolist() == [seen.index(x) if x >= 0 else -1 for x in row]
        size = len(seen)
        assert more.first[i, :size].tolist() == [row.tolist().index(x) for x in seen]
        assert more.starts[i, :size].tolist() == [row.tolist().count(x) for x in seen]
        assert set(more.first[i, size:].tolist()) <= {-1}


def test_nothing_is_discovered_where_nothing_settles():
    found = basins(FOUR, [[3.5, 3.5, 3.5 - 6e-9, 3.5 + 5e-9]], iterations=4)
    assert found.sizes["attractor_id"] == 0
    assert found.basin_share.shape == (0,)


def test_bad_input_is_named():
    with pytest.raises(InputError, match="off the boundary"):
        basins(FOUR, [[1.0, 1.0, 1.0, 1.0]])
    halves = (RequestClass(2, 4, Fraction(1, 2)), RequestClass(1, 4, Fraction(1, 2)))
    two = System(Workload(halves), Fraction(63))
    with pytest.raises(InputError, match=r"^systems: got '2 classes \(system 1\)'"):
        basins([FOUR, two], [[3.5] * 4])
    with pytest.raises(InputError, match=r"^systems: got \"a coordinate 'gaps'\""):
        basins(Systems.of([FOUR], gaps=[1]), [[3.5] * 4])
    with pytest.raises(InputError, match=r"^iterations: got 0"):
        basins(FOUR, [[3.5] * 4], iterations=0)
