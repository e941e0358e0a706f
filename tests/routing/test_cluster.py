"""The cluster: equal to the literal loop, every request once, the same for the same seed."""

from itertools import pairwise

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.prefix.on_trie.trie import trie_of
from fluidkv.prefix.pieces import Piece
from fluidkv.prefix.prompts import Prompts
from fluidkv.routing import (
    LBGR,
    CacheAware,
    LeastLoaded,
    LinearScore,
    LoadAware,
    PowerOfTwo,
    Random,
    RoundRobin,
    Service,
)
from fluidkv.routing.affine import LinearCost
from fluidkv.routing.blind import Assigned
from fluidkv.routing.cluster import run_cluster
from fluidkv.routing.estimate import Belief
from fluidkv.routing.plain import PlainWorker
from fluidkv.routing.results import as_dataset, measures
from fluidkv.runs.requests import Requests
from tests.routing.reference import route_literally
from tests.routing.tables import TokenLRU, drawn

ROUTERS = (
    Random(),
    RoundRobin(),
    LeastLoaded(),
    PowerOfTwo(),
    CacheAware(balance_abs=2),
    LinearScore(),
    LinearCost(),
    LoadAware(),
    CacheAware(0.2, 3, 1.5, "queue"),
    LBGR(missed=100.0),
    LBGR(missed=100.0, cached=10.0, step="nlms", error="routed", release="whole", every=0.3),
    LBGR(missed=100.0, step="rls"),
)
SERVICE = Service(cached=5.0, missed=120.0, output=0.05)


def played(requests, prompts, router, *, workers=3, service=SERVICE, belief=None, seed=0):
    caches = [TokenLRU(prompts, 40) for _ in range(workers)]
    servers = [PlainWorker(requests, cache, service) for cache in caches]
    return run_cluster(requests, trie_of(prompts), servers, router, belief=belief, seed=seed)


@pytest.mark.parametrize("router", ROUTERS, ids=str)
@pytest.mark.parametrize("truth", [False, True])
def test_equal_to_the_literal_loop(router, truth):
    for seed in range(4):
        check_equal(router, truth, seed, workers=3, requests=40)


@pytest.mark.thorough  # minutes
def test_equal_to_the_literal_loop_on_thousands_of_tables():
    for seed in range(2_000):
        rng = np.random.default_rng(10_000 + seed)
        workers, requests = int(rng.integers(1, 6)), int(rng.integers(1, 50))
        check_equal(
            ROUTERS[seed % len(ROUTERS)], bool(seed % 3), seed, workers=workers, requests=requests
        )


def check_equal(router, truth: bool, seed: int, *, workers: int, requests: int) -> None:
    table, prompts = drawn(np.random.default_rng(seed), requests)
    service = Service(cached=5.0, missed=120.0, output=0.05, at_once=1 + seed % 2)
    belief = Belief("cache" if truth else "sent")
    run = played(table, prompts, router, workers=workers, service=service, belief=belief, seed=seed)
    caches = [TokenLRU(prompts, 40) for _ in range(workers)]
    rows = route_literally(table, prompts, caches, service, router, seed=seed, true_caches=truth)
    assert run.worker.tolist() == [row.worker for row in rows]
    assert run.believed.tolist() == [row.believed for row in rows]
    assert [tuple(each[:4]) for each in run.times] == [
        (row.began, row.first_token, row.last_token, row.hits) for row in rows
    ]


def test_every_request_is_served_once_in_the_order_of_its_worker():
    requests, prompts = drawn(np.random.default_rng(7), 60)
    for router in ROUTERS:
        run = played(requests, prompts, router)
        costs = [
            SERVICE.cost(each.hits, length, outputs)
            for each, length, outputs in zip(
                run.times, requests.input_length, requests.output_length, strict=True
            )
        ]
        for worker in range(3):
            mine = np.flatnonzero(run.worker == worker)
            assert run.work[worker] == pytest.approx(sum(costs[j] for j in mine))
            assert run.busy[worker] == pytest.approx(run.work[worker])
            for before, after in pairwise(mine.tolist()):
                assert run.times[after].began >= run.times[before].last_token
        assert all(
            each.began >= came for each, came in zip(run.times, requests.arrival, strict=True)
        )


def test_the_paper_s_recursion_by_hand():
    """Two workers in turn: a prompt of 4, itself again twice, a prompt of 2."""
    long, short = (Piece(0, 0, 4),), (Piece(1, 0, 2),)
    prompts = Prompts([long, long, long, short], [(Piece(10 + j, 0, 1),) for j in range(4)])
    requests = Requests([4, 4, 4, 2], [1, 1, 1, 1], arrival=[0, 0, 1, 2])
    service = Service(cached=100.0, missed=1000.0, output=0.5)
    run = played(requests, prompts, RoundRobin(), workers=2, service=service)
    assert run.worker.tolist() == [0, 1, 0, 1]
    assert [each.hits for each in run.times] == [0, 0, 4, 0]
    assert [each.began for each in run.times] == [0, 0, 4.5, 4.5]
    assert [each.first_token for each in run.times] == [4.5, 4.5, 4.5 + 0.4 + 0.5, 7.0]
    assert run.work.tolist() == pytest.approx([4.5 + 0.9, 4.5 + 2.5])  # (2)


def test_the_same_seed_is_the_same_run_and_another_is_not():
    requests, prompts = drawn(np.random.default_rng(3), 50)
    one, same, other = (played(requests, prompts, Random(), seed=seed) for seed in (1, 1, 2))
    assert one.worker.tolist() == same.worker.tolist() != other.worker.tolist()


def test_no_workers_and_prompts_of_others_are_one_line():
    requests, prompts = drawn(np.random.default_rng(0), 5)
    with pytest.raises(InputError, match="workers: got 0; allowed: at least 1"):
        run_cluster(requests, trie_of(prompts), [], Random())
    fewer = Prompts(prompts.prompts[:3], prompts.outputs[:3])
    worker = PlainWorker(requests, TokenLRU(prompts, 40), SERVICE)
    with pytest.raises(InputError, match="3 prompts"):
        run_cluster(requests, trie_of(fewer), [worker], Random())


def test_measures_by_hand():
    long, short = (Piece(0, 0, 4),), (Piece(1, 0, 2),)
    prompts = Prompts([long, long, short], [(Piece(10 + j, 0, 1),) for j in range(3)])
    requests = Requests([4, 4, 2], [1, 1, 1], arrival=[1, 1, 2])
    service = Service(missed=1000.0)
    run = played(requests, prompts, Assigned((0, 0, 1)), workers=2, service=service)
    found = measures(as_dataset([run], [requests], ["assigned"], [0])).isel(run=0)
    assert found.hit_rate == 4 / 10
    assert found.latency_mean == pytest.approx((4 + 4 + 2) / 3)
    assert found.wait_mean == pytest.approx((0 + 4 + 0) / 3)
    assert (found.duration, found.throughput) == (4, 3 / 4)
    assert (found.makespan, found.service) == (4, 6)
    assert found.most_to_mean == pytest.approx(4 / 3)
    assert found.variation == pytest.approx(1 / 3)
    assert found.gini == pytest.approx(1 / 6)
    assert found.most_requests == pytest.approx(4 / 3)
    assert np.isnan(found.believed_rate)
