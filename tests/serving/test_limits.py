"""The numbers of a server."""

from fractions import Fraction

import pytest

from fluidkv.errors import InputError
from fluidkv.serving.limits import Limits


def test_memory_is_whole_blocks():
    limits = Limits(1000, block_size=16)
    assert limits.blocks == 62  # as the records of vLLM with 1,000 tokens count them
    assert [limits.blocks_of(tokens) for tokens in (0, 1, 16, 17)] == [0, 1, 1, 2]


def test_the_watermark_is_a_share_of_the_blocks_and_one():
    assert Limits(1000, watermark=0.05).watermark_blocks == 50
    assert Limits(30_208 * 16, block_size=16, watermark=0.01).watermark_blocks == 302  # Vidur's


@pytest.mark.parametrize(
    ("wrong", "argument"),
    [
        ({"capacity": 0}, "capacity"),
        ({"capacity": 10.5}, "capacity"),
        ({"capacity": 2**31}, "capacity"),
        ({"capacity": 10, "block_size": 11}, "capacity"),
        ({"capacity": 10, "block_size": 0}, "block_size"),
        ({"capacity": 10, "watermark": 1}, "watermark"),
        ({"capacity": 10, "watermark": -0.1}, "watermark"),
        ({"capacity": 10, "watermark": float("nan")}, "watermark"),
        ({"capacity": 10, "max_num_seqs": 0}, "max_num_seqs"),
        ({"capacity": 10, "max_num_batched_tokens": -1}, "max_num_batched_tokens"),
        ({"capacity": 10, "admission_rate": 0}, "admission_rate"),
        ({"capacity": 10, "admission_rate": 0.5}, "admission_rate"),
        ({"capacity": 10, "admission_rate": Fraction(1, 10**7)}, "admission_rate"),
    ],
)
def test_bad_limits_are_named(wrong, argument):
    with pytest.raises(InputError, match=f"^{argument}:"):
        Limits(**wrong)
