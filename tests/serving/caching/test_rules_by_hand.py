"""vLLM's rules with a prefix cache, one by one, each on a run small enough to follow by hand.

A row is (arrival, prompt, output); blocks are of four tokens.
"""

from collections.abc import Callable

import pytest

from fluidkv.prefix.pieces import content
from fluidkv.prefix.prompts import Prompts, private
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import VLLM
from fluidkv.serving.limits import Limits
from fluidkv.serving.stepped import Engine
from tests.serving.caching.cases import KINDS, Kind

Row = tuple[int, list[list[int]], list[int]]
Start = Callable[..., Engine]


@pytest.fixture(params=KINDS)
def start(request: pytest.FixtureRequest) -> Start:
    def started(rows: list[Row], blocks: int, **limits: float) -> Engine:
        arrival, prompts, outputs = zip(*rows, strict=True)
        said = Prompts(map(content, prompts), (content([output]) for output in outputs))
        table = Requests(said.input_length, said.output_length, arrival=arrival)
        memory = Limits(4 * blocks, 4, **limits)  # pyright: ignore[reportArgumentType]
        return request.param(table, said, VLLM, memory, IterationClock.iterations())

    return started


def step(engine: Engine, times: int = 1) -> dict[str, int]:
    """The counts of the last of so many iterations."""
    counts: dict[str, int] = {}
    for _ in range(times):
        counts = engine.step()
    return counts


def test_1_a_prompt_wholly_cached_computes_its_last_block_again(start: Start) -> None:
    """Of eight tokens that are all there, one block is found; the other one gets a second copy."""
    engine = start([(0, [[1, 8]], [10, 1]), (1, [[1, 8]], [11, 1])], blocks=6)
    step(engine)
    counts = step(engine)
    assert engine.admissions == [(1, 4, 4)]
    assert (counts["cached_blocks"], counts["distinct_blocks"]) == (3, 2)


def test_1_a_block_is_known_by_all_that_comes_before_it(start: Start) -> None:
    """The same four tokens behind four others are another block, and a miss ends the lookup."""
    rows: list[Row] = [
        (0, [[1, 4], [2, 4], [3, 4]], [10, 1]),
        (1, [[9, 4], [2, 4], [3, 5]], [11, 1]),
        (2, [[1, 4], [9, 4], [3, 5]], [12, 1]),
        (3, [[1, 4], [2, 4], [9, 5]], [13, 1]),
    ]
    engine = start(rows, blocks=40)
    found = []
    for _ in rows:
        step(engine)
        found += [tokens for _, tokens, _ in engine.admissions]
    assert found == [0, 0, 4, 8]


def test_1_a_lookup_gives_the_oldest_copy(start: Start) -> None:
    """A prompt of one block is computed twice, as its last token always is. A third request finds
    it once both are done, and the blocks that are reused first are those released first: with the
    oldest copy reused the younger one is found."""
    rows: list[Row] = [
        (0, [[1, 4]], [10, 1]),
        (1, [[1, 4]], [11, 1]),
        (2, [[2, 4]], [12, 1]),
        (3, [[1, 5]], [13, 1]),
    ]
    engine = start(rows, blocks=2)
    counts = step(engine, 2)
    assert (counts["cached_blocks"], counts["distinct_blocks"]) == (2, 1)
    counts = step(engine)
    assert (counts["cached_blocks"], counts["distinct_blocks"], counts["evicted_blocks"]) == (
        2,
        2,
        1,
    )
    step(engine)
    assert engine.admissions == [(3, 4, 1)]


def test_2_a_block_is_cached_when_it_is_scheduled(start: Start) -> None:
    """Three requests with one prompt in one iteration: the second and third find the first's."""
    rows: list[Row] = [(0, [[1, 10]], [10 + index, 2]) for index in range(3)]
    engine = start(rows, blocks=20)
    counts = step(engine)
    assert engine.admissions == [(0, 0, 10), (1, 8, 2), (2, 8, 2)]
    assert (counts["used_blocks"], counts["cached_blocks"]) == (2 + 3, 2)


def test_3_outputs_are_cached_but_for_the_last_token(start: Start) -> None:
    """Four tokens and five outputs: eight have been computed. Of four outputs, three have."""
    rows: list[Row] = [
        (0, [[1, 4]], [2, 5]),
        (0, [[3, 4]], [4, 4]),
        (9, [[1, 4], [2, 5]], [12, 1]),
        (9, [[3, 4], [4, 5]], [13, 1]),
    ]
    engine = start(rows, blocks=40)
    step(engine, 10)
    assert engine.admissions == [(2, 8, 1), (3, 4, 5)]


def test_4_contents_go_when_their_block_is_reused_and_a_hit_takes_it_out(start: Start) -> None:
    """Six blocks. Two prompts of two blocks are done; then the first comes again, one token longer,
    and finds both; a third of three blocks takes the last that was never used and the second's."""
    rows: list[Row] = [
        (0, [[1, 8]], [10, 1]),
        (1, [[2, 8]], [11, 1]),
        (2, [[1, 9]], [12, 2]),
        (3, [[3, 12]], [13, 1]),
    ]
    engine = start(rows, blocks=6)
    assert step(engine, 2)["cached_blocks"] == 4
    counts = step(engine)
    assert engine.admissions == [(2, 8, 1)]
    assert (counts["used_blocks"], counts["evicted_blocks"]) == (3, 0)
    counts = step(engine)
    assert (counts["evicted_blocks"], counts["cached_blocks"]) == (2, 2 + 3)
    assert (engine.found(0), engine.found(1), engine.found(2)) == (8, 0, 8)


