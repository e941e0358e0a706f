"""The kernel equals the literal engine to the bit, whatever the rules, the numbers, the pieces."""

import dataclasses
from fractions import Fraction
from threading import main_thread
from typing import Any

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.runs.records import RunRecords
from fluidkv.runs.requests import Requests
from fluidkv.serving.arrays import Runs
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.counts import COUNTS
from fluidkv.serving.engines import ENGINES, FCFS_NEW_FIRST, RESTART, SGLANG, VLLM, engine
from fluidkv.serving.kernel.layout import Space
from fluidkv.serving.limits import Limits
from fluidkv.serving.records.replay import read_records
from fluidkv.serving.records.vidur import VidurCounts
from fluidkv.serving.records.vllm import VllmRecord
from fluidkv.serving.rules import (
    EngineRules,
    Growth,
    Keeps,
    NewTokenRatio,
    RatioReset,
    Requeue,
    Victim,
)
from fluidkv.serving.run import serve
from fluidkv.serving.running import engine as kernel_engine
from fluidkv.serving.running.batches import new_found, new_space, new_times
from fluidkv.serving.running.engine import LONGEST, covers, run_batch
from fluidkv.serving.server import Server
from tests.serving.engine_runs import assert_equal, crowds, drawn, limited, one, only, row
from tests.serving.records.record_copies import oracle, record_of

NAMED = sorted(ENGINES)


def check(rules: EngineRules, batch: Runs, **how: object) -> RunRecords:
    """What the kernel found, which is what the literal engine finds."""
    found = run_batch(rules, batch, **how)  # pyright: ignore[reportArgumentType]
    assert_equal(found, run_batch(rules, batch, **how, literally=True))  # pyright: ignore[reportArgumentType]
    return found


@pytest.mark.parametrize("name", NAMED)
def test_every_engine_in_a_crowd(name: str) -> None:
    check(ENGINES[name], crowds(NAMED.index(name)), jumps=True, iterations=250)


@pytest.mark.parametrize("victim", Victim, ids=lambda victim: victim.name)
def test_every_victim_where_memory_is_short(victim: Victim) -> None:
    rules = dataclasses.replace(VLLM, victim=victim, in_turn=False)
    batch = limited(crowds(3), admission_rate=None)
    longer = [
        dataclasses.replace(
            table, output_length=4 * table.output_length, max_output=4 * table.max_output
        )
        for table in batch.tables
    ]
    for each in (rules, dataclasses.replace(rules, in_turn=True)):
        found = check(each, batch._replace(tables=longer), jumps=True, iterations=300)
        assert found.counts[..., 4].sum() > 20  # evictions


def test_a_budget_that_does_not_serve_all_who_decode() -> None:
    batch = one(np.arange(3, 33), np.arange(40, 10, -1), blocks=300, block_size=2)
    batch = limited(batch, max_num_batched_tokens=4)._replace(start=[[9, 1, 8, 2, 7, 3, 6, 4]])
    found = check(VLLM, batch, jumps=False, iterations=600)
    assert (found.counts[..., 8] < found.counts[..., 1]).any()  # some compute nothing


def test_outputs_past_which_fewer_are_reserved() -> None:
    ratio = NewTokenRatio(clip=3, decay_steps=7)
    check(dataclasses.replace(SGLANG, ratio=ratio), crowds(6), jumps=True, iterations=400)


@pytest.mark.parametrize("reset", RatioReset, ids=lambda reset: reset.name)
def test_what_is_reserved_after_a_retraction(reset: RatioReset) -> None:
    for seed in (4, 5):
        ratio = NewTokenRatio(Fraction(2, 10), Fraction(0), 9, clip=9, reset=reset, ahead=seed)
        rules = dataclasses.replace(SGLANG, ratio=ratio)
        assert check(rules, drawn(seed), jumps=True, iterations=200).counts[..., 4].sum() > 3


def test_longest_gap_of_long_answers_under_a_clock_that_changes() -> None:
    outputs = np.array([400, 3, 250, 120, 399, 1, 77])
    arrival = [0, 3, 9, 80, 81, 300, 900.5]
    batch = one(np.arange(3, 24, 3), outputs, blocks=700, block_size=1, arrival=arrival)
    others: dict[str, Any] = {
        "per_prefill_pair": 0.05,
        "per_request": 0.02,
        "experts": 0.4,
        "expert_share": 0.1,
    }
    batch = batch._replace(clocks=[IterationClock(0.3, 0.01, 0.7, **others)])
    for rules in (VLLM, SGLANG, RESTART):
        found = check(rules, batch, jumps=True, iterations=4000)
        assert found.requests is not None
        assert (np.diff(np.unique(found.requests.longest_gap)) > 0).sum() >= 3


