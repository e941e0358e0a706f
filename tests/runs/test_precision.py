"""What the package computes and draws does not depend on JAX's global settings."""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fluidkv
from fluidkv.fluid import class_model, perturbed_starts
from fluidkv.runs.precision import in_float64, random_key
from tests.small_systems import one_class

MODEL = class_model(one_class(5, 3, 100))


def test_a_seed_has_one_key_whatever_the_default_generator_is() -> None:
    ours = jax.random.key_data(random_key(7))
    with jax.default_prng_impl("rbg"):
        np.testing.assert_array_equal(jax.random.key_data(random_key(7)), ours)
        assert jax.random.key_data(jax.random.key(7)).shape != ours.shape  # it would have mattered


def test_starts_depend_on_the_key_alone() -> None:
    ours = perturbed_starts(random_key(7), MODEL, count=3, size=0.1)
    key = random_key(7)
    with jax.default_prng_impl("rbg"), jax.threefry_partitionable(False):
        theirs = perturbed_starts(random_key(7), MODEL, count=3, size=0.1)
        assert (jax.random.bits(key, (3,)) != _bits(key)).any()  # it would have mattered
    np.testing.assert_array_equal(theirs, ours)


def _bits(key: jax.Array) -> jax.Array:
    with jax.threefry_partitionable(True):
        return jax.random.bits(key, (3,))


def test_the_settings_of_the_user_are_as_before() -> None:
    with jax.debug_nans(True):
        with in_float64():
            assert jnp.zeros(()).dtype == jnp.float64
            assert jnp.isnan(jnp.zeros(()) / 0)
        with pytest.raises(FloatingPointError):
            _ = jnp.zeros(()) / 0
    assert jnp.zeros(()).dtype == jnp.float32


def test_no_other_module_makes_keys_or_sets_the_precision() -> None:
    """What does so past `precision` would follow the user's settings; examples are the user's."""
    package = Path(fluidkv.__file__).parent
    found = [
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if re.search(r"random\.(key|PRNGKey)\(|enable_x64\(", _without_examples(path))
    ]
    assert found == ["runs/precision.py"]


def _without_examples(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith((">>>", "...")))
