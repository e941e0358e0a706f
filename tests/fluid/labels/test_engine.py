"""The compiled engine against its source in Python, bit by bit, and against the plain map."""

from fractions import Fraction
from typing import Any, cast

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.fluid import (
    MassModel,
    attractors,
    basins,
    class_model,
    cohort_model,
    convergence,
    event_log,
    perturbed_starts,
    simulate,
    uniform_starts,
)
from fluidkv.fluid.labels import engine
from fluidkv.fluid.labels.engine import advance
from fluidkv.fluid.labels.kernel import advance_lanes
from fluidkv.fluid.labels.processors import CPU, PYTHON
from fluidkv.fluid.labels.tables import of_model
from fluidkv.fluid.recorded import RECORDS
from fluidkv.runs import interpreted
from fluidkv.workload import RequestClass, System, Workload
from tests.fluid.labels.cases import exact_tables, packed, rectangle
from tests.small_systems import one_class
from tests.strategies import cohort_profiles, feasible_states, systems

EPS = np.finfo(np.float64).eps
THIRD = Fraction(1, 3)
MIXED = System(
    Workload((RequestClass(3, 2, THIRD), RequestClass(1, 5, THIRD), RequestClass(2, 5, THIRD))),
    Fraction(60),
)


def one(system, state, by_class, **options):
    """`advance` of one trajectory."""
    tables = packed(system, by_class=by_class)
    capacity = np.array([float(system.capacity)])
    return advance(tables, np.zeros(1, int), state[None], capacity, **options)


def drawn_state(data, system, by_class):
    if by_class:
        return rectangle(system, data.draw(feasible_states(system)))
    return np.array([[float(x) for x in data.draw(cohort_profiles(system))]])


def assert_bits_of_the_source(system, state, by_class, iterations):
    """Compiled, and as it is written: everything that is found."""
    plan = {"iterations": iterations, "record": engine.RECORDS}
    compiled, plain = (
        one(system, state, by_class, processor=processor, **plan) for processor in (CPU, PYTHON)
    )
    for name, values in compiled._asdict().items():
        if name != "records":
            assert np.array_equal(values, getattr(plain, name)), name
    for name, values in compiled.records.items():
        assert np.array_equal(values, plain.records[name]), name
    assert np.array_equal(compiled.state, compiled.records["state"][:, -1])
    states, empty = (compiled.records[name][0] for name in ("state", "empty_stages"))
    assert np.array_equal(empty, np.all(states == 0, axis=1).sum(axis=1))


@settings(max_examples=60)
@given(st.data())
def test_every_bit_is_that_of_the_source(data):
    system, by_class = data.draw(systems()), data.draw(st.booleans())
    state = drawn_state(data, system, by_class)
    assert_bits_of_the_source(system, state, by_class, 30)


@pytest.mark.thorough
@settings(max_examples=2000)
@given(st.data())
def test_every_bit_is_that_of_the_source_in_more_cases(data):
    system, by_class = data.draw(systems()), data.draw(st.booleans())
    state = drawn_state(data, system, by_class)
    assert_bits_of_the_source(system, state, by_class, 100)


@pytest.mark.parametrize(("decode_length", "iterations"), [(40, 500), (200, 500)])
def test_every_bit_is_that_of_the_source_on_a_long_horizon(decode_length, iterations):
    system = one_class(20, decode_length, 12_000)
    (start,) = uniform_starts(jax.random.key(3), system, count=1)
    assert_bits_of_the_source(system, start[None], True, iterations)


@settings(max_examples=30)
@given(st.data())
def test_what_is_recorded_changes_no_bit(data):
    system, by_class = data.draw(systems()), data.draw(st.booleans())
    state = drawn_state(data, system, by_class)
    alone = one(system, state, by_class, iterations=24)
    fine = one(system, state, by_class, iterations=24, record=engine.RECORDS)
    coarse = one(system, state, by_class, iterations=24, record=engine.RECORDS, every=8)
    assert np.array_equal(alone.state, fine.state)
    assert np.array_equal(alone.state, coarse.state)
    assert np.array_equal(fine.records["state"][:, 7::8], coarse.records["state"])
    for name in ("admitted", "completed", "evicted"):
        sums = fine.records[name].reshape(1, 3, 8, -1).sum(axis=2)
        tolerance = 64 * EPS * float(system.capacity)  # eight numbers, and what rounds each
        np.testing.assert_allclose(coarse.records[name], sums, rtol=0, atol=tolerance)


