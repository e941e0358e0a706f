"""Fleets with the caches of `prefix`: equal to literal ones; processes, seeds, what is refused."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.prefix import Granularity, Policy, Prompts, shared_prefixes
from fluidkv.routing import (
    LBGR,
    CacheAware,
    Fleet,
    Job,
    LinearScore,
    Random,
    RoundRobin,
    Service,
    Traffic,
    bounds,
    measured,
    route,
    route_many,
)
from fluidkv.routing.blind import Assigned
from fluidkv.routing.bound import by_prefix
from tests.routing.reference import route_literally
from tests.routing.tables import TokenLRU, drawn

SERVICE = Service(missed=120.0, output=0.05)


@pytest.mark.parametrize("router", [RoundRobin(), CacheAware(balance_abs=2), LBGR(missed=99.0)])
def test_a_fleet_is_the_literal_loop_with_literal_caches(router):
    for seed in range(3):
        requests, prompts = drawn(np.random.default_rng(seed), 60)
        run = route(Traffic(requests, prompts), Fleet(3, 40, service=SERVICE), router, seed=seed)
        caches = [TokenLRU(prompts, 40) for _ in range(3)]
        rows = route_literally(requests, prompts, caches, SERVICE, router, seed=seed)
        assert run.worker.tolist() == [row.worker for row in rows]
        assert [each.hits for each in run.times] == [row.hits for row in rows]


def gsp(seed: int = 0, **settings) -> Traffic:
    return Traffic(*shared_prefixes(seed, groups=12, queries=6, **settings))


def test_processes_find_what_one_finds():
    traffics = [gsp(0), gsp(1)]
    fleet = Fleet(2, 20_000, Policy.RLT)
    jobs = [Job(k, fleet, router, k) for router in (Random(), LinearScore()) for k in (0, 1)]
    one, two = (route_many(traffics, jobs, processes=n) for n in (1, 2))
    for a, b in zip(one, two, strict=True):
        assert a.worker.tolist() == b.worker.tolist()
        assert a.times == b.times
    found = measured(traffics, jobs, one)
    assert found.sizes["run"] == 4
    assert found.router.values.tolist() == ["random"] * 2 + ["linear score"] * 2
    assert (found.hit_rate > 0).all()


def test_lots_of_caches_come_from_the_seed():
    fleet = Fleet(1, 17_000, Policy.RLT)
    hits = [
        [each.hits for each in route(gsp(), fleet, RoundRobin(), seed=seed).times]
        for seed in (0, 0, 1)
    ]
    assert hits[0] == hits[1] != hits[2]


def test_nobody_is_better_than_the_bounds():
    traffic = gsp(rate=40.0)
    for at_once in (1, 2):
        fleet = Fleet(3, 10**9, service=Service(missed=1.0, output=0.01, at_once=at_once))
        limit = bounds(traffic, fleet)
        assert limit.makespan <= limit.lpt <= 4 / 3 * limit.makespan + 1e-9
        for router in (RoundRobin(), LinearScore(), LBGR(), CacheAware(0.1)):
            run = route(traffic, fleet, router)
            assert run.work.max() >= limit.makespan - 1e-9
            assert max(each.last_token for each in run.times) >= limit.end - 1e-9
            hits = sum(each.hits for each in run.times)
            assert hits <= limit.hit_rate * traffic.requests.input_length.sum() + 1e-9


def test_one_worker_that_never_evicts_meets_the_bounds():
    traffic = gsp(rate=1e6)
    fleet = Fleet(1, 10**9, service=Service(missed=1.0))
    limit, run = bounds(traffic, fleet), route(traffic, fleet, RoundRobin())
    assert run.work[0] == pytest.approx(limit.makespan)
    assert max(each.last_token for each in run.times) == pytest.approx(limit.end)


def test_a_request_longer_than_a_cache_is_one_line():
    with pytest.raises(InputError, match="capacity: got 8000; allowed: at least 8196 tokens"):
        route(gsp(), Fleet(2, 8000), Random())


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: Fleet(0, 10), "workers"),
        (lambda: Fleet(1, 0), "capacity"),
        (lambda: Fleet(1, 10, Policy.OPT), "policy"),
        (lambda: Service(missed=-1), "missed"),
        (lambda: Service(at_once=0), "at_once"),
        (lambda: Traffic(gsp().requests, gsp().prompts, Granularity(nodes=True)), "granularity"),
        (lambda: Traffic(gsp().requests, Prompts(gsp().prompts.prompts[:2], ())), "outputs"),
        (lambda: Traffic(gsp(0).requests, gsp(1).prompts), "prompts"),
    ],
)
def test_what_makes_no_fleet_is_one_line(make, argument):
    with pytest.raises(InputError, match=f"^{argument}: "):
        make()


def test_bounds_and_a_schedule_hold_the_exact_optimum_of_small_instances():
    """Every assignment of 7 requests to 2 workers, played with the caches that there are."""
    gaps = []
    for seed in range(6):
        requests, prompts = drawn(np.random.default_rng(seed), 7)
        traffic, fleet = Traffic(requests, prompts), Fleet(2, 40, service=SERVICE)
        limit = bounds(traffic, fleet)
        spans = [
            route(traffic, fleet, Assigned(each)).work.max() for each in product((0, 1), repeat=7)
        ]
        schedule = by_prefix(traffic.cached, limit.costs, 2)
        ours = route(traffic, fleet, Assigned(tuple(schedule.tolist()))).work.max()
        assert limit.makespan <= min(spans) + 1e-9
        assert min(spans) <= ours + 1e-9
        assert ours <= 1.6 * min(spans)
        gaps.append(min(spans) / limit.makespan)
    assert min(gaps) < 1.1


def test_a_schedule_by_prefix_keeps_groups_together():
    traffic = gsp(rate=40.0)
    fleet = Fleet(3, 10**9)
    limit = bounds(traffic, fleet)
    chosen = by_prefix(traffic.cached, limit.costs, 3)
    for group in range(12):
        assert len(set(chosen[traffic.requests.class_index == group].tolist())) == 1
    run = route(traffic, fleet, Assigned(tuple(chosen.tolist())))
    hits = sum(each.hits for each in run.times)
    assert hits == limit.hit_rate * traffic.requests.input_length.sum()


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("policy", "lru", "a member of Policy or None"),
        ("service", "vllm", "a Service or an Engine"),
        ("belief", "sent", "a Belief"),
    ],
)
def test_a_value_of_another_kind_is_one_line(name: str, value: Any, allowed: str) -> None:
    with pytest.raises(InputError, match=f"{name}: got '{value}'; allowed: {allowed}"):
        Fleet(2, 100, **{name: value})
