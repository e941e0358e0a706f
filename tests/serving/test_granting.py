"""What a request is given, by hand: what is held, who has outgrown it, what it comes back with."""

from dataclasses import replace

import pytest

from fluidkv.errors import InputError
from fluidkv.serving.engines import VLLM
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import Allocation, EngineRules, Gate, Growth, Guard, Keeps, Requeue
from fluidkv.serving.stepped import Engine
from tests.serving.by_hand import engine, indices

BLOCKS, MORE, DOUBLE = (
    replace(VLLM, allocation=allocation)
    for allocation in (
        Allocation.ESTIMATE_THEN_BLOCKS,
        Allocation.ESTIMATE_THEN_MORE,
        Allocation.ESTIMATE_THEN_DOUBLE,
    )
)


def granted(
    rules: EngineRules, limits: Limits, *rows: tuple[int, int, int], start: tuple[int, ...] = ()
) -> Engine:
    """Rows are input, outputs, estimated outputs; all come at 0."""
    inputs, outputs, estimated = map(list, zip(*rows, strict=True))
    return engine(rules, inputs, outputs, limits, start=start, estimated_output=estimated)


def column(made: Engine, name: str, steps: int) -> list[int]:
    return [made.step()[name] for _ in range(steps)]


@pytest.mark.parametrize("rules", [BLOCKS, MORE, DOUBLE])
def test_a_grant_is_held_from_admission_without_the_last_token(rules):
    """4 input + 3 outputs - 1 are 6 tokens: 3 blocks of 2, though 4 are computed at first."""
    made = granted(rules, Limits(100, block_size=2), (4, 3, 3))
    assert column(made, "used_blocks", 3) == [3, 3, 3]
    assert made.all[0].finished
    assert made.all[0].evictions == 0


def test_the_gate_asks_for_the_grant():
    """Two grants of 6 do not fit in 11 tokens; by block both prompts do."""
    rows = (4, 3, 3), (4, 3, 3)
    assert granted(BLOCKS, Limits(11), *rows).step()["admit_new"] == 1
    assert granted(VLLM, Limits(11), *rows).step()["admit_new"] == 2


def test_past_its_estimate_it_grows_by_block_and_victims_go():
    """Two with 2 + 2 - 1 = 3 of 6 tokens each; for their third output the second makes room."""
    made = granted(BLOCKS, Limits(6), (2, 4, 2), (2, 4, 2))
    assert column(made, "used_blocks", 4) == [6, 6, 4, 5]
    assert [request.evictions for request in made.all] == [0, 1]


def test_who_outgrows_it_goes_itself_and_asks_for_more():
    """2 + 2 - 1 = 3 tokens; at 2 outputs it needs a fourth, and comes back with 2 + (2 + 5) - 1."""
    made = granted(MORE, Limits(100, more_outputs=5), (2, 9, 2))
    assert column(made, "preempt", 3) == [0, 0, 1]
    assert made.free == 100 - 8  # admitted again at once, as memory is not short
    assert made.all[0].outputs == 3
    assert column(made, "preempt", 5) == [0, 0, 0, 0, 1]  # 7 outputs are in 8 tokens
    assert made.free == 100 - 13  # 2 + (7 + 5) - 1


def test_who_outgrows_it_comes_back_with_twice_its_demand():
    """The demand is input and estimate, 2 + 2; twice it 8, of which 7 are stored, and then 16."""
    made = granted(DOUBLE, Limits(100), (2, 12, 2))
    assert column(made, "preempt", 3) == [0, 0, 1]
    assert made.free == 93
    assert column(made, "preempt", 4) == [0, 0, 0, 1]
    assert made.free == 85


def test_who_outgrew_it_does_not_bar_admission_but_what_it_asks_for_may():
    """It comes back at HEAD for 2 + (2 + 3) - 1 = 6; behind it one of 2 is admitted if it fits."""
    for memory, newcomers in ((8, 1), (7, 0)):
        made = granted(MORE, Limits(memory, more_outputs=3), (2, 9, 2), (2, 1, 1), start=(1,))
        run = made.batch.runs[0]
        run.sequences, sequences = 1, run.sequences  # the second waits
        assert made.step()["admit_new"] == 0
        run.sequences = sequences
        counts = made.step()
        assert (counts["preempt"], counts["admit_resumed"]) == (1, 1)
        assert counts["admit_new"] == newcomers


def test_who_starts_again_is_given_more_than_it_had():
    """Otherwise it would lose its outputs at the same token for ever."""
    restart = replace(MORE, keeps=Keeps.NOTHING)
    made = granted(restart, Limits(100, more_outputs=3), (2, 9, 2))
    while not made.all[0].finished:
        made.step()
    assert made.all[0].evictions == 3  # at 2, 5 and 8 outputs
    assert made.iteration == 2 + 5 + 8 + 9


@pytest.mark.parametrize("rules", [BLOCKS, MORE, DOUBLE])
@pytest.mark.parametrize("growth", Growth)
@pytest.mark.parametrize("guard", Guard)
def test_a_grant_is_never_more_than_the_memory_holds(rules, growth, guard):
    """It is estimated at a thousand times the memory, and must be admitted all the same."""
    limits = Limits(20, watermark=0.1)  # 2 blocks
    made = granted(replace(rules, growth=growth, guard=guard), limits, (3, 9, 20_000))
    left = max(2 if guard is Guard.ALWAYS else 0, 1 if growth is Growth.ONE_FREE else 0)
    assert made.step()["used_blocks"] == 20 - left
    while not made.all[0].finished:
        made.step()
    assert made.all[0].evictions == 0


def test_the_outgrown_wait_in_their_order():
    rows = (2, 9, 2), (2, 9, 2), (2, 9, 9)
    for requeue in (Requeue.HEAD, Requeue.TAIL):
        made = granted(replace(MORE, requeue=requeue), Limits(30), *rows, start=(1, 1, 1))
        made.step()
        made.batch.runs[0].sequences = 1  # nobody of them enters again at once
        made.step()
        waiting = indices(made.waiting)
        assert waiting == ([0, 1] if requeue is Requeue.HEAD else [1, 0])
        assert indices(made.running) == [2]


@pytest.mark.parametrize("gate", [Gate.FIRST_CHUNK, Gate.PEAK, Gate.RATIO])
def test_gates_that_look_at_less_or_reserve_again_are_refused(gate):
    with pytest.raises(InputError, match="FULL_INPUT where an estimate is given"):
        replace(MORE, gate=gate)
