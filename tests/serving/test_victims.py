"""Who goes first under each rule, by hand; the queue by priority; asking in turn, as vLLM does."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.serving.arrays import Runs
from fluidkv.serving.engines import ENGINES, VLLM
from fluidkv.serving.kernel import lots
from fluidkv.serving.kernel.victims import Candidate
from fluidkv.serving.rules import EngineRules, Ranges, Requeue, Victim
from fluidkv.serving.running.engine import run_batch
from tests.serving.by_hand import engine, indices
from tests.serving.engine_runs import assert_equal, limited, runs_of, varied


def running(**columns: list) -> list[Candidate]:
    """Requests of 3 tokens and at most 10 outputs, numbered, with what is said of them."""
    size = len(next(iter(columns.values())))
    plain = dict.fromkeys(Candidate._fields, 0) | {"input": 3, "max_output": 10}
    plain["range_tokens"] = Ranges().tokens
    rows = [{name: values[index] for name, values in columns.items()} for index in range(size)]
    slos = [row.pop("tbt_slo", np.inf) for row in rows]
    urgency = sorted((row.pop("priority", 0), index) for index, row in enumerate(rows))
    ranks = {index: rank for rank, (_, index) in enumerate(urgency)}
    return [
        Candidate(
            **plain
            | {"index": index, "rank": ranks[index], "looseness": Ranges().looseness(slos[index])}
            | {"own_blocks": row.get("blocks", 0)}
            | row
        )
        for index, row in enumerate(rows)
    ]


def goes(victim: Victim, candidates: list[Candidate], *, asker_stays: bool = False) -> int:
    """As `choosing.first_to_go`: of equals the first or the last."""
    first = victim.first_of_equals and not asker_stays
    read = candidates if first else reversed(candidates)
    return max(read, key=victim.key).index


@pytest.mark.parametrize(
    ("victim", "columns", "expected"),
    [
        (Victim.LAST_ADMITTED, {"computed": [1, 9, 5]}, 2),
        (Victim.LEAST_COMPUTED, {"computed": [7, 5, 9]}, 1),
        (Victim.MOST_COMPUTED, {"computed": [7, 5, 9]}, 2),
        (Victim.FEWEST_BLOCKS, {"blocks": [2, 1, 3]}, 1),
        (Victim.MOST_BLOCKS, {"blocks": [2, 1, 3]}, 2),
        (Victim.LONGEST_REMAINING, {"predicted": [5, 9, 8], "outputs": [0, 6, 4]}, 0),
        (Victim.LEAST_URGENT, {"priority": [0, 2, 1]}, 1),
        (Victim.LEAST_URGENT, {"priority": [2, 2, 1]}, 1),  # of one priority the latest to come
        (Victim.FEWEST_OUTPUTS, {"outputs": [2, 1, 3]}, 1),
        (Victim.LEAST_PROGRESSED, {"outputs": [2, 1, 3]}, 1),
        (Victim.MOST_OUTPUTS, {"outputs": [2, 1, 3]}, 2),
    ],
)
def test_who_goes_first(victim, columns, expected):
    assert goes(victim, running(**columns)) == expected


@pytest.mark.parametrize("victim", [each for each in Victim if each is not Victim.RANDOM])
def test_of_equals_the_last_goes_and_where_vllm_reads_its_list_the_first(victim):
    """But for vLLM's pull request 53723 as it is now, where the asker stays."""
    first = victim in (Victim.LEAST_COMPUTED, Victim.MOST_COMPUTED, Victim.COST_AWARE)
    equal = running(computed=[4, 4, 4], blocks=[4, 4, 4], outputs=[2, 2, 2], predicted=[5, 5, 5])
    assert goes(victim, equal) == (0 if first else 2)
    assert goes(victim, equal, asker_stays=True) == 2


def test_a_request_past_its_prediction_has_nothing_left():
    """Not less than nothing: it is as good as one of which the last output is due."""
    past, due, one = running(predicted=[2, 5, 5], outputs=[9, 5, 4])
    assert [Victim.LONGEST_REMAINING.key(each) for each in (past, due, one)] == [
        *((0, 0), (0, 0), (0, 1)),
    ]
    assert goes(Victim.LONGEST_REMAINING, [past, due]) == 1


