"""Prefill on WAIT's clock: what d2 adds to a batch, and who keeps up where the load says so."""

from fractions import Fraction

import numpy as np
import pytest

from fluidkv.runs.requests import Requests
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.wait.model import PromptType, WaitSystem
from fluidkv.wait.policy import NestedWait, Wait
from fluidkv.wait.runs.arrivals import poisson_prompts
from fluidkv.wait.runs.run import run_policy
from fluidkv.wait.runs.stages import engine_requests, fcfs
from fluidkv.wait.segments import Segments
from fluidkv.wait.theory.fluid import fluid_equilibrium
from fluidkv.wait.theory.nested import nested_time
from fluidkv.wait.theory.thresholds import integer_thresholds, iteration_time

TYPES = [PromptType(2, 6, 2), PromptType(1, 6, 5)]
SYSTEM = WaitSystem(TYPES, Fraction(1, 2), Fraction(1, 512), Fraction(1, 64))


def crowd(size: int) -> Requests:
    """All wait from the start, both types in turn: every batch is full once it has begun."""
    outputs = np.tile([2, 5], size // 2)
    return Requests(6, outputs, class_index=np.tile([0, 1], size // 2))


@pytest.mark.parametrize("backend", ["kernel", "reference"])
def test_a_full_batch_lasts_as_long_as_the_theory_says(backend):
    """Every number is a sum of powers of two, so that floats are exact."""
    run = run_policy(crowd(80), Wait([3, 2]), clock=SYSTEM.clock, backend=backend)
    lasts = np.diff(run.time.values[0])
    full = int(run.running.values[0].max())
    assert full == 3 * 3 + 2 * 6
    whole = lasts[run.running.values[0, 1:] == full]
    assert whole.size > 3
    assert set(whole) == {float(iteration_time(SYSTEM, (3, 2)))}
    segments = Segments.of(SYSTEM)
    nested = run_policy(
        crowd(80), NestedWait(segments.ends, [4, 1]), clock=SYSTEM.clock, backend=backend
    )
    full = int(nested.running.values[0].max())
    lasts = np.diff(nested.time.values[0])[nested.running.values[0, 1:] == full]
    clock = SYSTEM.base, SYSTEM.per_kv_token, SYSTEM.per_prefill_token
    assert float(nested_time(segments, (4, 1), *clock)) in lasts


@pytest.mark.parametrize("load", [Fraction(9, 10), Fraction(11, 10)])
def test_the_load_with_prefill_says_who_keeps_up(load):
    """A third of it is held, the rest prefill: d1 alone would say that both keep up."""
    d1, d2 = load / 3 / SYSTEM.token_rate, 2 * load / 3 / SYSTEM.prefill_rate
    system = WaitSystem(TYPES, Fraction(1, 2), d1, d2)
    assert system.load == load
    if load < 1:
        n = [int(k) for k in integer_thresholds(system, strict=True).thresholds]
    else:
        n = [60, 30]  # in proportion to the rates, far above what a lower load needs
    table = poisson_prompts(system, rng=5, count=9000)
    run = run_policy(table, Wait(n), clock=system.clock, horizon=float(table.arrival[-1]))
    done = int(run.completed.sum()) / len(table)
    if load < 1:
        assert done > 0.97
        lasts = np.diff(run.time.values[0])
        # Who is let in waits for its batch, so that batches are full and last Delta T(n) at most.
        assert lasts.mean() >= float(fluid_equilibrium(system).iteration_time) * 0.97
    else:
        # d0 goes besides: at most 1 / load of the prompts can be served.
        assert done < float(1 / load)


def test_engines_of_first_come_first_served_pay_the_same_for_prefill():
    """Two prompts of 6 tokens at once: the first iteration computes both, under either."""
    table = Requests([6, 6], [3, 3])
    own = run_policy(table, Wait([2]), clock=SYSTEM.clock)
    for new_first in (True, False):
        rules = fcfs(new_first=new_first)
        run = serve(
            engine_requests(table), Server(rules, Limits(99), clock=SYSTEM.clock), iterations=1
        )
        assert run.prefill_tokens.values[0, 0] == 12
        assert run.time.values[0, 0] == own.time.values[0, 0] == 0.5 + 12 / 512 + 12 / 64