def many(count):
    """Systems of unlike shapes, and two starts of each, padded."""
    rng = np.random.default_rng(1)
    made = []
    for _ in range(count):
        decode = rng.integers(1, 9, size=rng.integers(1, 4))
        parts = rng.integers(1, 5, size=decode.size)
        shares = [Fraction(int(p), int(parts.sum())) for p in parts]
        inputs = rng.integers(1, 9, size=decode.size)
        workload = Workload(
            tuple(
                RequestClass(int(i), int(d), p)
                for i, d, p in zip(inputs, decode, shares, strict=True)
            )
        )
        made.append(System(workload, Fraction(int(rng.integers(20, 90)))))
    rows = max(len(s.workload.classes) for s in made)
    stages = max(s.workload.longest_decode for s in made)
    starts = np.zeros((count, 2, rows, stages))
    for i, system in enumerate(made):
        model = class_model(system)
        drawn = perturbed_starts(jax.random.key(0), model, count=2, size=1.0)
        starts[i, :, : drawn.shape[1], : drawn.shape[2]] = drawn
    return made, starts


@pytest.mark.parametrize("threads", [1, 2])
def test_many_systems_equal_each_alone(threads):
    few = CPU._replace(size=lambda labels, lane: 5, call=64)  # lanes; several calls for a group
    made, starts = many(12)
    capacity = np.repeat([float(s.capacity) for s in made], 2)
    found = advance(
        packed(*made, by_class=True),
        np.repeat(np.arange(12), 2),
        starts.reshape(24, *starts.shape[2:]),
        capacity,
        iterations=40,
        record=engine.RECORDS,
        every=4,
        threads=threads,
        processor=few,
    )
    for i, system in enumerate(made):
        classes, stages = len(system.workload.classes), system.workload.longest_decode
        for b in (0, 1):
            start = starts[i, b, :classes, :stages]
            alone = one(system, start, True, iterations=40, record=engine.RECORDS, every=4)
            lane = 2 * i + b
            assert np.array_equal(found.state[lane, :classes, :stages], alone.state[0])
            assert not found.state[lane, classes:].any()
            assert found.evictions[lane] == alone.evictions[0]
            for name, values in alone.records.items():
                own = found.records[name][lane]
                own = own[:, :classes] if values.ndim > 2 else own
                assert np.array_equal(own[..., :stages] if name == "state" else own, values[0])


def test_counts_of_evictions():
    system = one_class(2, 4, 63)
    found = one(system, np.array([[17.0, 3, 0, 0]]), True, iterations=8)
    # Example 6: iterations 1, 2 and 4 of each turn evict; 17 + 3 ages twice, then 9 completes.
    flows = one(system, np.array([[17.0, 3, 0, 0]]), True, iterations=8, record=["evicted"])
    evicting = np.flatnonzero(flows.records["evicted"][0, :, 0]) + 1
    assert found.evictions[0] == len(evicting)
    assert found.first_eviction[0] == evicting[0]
    assert found.last_full[0] == evicting[-1]
    assert np.count_nonzero(found.state) == 2


@pytest.mark.parametrize("by_class", [True, False])
def test_the_tables_are_what_their_fields_mean(by_class):
    tables, exact = packed(MIXED, by_class=by_class), exact_tables(MIXED, by_class=by_class)
    for field, there in zip(tables, exact, strict=True):
        numbers = field, there.astype(np.float64)
        np.testing.assert_allclose(*numbers, rtol=0, atol=64 * EPS)


def test_tables_of_many_systems_are_those_of_each():
    made, _ = many(12)
    for by_class in (True, False):
        together = packed(*made, by_class=by_class)
        for i, system in enumerate(made):
            for name, values in packed(system, by_class=by_class)._asdict().items():
                own = getattr(together, name)[i]
                inside = own[tuple(slice(n) for n in values.shape[1:])]
                np.testing.assert_allclose(inside, values[0], rtol=1e-14)
                if name != "sizes":
                    assert np.count_nonzero(own) == np.count_nonzero(values)


@settings(max_examples=6)  # the plain map compiles for each shape
@given(st.data())
def test_the_engine_agrees_with_the_plain_map(data):
    # Three iterations: a rounding of 1e-16 of capacity may grow by (l0 + l1) / (l0 + 1) <= 6 in
    # each of them (Congestion, equation (3)), and by as much again where it moves a small mass.
    system, by_class = data.draw(systems()), data.draw(st.booleans())
    model = class_model(system) if by_class else cohort_model(system)
    state = drawn_state(data, system, by_class)
    fast, plain = (
        simulate(model, state, iterations=3, record=RECORDS, engine=name)
        for name in ("labels", "plain")
    )
    tolerance = 1e4 * EPS * float(system.capacity)
    for name in (*RECORDS, "final_state"):
        if name != "empty_stages":
            np.testing.assert_allclose(fast[name], plain[name], rtol=0, atol=tolerance)


