"""The compiled engine equals the literal one, whatever the rules, the settings and the batch."""

import dataclasses
import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluidkv.serving.arrays import RunArrays
from fluidkv.serving.compiled.engine import run_engine
from fluidkv.serving.compiled.start import numbers_of
from fluidkv.serving.compiled.state import blocks_of
from fluidkv.serving.engines import (
    ENGINES,
    FCFS_NEW_FIRST,
    RESTART,
    RLP,
    SGLANG,
    TRTLLM_NO_EVICT,
    VLLM,
    VLLM_0_11,
    VLLM_LCF,
    VLLM_PRIORITY,
)
from fluidkv.serving.literal import run_literally
from fluidkv.serving.records.replay import VidurCounts, VllmRecord, read_records
from fluidkv.serving.reference import COUNTS
from fluidkv.serving.rules import (
    Allocation,
    EngineRules,
    Gate,
    Growth,
    Guard,
    Keeps,
    NewTokenRatio,
    Ranges,
    RatioReset,
    Requeue,
    Victim,
)
from fluidkv.serving.run import serve
from tests.serving.compiled.engine_runs import assert_equal, crowds, drawn, one
from tests.serving.strategies import RUNS, batches, engine_rules

ORACLES = Path(
    os.environ.get("FLUIDKV_ORACLES") or Path(__file__).parents[4] / "shared" / "oracles"
)


@pytest.fixture
def compiled_code_is_let_go_at_once():
    """As in conftest.py, but after each test, where more is compiled than a process may hold."""
    yield
    jax.clear_caches()


def _deeper(rules):
    return [pytest.param(each, marks=pytest.mark.thorough) for each in rules]


# Every answer that is compiled in shows here; each line is a compilation of some seconds.
SOME = (
    RESTART,
    VLLM,
    VLLM_0_11,
    SGLANG,
    TRTLLM_NO_EVICT,
    VLLM_PRIORITY,
    VLLM_LCF,
    dataclasses.replace(
        VLLM,
        victim=Victim.LOOSEST_OBJECTIVE,
        requeue=Requeue.BY_PRIORITY,
        gate=Gate.RATIO,
        ratio=NewTokenRatio(reset=RatioReset.ESTIMATE),
        in_turn=False,
    ),
    FCFS_NEW_FIRST,
    dataclasses.replace(
        FCFS_NEW_FIRST, victim=Victim.MOST_OUTPUTS, requeue=Requeue.HEAD, gate=Gate.FIRST_CHUNK
    ),
    RLP,
)
# What is asked at the gate, and when; and whether who runs asks in turn.
_GATES = tuple(
    (gate, order, reset)
    for gate, order, reset in product(Gate, ("together", "alone", "newcomers"), RatioReset)
    if (gate is Gate.RATIO or reset is RatioReset.START)
    # and what EngineRules refuses
    and not (order == "alone" and gate is Gate.FIRST_CHUNK)
    and not (order == "newcomers" and gate in (Gate.PEAK, Gate.RATIO))
)
_IN_TURN = tuple(each for each in _GATES if each[1] != "newcomers")


