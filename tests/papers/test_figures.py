"""Every figure: its committed numbers are what the code computes, and are drawn and told by it."""

import hashlib
import json

import numpy as np
import pytest

from fluidkv.figures import Figure
from fluidkv.figures.registry import figures
from fluidkv.figures.render import drawn
from tests.papers.committed import ENTRIES, FOLDER, committed, numbers_of

DEEPER = {
    *(f"congestion_figure_{n}" for n in (4, 30, 33, 34)),
    *("wait_figure_14", "wait_figure_17", "server", "sglang_run", "restart_resume"),
    *("footprints_drafts", "footprints_windows"),
}
"""Seconds: computed with --thorough."""
LONG = {
    *("congestion_figure_19", "cacheopt_figure_8", "footprints_spectra"),
    *(f"wait_figure_{n}" for n in (7, 8, 11, 12, 13)),
    *(f"routing_figure_{n}" for n in (2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14)),
    *("wait_policies", "wait_wrong_inputs", "wait_gap", "wait_overflow"),
    *("threshold_atlas", "gap_exponents", "local_global", "metastability", "gsp_one_worker"),
}
"""Many or long runs: tests compute less of each, or the instances that it is drawn from."""


def test_every_figure_is_committed() -> None:
    assert set(ENTRIES) == {figure.id for figure in figures()}


@pytest.mark.parametrize("figure", figures(), ids=lambda figure: figure.id)
def test_the_committed_numbers_are_drawn_and_told_as_committed(figure: Figure) -> None:
    entry, data = ENTRIES[figure.id], committed(figure)
    (name,) = numbers_of(figure)
    assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == entry["data_sha256"]
    assert entry["parameters"] == json.loads(json.dumps(dict(figure.parameters)))
    assert (entry["title"], entry["caption"]) == (figure.title, figure.caption(data))
    with drawn(figure, data) as canvas:
        canvas.draw_without_rendering()


def _is_computed(figure: Figure) -> None:
    """Powers, least squares and sums may differ in the last digits."""
    data, known = figure.data(), committed(figure)
    assert set(data) == set(known)
    for name, value in known.items():
        np.testing.assert_allclose(data[name], value, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize(
    "figure", [f for f in figures() if f.id not in DEEPER | LONG], ids=lambda figure: figure.id
)
@pytest.mark.usefixtures("traces_dir")
def test_the_committed_numbers_are_computed(figure: Figure) -> None:
    _is_computed(figure)


@pytest.mark.thorough
@pytest.mark.parametrize("figure", [f for f in figures() if f.id in DEEPER], ids=lambda f: f.id)
@pytest.mark.usefixtures("traces_dir")
def test_the_committed_numbers_are_computed_with_more_time(figure: Figure) -> None:
    _is_computed(figure)
