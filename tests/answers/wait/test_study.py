"""The whole answer: what follows from its parts, and what it refuses."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from fluidkv.answers.wait.ahead import ahead
from fluidkv.answers.wait.runs import Comparison, PolicyRuns
from fluidkv.answers.wait.study import WaitAnswer, wait_study
from fluidkv.errors import InputError
from fluidkv.wait.model import PromptType, WaitSystem
from fluidkv.wait.theory.bounds import theorem_2_memory
from fluidkv.wait.theory.nested import check_nested
from fluidkv.wait.theory.thresholds import integer_thresholds

TENTH = Fraction(1, 10)
TWO = WaitSystem((PromptType(1, 1, 1), PromptType(1, 1, 2)), TENTH, TENTH)
MIXED = WaitSystem(
    [PromptType(Fraction(6, k), 8, output) for k, output in ((1, 4), (2, 9), (3, 30))],
    TENTH,
    Fraction(1, 20_000),
)
BUSY = MIXED.scaled(5)  # M* = 2,213, the least whole thresholds hold 3,039


def study(system: WaitSystem, capacity: int, **options) -> WaitAnswer:
    return wait_study(system, capacity, **{"simulate": False, **options})


def test_two_types_fill_nine_tokens():
    found = study(TWO, 9)
    assert found.equilibrium.memory == found.least.memory == 9
    assert found.equilibrium.per_stage == found.least.thresholds == (1, 1)
    assert found.fits
    assert found.fluid_fits
    assert found.reason is None
    assert found.chosen is found.least  # those with slack hold more than the nine
    assert found.chosen.strict == (False, False)
    assert found.most_rate == Fraction(20, 9)


def test_four_a_stage_hold_twelve():
    found = study(WaitSystem([PromptType(2, 1, 1)], 1, Fraction(1, 12)), 12)
    assert found.equilibrium.per_stage == (4,)
    assert found.equilibrium.memory == 12


def test_slack_is_taken_where_it_fits():
    found = study(TWO, 18)
    assert found.chosen is found.with_slack
    assert all(found.chosen.strict)
    assert found.chosen.memory <= 18


def test_a_capacity_below_balance_says_what_exceeds_it_and_what_would_fit():
    found = study(TWO, 8)
    assert not found.fits
    assert found.reason == "the balanced state holds M* = 9 tokens, the capacity is 8"
    assert found.bound is None
    assert found.rate_factor is None  # one of each type at each stage holds 9 already
    tight = study(BUSY, 2500)
    assert tight.fluid_fits
    assert not tight.fits
    assert tight.reason is not None
    assert "least whole thresholds hold" in tight.reason


def test_below_balance_a_full_batch_does_less_work_than_comes():
    """M / (d0 + d1 M) is the most work that an iteration of M tokens does in a unit of time."""
    for system in (TWO, MIXED, BUSY):
        least = study(system, 10**6).equilibrium.memory
        for capacity in (int(least), int(least) + 1, 10**6):
            work = capacity / (system.base + system.per_kv_token * capacity)
            assert study(system, capacity).fluid_fits == (work >= system.token_rate)


def test_the_rate_factor_is_the_last_that_fits():
    room = int(integer_thresholds(BUSY).memory) - 1
    factor = study(BUSY, room).rate_factor
    assert factor is not None
    assert 0 < factor < 1
    assert integer_thresholds(BUSY.scaled(factor)).memory <= room
    assert integer_thresholds(BUSY.scaled(factor + Fraction(1, 1000))).memory > room


def test_own_thresholds_are_held_against_the_constraints():
    found = study(TWO, 100, thresholds=(3, 3))
    assert found.given is not None
    assert found.chosen.thresholds == (3, 3)
    with pytest.raises(InputError, match=r"at least .* for type 1"):
        study(TWO, 100, thresholds=(1, 3))
    with pytest.raises(InputError, match="27 exceeds it by 17"):
        study(TWO, 10, thresholds=(3, 3))


@pytest.mark.parametrize("capacity", [40, 100, 10_000])
def test_nested_plans_satisfy_their_constraints_and_bound(capacity):
    found = study(TWO, capacity, unknown_lengths=True).nested
    assert found is not None
    assert found.best is not None
    for plan in (found.plan, found.best):
        assert check_nested(plan.segments, plan.thresholds, TENTH, TENTH) == ()
        again = theorem_2_memory(
            plan.segments, plan.thresholds, TENTH, TENTH * 10**6, Fraction(1, 100)
        )
        assert plan.bound.capacity == again.capacity
        assert plan.buffer >= again.upper - float(again.batch) - 1e-9  # a rounding of doubles
    assert found.best.bound.capacity <= found.plan.bound.capacity
    assert found.fits == (capacity >= found.best.bound.capacity)


def test_the_delta_that_a_capacity_grants_is_the_one_whose_bound_it_is():
    found = study(TWO, 100, unknown_lengths=True).nested
    assert found is not None
    granted = found.delta_at_capacity
    assert granted is not None
    assert 0 < granted < 1
    # From exact numbers to a double and back: the bound moves by parts in 10^12.
    for factor, fits in ((1 + 1e-9, True), (1 - 1e-9, False)):
        bound = theorem_2_memory(
            found.chosen.segments,
            found.chosen.thresholds,
            TENTH,
            TENTH * 10**6,
            Fraction(granted * factor),
        )
        assert (bound.upper <= 100) == fits


def test_best_segments_save_memory_where_outputs_are_many():
    types = [PromptType(Fraction(20, k), 10, 5 * k) for k in range(1, 25)]
    system = WaitSystem(types, TENTH, Fraction(1, 10**6))
    found = study(system, 10**6, unknown_lengths=True).nested
    assert found is not None
    assert found.best is not None
    assert len(found.best.segments) < len(found.plan.segments) == 24
    totals = [design.total for design in found.designs]
    assert found.best.bound.upper <= min(totals) * (1 + 1e-9)  # eta in a sweep is a float


def test_lower_rates_are_found_by_trying_them():
    system = WaitSystem([PromptType(40, 1, 1), PromptType(40, 1, 3)], TENTH, Fraction(1, 50_000))
    full = study(system, 10**6, unknown_lengths=True).nested
    assert full is not None
    room = full.chosen.bound.capacity - 1
    found = study(system, room, unknown_lengths=True).nested
    assert found is not None
    assert not found.fits
    factor = found.lower_rates
    assert factor is not None
    less = study(system.scaled(factor), room, unknown_lengths=True).nested
    assert less is not None
    assert less.fits


def test_own_segments_and_thresholds_of_nested_wait():
    found = study(MIXED, 10**5, unknown_lengths=True, segment_ends=(9, 30)).nested
    assert found is not None
    assert found.best is None
    assert found.given
    assert found.chosen.segments.ends == (9, 30)
    with pytest.raises(InputError, match=r"n_k > p_k n_\(k-1\)"):
        study(TWO, 100, unknown_lengths=True, thresholds=(8, 4))
    with pytest.raises(InputError, match="sum n S <= M: less by 3 tokens"):
        study(TWO, 30, unknown_lengths=True, thresholds=(7, 4))


def test_who_was_evicted_has_no_first_token_before_its_last():
    """One output each, in the memory of three: whoever completes has its first and last at once."""
    system = WaitSystem([PromptType(Fraction(3, 2), 1, 1)], 1, 0)
    found = study(system, 6, simulate=True, seeds=2, duration=300).runs
    assert found is not None
    running_first = found.policies[2]
    assert min(running_first.evictions) > 0
    assert running_first.ttft_mean == pytest.approx(running_first.latency_mean)
    assert running_first.ttft_p99 == pytest.approx(running_first.latency_p99)


def test_runs_have_the_paper_s_units():
    """One prompt type, l = l' = 1: every completed prompt counts one token, the first its last."""
    system = WaitSystem([PromptType(2, 1, 1)], 1, Fraction(1, 100))
    found = study(system, 200, simulate=True, seeds=2, duration=200).runs
    assert found is not None
    assert found.policies[0].name == "WAIT"
    for each in found.policies:
        assert each.ttft_mean == pytest.approx(each.latency_mean)
        assert each.ttft_p99 == pytest.approx(each.latency_p99)
        assert max(each.peak_memory) <= 200
        assert each.evictions == (0, 0)
        assert np.mean(each.throughput) == pytest.approx(2, rel=0.25)  # 200 prompts: 3.5 sigma


