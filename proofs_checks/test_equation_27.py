"""Congestion, equations (27) and (40) to (42): the waste decomposition and completion windows.

Both are stated for limit cycles; they hold along every trajectory on the memory boundary, the first
with the memory-time in flight at both ends. Exact arithmetic; the cases are a sample.
"""

from hypothesis import given
from hypothesis import strategies as st

from fluidkv.exact.mass import iterate
from fluidkv.exact.one_class.trajectory import trajectory
from fluidkv.exact.one_class.waste import waste
from tests.strategies import homogeneous_systems, systems_with_states

one_class = systems_with_states(systems=homogeneous_systems)


@given(one_class, st.integers(1, 30))
def test_memory_time_adds_up(system_and_state, iterations):
    system, state = system_and_state
    only = system.workload.classes[0]
    states = trajectory(system, state[0], iterations=iterations)
    account = waste(states, system)
    lifetime = sum(only.input_length + 1 + j for j in range(only.decode_length))
    completed = sum(x[-1] for x in states[:-1])
    in_flight = account.in_flight_after - account.in_flight_before
    assert iterations * system.capacity == completed * lifetime + account.evicted + in_flight
    assert account.evicted >= 0


@given(one_class, st.integers(1, 6))
def test_memory_time_adds_up_with_the_evictions_of_the_literal_model(system_and_state, iterations):
    """Nothing here is read off a difference of states, so a wrong eviction does not cancel."""
    system, state = system_and_state
    only = system.workload.classes[0]
    weights = [only.input_length + 1 + j for j in range(only.decode_length)]
    spent = [sum(weights[:j]) for j in range(only.decode_length + 1)]  # before stage j

    def in_flight(x):
        return sum((spent[j] + weights[j]) * mass for j, mass in enumerate(x))

    now, used, evicted, completed = state, 0, 0, 0
    for _ in range(iterations):
        step = iterate(system, now)
        evicted += sum(spent[j] * mass for j, mass in enumerate(step.evicted[0]))
        completed += step.completed[0]
        now = step.state
        used += sum(w * x for w, x in zip(weights, now[0], strict=True))
    assert used == completed * sum(weights) + evicted + in_flight(now[0]) - in_flight(state[0])


@given(one_class)
def test_completion_windows(system_and_state):
    system, state = system_and_state
    only = system.workload.classes[0]
    l1 = only.decode_length
    least = system.capacity / (only.input_length + l1)
    states = trajectory(system, state[0], iterations=12 + l1)
    for n in range(12):
        completed = sum(x[-1] for x in states[n : n + l1])
        in_flight = sum(states[n])
        assert in_flight >= least  # (41)
        assert completed >= least  # (40)
        if states[n][-1] > 0 and in_flight > least:
            assert completed > least  # (42)
