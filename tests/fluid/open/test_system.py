"""Runs of the open mass model: limits, conservation, sweeps, records, bad input.

Most are of four runs of 24 iterations, with all records: one compiled function for each rule.
"""

from fractions import Fraction
from typing import Any

import jax
import numpy as np
import pytest
import xarray as xr

from fluidkv.errors import InputError
from fluidkv.exact.open_mass import iterate_open
from fluidkv.fluid import batches as engine
from fluidkv.fluid import class_model, cohort_model, perturbed_starts, simulate
from fluidkv.fluid.open.arrivals import class_rates, poisson_arrivals
from fluidkv.fluid.open.system import simulate_open
from fluidkv.fluid.quantities import QUANTITIES
from fluidkv.systems import Systems
from fluidkv.workload import RequestClass, System, Workload
from tests.small_systems import one_class

EPS = np.finfo(np.float64).eps
ONE = one_class(10, 12, 400)
MIXED = System(
    Workload((RequestClass(3, 2, Fraction(1, 3)), RequestClass(1, 5, Fraction(2, 3)))), 60
)
RUNS, ITERATIONS = 4, 24
ROUNDING = ITERATIONS * 20 * 300 * EPS  # of some twenty operations an iteration, on numbers < 300


def poisson(system: System, rate: float, iterations: int, count: int | None = None) -> np.ndarray:
    rates = class_rates(system.workload, np.full(iterations, rate))
    return poisson_arrivals(jax.random.key(0), rates, count=count)


ARRIVALS = poisson(MIXED, 6.0, ITERATIONS, RUNS)


def run(arrivals: np.ndarray = ARRIVALS, **options: Any) -> xr.Dataset:
    chosen: dict[str, Any] = {"record": QUANTITIES} | options
    return simulate_open(MIXED, arrivals=arrivals, **chosen)


def test_with_a_long_queue_it_is_the_saturated_model():
    # Proportions are kept by the rule "shares"; the queue's own rounding does not reach them.
    starts = perturbed_starts(jax.random.key(3), MIXED, count=RUNS, size=0.8)
    want = simulate(MIXED, starts, iterations=ITERATIONS, record=("state", "evicted"))
    queue = 1e6 * class_model(MIXED).shares
    got = run(0 * ARRIVALS, queue=queue, start=starts, selection="shares")
    assert float(want.evicted.sum()) > 0
    for name in ("state", "evicted"):
        # Two compilations of the same map, whose growth at most doubles a rounding.
        np.testing.assert_allclose(got[name], want[name], rtol=0, atol=2 * ROUNDING)


@pytest.mark.daily(2)
@pytest.mark.parametrize("blocked", ["wait", "lost"])
@pytest.mark.parametrize("selection", ["queued", "shares"])
def test_no_request_appears_or_vanishes(blocked, selection):
    data = run(blocked=blocked, selection=selection)
    left = data.completed.cumsum("iteration") + data.lost.cumsum("iteration")
    inside = data.queue + data.in_flight
    assert np.array_equal(data.arrived, ARRIVALS)
    np.testing.assert_allclose(left + inside, ARRIVALS.cumsum(axis=1), rtol=0, atol=ROUNDING)


def test_memory_never_exceeds_capacity_and_eviction_is_followed_by_no_admission():
    data = run()
    assert float(data.memory.max()) <= 60 * (1 + 14 * EPS)  # a sum of seven products
    assert float(data.evicting.sum()) > 0
    assert not np.any(data.admitted.values[data.evicting.values > 0])


def test_an_unhurried_system_serves_what_arrives_at_once():
    arrivals = (ARRIVALS > 4).astype(float)
    data = run(arrivals)
    assert np.array_equal(data.admitted, arrivals)
    for k, stages in enumerate((2, 5)):
        assert np.array_equal(data.completed[:, stages:, k], arrivals[:, :-stages, k])
    assert arrivals.any()
    assert not np.any(data.queue)


