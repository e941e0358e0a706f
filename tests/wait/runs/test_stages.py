"""First come, first served: the paper's examples, by two counts, by the engine, and by hand."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.runs.requests import Requests
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.wait.model import PromptType, WaitSystem
from fluidkv.wait.runs.stages import LPF, engine_requests, fcfs
from fluidkv.wait.theory.fluid import fluid_equilibrium
from fluidkv_papers.wait.instances.fcfs import (
    PROPOSITION_3,
    PROPOSITION_3_MEMORY,
    Counts,
    batch_tokens,
    example_2,
    fate,
    fates,
    play,
    poisson_weight,
    safe_arrivals,
)

BOTH = pytest.mark.parametrize("new_first", [False, True], ids=["running-first", "new-first"])
EXAMPLE_2 = {"arrivals": 4, "capacity": 12}


# ------------------------------------------------------------------------------- the same table


def test_tokens_of_an_iteration_are_those_of_the_paper():
    """A prompt (3, 2) holds 3, 4 and 5 at stages 0, 1 and 2; its iterations last 1 + tokens."""
    system = WaitSystem((PromptType(1, 3, 2),), 1, 1)
    run = serve(engine_requests(Requests([3], [2])), Server("vllm", Limits(9), clock=system.clock))
    assert run.kv_tokens.values[0].tolist() == [3, 4, 5]
    assert run.time.values[0, -1] == 3 + system.types[0].lifetime_cost


def test_the_other_columns_stay():
    before = Requests([3, 4], [2, 1], arrival=[0, 7], max_output=[5, 1], class_index=[1, 0])
    after = engine_requests(before)
    assert after.output_length.tolist() == [3, 2]
    assert after.max_output.tolist() == [6, 2]
    for name in ("input_length", "arrival", "class_index"):
        assert getattr(after, name).tolist() == getattr(before, name).tolist()


# ---------------------------------------------------------------------------- Examples 1 and 2


def by_the_engine(arrivals: np.ndarray, *, new_first: bool):
    """Example 2's start, 6 that wait and 3 that decode, through `serve`."""
    times = np.repeat(np.arange(1, arrivals.size + 1), arrivals)
    ones = np.ones(9 + times.size, np.int64)
    table = engine_requests(Requests(ones, ones, arrival=np.concatenate([np.zeros(9), times])))
    rules = fcfs(new_first=new_first)
    return serve(table, Server(rules, Limits(12)), iterations=arrivals.size, start=[1] * 3)


@BOTH
@pytest.mark.parametrize("seed", [None, 0, 1])
def test_two_counts_are_the_engine_s_run(new_first, seed):
    """None: the example's 4 an iteration; else Poisson ones."""
    size = 60
    arrivals = np.full(size, 4)
    if seed is not None:
        arrivals = np.random.default_rng(seed).poisson(4, size)
    ours = example_2(arrivals[:, None], new_first=new_first)
    run = by_the_engine(arrivals, new_first=new_first)
    for mine, theirs in (
        (ours.completed, run.completed),
        (ours.evicted, run.preempt),
        (ours.waiting, run.waiting),
    ):
        assert mine[:, 0].tolist() == theirs.values[0].tolist()


def test_iterations_1_to_3_are_as_printed_where_newcomers_go_first():
    """3 complete; 2 are evicted for 4 newcomers and 4 complete; then it goes on differently.

    The two who were evicted and four newcomers come before four that decode: 6 + 2 * 3 = 12.
    """
    found = example_2(np.full((3, 1), 4), new_first=True)
    assert found.completed[:, 0].tolist() == [3, 4, 3]
    assert found.evicted[:, 0].tolist() == [0, 2, 1]


def test_the_first_five_iterations_complete_3_to_3_5_on_average_and_then_nobody_does():
    """All that is 3 to 3.5 in it are means from the start to iterations 1 to 5."""
    found = example_2(np.full((30, 1), 4), new_first=True).completed[:, 0]
    means = [Fraction(int(found[:n].sum()), n) for n in range(1, 31)]
    assert [3 <= mean <= Fraction(7, 2) for mean in means] == [True] * 5 + [False] * 25
    assert found[8:].tolist() == [0] * 22
    assert fate(Counts(6, 3), **EXAMPLE_2, new_first=True).throughput == 0


def test_with_decodes_first_three_are_completed_an_iteration():
    """A quarter less than 4. Six are done in every other iteration, as many are evicted."""
    found = fate(Counts(6, 3), **EXAMPLE_2, new_first=False)
    assert (found.completed, found.evicted, found.period, found.growth) == (6, 6, 2, 2)
    assert found.throughput == 3


@BOTH
def test_a_start_is_calm_at_once_or_never(new_first):
    """One eviction, and the cycle is there for good; else 4 are completed an iteration.

    Which starts are calm: everyone fits now and in the next iteration, with the four who come; or
    with decodes first, four that decode, however many wait.
    """
    found = fates(**EXAMPLE_2, new_first=new_first, most_waiting=60)
    calm = {start for start, its in found.items() if its.evicted == 0}
    assert all(found[start].evictions == 0 for start in calm)
    assert {its.throughput for start, its in found.items() if start in calm} == {4}
    worst = {its[1:] for start, its in found.items() if start not in calm}
    assert worst == ({(0, 12, 1, 4)} if new_first else {(6, 6, 2, 2)})

    def fits(start: Counts) -> bool:
        here = start.waiting + 2 * start.decoding <= 12 and 4 + 2 * start.waiting <= 12
        return bool(here or (not new_first and start.decoding == 4))

    assert calm == {start for start in found if fits(start)}


