"""Routers side by side: what is drawn again by seed, what is not, and what the answer says."""

import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest

from fluidkv.answers import prompted_generator, route_study, router_of
from fluidkv.answers.prompted import Prompted
from fluidkv.answers.route.figures import route_figures
from fluidkv.answers.route.study import ROUTERS
from fluidkv.cli import main
from fluidkv.figures import write_figures
from fluidkv.prefix import Policy
from fluidkv.routing import LBGR, CacheAware, Fleet, LinearScore, Random, RoundRobin
from fluidkv.routing.engines import Engine

SMALL = prompted_generator("gsp", parameters={"groups": 6, "queries": 5, "lengths": (40, 80)})
FLEET = Fleet(2, 400)


def as_trace(prompted: Prompted) -> Prompted:
    """The same requests, as if they had been observed."""
    return Prompted(prompted.requests, prompted.prompts, "observed")


def test_every_router_and_the_schedule_that_knows_all():
    answer = route_study(SMALL, FLEET, seeds=2)
    assert [each.name for each in answer.routers] == [*ROUTERS, "offline"]
    assert len(answer.limits) == 2
    for each in answer.routers:
        assert each.values["hit_rate"].shape == (2,)
        assert (each.values["hit_rate"] <= [b.hit_rate + 1e-12 for b in answer.limits]).all()
        assert (each.values["makespan"] >= [b.makespan - 1e-12 for b in answer.limits]).all()
        assert (each.values["throughput"] <= [b.throughput + 1e-9 for b in answer.limits]).all()


def test_of_a_trace_only_what_draws_runs_again():
    names = ("random", "round-robin", "lbgr")
    routers = {name: ROUTERS[name] for name in names}
    answer = route_study(as_trace(SMALL), FLEET, routers, seeds=3)
    runs = {each.name: len(each.values["hit_rate"]) for each in answer.routers}
    assert runs == {"random": 3, "round-robin": 1, "lbgr": 1, "offline": 1}
    drawn = Fleet(2, 400, Policy.RLT)
    answer = route_study(as_trace(SMALL), drawn, routers, seeds=3)
    assert {len(each.values["hit_rate"]) for each in answer.routers} == {3}


def test_a_rate_gives_new_times_to_the_same_order():
    slow = route_study(as_trace(SMALL), FLEET, {"lbgr": LBGR()}, rate=1e-3, seeds=2)
    (lbgr, _) = slow.routers
    assert lbgr.values["wait_p99"].tolist() == [0, 0]  # nobody ever waits
    assert lbgr.values["duration"][0] != lbgr.values["duration"][1]


def test_seeds_are_those_that_were_asked_for():
    both = route_study(SMALL, FLEET, {"random": Random()}, seeds=2)
    given = {"groups": 6, "queries": 5, "lengths": (40, 80)}
    second = prompted_generator("gsp", seed=1, parameters=given)
    alone = route_study(second, FLEET, {"random": Random()}, seeds=1, first_seed=1)
    assert alone.seeds == (1,)
    assert both.routers[0].values["latency_p50"][1] == alone.routers[0].values["latency_p50"][0]


def test_affinity_finds_more_and_the_sweep_is_the_linear_score():
    answer = route_study(SMALL, FLEET, {"score": LinearScore(2.0, 1.0)}, affinity=(0.0, 2.0))
    assert [each.name for each in answer.sweep] == ["affinity 0", "affinity 2"]
    assert (
        answer.sweep[1].values["hit_rate"].tolist() == answer.routers[0].values["hit_rate"].tolist()
    )
    assert answer.sweep[1].mean("hit_rate") > answer.sweep[0].mean("hit_rate")


def test_engines_have_no_bounds_and_no_schedule():
    answer = route_study(SMALL, Fleet(2, 800, service=Engine("sglang")), {"r": RoundRobin()})
    assert [each.name for each in answer.routers] == ["r"]
    assert answer.limits == ()
    assert answer.to_dict()["bounds"] is None


def test_json_is_plain_and_without_numbers_that_json_lacks():
    answer = route_study(SMALL, FLEET, {"r": RoundRobin()}, seeds=2, affinity=(1.0,))
    found = json.loads(json.dumps(answer.to_dict(), allow_nan=False))
    assert found["routers"][0]["measures"]["believed_rate"] is None
    values = answer.routers[0].values["latency_p50"]
    half = 12.706204736 * np.std(values, ddof=1) / np.sqrt(2)  # Student, one degree of freedom
    assert found["routers"][0]["measures"]["latency_p50"] == {
        "mean": values.mean(),
        "margin": pytest.approx(half),
    }
    assert found["sweep"][0]["parameters"] == {"affinity": 1.0, "load": 1.0}


def test_a_schedule_ends_where_requests_cost_nothing():
    # Outputs cost nothing, nor do prompts that are all cached: their groups have no cost to halve.
    again = prompted_generator("loop", parameters={"turns": 4})
    answer = route_study(again, Fleet(2, 1000), {"r": RoundRobin()}, seeds=1)
    assert answer.routers[1].name == "offline"
    assert (answer.limits[0].costs == 0).any()


