"""Mass kept and error of the output: closed forms, small cases, drawn values."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fluidkv.runs.precision import in_float64
from fluidkv.tokenpd.attention.quality import mass_kept, output_error, renormalised

WEIGHTS = jnp.array([[0.5, 0.25, 0.25, 0.0], [0.1, 0.2, 0.3, 0.4]])
KEPT = jnp.array([[True, True, False, True], [False, False, True, True]])


def test_mass_kept_is_the_weight_of_kept_keys():
    assert np.allclose(mass_kept(WEIGHTS, KEPT), [0.75, 0.7])


def test_weights_are_renormalised_over_kept_keys():
    assert np.allclose(renormalised(WEIGHTS, KEPT)[0], [2 / 3, 1 / 3, 0, 0])


def test_the_error_is_its_closed_form_in_mass_and_squares():
    """With m kept, A and B the squares kept and lost: (A (1/m - 1)^2 + B) / (A + B)."""
    mass, kept, lost = 0.7, 0.3**2 + 0.4**2, 0.1**2 + 0.2**2
    expected = np.sqrt((kept * (1 / mass - 1) ** 2 + lost) / (kept + lost))
    assert float(output_error(WEIGHTS, KEPT)[1]) == pytest.approx(expected, rel=1e-6)


def test_all_kept_is_no_error_and_nothing_kept_is_all_lost():
    everything = jnp.ones_like(KEPT)
    assert np.allclose(output_error(WEIGHTS, everything), 0)
    assert np.allclose(mass_kept(WEIGHTS, everything), 1)
    assert np.allclose(output_error(WEIGHTS, ~everything), 1)
    assert np.allclose(mass_kept(WEIGHTS, ~everything), 0)


def test_streams_without_weights_have_no_error_and_no_nan():
    none = jnp.zeros_like(WEIGHTS)
    assert not np.asarray(mass_kept(none, KEPT)).any()
    assert not np.asarray(output_error(none, KEPT)).any()


def error_on(weights, kept, values):
    """|sum (w' - w) v| / |sum w v| of values v (stream, key, dimension)."""
    off = jnp.einsum("sk,skd->sd", renormalised(weights, kept) - weights, values)
    true = jnp.einsum("sk,skd->sd", weights, values)
    return jnp.linalg.norm(off, axis=-1) / jnp.linalg.norm(true, axis=-1)


def test_drawn_values_have_the_error_on_average():
    """Of 4,000 dimensions: ratios of sums of squares, each with a relative error near 2 %."""
    rng = np.random.default_rng(7)
    logits = np.exp(2 * rng.standard_normal((6, 30)))
    weights = jnp.asarray(logits / logits.sum(1, keepdims=True))
    kept = jnp.asarray(np.arange(30) % np.arange(2, 8)[:, None] == 0)
    values = jnp.asarray(rng.standard_normal((6, 30, 4000)), weights.dtype)
    drawn = error_on(weights, kept, values)
    assert np.allclose(drawn, output_error(weights, kept), rtol=0.06)


def test_values_with_a_common_part_hide_the_error():
    """A part that all values share passes through whatever is kept: weights sum to one."""
    common = jnp.asarray(10 + np.random.default_rng(1).standard_normal((2, 4, 500)), jnp.float32)
    assert (error_on(WEIGHTS, KEPT, common) < 0.2 * output_error(WEIGHTS, KEPT)).all()


def test_measures_run_within_a_compiled_scan():
    def step(total, kept):
        return total + mass_kept(WEIGHTS, kept), output_error(WEIGHTS, kept)

    sets = jnp.stack([KEPT, ~KEPT])
    with in_float64():
        total, errors = jax.jit(lambda s: jax.lax.scan(step, jnp.zeros(2, jnp.float32), s))(sets)
    assert np.allclose(total, 1)
    assert np.allclose(errors[0], output_error(WEIGHTS, KEPT))
