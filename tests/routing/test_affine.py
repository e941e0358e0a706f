"""Rules that weigh caches against load, by hand."""

import pytest

from fluidkv.errors import InputError
from fluidkv.routing import SGLANG, CacheAware, LinearScore, LoadAware
from fluidkv.routing.affine import LinearCost
from tests.routing.views import view

# --- SGLang's thresholds --------------------------------------------------------------------------


def test_the_longest_match_if_it_is_more_than_the_threshold():
    router = CacheAware(0.5)
    assert router.route(None, view(1000, hits=(0, 501, 400), pending=(0, 9, 0))).worker == 1


def test_a_match_of_just_the_threshold_is_none():
    """As SGLang compares: more than, so that half a prompt is no match for 0.5."""
    router = CacheAware(0.5)
    assert router.route(None, view(1000, hits=(0, 500, 0), tree=(7, 9, 5))).worker == 2


def test_the_smallest_tree_and_of_several_the_first():
    assert CacheAware().route(None, view(tree=(8, 5, 5))).worker == 1


@pytest.mark.parametrize(
    ("pending", "worker"),
    [
        ((10, 42, 10), 1),  # 32 more is not more than 32
        ((10, 43, 10), 0),  # uneven: the first of the shortest
        ((43, 10, 43), 1),
    ],
)
def test_uneven_queues_decide(pending, worker):
    seen = view(1000, hits=(0, 1000, 0), pending=pending)
    assert CacheAware(balance_abs=32, balance_rel=1.0001).route(None, seen).worker == worker


def test_both_thresholds_have_to_be_passed():
    seen = view(1000, hits=(0, 1000, 0), pending=(100, 140, 100))
    assert CacheAware(0.3, 32, 1.5).route(None, seen).worker == 1  # 140 is not over 1.5 x 100
    assert CacheAware(0.3, 32, 1.3).route(None, seen).worker == 0


def test_the_draw_decides_among_equal_matches():
    chosen = {
        CacheAware().route(None, view(1000, hits=(900, 0, 900), draws=(draw, 0.0))).worker
        for draw in (0.0, 0.49, 0.5, 0.99)
    }
    assert chosen == {0, 2}


def test_without_a_match_the_shortest_queue_in_later_versions():
    seen = view(tree=(8, 5, 5), pending=(3, 4, 2))
    assert CacheAware().route(None, seen).worker == 1
    assert SGLANG.route(None, seen).worker == 2


# --- linear ---------------------------------------------------------------------------------------


def test_the_score_is_affinity_less_the_place_among_queues():
    # Shares 0, 0.6, 0; places 0, 1, 0.5: scores 0, 0.6 a - b, -0.5 b.
    seen = view(1000, hits=(0, 600, 0), pending=(2, 6, 4))
    assert LinearScore(3.0, 1.0).route(None, seen).worker == 1
    assert LinearScore(3.0, 2.0).route(None, seen).worker == 0
    assert LinearScore(0.0, 1.0).route(None, seen).worker == 0


def test_queues_that_are_equal_do_not_count():
    seen = view(1000, hits=(0, 1, 0), pending=(4, 4, 4))
    assert LinearScore(1.0, 1e6).route(None, seen).worker == 1


def test_the_cost_is_what_is_to_be_computed_and_what_is_there():
    # To compute: 1000, 400 + 300, 1000 - 0 + 0; there: 500, 900, 600.
    seen = view(1000, hits=(0, 600, 0), to_compute=(0, 300, 0), active=(500, 900, 600))
    assert LinearCost(1.0).route(None, seen).worker == 0  # 1500, 1600, 1600
    assert LinearCost(2.0).route(None, seen).worker == 1  # 2500, 2300, 2600
    assert LinearCost(0.0).route(None, seen).worker == 0  # 500, 900, 600


def test_load_above_the_mean_takes_off_a_share_of_a_prompt():
    # The mean is 4: relative loads 1, -1/2, -1/2; shares 1, 0.4, 0.
    seen = view(1000, hits=(1000, 400, 0), pending=(8, 2, 2))
    assert LoadAware(1.0).route(None, seen).worker == 1  # 0, 0.9, 0.5
    assert LoadAware(0.3).route(None, seen).worker == 0  # 0.7, 0.55, 0.15
    # The mean counts as at least 1: relative loads 2/3, -1/3, -1/3.
    seen = view(1000, hits=(1000, 0, 0), pending=(1, 0, 0))
    assert LoadAware(0.9).route(None, seen).worker == 0  # 0.4 against 0.3
    assert LoadAware(1.1).route(None, seen).worker != 0


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: CacheAware(cache_threshold=1.1), "cache_threshold"),
        (lambda: CacheAware(cache_threshold=-0.1), "cache_threshold"),
        (lambda: CacheAware(cache_threshold=float("nan")), "cache_threshold"),
        (lambda: CacheAware(balance_abs=-1), "balance_abs"),
        (lambda: CacheAware(balance_abs=1.5), "balance_abs"),  # pyright: ignore[reportArgumentType]
        (lambda: CacheAware(balance_rel=-1), "balance_rel"),
        (lambda: LinearScore(affinity=-1), "affinity"),
        (lambda: LinearScore(load=float("inf")), "load"),
        (lambda: LinearCost(overlap=-1), "overlap"),
        (lambda: LoadAware(beta=-1), "beta"),
        (
            lambda: CacheAware(else_least="cost"),  # pyright: ignore[reportArgumentType]
            "else_least",
        ),
    ],
)
def test_a_parameter_out_of_range_is_one_line(make, argument):
    with pytest.raises(InputError, match=f"^{argument}: "):
        make()