def test_a_restart_that_emits_again_what_its_client_has_seen() -> None:
    rules = dataclasses.replace(RESTART, keeps=Keeps.NOTHING)
    found = check(rules, crowds(7), jumps=True, iterations=400)
    again = found.counts[..., 11].sum()
    assert again > 0
    assert found.counts[..., 13].sum() < found.counts[..., 9].sum() - again


def test_blocks_longer_than_any_answer() -> None:
    for inputs in ([100, 4000, 250], [4093, 4096, 4090]):
        check(VLLM, one(inputs, [6, 5, 7], blocks=4, block_size=4096), jumps=False, iterations=60)


def test_windows_and_calls_end_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_engine, "_ROWS", 3)
    monkeypatch.setattr(kernel_engine, "MOST_COST", 20)
    for every in (1, 4, 1000):
        check(VLLM, crowds(8), jumps=True, iterations=90, every=every)


@pytest.mark.parametrize("batch_size", [1, 3, 100])
def test_a_run_is_the_same_alone_and_in_any_batch(batch_size: int) -> None:
    batch = crowds(9)
    together = run_batch(VLLM, batch, jumps=True, iterations=300, batch_size=batch_size)
    for run in range(8):
        alone = run_batch(VLLM, row(batch, run), jumps=True, iterations=300)
        mine, steps = only(together, run), int(alone.iterations[0])
        windows: dict[str, Any] = {"counts": mine.counts[:, :steps], "time": mine.time[:, :steps]}
        assert mine.requests is not None  # which are filled up behind a shorter table
        own = (column[:, : len(batch.tables[run])] for column in mine.requests)
        windows["requests"] = mine.requests._make(own)
        assert_equal(mine._replace(**windows), alone)


def test_without_requests_the_counts_are_the_same() -> None:
    whole = run_batch(RESTART, crowds(10), jumps=True, iterations=300)
    found = run_batch(RESTART, crowds(10), jumps=True, iterations=300, keep_requests=False)
    assert found.requests is None
    assert_equal(found, whole._replace(requests=None))


def test_without_requests_nothing_is_written_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    times, found = new_times(1, 1), new_found(1, 1)
    times[:] = found.outputs[:] = 7
    monkeypatch.setattr(kernel_engine, "new_times", lambda *shape: times)
    monkeypatch.setattr(kernel_engine, "new_found", lambda *shape, **kind: found)
    for rules in (VLLM, RESTART):
        run_batch(rules, crowds(10), jumps=True, iterations=300, keep_requests=False)
        assert (times == 7).all()
        assert (found.outputs == 7).all()