def test_wait_evicts_nobody_where_first_come_first_served_collapses():
    found = study(TWO, 9, simulate=True, seeds=2, duration=400).runs
    assert found is not None
    own, new_first, running_first = found.policies
    assert own.evictions == (0, 0)
    assert min(new_first.evictions) > 1000
    assert max(new_first.throughput) < 0.1 < min(running_first.throughput) < min(own.throughput)


def test_memory_of_wait_never_exceeds_its_thresholds():
    found = study(MIXED, 5000, simulate=True, seeds=2, duration=20)
    assert found.runs is not None
    assert max(found.runs.policies[0].peak_memory) <= found.chosen.memory


def test_runs_that_are_mostly_start_say_so():
    found = study(MIXED, 5000, simulate=True, seeds=1, duration=5).runs
    assert found is not None
    assert found.short
    assert max(study(MIXED, 5000).latency_at_least) > 5 / 4


def test_time_inside_is_the_mean_from_prefill_to_last_stage():
    """n l' / lambda, held against a run: admitted to last token, less the last iteration."""
    from fluidkv.wait.policy import Wait
    from fluidkv.wait.runs.arrivals import poisson_prompts
    from fluidkv.wait.runs.run import run_policy

    system = WaitSystem([PromptType(3, 2, 5)], TENTH, Fraction(1, 1000))
    found = study(system, 1000, thresholds=(2,))
    table = poisson_prompts(system, rng=1, count=3000)
    run = run_policy(table, Wait((2,)), clock=system.clock, backend="reference").isel(run=0)
    inside = (run.last_token - run.admitted).values[run.finished.values]
    iteration = float(found.chosen.iteration_time)
    # Some 1,500 batches at rate 3/2: five of them span 3.3 +- 0.04 on average.
    assert inside.mean() - iteration == pytest.approx(float(found.latency_at_least[0]), rel=0.06)