def test_one_seed_says_nothing_of_others():
    drawn = route_study(SMALL, FLEET, {"r": RoundRobin()}, seeds=1)
    found = json.loads(json.dumps(drawn.to_dict(), allow_nan=False))
    assert found["routers"][0]["measures"]["hit_rate"]["margin"] is None
    rules = {"exact": RoundRobin(), "drawn": Random()}
    exact, random = route_study(as_trace(SMALL), FLEET, rules, seeds=1).online
    assert exact.margin("hit_rate") == 0
    assert math.isnan(random.margin("hit_rate"))


def test_routers_by_name():
    assert router_of("cache-aware-0.4.6") == CacheAware(0.5, 32, 1.0001)
    assert router_of("cache-aware:cache_threshold=0.2,balance_abs=8") == CacheAware(
        0.2, 8, 1.5, "queue"
    )
    assert router_of("lbgr:step=nlms,rate=0.5") == LBGR(step="nlms", rate=0.5)


# --- the figures ------------------------------------------------------------


def test_the_figures_are_the_answer_and_draw(tmp_path):
    routers = {"score": LinearScore(), "round-robin": RoundRobin()}
    answer = route_study(SMALL, Fleet(2, 400), routers, seeds=2, affinity=(0.0, 1.0, 4.0))
    routed, affinity = (figure.data() for figure in route_figures(answer))
    assert routed["router"].tolist() == [0, 0, 1, 1, 2, 2]  # two seeds each, offline the last
    for place, each in enumerate(answer.routers):
        for measure in ("latency_p95", "hit_rate", "most_to_mean"):
            values = routed[measure][routed["router"] == place]
            assert values.tolist() == each.values[measure].tolist()
    assert answer.bounds is not None
    assert routed["bound.hit_rate"] == answer.bounds.hit_rate
    assert affinity["weight"].tolist() == [0, 1, 4]
    assert affinity["hit_rate"].tolist() == [each.mean("hit_rate") for each in answer.sweep]
    caption = route_figures(answer)[1].caption(affinity)
    best = affinity["weight"][np.argmin(affinity["latency_p95"])]
    assert f"the 95th percentile at {best:g} (" in caption
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_figures(route_figures(answer), tmp_path / "new")


def test_engines_have_no_bound_to_draw():
    fleet = Fleet(2, 800, service=Engine("vllm"))
    (figure,) = route_figures(route_study(SMALL, fleet, {"round-robin": RoundRobin()}, seeds=1))
    data = figure.data()
    assert np.isnan(data["bound.hit_rate"])
    assert "no router finds" not in figure.caption(data)


# --- the command ------------------------------------------------------------

GSP = ["--generator", "gsp", "--set", "groups=6", "--set", "queries=4", "--set", "lengths=40,80"]
SERVED = ["--workers", "2", "--capacity", "400", "--jobs", "1"]
LINE = [*GSP, *SERVED, "--seeds", "2"]


def answer(capsys, *argv: str) -> dict:
    assert main(["route", *argv, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return json.loads(captured.out)


@pytest.fixture
def blocks(tmp_path: Path) -> Path:
    """Six prompts of two blocks, the first of which all share."""
    lines = [
        {
            "timestamp": 1000 * row,
            "input_length": 1024,
            "output_length": 5,
            "hash_ids": [0, 1 + row],
        }
        for row in range(6)
    ]
    path = tmp_path / "trace.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return path


def test_keys_and_numbers_of_a_trace(capsys, blocks):
    found = answer(capsys, str(blocks), "--workers", "2", "--capacity", "4096", "--jobs", "1")
    assert found["engine"] == "plain"
    assert found["service"] == {"cached": 0.0, "missed": 0.15, "output": 0.001, "at_once": 1}
    assert (found["workers"], found["capacity"], found["policy"]) == (2, 4096, "lru")
    rows = {each["name"]: each["measures"] for each in found["routers"]}
    assert found["bounds"]["hit_rate"] == 5 / 12
    # In turn, each worker meets the shared block once: 4 of 12 blocks are found.
    assert rows["round-robin"]["hit_rate"] == {"mean": 4 / 12, "margin": 0}
    # Nobody waits: 0.15 s for 1,000 of 512 tokens, and 5 outputs of 1 ms.
    assert rows["round-robin"]["latency_p50"]["mean"] == pytest.approx(0.512 * 0.15 + 0.005)
    assert rows["cache-aware"]["hit_rate"]["mean"] == 5 / 12
    assert rows["random"]["believed_rate"] is None


def test_options_reach_the_run(capsys):
    argv = ["--router", "lbgr:step=none", "--belief", "sent:300", "--policy", "rlt"]
    more = ["--cached-ms", "1", "--output-ms", "2", "--at-once", "3", "--rate", "5", "--seed", "4"]
    found = answer(capsys, *LINE, *argv, *more)
    assert found["service"] == {"cached": 0.001, "missed": 0.15, "output": 0.002, "at_once": 3}
    assert found["belief"] == {"of": "sent", "most": 300, "every": 0.0}
    assert (found["policy"], found["rate"], found["seeds"]) == ("rlt", 5, [4, 5])
    assert found["routers"][0]["name"] == "lbgr:step=none"
    assert found["routers"][0]["parameters"]["step"] == "none"