def test_a_call_ends_after_some_work(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(kernel_engine, "MOST_COST", 20)
    alone = row(crowds(11), 0)
    run_batch(VLLM, alone, jumps=True, iterations=90, on_progress=lambda *now: told.append(now))
    assert len(told) > 10


def test_progress_adds_up_and_an_interrupt_ends_the_runs() -> None:
    told: list[tuple[int, int]] = []
    found = run_batch(
        VLLM, crowds(11), jumps=True, iterations=300, on_progress=lambda *now: told.append(now)
    )
    assert told[-1] == (found.iterations.sum(), found.done.sum())

    def interrupt(iterations: int, done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_batch(VLLM, crowds(11), jumps=True, iterations=300, on_progress=interrupt)
    assert main_thread().is_alive()


def test_what_the_kernel_cannot_hold_goes_elsewhere() -> None:
    long = Requests([LONGEST - 5], [4])
    memory = Limits(2**30 - 1)
    memories = {"blocks": 2**30 - 1, "block_size": 1}
    assert covers(VLLM, one(long.input_length, long.output_length, **memories))
    assert not covers(VLLM, one(long.input_length, [6], **memories))
    with pytest.raises(InputError, match="backend"):
        serve(Requests([LONGEST], [4]), Server("vllm", memory, backend="kernel"))
    assert serve(Requests([LONGEST], [4]), Server("vllm", memory)).served.item() == 1


@pytest.mark.parametrize("rules", [VLLM, FCFS_NEW_FIRST], ids=lambda rules: rules.label)
def test_a_crowd_is_evicted_at_once(rules: EngineRules) -> None:
    batch = one(np.full(100, 1), np.full(100, 30), blocks=38, block_size=1)
    found = check(rules, batch, jumps=False, iterations=300)
    assert found.counts[0, :, COUNTS.index("preempt")].max() > 16
    assert found.counts[0, :, COUNTS.index("admit_new")].max() > 32


def test_one_that_is_given_no_tokens_needs_no_free_block() -> None:
    """Newcomers take the whole budget and memory is exactly full: seldom drawn, so fixed here."""
    batch = one([1, 4], [9, 9], blocks=6, block_size=1)._replace(start=[[2]])
    watchful = dataclasses.replace(FCFS_NEW_FIRST, growth=Growth.ONE_FREE)
    batch = limited(batch, max_num_batched_tokens=4)
    found = check(watchful, batch, jumps=False, iterations=9)
    assert found.counts[0, 0, COUNTS.index("preempt")] == 0


def test_one_after_the_budget_in_turn_needs_no_free_block() -> None:
    """The first takes the only token, and what the victim held; memory is exactly full."""
    batch = one([1, 1, 1], [9, 9, 9], blocks=5, block_size=1)._replace(start=[[2, 2, 1]])
    watchful = dataclasses.replace(
        VLLM, victim=Victim.FEWEST_BLOCKS, in_turn=True, growth=Growth.ONE_FREE
    )
    batch = limited(batch, max_num_batched_tokens=1)
    found = check(watchful, batch, jumps=False, iterations=9)
    assert found.counts[0, 0, COUNTS.index("preempt")] == 1


def test_every_row_of_the_recorded_vllm_schedulers_is_equal() -> None:
    records = read_records(oracle("vllm/budget_256.json").parent)
    records = [record for record in records if isinstance(record, VllmRecord)]
    assert all(record.rules == VLLM for record in records)
    assert [len(record.rows) for record in records] == [800] * 8
    servers = ((record.arrivals.requests, record.limits) for record in records)
    tables, limits = zip(*servers, strict=True)
    runs = serve(
        tables, Server(VLLM, limits, backend="kernel"), iterations=800, keep_requests=False
    )
    for index, record in enumerate(records):
        ours = np.stack([runs[name].values[index] for name in record.columns], axis=1)
        np.testing.assert_array_equal(ours, record.rows, err_msg=record.source)


def test_evictions_and_iterations_of_the_recorded_vidur_runs_are_equal() -> None:
    record = record_of(oracle("vidur/counts.json"), VidurCounts)
    tables, limits = zip(*((run.requests, run.limits) for run in record.runs), strict=True)
    runs = serve(tables, Server("vidur-sarathi", limits, backend="kernel"), keep_requests=False)
    assert len(record.runs) == 4
    expected = [(run.evictions, run.iterations) for run in record.runs]
    evictions = runs.preempt.sum("window").values.astype(int).tolist()
    assert list(zip(evictions, runs.iterations.values.tolist(), strict=True)) == expected


def test_runs_of_one_table_read_it_once() -> None:
    table = Requests([7, 9, 4, 8] * 9, [9, 3, 12, 5] * 9, priority=[2, 0, 1] * 12)
    limits = [Limits(capacity) for capacity in (40, 60, 90)]
    for name in ("vllm-priority", "s3", "sglang"):
        found = serve(table, Server(name, limits, backend="kernel"))
        assert found.identical(serve(table, Server(name, limits, backend="reference")))
        others = [table.asking(table.max_output) for _ in limits]
        assert found.identical(serve(others, Server(name, limits, backend="kernel")))


def test_serve_takes_the_kernel_by_name_and_for_much_work() -> None:
    requests = Requests([20] * 300, [30] * 300)
    server = Server("sglang", Limits(900), IterationClock(0.1, 1e-4))
    by_name = serve(requests, dataclasses.replace(server, backend="kernel"), clients=40)
    literal = serve(requests, dataclasses.replace(server, backend="reference"), clients=40)
    assert by_name.identical(literal)
    assert serve(requests, server, clients=40).identical(literal)
    assert engine("sglang") == SGLANG
    with pytest.raises(InputError, match="batch_size"):
        serve(requests, Server("sglang", Limits(900)), batch_size=0)


def _full_of_sevens(*arrays: np.ndarray) -> Space:
    space = new_space(*arrays)
    for records in (space.requests, space.aside, space.lists):
        records.view(np.uint8)[:] = 7
    return space


@pytest.mark.parametrize("name", NAMED)
def test_nothing_is_read_that_was_not_written(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One request alone, whose columns are no larger than those that no rule looks at, and many."""
    monkeypatch.setattr(kernel_engine, "new_space", _full_of_sevens)
    alone = limited(crowds(12, runs=1, size=1), capacity=lambda limits: 40 * limits.block_size)
    for batch in (alone, crowds(13)):
        for requeue in (ENGINES[name].requeue, Requeue.BY_PRIORITY):
            rules = dataclasses.replace(ENGINES[name], requeue=requeue)
            check(rules, batch, jumps=True, iterations=60)


def test_a_horizon_of_no_iteration_has_no_windows() -> None:
    found = run_batch(VLLM, crowds(14), jumps=True, iterations=0)
    assert found.counts.shape == (8, 0, len(COUNTS))