def test_longest_outputs_need_every_stage_but_the_first_of_each_segment():
    """(span - 1) n / r over the segments: 1 stage less of 2, and of 1."""
    found = study(TWO, 200, unknown_lengths=True, segment_ends=(1, 2), thresholds=(7, 4)).nested
    assert found is not None
    rates = found.chosen.segments.rates
    assert found.chosen.latency_at_least == 1 * 7 / rates[0] + 0 * 4 / rates[1]


def test_a_load_with_few_prompts_an_iteration_is_not_for_wait():
    rare = MIXED.scaled(Fraction(1, 100))
    tight = study(rare, 100)
    assert tight.fluid_fits
    assert tight.not_for_wait
    each = [type_.arrival_rate * tight.equilibrium.iteration_time for type_ in rare.types]
    assert tight.come_in_an_iteration == sum(each) / 3
    assert not study(BUSY, 2500).not_for_wait  # 2500 do not hold its thresholds, either
    assert not study(BUSY, 2500).fits


def test_runs_that_cannot_be_made_are_told():
    found = study(TWO, 2**30, simulate=True)
    assert found.runs is None
    assert found.not_simulated is not None
    assert found.not_simulated.argument == "capacity"
    assert study(TWO, 2**30).not_simulated is None


def _policy(name: str, throughput: float, latency: float, evictions: int) -> PolicyRuns:
    two = (latency, latency)
    return PolicyRuns(
        name, (throughput, throughput), two, two, two, two, (evictions, evictions), (9, 9), (0, 0)
    )


NAN = float("nan")


@pytest.mark.parametrize(
    ("own", "new_first", "running_first", "said"),
    [
        ((3, 8, 0), (3, 4, 0), (3, 4, 0),
         "Here nobody is evicted, and first come, first served is twice as fast."),
        ((3, 3, 0), (3, 4, 0), (3, 4, 0), "Here nobody is evicted, and WAIT is 1.3 times as fast."),
        ((3, 8, 0), (0, NAN, 9), (3, 4, 0),
         "Here FCFS, running first evicts nobody, either, and it is twice as fast."),
        ((3, 2, 0), (0, NAN, 9), (2, 4, 5),
         "Here WAIT evicts nobody and completes 50% more tokens than FCFS, running first, at 0.5 "
         "times its mean latency."),
        ((1, 2, 0), (0, NAN, 9), (2, 4, 5),
         "Here WAIT evicts nobody and completes 50% fewer tokens than FCFS, running first, at 0.5 "
         "times its mean latency."),
        ((0, NAN, 0), (2, 4, 0), (2, 4, 0),
         "Here WAIT completes no prompt in the second halves; first come, first served does, and "
         "evicts nobody."),
        ((2, 8, 3), (2, 4, 0), (2, 4, 0),
         "Here WAIT itself evicts, for its thresholds do not fit; first come, first served evicts "
         "nobody, and it is twice as fast."),
        ((1, 8, 3), (0, NAN, 9), (2, 4, 1),
         "Here WAIT itself evicts, for its thresholds do not fit; FCFS, running first evicts, too, "
         "and WAIT completes 50% fewer tokens than FCFS, running first, at 2 times its mean "
         "latency."),
    ],
)  # fmt: skip
def test_who_is_ahead(own, new_first, running_first, said):
    rows = (
        _policy("WAIT", *own),
        _policy("FCFS, new first", *new_first),
        _policy("FCFS, running first", *running_first),
    )
    assert ahead(Comparison(10.0, (5, 5), False, False, rows)) == said


def test_what_differs_from_run_to_run_is_no_difference():
    own = replace(_policy("WAIT", 3, 4, 0), throughput=(2.0, 4.0), latency_mean=(3.0, 6.0))
    other = _policy("FCFS, running first", 3, 4, 0)
    runs = Comparison(10.0, (5, 5), False, False, (own, other))
    assert "differs from run to run" in ahead(runs)
    evicting = replace(runs, policies=(own, replace(other, evictions=(1, 2))))
    assert "completes about as many tokens" in ahead(evicting)


def test_a_load_that_nobody_serves_and_a_prompt_that_does_not_fit():
    with pytest.raises(InputError, match=r"below 2\.22222 .* is 1\.8 and must be below 1"):
        study(TWO.scaled(2), 9)
    with pytest.raises(InputError, match="at least 3 tokens, the largest prompt"):
        study(TWO, 2)
    several = WaitSystem([PromptType(1, 1, 1), PromptType(1, 2, 2)], TENTH, Fraction(1, 100))
    with pytest.raises(InputError, match="one input length"):
        study(several, 50, unknown_lengths=True)