def test_the_score_is_blocks_a_token_times_the_share_to_come():
    """4 blocks for 8 tokens with 5 of 10 outputs: 1/4; 2 blocks for 4 tokens with 1: 9/20."""
    late, early = running(blocks=[4, 2], outputs=[5, 1])
    keys = [Victim.COST_AWARE.key(each)[0] for each in (late, early)]
    assert keys == [4 / 8 * 0.5, 2 / 4 * (1 - 1 / 10)]
    assert goes(Victim.COST_AWARE, [late, early]) == 1


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"tbt_slo": [0.3, 0.6, 0.1]}, 1),  # the loosest range
        ({"tbt_slo": [0.3, 0.21, 0.4], "predicted": [100, 200, 127]}, 1),  # then most remaining
        ({"predicted": [130, 200, 90], "computed": [10, 5, 1]}, 1),  # one range; fewest tokens
        ({"predicted": [200, 130, 90], "computed": [300, 100, 1]}, 1),
    ],
)
def test_the_loosest_objective_goes_then_the_longest_then_the_smallest(columns, expected):
    assert goes(Victim.LOOSEST_OBJECTIVE, running(**columns)) == expected


def test_ranges_of_objectives_take_their_lower_bound():
    ranges = Ranges()
    at = [0.01, 0.05, 0.199, 0.2, 0.5, 2.0, float("inf")]
    assert [ranges.looseness(each) for each in at] == [0, 1, 1, 2, 3, 4, 4]
    [made] = running(predicted=[300], computed=[128])
    key = Victim.LOOSEST_OBJECTIVE.key(made._replace(range_tokens=100))
    assert key == (4, 3 * 2**30 - 1)


@pytest.mark.parametrize(
    ("changed", "argument"),
    [
        ({"tbt_slo": (0.2, 0.2)}, "tbt_slo"),
        ({"tbt_slo": (0.0, 1.0)}, "tbt_slo"),
        ({"tbt_slo": tuple(range(1, 16))}, "tbt_slo"),
        ({"tokens": 0}, "tokens"),
    ],
)
def test_ranges_that_make_no_sense_are_refused(changed, argument):
    with pytest.raises(InputError, match=f"^{argument}: "):
        Ranges(**changed)


def test_lots_are_splitmix64():
    """The first number of that generator from seed 0, as its authors' code prints it."""
    with np.errstate(over="ignore"):
        assert lots._mixed(np.uint64(0)) == 0xE220A8397B1DCDAF


def test_anyone_goes_equally_often_and_in_any_order():
    """6,000 draws of the first and the second of 3: 1,000 of each, give or take 5 deviations."""
    made = running(outputs=[0, 0, 0])
    seen = Counter()
    with np.errstate(over="ignore"):
        for iteration in range(6000):
            drawn = [each._replace(seed=3, iteration=iteration) for each in made]
            first = goes(Victim.RANDOM, drawn)
            seen[first, goes(Victim.RANDOM, [r for r in drawn if r.index != first])] += 1
        different = {lots.lot(seed, 7, index) for seed in range(50) for index in range(50)}
    assert len(seen) == 6
    assert all(abs(times - 1000) < 5 * (6000 * 1 / 6 * 5 / 6) ** 0.5 for times in seen.values())
    assert len(different) == 2500


# --------------------------------------------------------------------------------- by priority


def test_who_waits_stands_by_priority_and_the_evicted_in_their_place():
    """0, 1 and 2 run and hold 3 each of 10; all ask for one more, and 1 is the least urgent."""
    rules = replace(VLLM, victim=Victim.LEAST_URGENT, requeue=Requeue.BY_PRIORITY)
    made = engine(rules, [3] * 5, [9] * 5, 10, start=(1, 1, 1), priority=[1, 2, 1, 2, 1])
    assert made.step()["preempt"] == 1
    assert indices(made.running) == [0, 2]
    assert indices(made.waiting) == [4, 1, 3]


# --------------------------------------------------------------------------------------- in turn

LEAST = replace(VLLM, victim=Victim.LEAST_COMPUTED)


