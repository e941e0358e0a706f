"""The setting of Routing's experiments: what follows from print, and runs that agree."""

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from fluidkv import prefix, routing
from fluidkv.routing.cluster import run_cluster
from fluidkv.routing.results import as_dataset, measures
from fluidkv_papers.routing.instances import one_worker, printed, setting
from fluidkv_papers.routing.instances.setting import Setting, half, half_documents, measured

SMALL: tuple[tuple[str, Any], ...] = (("groups", 6), ("queries", 4), ("lengths", (64, 128)))


def test_the_clock_is_what_the_first_row_of_table_2_says() -> None:
    uncached = Fraction("10.73") * (1 - Fraction("0.2389"))
    assert setting.mean_length(128) == 3128
    assert setting.computed_per_s() == uncached * 3128 / 4
    assert pytest.approx(float(4000 / (uncached * 3128)), abs=5e-4) == setting.SECONDS_PER_1000


def test_half_has_as_many_groups_for_its_cache() -> None:
    of = half()
    assert dict(of.options)["groups"] * 2 == printed.GROUPS
    assert of.capacity * 2 == printed.CAPACITY
    assert of.workers == printed.WORKERS


def test_documents_have_each_length_as_often() -> None:
    (lengths,) = (value for name, value in half_documents().options if name == "lengths")
    assert Counter(lengths) == dict.fromkeys((1024, 2048, 4096, 8192), 64)
    assert lengths[:8] != (1024, 2048, 4096, 8192) * 2  # not in turn


def test_a_plain_run_is_that_of_the_room() -> None:
    of = Setting("gsp", SMALL, workers=2, capacity=300)
    traffic = routing.Traffic(*prefix.shared_prefixes(3, **dict(SMALL)))
    fleet = routing.Fleet(
        2, 300, prefix.Policy.RLT, routing.Service(missed=setting.SECONDS_PER_1000)
    )
    run = routing.route(traffic, fleet, routing.LBGR(), seed=3)
    found = measures(as_dataset([run], [traffic.requests], ["x"], [3]))
    assert measured(of, "lbgr+rlt", 3)["latency_p50"] == float(found.latency_p50[0])
    assert measured(of, "lbgr+rlt", 3)["hit_rate"] == float(found.hit_rate[0])


@pytest.mark.parametrize("method", ["cache-aware+lru", "lbgr+rlt"])
def test_servers_serve_all_and_find_no_more_than_there_is(method: str) -> None:
    of = Setting("gsp", SMALL, workers=2, capacity=400, server=4)
    found = measured(of, method, 0)
    assert 0 < found["hit_rate"] <= 0.5 * 3 / 4  # the first of each group finds nothing of it
    assert found["throughput"] > 0
    assert found["ttft_p50"] < found["latency_p50"]


def test_rlt_draws_on_servers_and_lru_does_not() -> None:
    of = Setting("gsp", (("groups", 30), *SMALL[1:]), workers=1, capacity=400, server=2)
    traffic = routing.Traffic(*prefix.shared_prefixes(0, **dict(of.options)))
    runs = []
    for policy, seed in ((prefix.Policy.RLT, 0), (prefix.Policy.RLT, 1)):
        servers = setting.servers_of(of, traffic, policy, seed)
        run = run_cluster(traffic.requests, traffic.sent, servers, routing.RoundRobin())
        runs.append([times.hits for times in run.times])
    assert runs[0] != runs[1]
    again = (
        run(of, "round-robin+lru", 0)["latency_p50"] for run in (measured, measured.__wrapped__)
    )
    assert next(again) == next(again)


@pytest.mark.thorough
def test_the_worker_of_table_3_stands_where_l_lru_has_its_printed_hit_rate() -> None:
    of = one_worker.setting(one_worker.THERE)
    _, prompts = prefix.shared_prefixes(0, **dict(of.options))
    run = prefix.run_cache(
        prefix.trie_of(prompts, answers=True), one_worker.THERE, prefix.Policy.LRU
    )
    assert round(100 * run.hit_rate(), 1) == 6.1
