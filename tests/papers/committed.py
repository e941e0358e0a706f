"""Figures as they are committed: their entries in the manifest, and their numbers."""

import csv
import json
from pathlib import Path

import numpy as np

from fluidkv.figures import Figure
from fluidkv.figures.figure import Data
from fluidkv.figures.render import MANIFEST

FOLDER = Path(__file__).parents[2] / "figures"
ENTRIES = json.loads((FOLDER / MANIFEST).read_text(encoding="utf-8"))["figures"]


def committed(figure: Figure | str) -> Data:
    """The numbers that stand beside its picture.

    Args:
        figure: or its id.
    """
    (path,) = (FOLDER / name for name in numbers_of(figure))
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return {name: arrays[name][()] for name in arrays.files}
    lines = path.read_text(encoding="utf-8").splitlines()
    scalars = [line for line in lines if line.startswith("# ")]
    header, *rows = csv.reader(lines[len(scalars) :])
    columns = dict(zip(header, np.array(rows, dtype=float).T, strict=True))
    pairs = (line.removeprefix("# ").split(" = ") for line in scalars)
    return columns | {name: float(value) for name, value in pairs}


def numbers_of(figure: Figure | str) -> list[str]:
    """Names of the files of its numbers."""
    id = figure if isinstance(figure, str) else figure.id
    return [name for name in ENTRIES[id]["files"] if name.endswith((".csv", ".npz"))]