def test_5_the_unfinished_block_is_reused_first_and_beginnings_last(start: Start) -> None:
    """Four blocks. Ten tokens leave two full blocks and a part of one. Whoever takes three blocks
    gets that one, the one never used, and the second of the two: the beginning stays."""
    rows: list[Row] = [(0, [[1, 10]], [10, 1]), (1, [[2, 12]], [11, 1])]
    engine = start(rows, blocks=4)
    step(engine)
    assert engine.found(0) == 8
    assert step(engine)["evicted_blocks"] == 1
    assert engine.found(0) == 4


def test_5_what_counts_is_when_a_block_was_released_not_when_it_was_hit(start: Start) -> None:
    """Request 0 holds its prompt for four iterations, and the last hit on it is in the second. The
    prompt of request 2 is computed and released in the third. Of both, the latter goes first."""
    rows: list[Row] = [
        (0, [[1, 4]], [10, 4]),
        (1, [[1, 5]], [11, 1]),
        (2, [[2, 4]], [12, 1]),
        (5, [[3, 16]], [13, 1]),
    ]
    engine = start(rows, blocks=5)
    step(engine, 5)
    assert (engine.found(1), len(engine.running)) == (4, 0)
    step(engine)
    assert (engine.found(1), engine.all[3].finished) == (4, True)
    assert engine.found(2) == 0


def test_6_a_shared_block_is_free_when_the_last_one_lets_go(start: Start) -> None:
    """Two requests on one block and a second block each; the first is done with its first token."""
    engine = start([(0, [[1, 5]], [10, 1]), (0, [[1, 5]], [11, 3])], blocks=6)
    assert step(engine)["used_blocks"] == 3
    assert step(engine)["used_blocks"] == 2
    assert step(engine, 2)["used_blocks"] == 0


def test_7_admission_pays_for_hits_that_are_free_but_not_for_hits_in_use(start: Start) -> None:
    """Nine tokens are three blocks. Where two of them are in use, one free block is enough. Where
    they are free but only two blocks are, the request waits, though it would take one new block."""
    shared: list[Row] = [(0, [[1, 8], [10, 1]], [10, 3]), (1, [[1, 9]], [11, 1])]
    engine = start(shared, blocks=4)
    step(engine, 2)
    assert engine.admissions == [(1, 8, 1)]
    rows: list[Row] = [
        (0, [[1, 8]], [10, 1]),
        (1, [[2, 7]], [11, 2]),
        (2, [[1, 9]], [12, 1]),
    ]
    engine = start(rows, blocks=4)
    step(engine, 2)
    counts = step(engine)  # two blocks run, two hits are free: three are asked for, two are there
    assert (counts["waiting"], counts["running"], engine.found(2)) == (1, 1, 8)
    step(engine)
    assert engine.admissions == [(2, 8, 1)]


def test_7_the_budget_pays_only_for_what_is_not_found(start: Start) -> None:
    rows: list[Row] = [(0, [[1, 8]], [10, 1]), (1, [[1, 9]], [11, 1]), (1, [[1, 10]], [12, 1])]
    engine = start(rows, blocks=20, max_num_batched_tokens=8)
    step(engine, 2)
    assert engine.admissions == [(1, 8, 1), (2, 8, 2)]


def test_7_a_watermark_stays_free_while_something_runs(start: Start) -> None:
    """Eight blocks, of which int(0.25 (8 + 1)) = 2 stay free for those that run."""
    rows: list[Row] = [(0, [[1, 16]], [10, 3]), (1, [[1, 8], [2, 4]], [11, 1])]
    engine = start(rows, blocks=8, watermark=0.25)
    assert step(engine, 2)["running"] == 2  # five are held; one more is taken, two stay
    rows[1] = (1, [[1, 8], [2, 8]], [11, 1])
    engine = start(rows, blocks=8, watermark=0.25)
    assert step(engine, 2)["running"] == 1


@pytest.mark.parametrize("kind", KINDS)
def test_8_a_preempted_request_finds_the_beginning_that_nobody_took(kind: Kind) -> None:
    """Two requests of 4 tokens in 6 blocks of 2; both want a fourth block when none is left.

    Request 1 is evicted with 3 blocks and 6 tokens computed. Request 0 then takes one of them, the
    one that held its last two tokens. Once request 0 is done (4 + 6 - 1 tokens, 5 blocks) request 1
    finds its first block (a second one was taken, too) and computes the rest.
    """
    table = Requests([4, 4], [6, 6])
    engine = kind(table, private(table), VLLM, Limits(12, 2), IterationClock.iterations())
    while not engine.preempted:
        engine.step()
    assert (engine.preempted, engine.all[1].outputs, engine.found(1)) == ([1], 3, 4)
    while engine.done < 2:
        engine.step()
    assert (engine.all[1].evictions, engine.all[1].hit_tokens) == (1, 2)
    assert engine.all[1].first_hit_tokens == 0


def test_9_a_lookup_without_admission_changes_nothing(start: Start) -> None:
    """Request 2 would find the blocks of request 0 but is kept out by `max_num_seqs` or memory: the
    line of free blocks stays as it is."""
    rows: list[Row] = [
        (0, [[1, 8]], [10, 1]),
        (1, [[2, 9]], [11, 2]),
        (2, [[1, 8], [3, 9]], [12, 1]),
    ]
    engine = start(rows, blocks=6)
    step(engine, 2)
    line = engine.line
    counts = step(engine)
    assert (counts["waiting"], engine.found(2)) == (1, 8)
    after = engine.line
    assert set(line) < set(after)
    assert [block for block in after if block in line] == line
