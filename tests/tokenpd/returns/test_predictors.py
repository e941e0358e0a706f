"""Predictors say what their formulas say, remember what they must, and do not look ahead."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.runs.precision import in_float64, random_key
from fluidkv.tokenpd import AtWriting, Constant, ExponentialAverage, Oracle
from fluidkv.tokenpd.attention.oracle import UNIT
from fluidkv.tokenpd.returns.averages import AccumulatedMean, LastSeen
from fluidkv.tokenpd.returns.known import Lasting, NoisyOracle
from fluidkv.tokenpd.returns.mlp import Layers, Mlp
from fluidkv.tokenpd.returns.rows import all_rows, predictions
from fluidkv.tokenpd.returns.signals import NAMES
from fluidkv.tokenpd.seen import Predictor, Seen
from tests.tokenpd.returns.drawn import drawn

ATTENTION, KEY = drawn(0), random_key(7)


def network() -> Mlp:
    rng = np.random.default_rng(5)
    shapes = (len(NAMES),), (len(NAMES),), (len(NAMES), 4), (4,), (4, 2), (2,)
    shift, scale, *rest = (rng.normal(size=shape) for shape in shapes)
    return Mlp(Layers(*map(jnp.asarray, (shift, np.exp(scale), *rest))))


SIGHTLESS: dict[str, Predictor] = {
    "constant": Constant(0.02, 0.001),
    "last seen": LastSeen(),
    "exponential average": ExponentialAverage(0.25),
    "accumulated mean": AccumulatedMean(),
    "at writing": AtWriting(ExponentialAverage(0.25)),
    "network": network(),
}
"""All that do not look ahead."""


def said(predictor: Predictor, rows: Seen) -> tuple[np.ndarray, np.ndarray]:
    mean, spread = predictions(predictor, rows)
    return np.asarray(mean), np.asarray(spread)


def rows_of(seed: int = 0) -> Seen:
    return all_rows(drawn(seed))


@pytest.mark.parametrize("name", SIGHTLESS)
def test_what_is_still_to_come_changes_nothing(name: str):
    with in_float64():
        rows, other = rows_of(), rows_of(1)
        at = 12
        mixed = Seen(
            jnp.concatenate([rows.weights[:at], other.weights[at:]]),
            jnp.concatenate([rows.there[:at], other.there[at:]]),
            *(rows.query, rows.round, rows.prompt),
            *(other.future, other.spread),
        )
        before, after = said(SIGHTLESS[name], rows), said(SIGHTLESS[name], mixed)
    for a, b in zip(before, after, strict=True):
        np.testing.assert_array_equal(a[:at], b[:at])


@pytest.mark.parametrize("name", [*SIGHTLESS])
def test_a_stream_that_does_not_run_keeps_its_state(name: str):
    predictor = SIGHTLESS[name]
    with in_float64():
        rows = rows_of()
        state: Any = predictor.begin(*rows.weights.shape[1:])
        for q in range(4):
            state = predictor.observe(state, jax.tree.map(lambda x, q=q: x[q], rows))
        idle = Seen(
            rows.weights[4].at[1].set(0.0),
            rows.there[4].at[1].set(False),
            *(part[4] for part in rows[2:]),
        )
        after = predictor.observe(state, idle)
    moved = False
    for a, b in zip(jax.tree.leaves(state), jax.tree.leaves(after), strict=True):
        np.testing.assert_array_equal(a[1], b[1])
        moved |= not np.array_equal(a[0], b[0])
    assert moved or not jax.tree.leaves(state)


@pytest.mark.parametrize("name", [*SIGHTLESS])
def test_predictions_are_shares_and_variances(name: str):
    with in_float64():
        mean, spread = said(SIGHTLESS[name], rows_of())
    assert ((mean >= 0) & (mean <= 1)).all()
    assert (spread >= 0).all()


def test_the_oracle_says_what_comes():
    weights, length = ATTENTION.weights, ATTENTION.length
    with in_float64():
        mean, spread = said(Oracle(), rows_of())
    for stream, end in enumerate(length):
        for q in range(end - 1):
            later = weights[stream, q + 1 : end, : q + 1]
            np.testing.assert_allclose(mean[q, stream, : q + 1], later.mean(0), atol=2 * UNIT)
            np.testing.assert_allclose(spread[q, stream, : q + 1], later.var(0), atol=2 * UNIT)
        assert not mean[end - 1 :, stream].any()


def test_averages_are_the_averages_of_the_rows_seen():
    rate = 0.25
    with in_float64():
        rows = rows_of()
        found = [said(p, rows) for p in (ExponentialAverage(rate), AccumulatedMean())]
    for stream, end in enumerate(ATTENTION.length):
        for key in range(end):
            seen = ATTENTION.weights[stream, key:end, key]
            n = len(seen)
            shares = (1 - rate) ** np.arange(n)[::-1]
            for told, by in zip(found, (shares / shares.sum(), np.full(n, 1 / n)), strict=True):
                mean, spread = (part[end - 1, stream, key] for part in told)
                assert mean == pytest.approx(by @ seen, rel=1e-12)
                # Variances are differences of squares: relative to the squares.
                assert spread == pytest.approx(by @ (seen - by @ seen) ** 2, abs=1e-14)


def test_the_exponential_average_at_rate_one_is_the_last_row():
    with in_float64():
        rows = rows_of()
        there = np.asarray(rows.there)
        (a, _), (b, _) = said(ExponentialAverage(1), rows), said(LastSeen(), rows)
    np.testing.assert_array_equal(a[there], b[there])


def test_at_writing_keeps_what_was_first_said():
    inner = AccumulatedMean()
    with in_float64():
        rows = rows_of()
        once, always = said(AtWriting(inner), rows), said(inner, rows)
    for stream, end in enumerate(ATTENTION.length):
        for key in range(end):
            for now, first in zip(once, always, strict=True):
                np.testing.assert_array_equal(
                    now[key:end, stream, key], np.full(end - key, first[key, stream, key])
                )


@pytest.mark.parametrize("lasting", Lasting)
def test_noise_has_the_mean_and_width_that_it_states(lasting: Lasting):
    with in_float64():
        rows = rows_of()._replace(future=jnp.full_like(rows_of().future, 1e-6))
        mean, _ = said(NoisyOracle(0.5, bias=2.0, lasting=lasting, key=random_key(3)), rows)
    factor = mean / 1e-6
    same = (factor == factor[:1]).all()
    assert same == (lasting is Lasting.TOKEN)
    drawn = factor[0] if same else factor
    # Four standard errors of the mean and of the deviation of a normal sample.
    n = drawn.size
    assert np.log(drawn).mean() == pytest.approx(np.log(2) - 0.125, abs=4 * 0.5 / n**0.5)
    assert np.log(drawn).std() == pytest.approx(0.5, abs=4 * 0.5 / (2 * n) ** 0.5)


def test_no_noise_is_the_oracle_and_noise_never_passes_one():
    with in_float64():
        rows = rows_of()
        np.testing.assert_array_equal(
            said(NoisyOracle(0, key=KEY), rows)[0], said(Oracle(), rows)[0]
        )
        assert said(NoisyOracle(2, bias=100, key=KEY), rows)[0].max() == 1


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: NoisyOracle(-1), "sigma"),
        (lambda: NoisyOracle(1, bias=0), "bias"),
        (lambda: NoisyOracle(1).begin(1, 1), "key"),
        (lambda: Constant(2), "value"),
        (lambda: Constant(0.5, -1), "spread"),
        (lambda: ExponentialAverage(0), "rate"),
        (lambda: ExponentialAverage(1.5), "rate"),
        (lambda: Mlp(Layers(*(jnp.zeros(1) for _ in range(6)))), "layers"),
    ],
)
def test_bad_input_is_one_line(make: Any, argument: str):
    with pytest.raises(InputError, match=f"^{argument}: "):
        make()


def test_a_run_gives_its_key_to_those_who_have_none():
    own, inside = NoisyOracle(1, key=KEY), AtWriting(NoisyOracle(1))
    assert own.with_key(random_key(8)).key is KEY
    given: Any = inside.with_key(KEY).predictor
    assert given.key is KEY
    assert AtWriting(LastSeen()).with_key(KEY).predictor == LastSeen()
