"""How the package's network was trained, and how far each predictor is off, on record.

Training takes half a minute and errors on other machines differ in their last digits, so the
network stands beside this file (`mlp.npz`, 15 kB), and with it the curves of its training
(`curves.csv`) and the errors of all predictors (`errors.csv`).

    python -m fluidkv.tokenpd.returns.recorded          prints the errors
    python -m fluidkv.tokenpd.returns.recorded write    trains and measures anew: minutes
"""

import csv
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fluidkv.runs.precision import random_key
from fluidkv.tokenpd.attention.generators.presets import generators
from fluidkv.tokenpd.attention.generators.structure import generated
from fluidkv.tokenpd.attention.weights import Attention
from fluidkv.tokenpd.returns.averages import AccumulatedMean, ExponentialAverage, LastSeen
from fluidkv.tokenpd.returns.errors import Errors, prediction_errors
from fluidkv.tokenpd.returns.known import Constant, NoisyOracle
from fluidkv.tokenpd.returns.mlp import Mlp, save_mlp
from fluidkv.tokenpd.returns.training import TrainingCurve, train_mlp
from fluidkv.tokenpd.returns.writing import AtWriting
from fluidkv.tokenpd.seen import Predictor

TRAINED_ON, VALIDATED_ON, MEASURED_ON = (1, 2), (3,), (4, 5, 6, 7)
"""Seeds of the generators."""
KEYS = (0, 1, 2)
"""Seeds of first weights and batches; the package's network is the first."""
SETTINGS = {"steps": 1000, "batch": 1024, "rate": 3e-3}
UNSEEN = "network, unseen"
"""One that was trained on all generators but the one that it is measured on."""


class Entry(NamedTuple):
    """Whose error, on what."""

    generator: str
    predictor: str
    seed: int


def attention_of(generator: str, seed: int) -> Attention:
    """Eight requests that all start at once."""
    structure = generators()[generator]
    return generated(structure, seed, requests=8, prompt=(32, 64), length=(128, 256))


def network(names: Iterable[str], key: int) -> tuple[Mlp, TrainingCurve]:
    """Train on these generators."""
    train, validation = (
        [attention_of(name, seed) for name in names for seed in seeds]
        for seeds in (TRAINED_ON, VALIDATED_ON)
    )
    return train_mlp(train, random_key(key), validation=validation, **SETTINGS)


def predictors(mlp: Mlp) -> dict[str, Predictor]:
    """What is compared; the constant is of the size of returns here, and no generator's mean."""
    return {
        "constant": Constant(0.01),
        "noisy oracle 0.5": NoisyOracle(0.5, key=random_key(0)),
        "noisy oracle 1": NoisyOracle(1.0, key=random_key(0)),
        "last row": LastSeen(),
        "average 1/2": ExponentialAverage(1 / 2),
        "average 1/8": ExponentialAverage(1 / 8),
        "average 1/32": ExponentialAverage(1 / 32),
        "accumulated": AccumulatedMean(),
        "network at writing": AtWriting(mlp),
        "network": mlp,
    }


def measured(entry: Entry, mlp: Mlp) -> Errors:
    """The errors of an entry; of `UNSEEN` `mlp` is the network that has not seen the generator."""
    predictor = mlp if entry.predictor == UNSEEN else predictors(mlp)[entry.predictor]
    return prediction_errors(predictor, attention_of(entry.generator, entry.seed))


@cache
def errors() -> Mapping[Entry, Errors]:
    """All errors, from the record."""
    return {
        Entry(generator, predictor, int(seed)): Errors(*map(float, values))
        for generator, predictor, seed, *values in _rows("errors.csv")
    }


@cache
def curves() -> Mapping[int, TrainingCurve]:
    """The curve of each key, from the record."""
    found: dict[int, list[list[float]]] = {key: [] for key in KEYS}
    for key, *values in _rows("curves.csv"):
        found[int(key)].append([float(value) for value in values])
    return {key: _curve(rows) for key, rows in found.items()}


def _curve(rows: Sequence[Sequence[float]]) -> TrainingCurve:
    step, train, validation = zip(*rows, strict=True)
    return TrainingCurve(tuple(map(int, step)), train, validation)


def missed(generator: str, predictor: str) -> np.ndarray:
    """Squared error over variance under each seed."""
    return np.array([errors()[Entry(generator, predictor, s)].missed for s in MEASURED_ON])


def table() -> Iterator[str]:
    """Lines of a table: mean squared error over variance, means over seeds."""
    names = list(dict.fromkeys(entry.predictor for entry in errors()))
    yield f"| | {' | '.join(generators())} |"
    yield f"|---|{'---:|' * len(generators())}"
    for name in names:
        cells = (f"{missed(generator, name).mean():.2g}" for generator in generators())
        yield f"| {name} | {' | '.join(cells)} |"


def record(say: Callable[[str], None] = print) -> None:
    """Train and measure anew, and write what stands beside this file."""
    folder = Path(str(_FOLDER))
    trained = {key: network(generators(), key) for key in KEYS}
    points = [(key, *point) for key in KEYS for point in zip(*trained[key][1], strict=True)]
    _write(folder / "curves.csv", ("key", *TrainingCurve._fields), points)
    mlp = trained[KEYS[0]][0]
    save_mlp(mlp, folder / "mlp.npz")
    found: list[tuple[object, ...]] = []
    for generator in generators():
        say(generator)
        unseen = network([name for name in generators() if name != generator], KEYS[0])[0]
        kinds = [(name, mlp) for name in predictors(mlp)] + [(UNSEEN, unseen)]
        for name, one in kinds:
            for seed in MEASURED_ON:
                entry = Entry(generator, name, seed)
                found.append((*entry, *measured(entry, one)))
    _write(folder / "errors.csv", (*Entry._fields, *Errors._fields), found)


_FOLDER = files("fluidkv.tokenpd.returns")


def _rows(name: str) -> list[list[str]]:
    with _FOLDER.joinpath(name).open(encoding="utf-8") as file:
        return list(csv.reader(file))[1:]


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        write = csv.writer(file, lineterminator="\n")
        write.writerow(header)
        write.writerows([f"{x:.6g}" if isinstance(x, float) else x for x in row] for row in rows)


if __name__ == "__main__":
    if sys.argv[1:] == ["write"]:
        record()
    for line in table():
        print(line)
