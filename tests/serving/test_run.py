"""One call for many runs: what it returns, how runs end, and what it refuses."""

from fractions import Fraction

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.runs.arrivals import poisson, saturated
from fluidkv.runs.dataset import KNOWN_COUNTS, RunStatus
from fluidkv.runs.requests import Requests
from fluidkv.serving.checks import largest_request
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.counts import COUNTS
from fluidkv.serving.engines import ENGINES, VIDUR_SARATHI, engine
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.workload import RequestClass, Workload

ONE = Workload((RequestClass(10, 40),))
ENDING = [name for name, rules in ENGINES.items() if not rules.newcomers_first]
"""Under these every run ends; the other ones are in `test_newcomers_first`."""


@pytest.mark.parametrize("name", ENDING)
def test_every_engine_serves_every_request(name):
    table = poisson(ONE, 1.2, 300, rng=4)
    run = serve(table, Server(name, Limits(1000, block_size=4, watermark=0.02)))
    assert run.status.item() == RunStatus.DONE.name
    assert run.completed.sum().item() == run.served.item() == 300
    assert run.finished.all()
    assert (run.outputs == 40).all()
    assert run.evictions.sum().item() == run.preempt.sum().item()
    assert run.attrs["engine"] == engine(name).label


def test_a_batch_is_its_runs_one_by_one():
    tables = [poisson(ONE, 1.3, 80 + 20 * seed, rng=seed) for seed in range(3)]
    limits = [Limits(600), Limits(700, watermark=0.1), Limits(800, max_num_seqs=20)]
    together = serve(tables, Server("vllm", limits))
    for run, (table, of) in enumerate(zip(tables, limits, strict=True)):
        alone = serve(table, Server("vllm", of))
        windows, size = alone.sizes["window"], len(table)
        for name in COUNTS:
            seen = together[name].values[run]
            assert seen[:windows].tolist() == alone[name].values[0].tolist()
            assert np.isnan(seen[windows:]).all()
        for name in ("arrival", "admitted", "first_token", "last_token", "longest_gap"):
            assert together[name].values[run, :size].tolist() == alone[name].values[0].tolist()


def test_a_horizon_leaves_requests_in_flight_and_says_so():
    run = serve(saturated(ONE, 500), Server("restart", Limits(600)), iterations=50)
    assert run.status.item() == "HORIZON"
    assert run.iterations.item() == 50
    assert run.served.item() < 500
    in_flight = (run.admitted.notnull() & ~run.finished).sum().item()
    assert in_flight >= run.running.values[0, -1] - run.completed.values[0, -1] > 0


def test_windows_hold_sums_of_flows_and_means_of_levels():
    server = Server("vllm", Limits(600))
    fine = serve(saturated(ONE, 500), server, iterations=47)
    coarse = serve(saturated(ONE, 500), server, iterations=47, every=10)
    assert coarse.iteration.values.tolist() == [10, 20, 30, 40, 50]
    for name in COUNTS:
        parts = [fine[name].values[0, at : at + 10] for at in range(0, 47, 10)]
        expected = [part.mean() if KNOWN_COUNTS[name].level else part.sum() for part in parts]
        assert coarse[name].values[0].tolist() == expected
    assert coarse.time.values[0].tolist() == [10, 20, 30, 40, 47]


def test_requests_may_be_left_out():
    run = serve(saturated(ONE, 50), Server("vllm", Limits(600)), keep_requests=False)
    assert "arrival" not in run
    assert run.served.item() == 50


def test_a_closed_population_keeps_its_clients_busy():
    run = serve(saturated(ONE, 60), Server("vllm", Limits(2000)), clients=8)
    busy = run.running.values[0] + run.waiting.values[0]
    assert (busy[: -2 * 40] == 8).all()
    assert run.status.item() == "DONE"
    arrived = run.arrival.values[0]
    assert (arrived[:8] == 0).all()
    done = np.sort(run.last_token.values[0])
    # The ninth request comes in the iteration after the first is done, and so on.
    assert arrived[8:].tolist() == done[: 60 - 8].tolist()


def test_seconds_jump_over_idle_time_and_iterations_do_not():
    table = Requests([5, 5], [2, 2], arrival=[0.0, 100.0])
    seconds = serve(table, Server("vllm", Limits(100), clock=IterationClock(0.5, unit="s")))
    assert seconds.iterations.item() == 5  # two for each request and an idle one between
    assert seconds.arrival.values[0].tolist() == [0.0, 100.0]
    assert seconds.first_token.values[0].tolist() == [0.5, 100.5]
    ticks = serve(table, Server("vllm", Limits(100)))
    assert ticks.iterations.item() == 102


