"""Runs of the open mass model: limits, conservation, sweeps, records, bad input."""

from fractions import Fraction

import jax
import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.fluid import class_model, cohort_model, equilibrium_state, perturbed_starts, simulate
from fluidkv.fluid.open import system as engine
from fluidkv.fluid.open.arrivals import class_rates, poisson_arrivals, steady
from fluidkv.fluid.open.iteration import OPEN_FLOWS, OPEN_LEVELS
from fluidkv.fluid.open.system import OPEN_RECORDS, simulate_open
from fluidkv.workload import RequestClass, System, Workload

EPS = np.finfo(np.float64).eps
ONE = System(Workload((RequestClass(10, 12),)), 400)
MIXED = System(
    Workload((RequestClass(3, 2, Fraction(1, 3)), RequestClass(1, 5, Fraction(2, 3)))), 60
)


def poisson(system, rate, iterations, count=None, seed=0):
    rates = steady(class_rates(system.workload, rate), iterations=iterations)
    return poisson_arrivals(jax.random.key(seed), rates, count=count)


@pytest.mark.parametrize("system", [ONE, MIXED])
def test_with_a_long_queue_it_is_the_saturated_model(system):
    # Proportions are kept by the rule "shares"; the queue's own rounding does not reach them.
    model = class_model(system)
    starts = perturbed_starts(jax.random.key(3), model, count=4, size=0.8)
    want = simulate(model, starts, iterations=30, record=("state", "evicted"))
    got = simulate_open(
        model,
        arrivals=np.zeros((30, model.shares.size)),
        queue=1e6 * model.shares,
        start=starts,
        selection="shares",
        record=("state", "evicted"),
    )
    # Two compilations of the same map; 30 iterations of at most 30 roundings of numbers below the
    # capacity, doubled at most by the growth of the map.
    near = 30 * 30 * 400 * 2 * EPS
    for name in ("state", "evicted"):
        np.testing.assert_allclose(got[name], want[name], rtol=0, atol=near)


@pytest.mark.parametrize("blocked", ["wait", "lost"])
@pytest.mark.parametrize("selection", ["queued", "shares"])
def test_no_request_appears_or_vanishes(blocked, selection):
    arrivals = poisson(MIXED, 3.0, 200, count=3)
    data = simulate_open(
        MIXED,
        arrivals=arrivals,
        blocked=blocked,
        selection=selection,
        record=("arrived", "completed", "lost", "queue", "in_flight"),
    )
    left = data.completed.cumsum("iteration") + data.lost.cumsum("iteration")
    inside = data.queue + data.in_flight
    came = arrivals.cumsum(axis=1)
    assert np.array_equal(data.arrived, arrivals)
    # Sums of 200 iterations of some ten roundings of numbers below 1,000.
    np.testing.assert_allclose(left + inside, came, rtol=0, atol=200 * 10 * 1000 * EPS)


def test_memory_never_exceeds_capacity_and_eviction_is_followed_by_no_admission():
    data = simulate_open(
        ONE, arrivals=poisson(ONE, 4.0, 300), record=("memory", "evicting", "admitted")
    ).sel(batch=0)
    assert float(data.memory.max()) <= 400 * (1 + 14 * EPS)  # a sum of 12 products
    assert float(data.evicting.sum()) > 0
    assert not np.any(data.admitted.values[data.evicting.values > 0])


def test_an_unhurried_system_serves_what_arrives_at_once():
    arrivals = poisson(ONE, 0.3, 400, count=2)
    data = simulate_open(ONE, arrivals=arrivals, record=("admitted", "queue", "completed"))
    assert np.array_equal(data.admitted, arrivals)
    assert np.array_equal(data.completed[:, 12:], arrivals[:, :-12])
    assert not np.any(data.queue)


def test_a_sweep_equals_its_runs_and_compiles_once():
    arrivals = poisson(ONE, 4.0, 120)
    caps = [0.5, 1.7, 3.25, np.inf]
    engine._rolled.clear_cache()  # pyright: ignore[reportAttributeAccessIssue]
    sweep = simulate_open(ONE, arrivals=arrivals, cap=caps, record=("evicted", "queue"))
    again = simulate_open(
        ONE, arrivals=arrivals, cap=[0.7, 1.0, 2.0, 9.0], record=["evicted", "queue"]
    )
    compiled = engine._rolled._cache_size()  # pyright: ignore[reportAttributeAccessIssue]
    assert compiled == 1
    assert not np.array_equal(sweep.evicted, again.evicted)
    for b, cap in enumerate(caps):
        alone = simulate_open(ONE, arrivals=arrivals, cap=cap, record=("evicted", "queue"))
        for name in ("evicted", "queue"):
            # XLA contracts a batch in another way than one run; the map at most doubles a
            # difference over the 12 iterations that a request stays, and then forgets it by LPF.
            np.testing.assert_allclose(sweep[name][b], alone[name][0], rtol=0, atol=1e-9)


def test_capacities_along_the_batch_equal_one_system_each():
    arrivals = poisson(ONE, 4.0, 24)
    model = class_model(ONE).with_capacity([300, 400, 500])
    sweep = simulate_open(model, arrivals=arrivals, start=equilibrium_state(model))
    for b, capacity in enumerate((300, 400, 500)):
        one = class_model(System(ONE.workload, capacity))
        alone = simulate_open(one, arrivals=arrivals, start=equilibrium_state(one))
        # 24 iterations of some 20 roundings of numbers below 500.
        np.testing.assert_allclose(
            sweep.final_state[b], alone.final_state[0], rtol=0, atol=24 * 20 * 500 * EPS
        )


