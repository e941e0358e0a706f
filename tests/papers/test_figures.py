"""Every figure: its committed numbers are what the code computes, and are drawn and told by it."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from fluidkv.figures import Figure, MissingInput
from fluidkv.figures.registry import figures
from fluidkv.figures.render import drawn
from tests.papers.committed import ENTRIES, FOLDER, committed, numbers_of

DEEPER = {
    *(f"congestion_figure_{n}" for n in (4, 19, 30, 33, 34)),
    *("wait_figure_14", "wait_figure_17", "server", "sglang_run", "restart_resume"),
    *("footprints_drafts", "footprints_windows", "footprints_spectra"),
    *("gap_exponents", "local_global", "gsp_one_worker"),
}
"""Seconds: computed with --thorough."""
LONG = {
    *(f"wait_figure_{n}" for n in (7, 8, 11, 12, 13)),
    *(f"routing_figure_{n}" for n in (2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14)),
    *("wait_policies", "wait_wrong_inputs", "wait_gap", "wait_overflow"),
    *("threshold_atlas", "metastability"),
}
"""Many or long runs: tests compute fewer or shorter ones of the functions that draw each."""


def test_every_figure_is_committed() -> None:
    assert set(ENTRIES) == {figure.id for figure in figures()}


@pytest.mark.parametrize("figure", figures(), ids=lambda figure: figure.id)
def test_the_committed_numbers_are_drawn_and_told_as_committed(
    figure: Figure, request: pytest.FixtureRequest
) -> None:
    entry, data = ENTRIES[figure.id], committed(figure)
    (name,) = numbers_of(figure)
    assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == entry["data_sha256"]
    assert entry["parameters"] == json.loads(json.dumps(dict(figure.parameters)))
    with _skipped_without_traces(request):
        assert (entry["title"], entry["caption"]) == (figure.title, figure.caption(data))
        with drawn(figure, data) as canvas:
            canvas.draw_without_rendering()


@contextmanager
def _skipped_without_traces(request: pytest.FixtureRequest) -> Iterator[None]:
    """Of a figure that reads real traces, where they are missing."""
    try:
        yield
    except MissingInput:
        request.getfixturevalue("traces_dir")
        raise


def _is_computed(figure: Figure, request: pytest.FixtureRequest) -> None:
    """Powers, least squares and sums may differ in the last digits.

    So may what cancels to 0 but for rounding, by parts of the largest number in its array.
    """
    with _skipped_without_traces(request):
        data = figure.data()
    numbers = committed(figure)
    assert set(data) == set(numbers)
    for name, value in numbers.items():
        finite = np.abs(value)[np.isfinite(value)]
        atol = 1e-12 * np.max(finite, initial=0)
        np.testing.assert_allclose(data[name], value, rtol=1e-9, atol=atol, err_msg=name)


@pytest.mark.parametrize(
    "figure", [f for f in figures() if f.id not in DEEPER | LONG], ids=lambda figure: figure.id
)
def test_the_committed_numbers_are_computed(figure: Figure, request: pytest.FixtureRequest) -> None:
    _is_computed(figure, request)


@pytest.mark.thorough
@pytest.mark.parametrize("figure", [f for f in figures() if f.id in DEEPER], ids=lambda f: f.id)
def test_the_committed_numbers_are_computed_with_more_time(
    figure: Figure, request: pytest.FixtureRequest
) -> None:
    _is_computed(figure, request)
