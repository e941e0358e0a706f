"""A batch over devices: in blocks, in order, and the same bits on any number of devices."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.runs.devices import local_devices, over_devices
from fluidkv.runs.precision import in_float64

ROOT = Path(__file__).parents[2]


def test_eight_devices_find_what_one_finds() -> None:
    environment = os.environ | {
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.runs.on_devices"],
        capture_output=True, text=True, env=environment, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found == dict.fromkeys(found, True)


@pytest.mark.parametrize("size", [1, 3, 4, 5, 11])
def test_a_batch_comes_back_whole_and_in_order(size: int) -> None:
    """In blocks of 4, the last one filled up; the batch is another axis in and out."""
    seen = []

    def call(tree: dict[str, jax.Array]) -> tuple[jax.Array, jax.Array]:
        seen.append(tree["rows"].shape)
        return tree["rows"].T * 2, tree["one"] + 1

    rows = np.arange(3 * size, dtype=float).reshape(size, 3)
    with in_float64():
        doubled, more = over_devices(
            call,
            {"rows": rows, "one": np.arange(size)},
            axes={"rows": 0, "one": 0},
            found_axes=(-1, 0),
            lanes=4,
        )
    np.testing.assert_array_equal(doubled, 2 * rows.T)
    np.testing.assert_array_equal(more, np.arange(size) + 1)
    assert set(seen) == {(min(4, 1 << (size - 1).bit_length()), 3)}


def test_arrays_of_unlike_batches_are_refused() -> None:
    with pytest.raises(InputError, match="one size of the batch"):
        over_devices(lambda x: x, (np.ones(3), np.ones(4)), axes=0, found_axes=0)
    with pytest.raises(InputError, match="at least 1"):
        over_devices(lambda x: x, np.ones(0), axes=0, found_axes=0)


def test_a_chosen_device_is_the_only_one() -> None:
    last = jax.devices()[-1]
    assert local_devices() == jax.local_devices()
    with jax.default_device(last):
        assert local_devices() == [last]


def test_a_device_that_is_not_there_is_named_in_one_line():
    with (
        jax.default_device("gpu"),
        pytest.raises(InputError, match=r"jax_default_device: got 'gpu'; allowed: .* here: cpu"),
    ):
        local_devices()