def test_memory_stays_full_and_requests_are_conserved_for_long():
    for system, by_class in ((MIXED, True), (MIXED, False)):
        model = class_model(system) if by_class else cohort_model(system)
        start = perturbed_starts(jax.random.key(5), model, count=8, size=1.0)
        found = simulate(model, start, iterations=5000, record=RECORDS, every=50, engine="labels")
        used = np.einsum("bnks,ks->bn", found.state.values, model.weights)
        # The running sum rounds some 10 times in a turn of at most 5 iterations.
        assert np.abs(used - 60).max() <= 200 * EPS * 60
        flying = found.in_flight.values.sum(axis=2)
        before = np.concatenate([(start * model.survival).sum((1, 2))[:, None], flying[:, :-1]], 1)
        flows = {n: found[n].values.sum(axis=2) for n in ("admitted", "completed", "evicted")}
        left = before + flows["admitted"] - flows["completed"] - flows["evicted"]
        assert np.abs(left - flying).max() <= 50 * 60 * EPS * 60


def test_an_iteration_that_finds_memory_full_admits_exactly_nothing():
    system = one_class(2, 3, 24)
    found = simulate(system, [[5 / 2, 2, 17 / 10]], iterations=40, record=RECORDS)
    state, admitted = found.state.values[0, :, 0], found.admitted.values[0, :, 0]
    assert np.array_equal(state[:, 0], admitted)
    assert set(np.unique(found.empty_stages.values)) >= {0.0, 1.0, 2.0}
    full = found.evicted.values[0, :, 0] > 0
    assert np.all(admitted[full] == 0.0)
    assert np.all((state == 0).sum(axis=1) == found.empty_stages.values[0])


def test_weights_of_ones_own_are_for_the_plain_map():
    model = class_model(MIXED)
    odd = MassModel(model.weights * 2, model.survival, model.shares, model.capacity * 2)
    assert of_model(odd) is None
    start = np.zeros(model.weights.shape)
    assert simulate(odd, start, iterations=2).sizes["iteration"] == 2
    with pytest.raises(InputError, match=r"^engine: .*weights of one's own"):
        simulate(odd, start, iterations=2, engine="labels")
    with pytest.raises(InputError, match=r"^engine: .*any of auto, plain, labels"):
        simulate(model, start, iterations=2, engine="fast")


@pytest.mark.parametrize("capacity", [63, 100, 1000, 12345])
def test_an_orbit_on_which_eviction_takes_a_whole_label_is_kept(capacity):
    # In rationals a period of 7; what a rounding left of that label would lead away from it.
    half = Fraction(1, 2)
    lengths = (RequestClass(1, 7, half), RequestClass(1, 9, half))
    system = System(Workload(lengths), Fraction(capacity))
    start = np.zeros((1, 9))
    start[0, [2, 4]] = capacity / 16, capacity / 8
    found = one(system, start, False, iterations=1400, record=["state"])
    states = found.records["state"][0, :, 0]
    np.testing.assert_allclose(states[7:], states[:-7], rtol=1e-9, atol=0)


def test_one_compiled_code_serves_all_that_follows_starts(monkeypatch):
    """Arrays of another layout, or such as can only be read, would compile it anew: seconds."""
    monkeypatch.setattr(interpreted, "MOST", 0)
    single = one_class(2, 3, 24)
    fixed = np.broadcast_to([[4.0, 3.0, 0.0]], (2, 3))
    simulate(single, fixed, iterations=4, record=("state", "completed"))
    simulate(MIXED, np.asfortranarray(np.zeros((2, 3, 5))), iterations=4, record=())
    simulate([single, MIXED], np.zeros((1, 3, 5)), iterations=4)
    for call in (basins, event_log):
        call(single, fixed, iterations=10)
        call([single, single], fixed, iterations=10)
    for call in (convergence, attractors):
        call(MIXED, np.zeros((2, 5)), iterations=60)
        call([single, MIXED], np.zeros((1, 5)), iterations=60)
    assert len(cast(Any, advance_lanes).overloads) == 1
