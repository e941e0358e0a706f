"""The pictures of an answer about routers: their numbers, and that they draw."""

import warnings

import numpy as np

from fluidkv.answers import prompted_generator, route_study
from fluidkv.answers.figures.route import route_figures
from fluidkv.figures import write_figures
from fluidkv.routing import Engine, Fleet, LinearScore, RoundRobin

SMALL = prompted_generator("gsp", parameters={"groups": 6, "queries": 5, "lengths": (40, 80)})


def test_the_figures_are_the_answer_and_draw(tmp_path):
    routers = {"score": LinearScore(), "round-robin": RoundRobin()}
    answer = route_study(SMALL, Fleet(2, 400), routers, seeds=2, affinity=(0.0, 1.0, 4.0))
    routed, affinity = (figure.data() for figure in route_figures(answer))
    assert routed["router"].tolist() == [0, 0, 1, 1, 2, 2]  # two seeds each, offline the last
    for place, each in enumerate(answer.routers):
        for measure in ("latency_p95", "hit_rate", "most_to_mean"):
            values = routed[measure][routed["router"] == place]
            assert values.tolist() == each.found[measure].tolist()
    assert routed["bound.hit_rate"] == answer.bound("hit_rate")
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