def test_a_sweep_equals_its_runs_and_compiles_once():
    arrivals, record = poisson(ONE, 4.0, 120), ("evicted", "queue")
    caps = [0.5, 1.7, 3.25, np.inf]
    engine._rolled.clear_cache()  # pyright: ignore[reportAttributeAccessIssue]
    sweep = simulate_open(ONE, arrivals=arrivals, cap=caps, record=record)
    again = simulate_open(ONE, arrivals=arrivals, cap=[0.7, 1.0, 2.0], record=[*record])
    assert engine._rolled._cache_size() == 1  # pyright: ignore[reportAttributeAccessIssue]
    assert not np.array_equal(sweep.evicted[:3], again.evicted)
    for b, cap in enumerate(caps):
        alone = simulate_open(ONE, arrivals=arrivals, cap=cap, record=record)
        for name in record:
            # XLA contracts a batch in another way than one run; the map at most doubles a
            # difference over the 12 iterations that a request stays, and then forgets it by LPF.
            np.testing.assert_allclose(sweep[name][b], alone[name][0], rtol=0, atol=1e-9)


def test_capacities_along_the_batch_equal_one_system_each():
    arrivals, record = poisson(ONE, 4.0, 120), ("evicted", "queue")
    model = class_model(ONE).with_capacity([300, 400, 500])
    starts = model.equilibrium()
    sweep = simulate_open(model, arrivals=arrivals, start=starts, record=record)
    for b, capacity in enumerate((300, 400, 500)):
        one = System(ONE.workload, capacity)
        start = class_model(one).equilibrium()
        alone = simulate_open(one, arrivals=arrivals, start=start, record=record)
        np.testing.assert_allclose(sweep.queue[b], alone.queue[0], rtol=0, atol=1e-9)


def test_windows_sum_flows_and_read_levels_at_their_end():
    fine, coarse = run(), run(every=6)
    assert set(fine.data_vars) == {*QUANTITIES, "final_state", "final_queue"}
    levels = ("queue", "memory", "executed_memory", "in_flight", "empty_stages", "state")
    for name in QUANTITIES:
        windows = fine[name].values.reshape(RUNS, 4, 6, *fine[name].shape[2:])
        want = windows[:, :, -1] if name in levels else windows.sum(axis=2)
        np.testing.assert_allclose(coarse[name], want, rtol=0, atol=ROUNDING)
    assert np.array_equal(fine.queue, fine.queue_time)
    assert np.array_equal(fine.in_flight, fine.flight_time)
    assert np.array_equal(fine.state[:, -1], fine.final_state)


def test_a_run_goes_on_from_where_another_ended():
    first = run(ARRIVALS[:, :12])
    rest = run(ARRIVALS[:, 12:], start=first.final_state, queue=first.final_queue)
    for name, whole in run()[["final_state", "final_queue"]].items():
        np.testing.assert_allclose(whole, rest[name], rtol=0, atol=ROUNDING)


def test_starts_are_read_as_those_of_the_saturated_model():
    cohorts = np.linspace(0.5, 1.5, 20).reshape(RUNS, 5)
    by_class = np.zeros((RUNS, 2, 5))
    for k, each in enumerate(MIXED.workload.classes):
        stages = each.decode_length
        by_class[:, k, :stages] = float(each.share) * cohorts[:, :stages]
    found = [run(start=start).final_state for start in (cohorts, by_class)]
    # p_k y_s is rounded once here; it is moved and scaled as often as there are iterations.
    np.testing.assert_allclose(*found, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("cap_on", ["total", "class"])
def test_one_iteration_is_a_run_of_its_own(cap_on):
    rules: dict[str, Any] = {"cap": [1.0, 2.0], "cap_on": cap_on, "record": "queue"}
    first, again = run(np.ones((1, 2)), **rules), run(np.ones((1, 1, 2)), **rules)
    np.testing.assert_array_equal(again.queue, first.queue)
    empty = [[0] * 2, [0] * 5]
    for b, cap in enumerate((1, 2)):
        step = iterate_open(MIXED, empty, [0, 0], [1, 1], cap=Fraction(cap), cap_on=cap_on)
        wanted = [float(q) for q in step.queue]
        np.testing.assert_allclose(first.queue[b, 0], wanted, rtol=0, atol=4 * EPS)


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
        ({"model": class_model(Systems.of([MIXED, MIXED]))}, "model"),
    ],
)
def test_bad_input_is_named_in_one_line(changed, named):
    given = {"model": MIXED, "arrivals": np.ones((4, 2))} | changed
    with pytest.raises(InputError, match=f"^{named}: "):
        simulate_open(given.pop("model"), **given)


def test_jax_is_left_as_it_was():
    simulate_open(ONE, arrivals=np.ones((3, 1)))
    assert not jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]
