"""How literal runs end: at a horizon, without prompts, or in a cycle; and what they count."""

import math

import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.runs.batch import Watch
from fluidkv.runs.records import Outcome
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.wait.policy import NestedWait, Policy, Wait
from fluidkv.wait.runs.literal import NO_LIMIT, run_literally
from fluidkv.wait.runs.reference import COUNTS, WaitEngine
from fluidkv.wait.runs.run import run_policy
from tests.wait.runs.tables import LONGEST, Case, cases

TICK = IterationClock(1.0)
SHORT = st.integers(LONGEST + 6, LONGEST + 12)
"""Memories that hold the largest prompt, and not much more."""


def preempt(outcome: Outcome) -> list[int]:
    return outcome.counts[:, COUNTS.index("preempt")].tolist()


def evictions(outcome: Outcome) -> list[int]:
    assert outcome.requests is not None
    return outcome.requests.evictions.tolist()


@given(cases(), SHORT, st.sampled_from([math.inf, 1.0, 2.0, 4.5, 9.0]))
def test_every_eviction_of_a_prompt_is_one_of_an_iteration(case: Case, capacity, horizon):
    found = run_literally(*case, capacity, horizon=horizon, iterations=200)  # some never end
    assert sum(preempt(found)) == sum(evictions(found))


def test_nobody_is_evicted_at_the_horizon():
    """Prompts of 3 tokens, one more an iteration. At 2 two of them would hold 5 + 4 of 8 tokens.

    The run that ends there leaves both as they are; one that goes on evicts the second.
    """
    at, later = (
        run_literally(
            Requests([3] * 3, [2] * 3), Wait([1]), TICK, 8, horizon=end, iterations=NO_LIMIT
        )
        for end in (2.0, 2.5)
    )
    assert (preempt(at), preempt(later)) == ([0, 0], [0, 0, 1])
    assert (evictions(at), evictions(later)) == ([0, 0, 0], [0, 1, 0])
    assert at.requests is not None
    assert at.requests.outputs.tolist() == [1, 0, 0]
    assert not at.stuck


def test_evictions_after_the_last_iteration_count_in_it():
    """A of type 0 pauses with 3 of 5 tokens. B of type 1 has 2 and needs 3: it is evicted.

    C of type 1, which made it go on, needs 4, and never enters either.
    """
    table = Requests([3, 2, 4], [1, 1, 1], class_index=[0, 1, 1])
    found = run_literally(table, Wait([1, 1]), TICK, 5, horizon=math.inf, iterations=NO_LIMIT)
    assert found.stuck
    assert (preempt(found), evictions(found)) == ([1], [0, 1, 0])


@given(cases(), SHORT, st.sampled_from([0.5, 2.0, 4.5, 9.0]))
def test_with_a_memory_and_a_horizon_the_engines_agree(case: Case, capacity, horizon):
    """Also where what would start at the horizon does not fit: nobody looks at that any more."""
    options = {"clock": case.clock, "capacity": capacity, "horizon": horizon}
    literal = run_policy(case.requests, case.policy, **options, backend="reference")
    fast = run_policy(case.requests, case.policy, **options)
    xr.testing.assert_identical(fast, literal)


@pytest.mark.parametrize(
    ("inputs", "outputs", "types", "policy", "capacity", "before", "period"),
    [
        ([1, 1, 1], [4, 2, 2], [0, 0, 0], NestedWait([1, 4], [1, 1]), 5, 4, 2),
        ([4, 2, 3, 1, 3], [1, 4, 4, 4, 3], [1, 0, 0, 0, 0], Wait([2, 1]), 9, 0, 20),
    ],
    ids=["after a start that does not return", "long"],
)
def test_a_cycle_is_found(inputs, outputs, types, policy: Policy, capacity, before, period):
    """Whatever comes before it, and however long it is."""
    table = Requests(inputs, outputs, class_index=types)

    def give_up(iterations: int, _: int) -> None:
        if iterations == 256:  # many cycles, after which a run tells its progress
            pytest.fail("the cycle was not found")

    engine, states = WaitEngine(table, policy, TICK, capacity), []
    for _ in range(before + period + 1):
        assert engine.step() is not None
        states.append(
            [[(p.index, p.stage) for p in who] for who in (engine.inside, engine.waiting)]
        )
    assert states[before] == states[-1]
    assert all(states.count(state) == 1 for state in states[:-1] if state != states[-1])
    assert states.count(states[-1]) == 2
    options = {"horizon": math.inf, "iterations": NO_LIMIT, "watch": Watch(give_up)}
    assert run_literally(table, policy, TICK, capacity, **options).stuck
