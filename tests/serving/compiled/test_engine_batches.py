"""Batches, windows, calls and compilations of the compiled engine."""

import dataclasses

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.runs.arrivals import poisson
from fluidkv.runs.records import RunRecords
from fluidkv.runs.requests import Requests
from fluidkv.serving.arrays import RunArrays
from fluidkv.serving.compiled import engine as compiled
from fluidkv.serving.compiled import loop
from fluidkv.serving.compiled.admit import CHUNK
from fluidkv.serving.compiled.engine import run_engine
from fluidkv.serving.compiled.plan import FEWEST_SLOTS
from fluidkv.serving.engines import VLLM
from fluidkv.serving.limits import Limits
from fluidkv.serving.literal import run_literally
from fluidkv.serving.reference import COUNTS
from fluidkv.serving.run import serve
from fluidkv.workload import RequestClass, Workload
from tests.serving.compiled.engine_runs import assert_equal, crowds, one, only, row


def test_a_run_is_the_same_whoever_runs_beside_it():
    """In another place, beside others. One alone is compared with the literal engine below."""
    arrays, others = crowds(5), crowds(9)
    together = run_engine(VLLM, arrays, jumps=True, iterations=2000)
    assert len(set(together.iterations.tolist())) > 1
    for first in (0, 1):
        mixed = [arrays, others] if first == 0 else [others, arrays]
        rows = [row(mixed[place % 2], place) for place in range(8)]
        again = RunArrays(*(np.concatenate(column) for column in zip(*reversed(rows), strict=True)))
        found = run_engine(VLLM, again, jumps=True, iterations=2000)
        for run in range(first, 8, 2):
            assert_equal(_until_its_end(only(found, 7 - run)), _until_its_end(only(together, run)))


def _until_its_end(records: RunRecords) -> RunRecords:
    """Without the rows after it, which are empty."""
    [end] = records.iterations
    assert (records.counts[:, end:] == 0).all()
    assert np.isnan(records.time[:, end:]).all()
    return records._replace(counts=records.counts[:, :end], time=records.time[:, :end])


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
    iterate = loop.iterate
    monkeypatch.setattr(loop, "iterate", lambda *given: traces.append(1) or iterate(*given))
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
    assert records.counts[0, 0, COUNTS.index("running")] > FEWEST_SLOTS
    assert_equal(records, run_literally(VLLM, arrays, jumps=False, iterations=400))


def test_permits_are_counted_over_all_chunks_of_an_iteration():
    """Rates above one chunk, just above it, and around two; of new requests and of resumed ones.

    300 wait, of 1 token and 12 outputs each, for a memory of 900: many are evicted as they
    grow, and are back as soon as the first are done, by tens at once.
    """
    rates = np.array([(50, 1), (CHUNK + 1, 1), (4 * CHUNK + 1, 2)])
    alone = one(np.full(300, 1), np.full(300, 12), blocks=900, block_size=1)
    arrays = RunArrays(*(np.repeat(column, 3, axis=0) for column in alone))._replace(rate=rates)
    records = run_engine(VLLM, arrays, jumps=False, iterations=400)
    new, resumed = (
        records.counts[:, :, COUNTS.index(name)] for name in ("admit_new", "admit_resumed")
    )
    assert new[:, :2].tolist() == [[50, 50], [CHUNK + 1] * 2, [2 * CHUNK, 2 * CHUNK + 1]]
    assert resumed.max(axis=1).tolist() == [50, CHUNK + 1, 2 * CHUNK + 1]
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
    assert_equal(records, whole._replace(requests=None))


def test_a_request_beyond_the_integers_is_refused():
    arrays = one(np.array([2**29]), np.array([1]), blocks=2**29, block_size=2)
    with pytest.raises(InputError, match="fewer than 536870912"):
        run_engine(VLLM, arrays, jumps=False, iterations=1)


def test_tables_stay_what_they_are():
    table = Requests([3, 4], [2, 5])
    before = (table.input_length.tobytes(), table.arrival.tobytes())
    serve(table, "vllm", Limits(20), clients=1, backend="jax")
    assert (table.input_length.tobytes(), table.arrival.tobytes()) == before
