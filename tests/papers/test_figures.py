"""Every figure: its committed numbers are what the code computes, and are drawn and told by it."""

import csv
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from fluidkv.figures import Figure
from fluidkv.figures.figure import Data
from fluidkv.figures.registry import figures
from fluidkv.figures.render import MANIFEST, drawn

FOLDER = Path(__file__).parents[2] / "figures"
ENTRIES = json.loads((FOLDER / MANIFEST).read_text(encoding="utf-8"))["figures"]
SLOW = {
    *(f"congestion_figure_{n}" for n in (4, 19, 30, 33, 34)),
    *(f"wait_figure_{n}" for n in (7, 8, 11, 12, 13, 14, 17)),
    *(f"routing_figure_{n}" for n in (2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14)),
    *("cacheopt_figure_8", "wait_policies", "wait_wrong_inputs", "wait_gap", "wait_overflow"),
    *("threshold_atlas", "gap_exponents", "local_global", "metastability", "gsp_one_worker"),
    *(
        "server",
        "sglang_run",
        "restart_resume",
        "tokenpd_rates",
        "footprints_spectra",
        "footprints_drafts",
    ),
    *("footprints_windows", "mooncake_hit_rate", "tokenpd_price_or_budgets"),
}
"""Seconds to hours."""


def committed(figure: Figure) -> Data:
    """The numbers that stand beside its picture."""
    (path,) = (FOLDER / name for name in _numbers(figure))
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return {name: arrays[name][()] for name in arrays.files}
    lines = path.read_text(encoding="utf-8").splitlines()
    scalars = [line for line in lines if line.startswith("# ")]
    header, *rows = csv.reader(lines[len(scalars) :])
    columns = dict(zip(header, np.array(rows, dtype=float).T, strict=True))
    pairs = (line.removeprefix("# ").split(" = ") for line in scalars)
    return columns | {name: float(value) for name, value in pairs}


def _numbers(figure: Figure) -> list[str]:
    return [name for name in ENTRIES[figure.id]["files"] if name.endswith((".csv", ".npz"))]


def test_every_figure_is_committed() -> None:
    assert set(ENTRIES) == {figure.id for figure in figures()}


@pytest.mark.parametrize("figure", figures(), ids=lambda figure: figure.id)
def test_the_committed_numbers_are_drawn_and_told_as_committed(figure: Figure) -> None:
    entry, data = ENTRIES[figure.id], committed(figure)
    (name,) = _numbers(figure)
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
    "figure", [f for f in figures() if f.id not in SLOW], ids=lambda figure: figure.id
)
@pytest.mark.usefixtures("traces_dir")
def test_the_committed_numbers_are_computed(figure: Figure) -> None:
    _is_computed(figure)


@pytest.mark.thorough
@pytest.mark.parametrize("figure", [f for f in figures() if f.id in SLOW], ids=lambda f: f.id)
@pytest.mark.usefixtures("traces_dir")
def test_the_committed_numbers_of_slow_figures_are_computed(figure: Figure) -> None:
    _is_computed(figure)
