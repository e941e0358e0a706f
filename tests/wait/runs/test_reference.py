"""The literal engine and the policies, played by hand.

Everything faster is compared with this engine, so a slip here would be a slip everywhere.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.wait.policy import NestedWait, Policy, Wait
from fluidkv.wait.runs.reference import COUNTS, WaitEngine
from tests.wait.runs.tables import LONGEST, Case, cases

TICK = IterationClock(1.0)


def play(
    policy: Policy,
    inputs: list[int] | int,
    outputs: list[int],
    arrival: list[float],
    *,
    types: list[int] | None = None,
    clock: IterationClock = TICK,
    capacity: int | None = None,
) -> tuple[WaitEngine, list[dict[str, int]], list[float]]:
    """The engine at its end, the counts of each iteration, and when each ended."""
    lengths = [inputs] * len(outputs) if isinstance(inputs, int) else inputs
    table = Requests(lengths, outputs, arrival=arrival, class_index=types)
    engine = WaitEngine(table, policy, clock, capacity)
    rows, ends = [], []
    while (row := engine.step()) is not None:
        rows.append(row)
        ends.append(engine.now)
    return engine, rows, ends


def column(rows: list[dict[str, int]], name: str) -> list[int]:
    return [row[name] for row in rows]


# ------------------------------------------------------------------------------------ Nested WAIT


def test_the_story_of_figure_6():
    """Two wait for a third; a long one waits before segment 2 until others join it.

    Outputs of 1 and 2 tokens: segment 1 is stages 0 and 1 with a threshold of 3, segment 2 stage 2
    with one of 2. Inputs of 2 tokens. What is in the batch, as prompt:stage,

        1 to 2  1:0 2:0 3:0                          the third came at 1
        3 to 4  4:0 5:0 6:0  1:1 2:1 3:1             two came at 2, one at 3; 1 and 3 are done
        4 to 5  7:0 8:0 9:0  4:1 5:1 6:1             2 alone waits before segment 2
        5 to 6  10:0 ... 12:0  7:1 ... 9:1  2:2 4:2  both segments; 6 is one too many
    """
    engine, rows, ends = play(
        NestedWait([1, 2], [3, 2]),
        2,
        [1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 1],
        [0, 0, 1, 2, 2, 3, 4, 4, 4, 5, 5, 5],
    )
    assert ends == [2, 4, 5, 6]
    assert column(rows, "joined") == [1, 1, 1, 2]
    assert column(rows, "running") == [3, 6, 6, 8]
    assert column(rows, "kv_tokens") == [6, 6 + 9, 6 + 9, 6 + 9 + 8]
    assert column(rows, "paused") == [0, 0, 1, 1]  # 2, then 6, each with input and a token
    assert column(rows, "held_tokens") == [6, 15, 15 + 3, 23 + 3]
    assert column(rows, "completed") == [0, 2, 1, 3 + 2]
    assert column(rows, "completed_outputs") == [0, 2, 1, 3 + 4]
    assert column(rows, "new_outputs") == [0, 3, 3, 5]
    assert column(rows, "waiting") == [0, 0, 0, 0]
    second = engine.all[1]
    assert (second.admitted_at, second.first_token_at, second.last_token_at) == (1, 4, 6)
    assert second.longest_gap == 2
    assert [p.index for p in engine.all if not p.finished] == [5, 9, 10, 11]


def test_a_segment_that_lacks_prompts_pauses_all_after_it():
    """Stages 0 and 1, 2, and 3 are three segments; the first threshold is 2, the others 2 and 1.

    Of each pair that comes one goes on to segment 2, where two must meet. From then on segment 3
    has somebody every second iteration of segment 2, and runs only together with it.
    """
    _, rows, _ = play(
        NestedWait([1, 2, 3], [2, 2, 1]), 1, [1, 3] * 6, [float(n // 2) for n in range(12)]
    )
    # In iteration 3 prompt 2 waits before segment 2, in 4 prompts 2 and 4 compute stage 2, in 5
    # they wait before segment 3, which lacks nothing but comes after segment 2, which does.
    assert column(rows, "joined") == [1, 1, 1, 2, 1, 3]
    assert column(rows, "paused")[2:] == [1, 0, 3, 1]


def test_a_merged_segment_lets_short_prompts_leave_within_it():
    """One segment for outputs of 1, 2 and 3: three come and advance together, one leaves a time."""
    _, rows, _ = play(NestedWait([3], [3]), 5, [1, 2, 3] * 4, [float(n // 3) for n in range(12)])
    assert column(rows, "running") == [3, 3 + 3, 3 + 3 + 2, 3 + 3 + 2 + 1]
    assert column(rows, "completed") == [0, 1, 2, 3]


def test_who_came_first_goes_on_first():
    engine, rows, _ = play(NestedWait([1, 2], [3, 1]), 1, [2] * 6 + [1] * 9, [0.0] * 15)
    assert column(rows, "joined") == [1, 1, 2, 2, 2]
    assert [p.last_token_at for p in engine.all[:3]] == [3, 4, 5]


# ----------------------------------------------------------------------------------- WAIT


def test_types_wait_for_their_own():
    """Type 0 needs 2, type 1 needs 1; inputs 3 and 4, outputs 1 and 2.

    1 to 2   the first of type 1 alone: one of type 0 is not enough
    2 to 3   the second of type 0 has come; type 1 pauses with its input of 4
    3 to 4   nobody waits but one of type 1: it and the first one of its type
    9 to 10  idle until two more of type 0 are there
    """
    engine, rows, ends = play(
        Wait([2, 1]),
        [3, 4, 3, 4, 3, 3],
        [1, 2, 1, 2, 1, 1],
        [0, 1, 2, 3, 8, 9],
        types=[0, 1] * 2 + [0] * 2,
    )
    assert ends == [2, 3, 4, 10]
    assert column(rows, "joined") == [1, 1, 1, 1]
    assert column(rows, "running") == [1, 2, 2, 4]
    assert column(rows, "waiting") == [1, 0, 0, 0]
    assert column(rows, "kv_tokens") == [4, 6, 4 + 5, 6 + 8]
    # Of type 1: input; of type 0 after it: inputs; at the end 5 + 1 and 4 of type 1.
    assert column(rows, "held_tokens") == [4, 6 + 4, 9 + 6, 14 + 5 + 4]
    assert column(rows, "completed") == [0, 0, 0, 2]
    assert [p.finished for p in engine.all] == [True, False, True, False, False, False]
    assert engine.all[1].first_token_at == 4


def test_time_is_base_and_tokens():
    _, _, ends = play(Wait([1]), 3, [2, 2, 2], [0.0, 0.0, 0.0], clock=IterationClock(1.0, 0.25))
    # Batches of 3, of 3 + 4, and of 3 + 4 + 5 tokens.
    assert ends == [1.75, 4.5, 8.5]


def test_wait_reaches_its_memory_and_never_holds_more():
    """The sum of n c: 2 of 4 at stages of 3 + 4 tokens, 1 of another at stages of 5 + 6 + 7."""
    _, rows, _ = play(Wait([2, 1]), [3, 3, 5] * 6, [1, 1, 2] * 6, [0.0] * 18, types=[0, 0, 1] * 6)
    assert max(column(rows, "held_tokens")) == 2 * (3 + 4) + (5 + 6 + 7)


@given(cases())
def test_wait_never_holds_more_than_its_thresholds_allow(case: Case):
    """Prompts of a type made alike: n (l' + 1) (l + l'/2) a type, whether it runs or pauses."""
    if not isinstance(case.policy, Wait):
        return
    inputs, outputs = [3, 1, 6, 2], [4, 9, 1, 2]
    types = case.requests.class_index.tolist()
    most = sum(
        n * (out + 1) * (2 * own + out) // 2
        for n, own, out in zip(case.policy.thresholds, inputs, outputs, strict=False)
    )
    _, rows, _ = play(
        case.policy,
        [inputs[j] for j in types],
        [outputs[j] for j in types],
        case.requests.arrival.tolist(),
        types=types,
        clock=case.clock,
    )
    assert max(column(rows, "held_tokens"), default=0) <= most


# ----------------------------------------------------------------------------------- memory


def test_newcomers_wait_where_memory_is_short():
    """Three of 3 + 1 tokens, two at a time, in a memory of 5: one enters when the other is done."""
    _, rows, _ = play(Wait([2]), 3, [1, 1, 1], [0.0, 0.0, 0.0], capacity=5)
    assert column(rows, "admit_new") == [1, 0, 1]
    assert column(rows, "held_tokens") == [3, 4, 3]
    assert column(rows, "preempt") == [0, 0, 0]


def test_the_last_admitted_is_evicted_and_starts_again():
    """A and B of 3 + 2 tokens, C and D of 1 + 1, in a memory of 8; what computes, as prompt:stage,

        A:0   A:1 B:0   A:2   C:0   C:1 B:0   then D at 9 with B:1

    In the third A, B and C would hold 5 + 4 + 1: C is dropped, and B evicted, behind C.
    """
    engine, rows, ends = play(
        Wait([1]), [3, 3, 1, 1], [2, 2, 1, 1], [0.0, 0.0, 0.0, 9.0], capacity=8
    )
    assert ends == [1, 2, 3, 4, 5, 10]
    assert column(rows, "held_tokens") == [3, 4 + 3, 5, 1, 2 + 3, 4 + 1]
    assert column(rows, "preempt") == [0, 0, 1, 0, 0, 0]
    assert column(rows, "admit_new") == [1, 1, 0, 1, 0, 1]
    assert column(rows, "admit_resumed") == [0, 0, 0, 0, 1, 0]
    assert column(rows, "tokens") == [3, 1 + 3, 1, 1, 1 + 3, 1 + 1]
    assert column(rows, "recomputed_tokens") == [0, 0, 0, 0, 3, 0]
    assert [p.evictions for p in engine.all] == [0, 1, 0, 0]
    assert engine.all[1].admitted_at == 1  # the first time


def test_time_goes_on_where_the_paused_leave_no_room():
    """A of type 0 holds 4 of 7 tokens and waits for its next; B of type 1, of 4, has no room.

    When C of type 0 comes at 5, A goes on, for which B and C are dropped. Both enter after it.
    """
    engine, rows, ends = play(
        Wait([1, 1]),
        [4, 4, 1, 1],
        [1, 1, 1, 1],
        [0.0, 1.0, 5.0, 9.0],
        types=[0, 1, 0, 0],
        capacity=7,
    )
    assert ends == [1, 6, 7, 10]
    assert [p.admitted_at for p in engine.all] == [0, 6, 6, 9]
    assert column(rows, "held_tokens") == [4, 5, 4 + 1, 2 + 1 + 4]


def test_who_has_no_room_alone_beside_the_paused_waits_again():
    """A of type 0 pauses with 4 of 10 tokens. B of type 1 goes on to 6, and would need 7.

    C of type 1, which made B go on, is dropped each time and enters when B is evicted, at 3. What B
    held is computed again at 5; it had shown two tokens.
    """
    engine, rows, ends = play(
        Wait([1, 1]), [4, 4, 3], [1, 3, 1], [0.0, 0.0, 1.0], types=[0, 1, 1], capacity=10
    )
    assert ends == [1, 2, 3, 4, 5, 6]
    assert column(rows, "held_tokens") == [8, 5 + 4, 6 + 4, 3 + 4, 4 + 4, 4 + 4]
    assert column(rows, "preempt") == [0, 0, 0, 1, 0, 0]
    assert column(rows, "recomputed_tokens") == [0, 0, 0, 0, 0, 4]
    assert [p.seen for p in engine.all] == [0, 2, 1]


@given(cases(), st.integers(LONGEST + 6, 40))
def test_what_is_computed_twice_was_lost(case: Case, capacity: int):
    """Tokens computed, less those computed again, are inputs and outputs that came to be."""
    engine = WaitEngine(*case, capacity)
    rows = []
    while len(rows) < 200 and (row := engine.step()) is not None:  # some never end
        rows.append(row)
    once = sum(p.input_length + p.seen for p in engine.all if p.admitted_at is not None)
    assert sum(column(rows, "tokens")) - sum(column(rows, "recomputed_tokens")) == once
    assert sum(column(rows, "new_outputs")) == sum(p.seen for p in engine.all)
    assert not all(p.finished for p in engine.all)  # a batch leaves its newcomers behind
    assert max(column(rows, "held_tokens"), default=0) <= capacity


# ----------------------------------------------------------------------------------- refusals


def test_counts_are_named_in_order():
    _, rows, _ = play(Wait([1]), 1, [1], [0.0])
    assert tuple(rows[0]) == COUNTS


def test_thresholds_that_nothing_reaches_never_run():
    engine, rows, _ = play(Wait([5]), 1, [1] * 4, [0.0, 1.0, 2.0, 3.0])
    assert rows == []
    assert len(engine.waiting) == 4


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: Wait([]), "thresholds"),
        (lambda: Wait([2, 0]), "thresholds"),
        (lambda: Wait([True]), "thresholds"),
        (lambda: NestedWait([], []), "ends"),
        (lambda: NestedWait([2, 2], [1, 1]), "ends"),
        (lambda: NestedWait([0, 2], [1, 1]), "ends"),
        (lambda: NestedWait([1, 2], [1]), "thresholds"),
        (lambda: play(Wait([1]), 1, [1, 1], [0, 0], types=[0, 1]), "thresholds"),
        (lambda: play(Wait([1]), 1, [1], [0], types=[-1]), "thresholds"),
        (lambda: play(NestedWait([1, 3], [1, 1]), 1, [4], [0]), "ends"),
        (lambda: play(Wait([1]), 3, [2], [0], capacity=4), "capacity"),
        (lambda: play(Wait([1]), 3, [2], [0], capacity=True), "capacity"),
        (
            lambda: play(Wait([1]), 3, [2], [0], clock=IterationClock(1.0, per_prefill_pair=0.5)),
            "per_prefill_pair",
        ),
    ],
)
def test_what_cannot_run_is_refused(make, argument):
    with pytest.raises(InputError, match=f"^{argument}: "):
        make()


def test_policies_are_values():
    policy = NestedWait(iter([2, 5]), iter([4, 3]))
    assert policy == NestedWait((2, 5), (4, 3))
    assert policy.starts == (0, 3)
    assert (policy.label, Wait([1]).label) == ("Nested WAIT", "WAIT")
