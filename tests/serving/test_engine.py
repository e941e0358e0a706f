"""The compiled engine equals the literal one, whatever the rules, the settings and the batch."""

import dataclasses
import os
from itertools import product
from pathlib import Path

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluidkv.errors import InputError
from fluidkv.serving import _loop
from fluidkv.serving import engine as compiled
from fluidkv.serving._state import blocks_of
from fluidkv.serving.arrays import RunArrays, RunRecords
from fluidkv.serving.arrivals import poisson
from fluidkv.serving.engine import run_engine
from fluidkv.serving.engines import ENGINES, RESTART, SGLANG, TRTLLM_NO_EVICT, VLLM, VLLM_0_11
from fluidkv.serving.limits import UNLIMITED, Limits
from fluidkv.serving.literal import run_literally
from fluidkv.serving.records import VidurCounts, VllmRecord, read_records
from fluidkv.serving.reference import COUNTS
from fluidkv.serving.requests import Requests
from fluidkv.serving.rules import EngineRules, Gate, NewTokenRatio, RatioReset, Requeue, Victim
from fluidkv.serving.serve import serve
from fluidkv.workload import RequestClass, Workload
from tests.serving.strategies import batches, engine_rules

ORACLES = Path(
    os.environ.get("FLUIDKV_ORACLES") or Path(__file__).parents[3] / "shared" / "oracles"
)

# Every answer that is compiled in shows here; each line is a compilation of some seconds.
SOME = (
    RESTART,
    VLLM,
    VLLM_0_11,
    SGLANG,
    TRTLLM_NO_EVICT,
    dataclasses.replace(
        VLLM, victim=Victim.MOST_OUTPUTS, requeue=Requeue.TAIL, gate=Gate.FIRST_CHUNK
    ),
    dataclasses.replace(
        VLLM,
        victim=Victim.MOST_BLOCKS,
        gate=Gate.RATIO,
        ratio=NewTokenRatio(reset=RatioReset.ESTIMATE),
    ),
    dataclasses.replace(VLLM, requeue=Requeue.TAIL, gate=Gate.PEAK, prefill_alone=True),
)
ALL = tuple(
    dataclasses.replace(
        VLLM,
        victim=victim,
        requeue=requeue,
        gate=gate,
        prefill_alone=alone,
        ratio=NewTokenRatio(reset=reset),
    )
    for victim, requeue, gate, alone, reset in product(
        Victim, Requeue, Gate, (False, True), RatioReset
    )
    if gate is Gate.RATIO or reset is RatioReset.START
)


def assert_equal(ours: RunRecords, literal: RunRecords) -> None:
    """To the bit, times too."""
    for name in RunRecords._fields:
        np.testing.assert_array_equal(getattr(ours, name), getattr(literal, name), err_msg=name)


def check(rules: EngineRules, arrays: RunArrays, **options: object) -> None:
    assert_equal(
        run_engine(rules, arrays, **options),  # pyright: ignore[reportArgumentType]
        run_literally(rules, arrays, **options),  # pyright: ignore[reportArgumentType]
    )


def label(rules: EngineRules) -> str:
    parts = (rules.victim.name, rules.requeue.name, rules.gate.name)
    return "-".join(parts + ("alone",) * rules.prefill_alone)


# ------------------------------------------------------------------------------ the literal one


def draw_and_check(data: st.DataObject, rules: EngineRules) -> None:
    check(
        data.draw(engine_rules(rules)),
        data.draw(batches()),
        jumps=data.draw(st.booleans()),
        iterations=data.draw(st.sampled_from([9, 120])),
        every=data.draw(st.sampled_from([1, 1, 7, 1000])),
    )


