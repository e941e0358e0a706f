"""Where trajectories of mixes end: known attractors are named, with their throughput."""

from fractions import Fraction

import jax
import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.exact.mixed.cycles.orbits import periodic_orbit
from fluidkv.exact.mixed.cycles.pulse import pulse_cycle
from fluidkv.exact.mixed.cycles.pulse_stability import pulse_stability
from fluidkv.exact.mixed.mix import LengthMix, two_lengths
from fluidkv.fluid import cohort_model, simulate
from fluidkv.fluid.outcomes.attractors import attractors
from fluidkv.fluid.starts import uniform_starts
from fluidkv.systems import Systems
from fluidkv.workload import System
from tests.conventions import complaints

HALF = Fraction(1, 2)


def found(system, count=64, **options):
    starts = uniform_starts(jax.random.key(1), system, count=count)
    return attractors(system, starts, **{"iterations": 4000, "longest_period": 60} | options)


def test_coprime_lengths_with_long_inputs_end_at_the_equilibrium():
    result = found(System(two_lengths(2, 3, HALF).workload(50), 518))
    assert set(result.attractor.values) == {"equilibrium"}
    assert set(result.period.values) == {1}
    assert result.throughput.values == pytest.approx(4, rel=1e-9)  # a return within 1e-9
    assert np.all(result.evicted == 0)


def test_the_papers_pair_ends_on_the_pulse_cycle():
    result = found(System(two_lengths(2, 4, HALF).workload(50), 626))
    assert set(result.attractor.values) == {"pulse cycle"}
    assert result.throughput.values == pytest.approx(313 / 79, rel=1e-9)
    # 313/1343 requests are evicted every 2 iterations
    assert result.evicted.values == pytest.approx(313 / 2686, rel=1e-7)


def test_an_orbit_of_another_period_is_found_and_proved():
    system = System(two_lengths(2, 4, Fraction(1, 5)).workload(1), 18)
    result = found(system)
    assert set(result.attractor.values) == {"other periodic"}
    assert set(result.period.values) == {4}
    orbit = periodic_orbit(system, result.state.values[0].tolist(), period=4).orbit
    assert orbit is not None
    assert orbit.attracts
    assert result.throughput.values == pytest.approx(float(orbit.throughput), rel=1e-9)
    assert orbit.throughput < pulse_cycle(system).throughput


def test_two_orbits_attract_at_once_one_above_and_one_below_the_pulse():
    """(4, 6), l0 = 1, equal shares: neither the equilibrium nor the pulse cycle attracts."""
    system = System(two_lengths(4, 6, HALF).workload(1), 100)
    result = found(system, count=256, iterations=10_000)
    rates = {}
    for period in set(result.period.values.tolist()):
        (first, *_) = np.flatnonzero(result.period.values == period)
        orbit = periodic_orbit(system, result.state.values[first].tolist(), period=period).orbit
        assert orbit is not None
        assert orbit.attracts
        assert result.throughput.values[first] == pytest.approx(float(orbit.throughput), rel=1e-9)
        rates[orbit.period] = orbit.throughput
    assert set(rates) == {3, 36}
    pulse = pulse_cycle(system)
    assert pulse_stability(pulse).verdict == "unstable"
    assert rates[36] < pulse.throughput < rates[3]


def test_an_orbit_has_one_id_whatever_its_phase():
    """(4, 6), l0 = 1: two orbits attract; each of their states, as a start, has their id."""
    system = System(two_lengths(4, 6, HALF).workload(1), 100)
    result = found(system, count=128, iterations=10_000)
    assert result.sizes["attractor_id"] == 2
    assert sorted(result.length.values.tolist()) == [3, 36]
    for k, first in enumerate(result.first_start.values.tolist()):
        assert result.id.values.tolist().index(k) == first
        assert (result.id == k).sum() == result.starts[k]
        assert result.basin_share[k] == result.starts[k] / 128
        assert result.basin_low[k] < result.basin_share[k] < result.basin_high[k]
        assert set(result.period.values[result.id.values == k]) == {result.length.values[k]}
    phases = [result.state.values[first] for first in result.first_start.values]
    states = simulate(
        cohort_model(system), np.stack(phases)[:, None], iterations=36, record="state"
    )
    starts = states.state.values[:, :, 0].reshape(72, 6)
    again = attractors(system, starts, iterations=400, longest_period=40)
    assert again.id.values.tolist() == [0] * 36 + [1] * 36
    assert again.length.values.tolist() == result.length.values.tolist()