@pytest.mark.parametrize(("stays", "gone"), [(False, 0), (True, 2)])
def test_one_that_asks_may_go_itself_and_those_behind_it_go_on(stays, gone):
    """They hold 3, 5 and 4 of 12. The first asks and has the least computed."""
    made = engine(replace(LEAST, asker_stays=stays), [3] * 3, [9] * 3, 12, start=(1, 3, 2))
    counts = made.step()
    assert indices(made.waiting) == [gone]
    assert (counts["preempt"], counts["sched_reqs"]) == (1, 2)


def test_who_runs_alone_among_those_who_ask_may_go_whatever_stays():
    """Nobody else is left; it is too long for this memory, which `serve` would refuse."""
    made = engine(replace(LEAST, asker_stays=True), [3], [9], 4, start=(2,))
    assert made.step()["preempt"] == 1


@pytest.mark.parametrize(("in_turn", "expected"), [(True, {1: 2, 2: 1}), (False, {1: 3})])
def test_a_victim_that_was_served_hands_its_tokens_to_those_who_ask_later(in_turn, expected):
    """A budget of 3: 0 decodes, 1 lacks 4 tokens and gets 2, 2 decodes. They hold 7, 1 and 4 of 14.

    1 finds no room and 0, who has most computed, goes; 1 keeps its 2, and 2 gets the one.
    """
    rules = replace(VLLM, victim=Victim.MOST_COMPUTED, in_turn=in_turn)
    made = engine(rules, [3] * 3, [9] * 3, 14, start=(5, 2, 2))
    run, half = made.batch.runs[0], made.batch.space.requests[1]
    run.budget = 3
    run.free, run.cached = run.free + half.blocks - 1, run.cached - half.computed + 1
    half.blocks = half.computed = 1
    before = [request.computed for request in made.all]
    assert made.step()["preempt"] == 1
    assert indices(made.waiting) == [0]
    computed = {i: made.all[i].computed - before[i] for i in (1, 2)}
    assert {i: tokens for i, tokens in computed.items() if tokens} == expected


def test_in_turn_the_blocks_of_who_was_served_count():
    """0 and 1 hold 4 each of 9. 0 takes a block; now it holds most, and goes for 1."""
    made = engine(replace(VLLM, victim=Victim.MOST_BLOCKS), [3] * 2, [9] * 2, 9, start=(2, 2))
    assert made.step()["preempt"] == 1
    assert indices(made.waiting) == [0]
    together = replace(VLLM, victim=Victim.MOST_BLOCKS, in_turn=False)
    made = engine(together, [3] * 2, [9] * 2, 9, start=(2, 2))
    assert made.step()["preempt"] == 1
    assert indices(made.waiting) == [1]


COUNT_BLOCKS = (Victim.MOST_BLOCKS, Victim.FEWEST_BLOCKS, Victim.COST_AWARE)
LAST = [
    name
    for name, rules in ENGINES.items()
    if rules.victim is Victim.LAST_ADMITTED and not rules.newcomers_first
]


@pytest.mark.parametrize("name", LAST)
def test_with_the_last_admitted_in_turn_is_all_at_once(name):
    """Proved in `kernel.evict._one_after_the_other`."""
    for seed in range(4):
        the_same_in_turn(varied(ENGINES[name], seed), runs_of(seed))


@pytest.mark.parametrize("victim", [each for each in Victim if each not in COUNT_BLOCKS])
def test_without_a_budget_blocks_alone_make_a_difference_in_turn(victim):
    for seed in range(4):
        unlimited = limited(runs_of(seed), max_num_batched_tokens=None)
        the_same_in_turn(varied(replace(VLLM, victim=victim), seed), unlimited)


def the_same_in_turn(rules: EngineRules, batch: Runs) -> None:
    in_turn, together = (
        run_batch(replace(rules, in_turn=each), batch, jumps=True, iterations=120, literally=True)
        for each in (True, False)
    )
    assert_equal(in_turn, together)


def test_vllm_asks_in_turn_and_newcomers_that_come_first_cannot():
    in_turn = {name for name, rules in ENGINES.items() if rules.in_turn}
    assert in_turn == {name for name in ENGINES if name.startswith("vllm")}
    with pytest.raises(InputError, match=r"^in_turn: .*newcomers come first"):
        replace(VLLM, newcomers_first=True)
