"""What is on record of predictors is what they do, and what the page says."""

from pathlib import Path

import numpy as np
import pytest

from fluidkv.tokenpd import generators
from fluidkv.tokenpd.returns.mlp import trained_mlp
from fluidkv.tokenpd.returns.recorded import (
    KEYS,
    MEASURED_ON,
    SETTINGS,
    UNSEEN,
    Entry,
    curves,
    errors,
    measured,
    missed,
    network,
    predictors,
    table,
)

PAGE = Path(__file__).parents[3] / "docs" / "price.md"


def test_all_is_on_record():
    names = [*predictors(trained_mlp()), UNSEEN]
    assert set(errors()) == {
        Entry(g, n, s) for g in generators() for n in names for s in MEASURED_ON
    }
    assert set(curves()) == set(KEYS)
    assert all(curve.step[-1] == SETTINGS["steps"] for curve in curves().values())


@pytest.mark.parametrize(
    "entry",
    [
        Entry("mixed", "network", 4),
        Entry("uneven", "noisy oracle 0.5", 7),
    ],
)
def test_an_error_is_what_is_on_record(entry: Entry):
    # Six digits are written; a network has 32 bits, whose sums depend on the machine.
    found, recorded = measured(entry, trained_mlp()), errors()[entry]
    np.testing.assert_allclose(found, recorded, rtol=1e-3, atol=1e-9)
    assert found.missed == pytest.approx(recorded.missed, rel=1e-3)


@pytest.mark.thorough
def test_training_again_ends_where_it_ended():
    # Other machines add up in another order, and 1,000 steps let it grow: the error is alike.
    found = network(generators(), KEYS[0])[1].validation[-1]
    assert found == pytest.approx(curves()[KEYS[0]].validation[-1], rel=0.1)


def test_no_predictor_without_an_oracle_misses_less_than_the_network():
    names = [name for name in predictors(trained_mlp()) if "oracle" not in name]
    for generator in generators():
        least = min(names, key=lambda name: missed(generator, name).mean())
        assert least == "network" or missed(generator, least).mean() > 0.9


@pytest.mark.parametrize(
    "name", ["network", "network at writing", "network, unseen", "average 1/8"]
)
def test_the_page_has_the_least_and_the_most_error(name: str):
    found = [missed(generator, name).mean() for generator in generators()]
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f" {name} {min(found):.2g} to {max(found):.2g}" in text


def test_the_table_has_each_predictor_under_each_generator():
    head, _, *rows = table()
    names = [*predictors(trained_mlp()), UNSEEN]
    assert head.split(" | ")[1:] == [*list(generators())[:-1], f"{list(generators())[-1]} |"]
    assert {row.split(" | ")[0].removeprefix("| ") for row in rows} == set(names)
