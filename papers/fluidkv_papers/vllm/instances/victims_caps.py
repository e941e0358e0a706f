"""The same bench under last come first with a watermark, or a cap on the rate of admission.

Two settings of `victims_bench`, one with prompts whole and one with prompts cut; the cap is a
multiple of x*, the requests an iteration that memory carries. Numbers are on record in
`victims_caps.csv`.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
from jaxtyping import Float

from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import Victim
from fluidkv_papers.records import Table
from fluidkv_papers.vllm.instances import victims_bench as bench

CHOSEN = tuple(
    next(s for s in bench.SETTINGS if str(s) == name)
    for name in (
        "chat, load 1.2, 32 requests, prompts whole",
        "documents, load 1.2, 32 requests, prompts cut",
    )
)
WATERMARKS, RATES = (0.02, 0.05, 0.1, 0.2), (0.7, 0.8, 0.9, 1.0, 1.2)
_TABLE = Table(__file__, digits=4)


@dataclass(frozen=True)
class Cap:
    """A share of memory that admission leaves free, or admissions an iteration over x*."""

    kind: str
    value: float

    def of(self, setting: bench.Setting, seed: int) -> Limits:
        if self.kind == "watermark":
            return replace(setting.limits, watermark=self.value)
        rate = self.value * bench.carried(setting, bench.drawn(setting, seed))
        return replace(setting.limits, admission_rate=Fraction(rate).limit_denominator(10**4))


CAPS = (*(Cap("watermark", w) for w in WATERMARKS), *(Cap("rate", r) for r in RATES))


def record() -> None:
    """Compute everything and write it."""
    cases = list(product(CHOSEN, CAPS, range(bench.DRAWS)))
    jobs = [(setting, seed) for setting, _, seed in cases]
    limits = [cap.of(setting, seed) for setting, cap, seed in cases]
    found = bench.served(jobs, limits, Victim.LAST_ADMITTED)
    rows = (
        [CHOSEN.index(setting), CAPS.index(cap), seed, *numbers]
        for (setting, cap, seed), numbers in zip(cases, found, strict=True)
    )
    _TABLE.write(["setting", "cap", "seed", *bench.NUMBERS], rows)


@cache
def recorded() -> Float[np.ndarray, "setting cap draw number"]:
    """All numbers."""
    found = np.full((len(CHOSEN), len(CAPS), bench.DRAWS, len(bench.NUMBERS)), np.nan)
    for line in _TABLE.lines():
        at = tuple(int(line[name]) for name in ("setting", "cap", "seed"))
        found[at] = [float(line[name]) for name in bench.NUMBERS]
    return found
