"""Each metric against its definition, computed by hand or from the literal engine."""

import re
from pathlib import Path

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.runs.arrivals import poisson, saturated
from fluidkv.runs.measuring import TITLES, TITLES_OF_REQUESTS, metrics
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import RESTART, VLLM
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.serving.stepped import Engine
from fluidkv.workload import RequestClass, Workload

ONE = Workload((RequestClass(10, 40),))
CLOCK = IterationClock(1.0, 2.0**-10, 2.0**-6)  # dyadic: every engine's sums are exact


def test_one_request_by_hand():
    clock = IterationClock(1.0, per_prefill_token=0.25)
    found = metrics(serve(Requests([4], [3]), Server("vllm", Limits(100), clock=clock)))
    assert {name: found[name].item() for name in ("ttft_mean", "tpot_mean", "latency_mean")} == {
        "ttft_mean": 2.0,
        "tpot_mean": 1.0,
        "latency_mean": 4.0,
    }
    assert found.throughput.item() == 1 / 3
    assert found.output_throughput_per_time.item() == 3 / 4
    assert found.recompute_tax.item() == 0
    assert found.utilisation.item() == pytest.approx((4 + 5 + 6) / 300, rel=1e-15)
    assert found.attrs["unit"] == "s"


@pytest.mark.parametrize("rules", [VLLM, RESTART])
def test_metrics_of_a_run_are_those_of_its_requests(rules):
    table = poisson(ONE, 1.5, 400, rng=11)
    engine = Engine(table, Server(rules, Limits(900), CLOCK))
    rows = []
    while engine.done < len(table):
        rows.append(engine.step())
    found = metrics(serve(table, Server(rules, Limits(900), clock=CLOCK), every=7))
    requests = engine.all
    last = np.array([r.last_token_at for r in requests], float)
    latency = last - [r.arrival for r in requests]
    tpot = (last - np.array([r.first_token_at for r in requests], float)) / 39
    assert found.preemptions.item() == sum(r.evictions for r in requests) > 0
    assert found.duration.item() == engine.now
    assert found.throughput_per_time.item() == 400 / engine.now
    assert found.output_throughput.item() == 400 * 40 / len(rows)
    recomputed = sum(row["recomputed_tokens"] for row in rows)
    assert found.recompute_tax.item() == recomputed / sum(row["tokens"] for row in rows)
    assert found.latency_p95.item() == pytest.approx(np.quantile(latency, 0.95), rel=1e-12)
    assert found.tpot_mean.item() == pytest.approx(np.mean(tpot), rel=1e-12)
    assert found.longest_gap_p99.item() == np.quantile([r.longest_gap for r in requests], 0.99)
    assert found.censored.item() == 0


def test_computed_tokens_are_what_requests_need_and_the_tax():
    """Without restarts: l0 + l1 - 1 tokens a request, and what was recomputed."""
    run = serve(saturated(ONE, 300), Server("vllm", Limits(900)))
    computed = run.tokens.sum().item() - run.recomputed_tokens.sum().item()
    assert computed == 300 * (10 + 40 - 1)
    assert run.recomputed_tokens.sum().item() > 0


def test_a_warm_up_is_left_out():
    table = poisson(ONE, 1.1, 600, rng=2)
    run = serve(table, Server("vllm", Limits(2000)), every=10)
    found = metrics(run, first=20)
    later = run.arrival.values[0] >= 200
    assert found.iterations.item() == run.iterations.item() - 200
    assert found.completions.item() == run.completed.values[0, 20:].sum()
    latency = (run.last_token - run.arrival).values[0][later]
    assert found.latency_mean.item() == pytest.approx(latency.mean(), rel=1e-12)
    assert found.duration.item() == run.time.values[0, -1] - 200


@pytest.mark.parametrize("first", [0, 2])
def test_dimensions_may_stand_in_any_order_and_one_run_alone(first: int) -> None:
    requests = Requests([4, 6, 5] * 5, [3, 9, 4] * 5, arrival=np.arange(15.0))
    run = serve(requests, Server(VLLM, [Limits(30), Limits(60)]))
    expected = metrics(run, first=first)
    assert metrics(run.transpose("window", "request", "run"), first=first).identical(expected)
    counts = run.drop_dims("request")
    alone = metrics(counts.isel(run=0), first=first)
    assert alone.equals(metrics(counts, first=first).isel(run=0))


def test_a_queue_that_grows_steadily_has_its_slope():
    # Capacity serves one request at a time, in two iterations; one comes in each.
    table = Requests(np.full(200, 5), np.full(200, 2), arrival=np.arange(200.0))
    run = serve(table, Server("vllm", Limits(7)), iterations=200)
    assert metrics(run).queue_drift.item() == pytest.approx(0.5, abs=0.01)
    assert metrics(run).censored.item() == 100


@pytest.mark.parametrize("every", [7, 100])
def test_means_do_not_depend_on_the_windows(every):
    """The last window of a run is shorter, and weighs less."""
    tables = [poisson(ONE, 1.5, count, rng=1) for count in (400, 150)]
    fine, coarse = (
        metrics(serve(tables, Server("vllm", Limits(900)), every=width)) for width in (1, every)
    )
    for name in ("running_mean", "queue_mean", "utilisation", "throughput", "recompute_tax"):
        # Sums of integers in another order: a few units in the last place.
        np.testing.assert_allclose(coarse[name], fine[name], rtol=1e-12)


def test_clients_that_did_not_come_are_not_censored():
    run = serve(saturated(ONE, 1000), Server("vllm", Limits(2000)), clients=3, iterations=20)
    assert metrics(run).censored.item() == 3
    assert np.isnan(run.arrival.values[0, 3:]).all()


def test_a_run_that_ends_before_the_warm_up_does_has_no_metrics():
    tables = [poisson(ONE, 1.5, count, rng=1) for count in (400, 5)]
    found = metrics(serve(tables, Server("vllm", Limits(900)), every=10), first=10)
    assert found.throughput.values[0] > 0
    for name in ("throughput", "running_mean", "queue_mean", "latency_mean"):
        assert np.isnan(found[name].values[1]), name


def test_what_did_not_come_is_not_a_number():
    run = serve(Requests([5], [50]), Server("vllm", Limits(100)), iterations=3)
    found = metrics(run)
    assert np.isnan(found.latency_p99.item())
    assert found.ttft_mean.item() == 1.0
    assert found.censored.item() == 1


@pytest.mark.parametrize("first", [-1, 3, True])
def test_the_warm_up_is_shorter_than_the_run(first):
    run = serve(Requests([5], [50]), Server("vllm", Limits(100)), iterations=3)
    with pytest.raises(InputError, match="first"):
        metrics(run, first=first)


def test_the_page_defines_every_metric():
    page = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()
    defined = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert defined == {*TITLES, *TITLES_OF_REQUESTS}
