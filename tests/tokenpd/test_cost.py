"""What a cached token costs, against shapes counted array by array."""

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.serving.machines.kv_bytes import token_bytes


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 2, 5), (4, 1, 64)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_bytes_are_those_of_the_arrays(shape: tuple[int, int, int], dtype: type) -> None:
    layers, heads, size = shape
    held = [np.zeros((heads, size), dtype) for _ in range(layers) for _ in ("key", "value")]
    of_each = np.dtype(dtype).itemsize
    assert token_bytes(*shape, bytes_per_value=of_each) == sum(array.nbytes for array in held)


def test_bytes_of_a_7_billion_llama() -> None:
    """Half a mebibyte, as its users say."""
    assert token_bytes(32, 32, 128) == 2**19


@pytest.mark.parametrize("wrong", [(0, 1, 1), (1, -1, 1), (1, 1, 0)])
def test_a_size_below_one_is_refused(wrong: tuple[int, int, int]) -> None:
    with pytest.raises(InputError, match="at least 1"):
        token_bytes(*wrong)