@BOTH
def test_a_longer_queue_has_the_fate_of_24(new_first):
    """Whatever decodes, the queue then stays at 12 or more until the cycle is there."""
    for decoding in range(13):
        fates_of = [
            fate(Counts(queue, decoding), **EXAMPLE_2, new_first=new_first)
            for queue in (24, 60, 10**6)
        ]
        assert len(set(fates_of)) == 1


@BOTH
def test_poisson_arrivals_end_like_constant_ones(new_first):
    """50 runs of 2,000 iterations, from the example's start.

    With decodes first a run may come to four that decode beside a long queue, and is calm for good.
    """
    arrivals = np.random.default_rng(0).poisson(4, (2000, 50))
    late = example_2(arrivals, new_first=new_first).completed[1000:].mean(axis=0)
    if new_first:
        assert not late.any()
    else:
        assert set(late.tolist()) <= {3.0, 4.0}
        assert np.median(late) == 3


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: play(Counts(1, 1), capacity=1, new_first=True), "capacity"),
        (lambda: fate(Counts(3, 2), arrivals=1, capacity=True, new_first=True), "capacity"),
        (lambda: batch_tokens((1, 1), batches=0), "batches"),
    ],
)
def test_what_no_server_can_hold_is_refused(make, argument):
    with pytest.raises(InputError, match=f"^{argument}: "):
        make()


# ------------------------------------------------------------------------------- Proposition 3


def test_the_instance_is_the_equilibrium_of_one_prompt_a_stage():
    """d0 = d1 = 1 and 1/10 of each type per unit of time: tau* = 10."""
    types = (PromptType(Fraction(1, 10), *lengths) for lengths in PROPOSITION_3)
    found = fluid_equilibrium(WaitSystem(types, 1, 1))
    assert found.per_stage == (1, 1)
    assert found.memory == PROPOSITION_3_MEMORY
    assert batch_tokens((1, 1), batches=5, later=(1, 1)) == [PROPOSITION_3_MEMORY] * 5


def test_at_most_two_newcomers_fit_the_next_two_batches():
    """7 + A tokens; then 3 + 2 A + B of the later ones, if these are the mean or none."""
    pairs = {(0, 0), (0, 1), (1, 0), (0, 2), (1, 1), (2, 0)}
    for later in ((0, 0), (1, 1)):
        assert safe_arrivals(batches=1, later=later) == pairs
        assert safe_arrivals(batches=2, later=later) == pairs
    assert poisson_weight(frozenset(pairs)) == 5
    # A third batch holds 3 more for each of the second type.
    assert safe_arrivals(batches=3, later=(1, 1)) == pairs - {(0, 2)}
    assert poisson_weight(safe_arrivals(batches=3, later=(1, 1))) == Fraction(9, 2)


@pytest.mark.parametrize("later", [(0, 0), (1, 1)])
def test_others_evict_within_two_iterations_only_where_newcomers_go_first(later):
    """By the engine. With decodes first who does not fit waits, and nobody is evicted so soon."""
    for come in product(range(5), range(5)):
        evicted = {new_first: evictions(come, later, new_first) for new_first in (True, False)}
        assert (evicted[True] == 0) == (come in safe_arrivals(batches=2, later=later))
        assert evicted[False] == 0


def evictions(come: tuple[int, int], later: tuple[int, int], new_first: bool) -> int:
    """In the two iterations after that of the equilibrium, whose prompts have emitted 1, 1, 2."""
    rows = [(1, 1, 0.0), (1, 2, 0.0), (1, 2, 0.0)]
    for now, numbers in enumerate((come, later)):
        for lengths, number in zip(PROPOSITION_3, numbers, strict=True):
            rows += [(*lengths, float(now))] * number
    inputs, outputs, arrival = zip(*rows, strict=True)
    table = engine_requests(Requests(inputs, outputs, arrival=arrival))
    limits = Limits(PROPOSITION_3_MEMORY)
    run = serve(table, Server(fcfs(new_first=new_first), limits), iterations=2, start=[1, 1, 2])
    return int(run.preempt.sum().item())


prompts = st.lists(
    st.tuples(st.integers(2, 9), st.integers(1, 8), st.integers(0, 3)), min_size=1, max_size=25
)


@settings(max_examples=40)
@given(prompts, st.integers(18, 60), st.sampled_from([None, Fraction(3, 2)]))
def test_lpf_on_prompts_is_restart_on_the_requests_of_congestion(
    rows: list[tuple[int, int, int]], capacity: int, rate: Fraction | None
) -> None:
    """l0 = l - 1 and l1 = l' + 1: the same tokens, evictions and completions, by iteration."""
    inputs, outputs, gaps = (np.array(column) for column in zip(*rows, strict=True))
    arrival = np.cumsum(gaps).astype(float)
    limits = Limits(capacity, admission_rate=rate)
    ours = engine_requests(Requests(inputs, outputs, arrival=arrival))
    theirs = Requests(inputs - 1, outputs + 1, arrival=arrival)
    one = serve(ours, Server(LPF, limits, backend="reference"))
    other = serve(theirs, Server("restart", limits, backend="reference"))
    for name in ("used_blocks", "preempt", "completed", "admit_new", "waiting"):
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)
