"""All equilibria of a system: complete, ordered, bounded by the envelope, refused when too many."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fluidkv
from fluidkv.errors import InputError
from fluidkv.exact.one_class.cycles import balanced_cycle
from fluidkv.exact.one_class.equilibria import envelope, equilibria
from fluidkv.exact.one_class.gaps import count_gap_vectors, gap_vectors
from fluidkv.fluid import simulate
from fluidkv.workload import RequestClass, System, Workload
from tests.strategies import systems, workloads


def system_of(l0, l1, capacity=10**5):
    return System(Workload((RequestClass(l0, l1),)), Fraction(capacity))


one_class = systems(workloads=workloads(max_classes=1, decode_lengths=st.integers(1, 8)))


def test_the_three_equilibria_of_example_2():
    found = fluidkv.equilibria(system_of(2, 3, 24))
    assert [(c.gaps, c.throughput) for c in found.cycles] == [
        ((1, 1, 1), 2),
        ((2, 1), Fraction(24, 13)),
        ((3,), Fraction(8, 5)),
    ]
    assert (found.best, found.worst, found.worst_case_ratio) == (2, Fraction(8, 5), Fraction(4, 5))


@given(one_class)
def test_every_cycle_once_by_level_and_throughput(system):
    found = equilibria(system)
    l1 = system.workload.longest_decode
    assert {c.gaps for c in found.cycles} == set(gap_vectors(l1))
    assert len(found.cycles) == count_gap_vectors(l1)
    assert all(c == balanced_cycle(system, c.gaps) for c in found.cycles)
    keys = [(c.level, -c.throughput) for c in found.cycles]
    assert keys == sorted(keys)


@given(one_class)
def test_envelope_is_attained_at_each_level(system):
    l1 = system.workload.longest_decode
    found = equilibria(system)
    assert found.envelope == envelope(system)
    assert [(p.level, p.live) for p in found.envelope] == [(i, l1 - i) for i in range(l1)]
    for point in found.envelope:
        rates = [c.throughput for c in found.cycles if c.level == point.level]
        assert (min(rates), max(rates)) == (point.lowest, point.highest)


@given(one_class, st.data())
def test_a_level_selects(system, data):
    level = data.draw(st.integers(0, system.workload.longest_decode - 1))
    chosen = equilibria(system, level=level)
    assert chosen.cycles == tuple(c for c in equilibria(system).cycles if c.level == level)
    assert chosen.envelope == envelope(system)


def test_gaps_select_one_cycle_in_any_rotation():
    system = system_of(5, 9, 1000)
    (only,) = equilibria(system, gaps=(1, 4, 1, 3)).cycles
    assert (only.gaps, only.throughput) == ((4, 1, 3, 1), Fraction(1000, 99))
    assert equilibria(system, gaps=(4, 1, 3, 1), level=5).cycles == (only,)


def test_dataset_holds_every_state_rounded_once():
    found = equilibria(system_of(2, 4, 63))
    data = found.to_xarray()
    assert dict(data.sizes) == {"cycle": 5, "iteration": 4, "stage": 4}
    assert data["state"].dtype == np.float64
    for cycle in found.cycles:
        row = data.sel(cycle=",".join(map(str, cycle.gaps)))
        assert row["period"] == cycle.period
        assert row["level"] == cycle.level
        assert float(row["throughput"]) == float(cycle.throughput)
        for n in range(4):
            exact = cycle.states[n % cycle.period]
            assert row["state"].sel(iteration=n).values.tolist() == [float(x) for x in exact]


def test_starts_run_in_the_engine_once_round():
    """Equation (25) by a second engine: float64 drift over 9 iterations is a few last digits."""
    system = system_of(5, 9, 1000)
    found = equilibria(system)
    run = simulate(system, found.starts(), iterations=9, record=["completed"])
    rates = run["completed"].sum(["iteration", "class"]).values / 9
    np.testing.assert_allclose(rates, [float(c.throughput) for c in found.cycles], rtol=1e-12)
    np.testing.assert_allclose(run["final_state"].values, found.starts(), rtol=0, atol=1e-10)


def test_dictionary_is_json_with_fractions_beside_numbers():
    found = equilibria(system_of(5, 9, 1000), gaps=(4, 1, 3, 1))
    shown = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    (cycle,) = shown["cycles"]
    assert (cycle["gaps"], cycle["period"], cycle["level"]) == ([4, 1, 3, 1], 9, 5)
    assert (cycle["throughput"], cycle["throughput_exact"]) == (1000 / 99, "1000/99")
    assert (cycle["verified"], cycle["stability"]["verdict"]) == (True, "unstable")
    assert (cycle["stability"]["outside"], cycle["stability"]["multipliers"]) == (3, 3)
    assert shown["best_exact"] == "100/9"
    assert shown["worst_case_ratio_exact"] == "5/7"
    assert [point["level"] for point in shown["envelope"]] == list(range(9))


@pytest.mark.parametrize(
    ("lengths", "options", "message"),
    [
        ((5, 40), {}, r"^equilibria: got '27,487,816,991 cycles of decode length 40'; .*20,000"),
        ((5, 400), {"level": 200}, r"^equilibria: got 'some 10\^116 cycles .* at level 200'"),
        ((5, 700), {"level": 2}, r"^equilibria: got '350 cycles .* fit in memory$"),
        ((5, 9000), {"level": 0}, "^decode_length: got 9000; allowed: at most 3,162"),
        ((5, 9), {"limit": 58}, "^equilibria: got '59 cycles of decode length 9'.*at most 58 "),
        ((5, 9), {"limit": 0}, "^limit: got 0"),
        ((5, 9), {"level": 9}, "^level: got 9; allowed: an integer from 0 to 8"),
        ((5, 9), {"gaps": (4, 4)}, r"^gaps: got \(4, 4\); .* not to 8$"),
        ((5, 9), {"gaps": (4, 5), "level": 3}, "^gaps: .*6 gaps, for eviction level 3"),
    ],
)
def test_bad_input_gets_one_line(lengths, options, message):
    with pytest.raises(InputError, match=message):
        equilibria(system_of(*lengths), **options)


def test_two_classes_are_refused():
    half = Fraction(1, 2)
    system = System(Workload((RequestClass(2, 3, half), RequestClass(2, 4, half))), 100)
    for call in (equilibria, envelope):
        with pytest.raises(InputError, match=r"^system: got '2 classes'; allowed: one class"):
            call(system)


def test_the_limit_is_inclusive():
    assert len(equilibria(system_of(5, 9, 1000), limit=59).cycles) == 59