def test_the_clock_counts_cache_and_prefill():
    clock = IterationClock(1.0, 0.25, 0.5)
    run = serve(Requests([4], [3]), Server("vllm", Limits(100), clock=clock))
    # Prefill of 4: 1 + 4/4 + 4/2; then 5 and 6 tokens in the cache.
    assert np.diff(run.time.values[0], prepend=0.0).tolist() == [4.0, 2.25, 2.5]


@pytest.mark.parametrize("name", ENDING)
def test_the_largest_request_that_is_allowed_is_served(name):
    """The bound of `largest_request` is enough: alone, and among others."""
    for block_size in (1, 3):
        table = Requests([7, 7, 7], [9, 9, 9])
        for capacity in range(8, 40):
            limits = Limits(capacity, block_size=block_size) if capacity >= block_size else None
            assert limits is not None
            _, needed, available = largest_request(engine(name), limits, table)
            if needed <= available:
                run = serve(table, Server(name, limits, backend="reference"), iterations=500)
                assert run.status.item() == "DONE", capacity
                break
        else:
            pytest.fail("no capacity was enough")


def test_vidur_counts_its_watermark_for_the_largest_request():
    table = Requests([16], [1])
    assert largest_request(VIDUR_SARATHI, Limits(100, watermark=0.5), table) == (0, 16, 50)


def test_a_lone_output_needs_no_spare_block():
    assert serve(Requests([16], [1]), Server("vidur-sarathi", Limits(16))).status.item() == "DONE"


def test_sglang_counts_no_more_than_its_clip():
    long = Requests([100], [10], max_output=[10_000])
    assert serve(long, Server("sglang", Limits(6000))).status.item() == "DONE"
    refused("capacity", lambda: serve(long, Server("trtllm-no-evict", Limits(6000))))


def test_little_work_over_a_long_time_goes_through_the_compiled_engine():
    apart = Requests([1, 1], [1, 1], arrival=[0.0, 4e5])
    run = serve(apart, Server("vllm", Limits(10)), every=100_000)
    assert run.iterations.item() == 400_001


def refused(argument, call):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value).startswith(f"{argument}:")
    return str(caught.value)


def test_a_request_larger_than_the_memory_is_named_with_the_engine():
    table = Requests([10, 90], [5, 30])
    message = refused("capacity", lambda: serve(table, Server("vllm", Limits(100))))
    assert "request 1, counted from 0 (90 input + 30 output tokens)" in message
    assert "vllm 0.33.0" in message
    refused("capacity", lambda: serve(table, Server("restart", Limits(119))))
    assert serve(table, Server("vllm", Limits(119))).status.item() == "DONE"
    assert serve(table, Server("restart", Limits(120))).status.item() == "DONE"


@pytest.mark.parametrize(
    ("argument", "wrong"),
    [
        ("engine", {"engine": "vlm"}),
        ("iterations", {"iterations": 0}),
        ("every", {"every": 0}),
        ("clients", {"clients": 0}),
        ("limits", {"limits": [Limits(100)] * 2, "requests": [Requests([1], [2])] * 3}),
        ("limits", {"limits": 100}),
        ("requests", {"requests": [3]}),
        ("clock", {"clock": [IterationClock(1.0), IterationClock.iterations()]}),
        ("start", {"start": [2]}),
        ("start", {"start": [1.5]}),
        ("start", {"start": "ab"}),
        ("start", {"start": [1], "requests": Requests([1], [2], arrival=[3.0])}),
        ("start", {"start": [1] * 3, "requests": Requests([40] * 3, [2] * 3)}),
        (
            "start",
            {
                "start": [1] * 3,
                "requests": Requests([1] * 3, [2] * 3),
                "limits": Limits(100, max_num_seqs=2),
            },
        ),
        ("clients", {"clients": 2.5}),
        ("every", {"every": 2**70}),
        ("start", {"start": [1, 1]}),
        ("backend", {"backend": "numba"}),
    ],
)
def test_bad_input_is_refused_before_anything_runs(argument, wrong):
    call = {"requests": Requests([1], [2]), "engine": "vllm", "limits": Limits(100)} | wrong
    of_server = ("engine", "limits", "clock", "prompts", "backend")
    server = {name: call.pop(name) for name in of_server if name in call}
    refused(argument, lambda: serve(server=Server(**server), **call))


def test_rate_limited_admission_is_at_most_the_rate():
    table = saturated(ONE, 800)
    rate = Fraction(2000, sum(10 + 1 + j for j in range(40)))  # x*, about 1.64
    run = serve(table, Server("restart", Limits(2000, admission_rate=rate)), iterations=300)
    admitted = (run.admit_new + run.admit_resumed).values[0]
    assert 0.95 * 300 * rate < admitted.sum() <= 300 * rate  # memory binds now and then
    for window in (1, 7, 40):
        sums = np.convolve(admitted, np.ones(window), "valid")
        assert (sums < 1 + window * float(rate)).all()