def _every() -> Iterator[EngineRules]:
    """Each victim with each queue, in turn and not; of the gates one each, in rotation.

    All gates with all of these would take an hour to compile.
    """
    for in_turn, gates in ((False, _GATES), (True, _IN_TURN)):  # with every other asker staying
        for at, (victim, requeue) in enumerate(product(Victim, Requeue)):
            gate, order, reset = gates[(at + at // 9) % len(gates)]
            yield dataclasses.replace(
                VLLM,
                victim=victim,
                requeue=requeue,
                gate=gate,
                prefill_alone=order == "alone",
                newcomers_first=order == "newcomers",
                ratio=NewTokenRatio(reset=reset),
                in_turn=in_turn,
                asker_stays=in_turn and at % 2 == 1,
            )


ALL = tuple(_every())


def check(rules: EngineRules, arrays: RunArrays, **options: object) -> None:
    assert_equal(
        run_engine(rules, arrays, **options),  # pyright: ignore[reportArgumentType]
        run_literally(rules, arrays, **options),  # pyright: ignore[reportArgumentType]
    )


def label(rules: EngineRules) -> str:
    parts = (rules.victim.name, rules.requeue.name, rules.gate.name)
    order = ("alone",) * rules.prefill_alone + ("newcomers",) * rules.newcomers_first
    order += ("in-turn",) * rules.in_turn + ("asker-stays",) * rules.asker_stays
    given = (rules.allocation.name,) * (rules.allocation is not Allocation.BY_BLOCK)
    return "-".join(parts + order + given)


# ------------------------------------------------------------------------------ the literal one


def draw_and_check(data: st.DataObject, rules: EngineRules) -> None:
    check(
        data.draw(engine_rules(rules)),
        data.draw(batches()),
        jumps=data.draw(st.booleans()),
        iterations=data.draw(st.sampled_from([9, 120])),
        every=data.draw(st.sampled_from([1, 1, 7, 1000])),
    )


# Each is a compilation; by default the kernel, which `serve` takes, is held to all of them.
@pytest.mark.parametrize("rules", [*SOME[:4], *_deeper(SOME[4:])], ids=label)
@settings(max_examples=max(8, settings().max_examples // 4))
@given(data=st.data())
def test_every_row_and_request_equals_the_literal_engine(rules, data):
    draw_and_check(data, rules)


@pytest.mark.thorough
@pytest.mark.usefixtures("compiled_code_is_let_go_at_once")
@pytest.mark.parametrize("at", range(len(ALL)), ids=lambda at: label(ALL[at]))
def test_every_set_of_rules_equals_the_literal_engine(at):
    """Of 78 sets, four batches of 33: 10,296 drawn settings."""
    rng = np.random.default_rng(at)
    for batch in range(4):
        late = not ALL[at].newcomers_first and rng.random() < 0.5
        rules = dataclasses.replace(
            ALL[at],
            keeps=list(Keeps)[rng.integers(2)],
            growth=list(Growth)[rng.integers(2)],
            guard=list(Guard)[rng.integers(2)],
            reserved_tokens=int(rng.integers(3)),
            admits_after_eviction=late,
            ranges=Ranges((0.2, 0.5), int(rng.integers(1, 6))),
        )
        check(rules, drawn(4 * at + batch), jumps=batch % 2 == 0, iterations=120)


GIVEN = (
    RLP,
    dataclasses.replace(RLP, victim=Victim.MOST_BLOCKS, requeue=Requeue.TAIL),
    dataclasses.replace(RLP, victim=Victim.LEAST_PROGRESSED, prefill_alone=True),
    dataclasses.replace(RLP, requeue=Requeue.TAIL, newcomers_first=True),
)


@pytest.mark.thorough
@pytest.mark.usefixtures("compiled_code_is_let_go_at_once")
@pytest.mark.parametrize("rules", GIVEN, ids=label)
@settings(max_examples=313)  # of 4 sets of rules, each a batch of 8: 10,016 drawn settings
@given(data=st.data())
def test_every_way_to_give_memory_equals_the_literal_engine(rules, data):
    draw_and_check(data, rules)


# By default the kernel, which `serve` takes, is held to them; here each is a compilation.
@pytest.mark.thorough
@pytest.mark.parametrize("name", ENGINES)
def test_presets_equal_the_literal_engine_on_crowds(name):
    for seed in range(3):
        check(ENGINES[name], crowds(seed), jumps=True, iterations=2000)


@pytest.mark.parametrize("rules", [VLLM, FCFS_NEW_FIRST], ids=label)
def test_a_crowd_is_evicted_at_once(rules):
    """The search from the end takes more than one window, the admission more than one chunk."""
    size = 100
    alone = one(np.full(size, 1), np.full(size, 30), blocks=38, block_size=1)
    arrays = RunArrays(*(np.repeat(column, RUNS, axis=0) for column in alone))
    records = run_engine(rules, arrays, jumps=False, iterations=300)
    assert records.counts[0, :, COUNTS.index("preempt")].max() > 16
    assert records.counts[0, :, COUNTS.index("admit_new")].max() > 32
    assert_equal(records, run_literally(rules, arrays, jumps=False, iterations=300))


@pytest.mark.parametrize("rules", [r for r in SOME if r.newcomers_first], ids=label)
def test_who_is_given_no_tokens_needs_no_free_block(rules):
    """Newcomers take the whole budget and memory is exactly full: seldom drawn, so fixed here."""
    alone = one(np.array([1, 4]), np.array([9, 9]), blocks=6, block_size=1)
    arrays = RunArrays(*(np.repeat(column, RUNS, axis=0) for column in alone))._replace(
        budget=np.full(RUNS, 4), start=np.full((RUNS, 1), 2)
    )
    watchful = dataclasses.replace(rules, growth=Growth.ONE_FREE)
    records = run_engine(watchful, arrays, jumps=False, iterations=9)
    assert records.counts[:, 0, COUNTS.index("preempt")].tolist() == [0] * RUNS
    assert_equal(records, run_literally(watchful, arrays, jumps=False, iterations=9))


# ------------------------------------------------------------------------------- real schedulers


def oracle(name: str) -> Path:
    if not (ORACLES / name).is_file():
        pytest.skip(f"no oracles: FLUIDKV_ORACLES names no folder with {name}")
    return ORACLES / name


def test_every_row_of_the_vllm_oracles_is_equal():
    oracle("vllm/budget_256.json")
    records = [each for each in read_records(ORACLES / "vllm") if isinstance(each, VllmRecord)]
    assert all(record.rules == VLLM for record in records)
    assert [len(record.rows) for record in records] == [800] * 8
    runs = serve(
        [record.requests for record in records],
        VLLM,
        [record.limits for record in records],
        iterations=800,
        keep_requests=False,
        backend="jax",
    )
    for index, record in enumerate(records):
        ours = np.stack([runs[name].values[index] for name in record.columns], axis=1)
        np.testing.assert_array_equal(ours, record.rows, err_msg=record.source)


def test_evictions_and_iterations_of_the_vidur_counts_are_equal():
    [record] = read_records(oracle("vidur/counts.json"))
    assert isinstance(record, VidurCounts)
    runs = serve(
        [run.requests for run in record.runs],
        "vidur-sarathi",
        [run.limits for run in record.runs],
        keep_requests=False,
        backend="jax",
    )
    assert len(record.runs) == 4
    expected = [(run.evictions, run.iterations) for run in record.runs]
    evictions = runs.preempt.sum("window").values.astype(int).tolist()
    assert list(zip(evictions, runs.iterations.values.tolist(), strict=True)) == expected


def test_whole_blocks_are_exact():
    """The compiled engine divides floats. 525 tokens are 7 blocks of 75; 525 * (1 / 75) > 7."""
    with jax.enable_x64(True):
        numbers = _numbers(np.arange(1, 300))
        tokens = np.broadcast_to(np.arange(5000), (299, 5000))
        found = jax.jit(blocks_of)(numbers, jax.numpy.asarray(tokens))
        assert np.array_equal(found, -(-tokens // np.arange(1, 300)[:, None]))
        rng = np.random.default_rng(0)
        sizes = rng.integers(1, 2**30, 1000)
        numbers = _numbers(sizes)
        near = rng.integers(0, 2**30, (1000, 50)) // sizes[:, None] * sizes[:, None]
        tokens = np.maximum(near[:, :, None] + np.arange(-1, 2), 0).reshape(1000, -1)
        found = jax.jit(blocks_of)(numbers, jax.numpy.asarray(tokens))
        assert np.array_equal(found, -(-tokens // sizes[:, None]))


def _numbers(sizes: np.ndarray):
    count = sizes.size
    arrays = one(np.array([1]), np.array([1]), blocks=1, block_size=1)
    repeated = RunArrays(*(np.repeat(column, count, axis=0) for column in arrays))
    return numbers_of(VLLM, repeated._replace(block_size=sizes), jumps=False)