def test_windows_sum_flows_and_read_levels_at_their_end():
    arrivals = poisson(MIXED, 3.0, 24, count=2)
    fine = simulate_open(MIXED, arrivals=arrivals, record=OPEN_RECORDS)
    coarse = simulate_open(MIXED, arrivals=arrivals, record=OPEN_RECORDS, every=6)
    assert set(fine.data_vars) == {*OPEN_RECORDS, "final_state", "final_queue"}
    for name in OPEN_FLOWS:
        sums = fine[name].values.reshape(2, 4, 6, *fine[name].shape[2:]).sum(axis=2)
        np.testing.assert_allclose(coarse[name], sums, rtol=0, atol=24 * 20 * 300 * EPS)
    for name in OPEN_LEVELS:
        ends = fine[name].sel(iteration=[6, 12, 18, 24])
        np.testing.assert_allclose(coarse[name], ends, rtol=0, atol=24 * 20 * 300 * EPS)


def test_a_run_goes_on_from_where_another_ended():
    arrivals = poisson(MIXED, 3.0, 40)
    whole = simulate_open(MIXED, arrivals=arrivals)
    first = simulate_open(MIXED, arrivals=arrivals[:15])
    rest = simulate_open(
        MIXED, arrivals=arrivals[15:], start=first.final_state, queue=first.final_queue
    )
    for name in ("final_state", "final_queue"):
        np.testing.assert_allclose(whole[name], rest[name], rtol=0, atol=40 * 20 * 60 * EPS)


def test_starts_are_read_as_those_of_the_saturated_model():
    cohorts = np.linspace(0.5, 1.5, 15).reshape(3, 5)
    shares = [[float(c.share)] * c.decode_length for c in MIXED.workload.classes]
    by_class = np.zeros((3, 2, 5))
    for k, part in enumerate(shares):
        by_class[:, k, : len(part)] = part * cohorts[:, : len(part)]
    found = [
        simulate_open(MIXED, arrivals=np.ones((4, 2)), start=start).final_state
        for start in (cohorts, by_class)
    ]
    # p_k y_s is rounded once here; it is moved and scaled four times.
    np.testing.assert_allclose(*found, rtol=16 * EPS)


def test_one_iteration_is_a_run_of_its_own():
    whole = simulate_open(MIXED, arrivals=np.ones((2, 2)), cap=[1.0, 2.0])
    first = simulate_open(MIXED, arrivals=np.ones((1, 2)), cap=[1.0, 2.0])
    again = simulate_open(MIXED, arrivals=np.ones((1, 1, 2)), cap=[1.0, 2.0])
    np.testing.assert_array_equal(first.queue, whole.queue[:, :1])
    np.testing.assert_array_equal(again.queue, first.queue)


def test_times_in_queue_and_service_are_sums_of_levels():
    data = simulate_open(
        MIXED,
        arrivals=poisson(MIXED, 3.0, 20),
        record=("queue", "in_flight", "queue_time", "flight_time"),
    )
    assert np.array_equal(data.queue, data.queue_time)
    assert np.array_equal(data.in_flight, data.flight_time)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"arrivals": [[-1.0, 0.0]]}, "arrivals"),
        ({"arrivals": [[1.0]]}, "arrivals"),
        ({"arrivals": [1.0, 2.0]}, "arrivals"),
        ({"arrivals": np.zeros((0, 2))}, "arrivals"),
        ({"arrivals": "many"}, "arrivals"),
        ({"arrivals": [[np.inf, 0.0]]}, "arrivals"),
        ({"queue": [1.0, -1.0]}, "queue"),
        ({"queue": [1.0]}, "queue"),
        ({"cap": 0.0}, "cap"),
        ({"cap": np.nan}, "cap"),
        ({"cap": []}, "cap"),
        ({"cap": "x*"}, "cap"),
        ({"cap": [1.0, 2.0], "queue": np.ones((3, 2))}, "cap"),
        ({"start": np.full((2, 5), 50.0)}, "start"),
        ({"start": np.zeros((2, 4))}, "start"),
        ({"start": [[0, 0, 1.0, 0, 0], [0.0] * 5]}, "start"),
        ({"start": [[0, -1.0, 0, 0, 0], [0.0] * 5]}, "start"),
        ({"start": [[30.0, 0, 0, 0, 0], [0.0] * 5]}, "start"),
        ({"selection": "fifo"}, "selection"),
        ({"cap_on": "requests"}, "cap_on"),
        ({"blocked": "retry"}, "blocked"),
        ({"record": ["latency"]}, "record"),
        ({"every": 3}, "every"),
        ({"every": 0}, "every"),
        ({"every": True}, "every"),
        ({"model": cohort_model(MIXED)}, "model"),
    ],
)
def test_bad_input_is_named_in_one_line(changed, named):
    given = {"model": MIXED, "arrivals": np.ones((4, 2))} | changed
    with pytest.raises(InputError) as caught:
        simulate_open(given.pop("model"), **given)
    assert caught.value.argument == named
    assert "\n" not in str(caught.value)


def test_jax_is_left_as_it_was():
    simulate_open(ONE, arrivals=np.ones((3, 1)))
    assert not jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]
