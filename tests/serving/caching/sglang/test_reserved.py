"""What is reserved decides ties by its last bit; the estimate of it decides them alike."""

from fluidkv.serving.caching.sglang.reserved import Estimated, Summed, shares
from fluidkv.serving.caching.sglang.state import Request


def running(size: int, left: int) -> list[Request]:
    """So many requests that may emit so much more."""
    return [Request(row, 1, left, left, 0.0, (), ()) for row in range(size)]


def test_the_estimate_decides_as_the_sum_where_nothing_is_left() -> None:
    """A share of 3 times 0.7, added up ten times, is less than 21, which 30 times 0.7 is."""
    told_apart = 0
    for size in range(40):
        for left in range(1, 12):
            for ratio in (0.1, 0.21, 0.7, 0.7 - 0.602 / 600, 1.0):
                members = running(size, left)
                total = size * left
                summed = Summed(2, members, 4096, ratio)
                estimated = Estimated(
                    2, total, ratio, lambda m=members, r=ratio: 2 + shares(m, 4096, r)
                )
                for each in (summed, estimated):
                    each.charge(3)
                    each.charge(4)
                about = 9 + total * ratio
                for free in (int(about), round(about), int(about) + 1, int(about) + 6):
                    for tokens in range(7):
                        more = summed.leaves_more_than(tokens, free)
                        assert estimated.leaves_more_than(tokens, free) == more
                        least = summed.leaves_at_least(tokens, free)
                        assert estimated.leaves_at_least(tokens, free) == least
                        told_apart += more != (tokens < free - about)
                    assert estimated.left_of(free) == summed.left_of(free)
    assert told_apart > 0