def test_many_systems_are_the_loop_over_them():
    systems = Systems.of(
        [
            System(two_lengths(2, 3, HALF).workload(50), 518),
            System(two_lengths(4, 6, HALF).workload(1), 100),
            System(two_lengths(2, 4, HALF).workload(50), 626),
        ]
    )
    starts = np.zeros((3, 70, 6))
    for i, system in enumerate(systems):
        own = uniform_starts(jax.random.key(i), system, count=70)
        starts[i, :, : own.shape[1]] = own
    options = {"iterations": 4000, "longest_period": 60}
    together = attractors(systems, starts, **options)
    assert complaints(together) == []
    for i, system in enumerate(systems):
        stages = system.workload.longest_decode
        alone = attractors(system, starts[i, :, :stages], **options)
        assert complaints(alone) == []
        ids = alone.sizes["attractor_id"]
        part = together.isel(system=i, stage=slice(stages), attractor_id=slice(ids))
        for name, column in alone.items():
            if column.dtype.kind == "f":
                # Requests are summed over stages, with zeros behind: in another order.
                assert np.allclose(part[name], column, rtol=1e-12, atol=1e-12), name
            else:
                assert np.array_equal(part[name], column), name
        assert set(together.name.values[i, ids:]) <= {""}
        assert set(together.first_start.values[i, ids:]) <= {-1}


def test_a_cap_on_the_period_leaves_longer_ones_not_settled():
    system = System(two_lengths(2, 4, Fraction(1, 5)).workload(1), 18)
    result = found(system, longest_period=3)
    assert set(result.attractor.values) == {"not settled"}
    assert set(result.period.values) == {0}


def test_a_balanced_cycle_of_two_pulses_is_not_the_pulse_cycle():
    # (4, 8) has an unstable cycle of gaps (2, 2), which a start on it keeps for a while.
    system = System(two_lengths(4, 8, HALF).workload(40), 1000)
    start = [float(y) for y in pulse_cycle(system, (2, 2)).states[0]]
    result = attractors(system, [start], iterations=4, longest_period=8)
    assert result.attractor.values.tolist() == ["other periodic"]
    assert result.period.values.tolist() == [2]


def test_three_classes_end_on_their_pulse_cycle():
    mix = LengthMix((3, 6, 9), (Fraction(1, 2), Fraction(1, 4)))
    system = System(mix.workload(60), 900)
    result = found(system)
    assert set(result.attractor.values) == {"pulse cycle"}
    rate = float(pulse_cycle(system).throughput)
    assert result.throughput.values == pytest.approx(rate, rel=1e-9)


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"starts": [[1.0, 1.0, 1.0]]}, "starts"),
        ({"starts": [[-1.0, 1, 1, 1]]}, "starts"),
        ({"starts": [[np.nan, 1, 1, 1]]}, "starts"),
        ({"starts": [[100.0, 1, 1, 1]]}, "starts"),
        ({"starts": "many"}, "starts"),
        ({"iterations": 1}, "iterations"),
        ({"longest_period": 0}, "longest_period"),
        ({"within": 1.0}, "within"),
    ],
)
def test_bad_input_is_named(change, argument):
    system = System(two_lengths(2, 4, HALF).workload(50), 626)
    arguments = {"starts": [[1.0, 1, 1, 1]]} | change
    with pytest.raises(InputError, match=f"^{argument}: "):
        attractors(system, **arguments)
