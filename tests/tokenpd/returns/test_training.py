"""The network learns from attention alone, the same from the same key, and is kept as it is."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.runs.precision import in_float64, random_key
from fluidkv.tokenpd import Constant, Oracle
from fluidkv.tokenpd.returns.averages import LastSeen
from fluidkv.tokenpd.returns.errors import prediction_errors
from fluidkv.tokenpd.returns.mlp import Mlp, load_mlp, save_mlp
from fluidkv.tokenpd.returns.rows import all_rows, predictions, thinned
from fluidkv.tokenpd.returns.training import TrainingCurve, train_mlp
from tests.tokenpd.returns.drawn import drawn


@cache
def trained() -> tuple[Mlp, TrainingCurve]:
    few = {"steps": 60, "batch": 256, "hidden": 16, "points": 3}
    return train_mlp([drawn(1), drawn(2)], random_key(0), validation=[drawn(3)], **few)


@pytest.mark.thorough
def test_training_beats_the_best_constant_on_held_out_streams():
    mlp, curve = trained()
    assert curve.step == (0, 20, 40, 60)
    # The first network is the constant: its loss is one but for 32 bits.
    assert curve.train[0] == pytest.approx(1, abs=1e-5)
    assert curve.validation[-1] < 0.7
    assert prediction_errors(mlp, drawn(4)).missed < 0.9


def test_the_same_key_trains_the_same_network():
    few = {"steps": 60, "batch": 256, "hidden": 16, "points": 3}
    again, curve = train_mlp([drawn(1), drawn(2)], random_key(0), validation=[drawn(3)], **few)
    mlp, before = trained()
    assert curve == before
    for a, b in zip(mlp.layers, again.layers, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_network_is_read_as_it_was_written(tmp_path: Path):
    mlp, _ = trained()
    save_mlp(mlp, tmp_path / "network.npz")
    for a, b in zip(mlp.layers, load_mlp(tmp_path / "network.npz").layers, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_oracle_misses_nothing_and_the_mean_its_variance():
    attention = drawn(6)
    with in_float64():
        rows = all_rows(attention)
        future = np.asarray(predictions(Oracle(), rows)[0])
    asked = [
        future[q, s, : q + 1]
        for s in range(3)
        for q in range(attention.prompt[s] - 1, attention.length[s] - 1)
    ]
    mean = np.concatenate(asked).mean()
    oracle, constant = (prediction_errors(p, attention) for p in (Oracle(), Constant(float(mean))))
    assert (oracle.squared, oracle.risk_squared, oracle.bias) == (0, 0, 0)
    assert oracle.rank == pytest.approx(1, abs=1e-12)
    assert constant.missed == pytest.approx(1, rel=1e-12)
    assert constant.rank == 0


def test_training_on_nothing_is_one_line():
    with pytest.raises(InputError, match=r"^attentions: "):
        train_mlp([], random_key(0), validation=[drawn(1)])
    with pytest.raises(InputError, match=r"^points: "):
        train_mlp([drawn(1)], random_key(0), validation=[drawn(1)], steps=5, points=6)


def test_a_file_that_is_no_network_is_one_line(tmp_path: Path):
    path = tmp_path / "mlp.npz"
    for content in (None, b"no arrays"):
        if content:
            path.write_bytes(content)
        with pytest.raises(InputError, match=r"path: got .*; allowed: an NPZ file of shift, scale"):
            load_mlp(path)


def test_errors_need_a_row_to_come():
    attention = drawn(0)
    whole = replace(attention, length=attention.prompt)
    with pytest.raises(InputError, match=r"attention: got .*; allowed: a stream longer than"):
        prediction_errors(LastSeen(), whole)


def test_caches_in_training_keep_their_share_rounded_up():
    """Of the keys so far, after each row from the prompt's last one on; and the next one's own."""
    attention, shares = drawn(1), np.array([1, 1 / 2, 1 / 4])
    with in_float64():
        seen = thinned(all_rows(attention), shares)
        there, weights = np.asarray(seen.there), np.asarray(seen.weights)
    for stream, (share, prompt) in enumerate(zip(shares, attention.prompt, strict=True)):
        for query in range(attention.length[stream]):
            held = query if query < prompt else np.ceil(share * query)
            assert there[query, stream].sum() == held + 1
            assert weights[query, stream].sum() == pytest.approx(1)