@pytest.mark.parametrize("rules", SOME, ids=label)
@settings(max_examples=max(8, settings().max_examples // 4))
@given(data=st.data())
def test_every_row_and_request_equals_the_literal_engine(rules, data):
    draw_and_check(data, rules)


@pytest.mark.thorough
@pytest.mark.parametrize("rules", ALL, ids=label)
@settings(max_examples=50)  # of 100 sets of rules; each compiles for seconds
@given(data=st.data())
def test_every_set_of_rules_equals_the_literal_engine(rules, data):
    draw_and_check(data, rules)


def crowds(seed: int, *, runs: int = 8, size: int = 60) -> RunArrays:
    """More requests than the strategy draws, so that many are evicted in one iteration."""
    rng = np.random.default_rng(seed)
    inputs, outputs = rng.integers(1, 14, (2, runs, size))
    gaps = np.round(rng.exponential(rng.choice([0.0, 0.3, 2.0], (runs, 1)), (runs, size)), 2)
    block_size = rng.choice([1, 3, 16], runs)
    blocks = rng.integers(120, 400, runs) // block_size
    return RunArrays(
        inputs,
        outputs,
        outputs + rng.integers(0, 4, (runs, size)),
        gaps.cumsum(axis=1),
        requests=rng.integers(size // 2, size + 1, runs),
        blocks=blocks,
        block_size=block_size,
        watermark_blocks=rng.integers(0, 3, runs),
        sequences=rng.choice([UNLIMITED, 12], runs),
        budget=rng.choice([UNLIMITED, 40], runs),
        rate=np.array([(0, 1), (3, 2)])[rng.integers(0, 2, runs)],
        clients=rng.choice([0, 0, 25], runs),
        clock=rng.uniform(0.1, 1.0, (runs, 3)),
        start=np.zeros((runs, 0), np.int64),
    )


@pytest.mark.parametrize("name", ENGINES)
def test_presets_equal_the_literal_engine_on_crowds(name):
    for seed in range(3):
        check(ENGINES[name], crowds(seed), jumps=True, iterations=2000)


def test_a_crowd_is_evicted_at_once():
    """The search from the end takes more than one window, the admission more than one chunk."""
    size = 200
    arrays = one(np.full(size, 1), np.full(size, 30), blocks=76, block_size=1)
    records = run_engine(VLLM, arrays, jumps=False, iterations=300)
    assert records.counts[0, :, COUNTS.index("preempt")].max() > 16
    assert records.counts[0, :, COUNTS.index("admit_new")].max() > 64
    assert_equal(records, run_literally(VLLM, arrays, jumps=False, iterations=300))


def one(inputs: np.ndarray, outputs: np.ndarray, *, blocks: int, block_size: int) -> RunArrays:
    """One run, everything at the start, nothing capped."""
    column = {"requests": inputs.size, "blocks": blocks, "block_size": block_size}
    return RunArrays(
        inputs[None],
        outputs[None],
        outputs[None],
        np.zeros((1, inputs.size)),
        **{name: np.array([value]) for name, value in column.items()},
        watermark_blocks=np.array([0]),
        sequences=np.array([UNLIMITED]),
        budget=np.array([UNLIMITED]),
        rate=np.array([[0, 1]]),
        clients=np.array([0]),
        clock=np.array([[1.0, 0.0, 0.0]]),
        start=np.zeros((1, 0), np.int64),
    )


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


# ------------------------------------------------------------------- batches, windows, compiling


def row(arrays: RunArrays, run: int) -> RunArrays:
    return RunArrays(*(column[run : run + 1] for column in arrays))


def test_a_batch_is_its_runs_one_by_one():
    arrays = crowds(5)
    together = run_engine(VLLM, arrays, jumps=True, iterations=2000)
    assert len(set(together.iterations.tolist())) > 1
    for run in range(8):
        alone = run_engine(VLLM, row(arrays, run), jumps=True, iterations=2000)
        windows = alone.time.shape[1]
        assert (together.counts[run, windows:] == 0).all()
        assert np.isnan(together.time[run, windows:]).all()
        mine = RunRecords(*(column[run : run + 1] for column in together if column is not None))
        mine = mine._replace(counts=mine.counts[:, :windows], time=mine.time[:, :windows])
        assert_equal(mine, alone)


@pytest.mark.parametrize("every", [3, 50, 10**6])
def test_windows_are_sums_of_rows(every, monkeypatch):
    """Also where a window goes on in the next call of the compiled loop."""
    monkeypatch.setattr(compiled, "MOST_ITERATIONS", 20)
    arrays = crowds(6)
    fine = run_engine(VLLM, arrays, jumps=True, iterations=110)
    coarse = run_engine(VLLM, arrays, jumps=True, iterations=110, every=every)
    for run in range(8):
        iterations = fine.iterations[run]
        for window in range(-(-iterations // every)):
            first, last = window * every, min((window + 1) * every, iterations)
            expected = fine.counts[run, first:last].sum(axis=0)
            assert coarse.counts[run, window].tolist() == expected.tolist()
            assert coarse.time[run, window] == fine.time[run, last - 1]


def test_numbers_are_not_compiled_in(monkeypatch):
    """Seeds, limits, clocks, rates, clients, and the rules that are numbers."""
    table = poisson(Workload((RequestClass(10, 40),)), 1.2, 100, rng=0)
    limits = [Limits(500), Limits(600)]
    serve(table, "vllm", limits, backend="jax")
    traces = []
    iterate = _loop.iterate
    monkeypatch.setattr(_loop, "iterate", lambda *given: traces.append(1) or iterate(*given))
    for seed, changed in enumerate(
        (
            {"watermark": 0.1},
            {"capacity": 700, "block_size": 4},
            {"max_num_seqs": 5, "max_num_batched_tokens": 64},
            {"admission_rate": 1},
        )
    ):
        table = poisson(Workload((RequestClass(12, 30),)), 1.0 + seed, 90 + seed, rng=seed)
        others = [dataclasses.replace(each, **changed) for each in limits]
        serve(table, "vllm", others, clients=seed or None, backend="jax")
        serve(table, "vidur-sarathi", others, every=5, iterations=40, backend="jax")
    assert traces == []


def test_more_run_than_there_are_slots():
    """Slots are for the mean prompt; short ones come first here. The call is repeated with more."""
    inputs = np.concatenate([np.full(180, 1), np.full(60, 1000)])
    arrays = one(inputs, np.full(240, 3), blocks=2000, block_size=1)
    records = run_engine(VLLM, arrays, jumps=False, iterations=400)
    assert records.counts[0, 0, COUNTS.index("running")] > compiled.FEWEST_SLOTS
    assert_equal(records, run_literally(VLLM, arrays, jumps=False, iterations=400))


def test_progress_is_told_and_a_raise_ends_the_call(monkeypatch):
    monkeypatch.setattr(compiled, "MOST_ITERATIONS", 20)
    arrays, told = crowds(7), []
    records = run_engine(
        VLLM, arrays, jumps=True, iterations=100, on_progress=lambda *done: told.append(done)
    )
    assert told == sorted(told)
    assert len(told) >= 5
    assert told[-1] == (records.iterations.sum(), records.done.sum())

    def interrupt(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_engine(VLLM, arrays, jumps=True, iterations=100, on_progress=interrupt)


def test_requests_are_left_out_where_nobody_asks():
    arrays = crowds(8)
    whole = run_engine(VLLM, arrays, jumps=True, iterations=2000)
    records = run_engine(VLLM, arrays, jumps=True, iterations=2000, keep_requests=False)
    assert_equal(records, whole._replace(**dict.fromkeys(RunRecords._fields[5:])))


def test_a_request_beyond_the_integers_is_refused():
    arrays = one(np.array([2**29]), np.array([1]), blocks=2**29, block_size=2)
    with pytest.raises(InputError, match="fewer than 536870912"):
        run_engine(VLLM, arrays, jumps=False, iterations=1)


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
    from fluidkv.serving._start import numbers_of

    count = sizes.size
    arrays = one(np.array([1]), np.array([1]), blocks=1, block_size=1)
    repeated = RunArrays(*(np.repeat(column, count, axis=0) for column in arrays))
    return numbers_of(VLLM, repeated._replace(block_size=sizes), jumps=False)


def test_tables_stay_what_they_are():
    table = Requests([3, 4], [2, 5])
    before = (table.input_length.tobytes(), table.arrival.tobytes())
    serve(table, "vllm", Limits(20), clients=1, backend="jax")
    assert (table.input_length.tobytes(), table.arrival.tobytes()) == before
