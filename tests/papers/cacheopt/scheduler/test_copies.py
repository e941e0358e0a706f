"""CacheOPT's copies to the host and back: the bus, the pool, the sweet spot."""

from dataclasses import replace

import pytest

from fluidkv.serving.rules import Restore
from fluidkv.serving.swap import Swap
from fluidkv_papers.cacheopt.scheduler.requests import Copies, Request

BUS = Swap(per_token=0.5, per_copy=1.0)
"""A copy of 4 tokens lasts 3."""


def _victims(*tokens: int) -> list[Request]:
    return [Request(i, 9, 9, 9, 0.0, computed=size, blocks=1) for i, size in enumerate(tokens)]


@pytest.mark.parametrize(("shared", "ends"), [(True, [11, 14, 16]), (False, [6, 6, 5])])
def test_a_shared_bus_is_a_queue(shared, ends):
    """Copies out of 4 and 4 from 0 on, together 6, or 3 each; behind them 4 and 4 and 2 go in."""
    copies = Copies(Restore.SWAP, replace(BUS, shared=shared))
    back = _victims(4, 4, 2)
    for victim in back[:2]:
        copies.leave(victim)
    began, _ = copies.go(0.0, [])
    assert began == (6 if shared else 3)
    copies.leave(back[2])  # lasts 2
    began, copied = copies.go(began - 2.0 * shared, [])
    assert (began, copied) == (8 if shared else 5, 2)
    began, copied = copies.go(began - 2.0, back)
    assert (began, copied) == (6 if shared else 3, 10)
    assert [request.ready_at for request in back] == ends


def test_what_does_not_fit_in_the_pool_is_computed_again_and_a_smaller_one_still_fits():
    copies = Copies(Restore.SWAP, replace(BUS, pool=7))
    victims = _victims(4, 5, 3)
    for victim in victims:
        copies.leave(victim)
    assert [victim.kept for victim in victims] == [4, 0, 3]
    assert copies.held == 7


def test_only_who_is_longer_than_the_sweet_spot_is_swapped():
    copies = Copies(Restore.CHEAPER, replace(BUS, sweet_spot=4))
    victims = _victims(4, 5)
    for victim in victims:
        copies.leave(victim)
    assert [victim.kept for victim in victims] == [0, 5]


def test_who_is_evicted_on_its_way_back_is_not_copied_out_again():
    copies = Copies(Restore.SWAP, BUS)
    [victim] = _victims(4)
    copies.leave(victim)
    copies.go(0.0, [])
    victim.computed = victim.kept
    assert copies.go(3.0, [victim]) == (3.0, 4)
    copies.leave(victim)
    assert (victim.kept, copies.held, copies.out) == (4, 4, [])
    copies.land([victim], victim.ready_at)
    assert (victim.kept, copies.held) == (0, 0)
