"""The same bench under last come first with a watermark, or a cap on the rate of admission.

Two settings of `victims_bench`, one with prompts whole and one with prompts cut; the cap is a
multiple of x*, the requests an iteration that memory carries. Numbers are on record in
`victims_caps.csv`.
"""

import csv
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from importlib.resources import files
from itertools import product
from pathlib import Path

import numpy as np
from jaxtyping import Float

from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import Victim
from fluidkv_papers.vllm.instances.victims_bench import (
    DRAWS,
    NUMBERS,
    SETTINGS,
    Setting,
    carried,
    drawn,
    served,
)

CHOSEN = tuple(
    next(s for s in SETTINGS if str(s) == name)
    for name in (
        "chat, load 1.2, 32 requests, prompts whole",
        "documents, load 1.2, 32 requests, prompts cut",
    )
)
WATERMARKS, RATES = (0.02, 0.05, 0.1, 0.2), (0.7, 0.8, 0.9, 1.0, 1.2)
_FILE = files("fluidkv_papers.vllm.instances") / "victims_caps.csv"


@dataclass(frozen=True)
class Cap:
    """A share of memory that admission leaves free, or admissions an iteration over x*."""

    kind: str
    value: float

    def of(self, setting: Setting, seed: int) -> Limits:
        if self.kind == "watermark":
            return replace(setting.limits, watermark=self.value)
        rate = self.value * carried(setting, drawn(setting, seed))
        return replace(setting.limits, admission_rate=Fraction(rate).limit_denominator(10**4))


CAPS = (*(Cap("watermark", w) for w in WATERMARKS), *(Cap("rate", r) for r in RATES))


def record(path: Path) -> None:
    """Compute everything and write it, four digits a number."""
    cases = list(product(CHOSEN, CAPS, range(DRAWS)))
    jobs = [(setting, seed) for setting, _, seed in cases]
    limits = [cap.of(setting, seed) for setting, cap, seed in cases]
    found = served(jobs, limits, Victim.LAST_ADMITTED)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["setting", "cap", "seed", *NUMBERS])
        for (setting, cap, seed), numbers in zip(cases, found, strict=True):
            shown = (f"{number:.4g}" for number in numbers)
            writer.writerow([CHOSEN.index(setting), CAPS.index(cap), seed, *shown])


@cache
def recorded() -> Float[np.ndarray, "setting cap draw number"]:
    """All numbers."""
    found = np.full((len(CHOSEN), len(CAPS), DRAWS, len(NUMBERS)), np.nan)
    with _FILE.open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            at = tuple(int(line[name]) for name in ("setting", "cap", "seed"))
            found[at] = [float(line[name]) for name in NUMBERS]
    return found
