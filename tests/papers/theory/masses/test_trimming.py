"""The mass model under other victims: the paper's own is one of them, and nobody is lost."""

from fractions import Fraction
from itertools import islice

import pytest

from fluidkv.exact import mass
from fluidkv.serving.rules import Keeps
from fluidkv.workload import RequestClass, System, Workload
from fluidkv_papers.theory.masses import Masses, Server, Trim, first_eviction, moved, nudged

_HALF, _NUDGES = Fraction(1, 2), [Fraction(n, 7) for n in (7, -6, 3, 2, -5)]


def _system(*classes: tuple[int, int], capacity: int = 1000) -> System:
    share = Fraction(1, len(classes))
    return System(Workload(tuple(RequestClass(i, o, share) for i, o in classes)), capacity)


ONE = _system((2, 4))
GROWING = _system((5, 3), (2, 6))
SYSTEMS = [ONE, _system((10, 7)), GROWING, _system((1, 4), (9, 2))]


def _start(system: System) -> Masses:
    return nudged(system, _NUDGES, Fraction(1, 5))


def _states(server: Server, state: Masses, iterations: int) -> list[Masses]:
    states, queue = [state], ()
    for _ in range(iterations):
        step = moved(server, states[-1], queue)
        queue = step.queue
        states.append(step.state)
    return states


@pytest.mark.parametrize("system", SYSTEMS)
def test_least_progressed_that_lose_all_are_the_papers_model(system: System) -> None:
    start = _start(system)
    exact = [[Fraction(x) for x in row] for row in start]
    theirs = list(islice(mass.iterates(system, exact), 40))
    assert _states(Server(system), start, 39) == theirs


@pytest.mark.parametrize("trim", Trim)
@pytest.mark.parametrize("keeps", Keeps)
def test_memory_is_full_and_requests_are_conserved(trim: Trim, keeps: Keeps) -> None:
    server = Server(GROWING, trim, keeps)
    state, queue = _start(GROWING), ()
    for _ in range(30):
        step = moved(server, state, queue)
        before = sum(map(sum, state)) + sum(m for _, m in queue)
        after = sum(map(sum, step.state)) + sum(m for _, m in step.queue)
        lost = step.evicted if keeps is Keeps.NOTHING else 0
        assert after == before - sum(step.completed) - lost + step.admitted
        assert server.memory(step.state) == GROWING.capacity
        assert all(x >= 0 for row in step.state for x in row)
        state, queue = step.state, step.queue


@pytest.mark.parametrize("trim", Trim)
def test_floats_follow_rationals(trim: Trim) -> None:
    server, start = Server(GROWING, trim, Keeps.OUTPUTS), _start(GROWING)
    exact = _states(server, start, 12)[-1]
    floats = _states(server, [[float(x) for x in row] for row in start], 12)[-1]
    # A dozen steps of some ten roundings each, and a motion that is neutral or grows by a tenth.
    assert floats == [pytest.approx([float(x) for x in row], abs=1e-9) for row in exact]


def test_in_proportion_takes_the_same_share_of_each() -> None:
    server = Server(ONE, Trim.IN_PROPORTION)
    state: Masses = [[Fraction(0), Fraction(0), Fraction(200), Fraction(0)]]
    step = moved(server, state)
    assert step.evicted == 200 - Fraction(1000, 6)
    two: Masses = [[Fraction(0), Fraction(100), Fraction(100), Fraction(0)]]
    kept = moved(server, two).state[0]
    assert kept[2] == kept[3] == Fraction(1000, 11)


def test_a_cap_and_a_watermark_hold_back_new_requests() -> None:
    empty: Masses = [[Fraction(0)] * 4]
    assert moved(Server(ONE, cap=7), empty).admitted == 7
    step = moved(Server(ONE, watermark=Fraction(1, 10)), empty)
    assert Server(ONE).memory(step.state) == 900


def test_who_is_cut_off_comes_back_before_anybody_new() -> None:
    server = Server(ONE, keeps=Keeps.OUTPUTS)
    step = moved(server, [[Fraction(0), Fraction(0), Fraction(180), Fraction(0)]])
    assert step.evicted > 0
    assert step.admitted == 0
    again = moved(server, step.state, step.queue)
    assert again.recomputed > 0
    assert again.completed == [step.state[0][3]]


@pytest.mark.parametrize("keeps", Keeps)
@pytest.mark.parametrize("system", [ONE, GROWING])
def test_no_rule_is_told_from_another_before_memory_runs_short(
    system: System, keeps: Keeps
) -> None:
    start = nudged(system, _NUDGES, Fraction(1, 100))
    ends = {first_eviction(Server(system, t, keeps), start, iterations=300) for t in Trim}
    (end,) = ends
    assert end is not None
    assert end > 5
    runs = [_states(Server(system, t, keeps), start, end) for t in Trim]
    assert all(run == runs[0] for run in runs)
