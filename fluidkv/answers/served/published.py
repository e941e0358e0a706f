"""Published benchmarks that our predictions miss or cannot tell, by the knob that they are about.

A pick that turns such a knob says so. The numbers are those of the claims that are named, computed
by `fluidkv_papers.vllm.instances.misses` and held against them by its tests.
"""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated, Any

from fluidkv.questions.answer import Answer, Described

_FILE = files("fluidkv.answers.served") / "published.csv"


@dataclass(frozen=True)
class Published(Answer):
    """One number of a published benchmark, and what we predict.

    Fields:
        claim: id, as `fluidkv verify` takes it.
        knob: of `fluidkv.answers.served.setting.Setting`, or "victim".
    """

    claim: Annotated[
        str, Described("of a published benchmark that a prediction missed, or cannot tell")
    ]
    knob: Annotated[str, Described("that it is about")]
    what: Annotated[str, Described("the number, in words")]
    published: Annotated[float, Described("measured there", kind="as `unit`")]
    ours: Annotated[float, Described("predicted", kind="as `unit`")]
    unit: Annotated[str, Described("of both: `share`, or of a time")]
    chance: Annotated[
        float | None,
        Described(
            "what two runs of ours, alike but for what is not published, are apart by at most in "
            "95 of 100 cases; null where no such runs are on record",
            kind="as `unit`",
        ),
    ]


@cache
def published() -> tuple[Published, ...]:
    """All that are on record."""
    with _FILE.open(encoding="utf-8") as file:
        return tuple(_read(row) for row in csv.DictReader(file))


def _read(row: dict[str, Any]) -> Published:
    numbers = {name: float(row[name]) for name in ("published", "ours")}
    return Published(
        **{**row, **numbers, "chance": float(row["chance"]) if row["chance"] else None}
    )


def misses_of(knobs: Iterable[str]) -> tuple[Published, ...]:
    """Those that are about one of the knobs."""
    turned = set(knobs)
    return tuple(one for one in published() if one.knob in turned)
