"""CacheOPT, Figures 1, 3, 4 and 6 in simulation: what a request is given, and what follows.

Printed: the methods, the lengths' means and bounds, block size, rates. Ours: OPT-13B on one A100 at
its roofline (`opt_13b`), lengths of greatest entropy, errors of the predictors (67 % within 100
tokens, 79 % in the right bucket), a bus of 25 GB/s, 2,000 requests from an empty server, of which
the middle seven tenths are measured. RLP's requests ask for their padding again where they outgrow
what they were given. Preemption time is from an eviction to the next new output, waiting from
arrival to admission, execution the rest.

The runs take a minute, most of it to compile, so they stand in `given.csv`; tests compute one
draw of three of them again, and all as a deeper check. It was written, and is written anew, by
`python -m fluidkv_papers.cacheopt.instances.given`.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fluidkv import preempt, runs, serving
from fluidkv.preempt.predictors.measured import S3_QUOTED
from fluidkv_papers.cacheopt.instances import opt_13b, table_1
from fluidkv_papers.records import Table

if TYPE_CHECKING:
    import xarray as xr

REQUESTS, SEEDS = 2000, 4
MEASURED = slice(400, 1800)
METHODS = ("vllm", "rlp", "s3")
RATES = {"alpaca": (32.0, 300.0), "sharegpt": (10.0, 16.0, 28.0), "bookcorpus": (1.2, 1.6)}
"""Requests a second: as printed, and others that fill the memory."""
PADDINGS = (0, 25, 50, 100, 150, 200, 300, 400)
SWEPT, SWEPT_RATES = "sharegpt", (6.0, 8.0, 10.0, 16.0)
"""Of Figure 6."""
BUS_S = opt_13b.KV_BYTES / 25e9
"""A token over PCIe 4.0 with 16 lanes, about four fifths of its peak."""

_TABLE = Table(__file__)


class Setting(NamedTuple):
    """Whose runs; the padding is RLP's."""

    trace: str
    rate: float
    method: str
    padding: int


class Row(NamedTuple):
    """One run.

    Fields:
        waiting_s, preempted_s, execution_s: means of the measured requests.
        evictions: of a measured request.
        added: requests admitted in an iteration, those that come back among them.
        first: of these, the ones that never ran.
        tokens, useful: computed in an iteration; those that had not been computed before.
        held, filled: shares of the memory that is given, and that is filled.
    """

    waiting_s: float
    preempted_s: float
    execution_s: float
    evictions: float
    added: float
    first: float
    tokens: float
    useful: float
    held: float
    filled: float

    @property
    def response_s(self) -> float:
        """From arrival to the last token."""
        return self.waiting_s + self.preempted_s + self.execution_s


def settings() -> tuple[Setting, ...]:
    """All that are on record."""
    padding = table_1.PADDING["rlp"]
    compared = [
        Setting(trace, rate, method, padding if method == "rlp" else 0)
        for trace, rates in RATES.items()
        for rate in rates
        for method in METHODS
    ]
    swept = [Setting(SWEPT, rate, "rlp", each) for rate in SWEPT_RATES for each in PADDINGS]
    return tuple(dict.fromkeys(compared + swept))


def computed(setting: Setting, seeds: Iterable[int] = range(SEEDS)) -> list[Row]:
    """One run for each seed."""
    rules = serving.engine(setting.method)
    limits = replace(
        opt_13b.limits(more_outputs=max(1, setting.padding)), swap=serving.Swap(per_token=BUS_S)
    )
    tables = [requests_of(setting, seed) for seed in seeds]
    found = serving.serve(tables, serving.Server(rules, limits, clock=opt_13b.clock()))
    return [_row(found.isel(run=k)) for k in range(len(tables))]


def requests_of(setting: Setting, seed: int) -> "runs.Requests":
    """Arrivals and lengths of a seed, with what a method's predictor makes of them."""
    table = table_1.requests_of(setting.trace, setting.rate, REQUESTS, seed)
    if setting.method == "rlp":
        table = preempt.with_predictions(table, preempt.RLP_QUOTED, seed=seed)
        return preempt.with_estimates(table, preempt.ConstantPadding(setting.padding))
    if setting.method == "s3":  # what is said is the upper bound of a bucket
        return preempt.with_predictions(table, S3_QUOTED, seed=seed)
    return table


def _row(run: "xr.Dataset") -> Row:
    seen = run.isel(request=MEASURED)
    waiting = (seen.admitted - seen.arrival).values
    halted = seen.halted.values
    inside = (seen.last_token - seen.admitted).values - halted
    iterations = int(run.iterations)
    counts = {name: float(run[name].sum("window")) / iterations for name in _COUNTS}
    memory = int(run.blocks) * int(run.block_size)
    return Row(
        waiting_s=float(waiting.mean()),
        preempted_s=float(halted.mean()),
        execution_s=float(inside.mean()),
        evictions=float(seen.evictions.values.mean()),
        added=counts["admit_new"] + counts["admit_resumed"],
        first=counts["admit_new"],
        tokens=counts["tokens"],
        useful=counts["tokens"] - counts["recomputed_tokens"],
        held=counts["used_blocks"] / int(run.blocks),
        filled=counts["kv_tokens"] / memory,
    )


_COUNTS = (
    "admit_new",
    "admit_resumed",
    "tokens",
    "recomputed_tokens",
    "used_blocks",
    "kv_tokens",
)


@cache
def recorded() -> dict[Setting, list[Row]]:
    """One row for each seed, by setting."""
    found: dict[Setting, list[Row]] = {}
    for setting, row in zip(_TABLE.rows(Setting), _TABLE.rows(Row), strict=True):
        found.setdefault(setting, []).append(row)
    return found


def mean(setting: Setting, name: str) -> float:
    """Over the seeds."""
    return float(np.mean([getattr(row, name) for row in recorded()[setting]]))


def compared(trace: str, rate: float) -> dict[str, Setting]:
    """The three methods at one rate."""
    padding = table_1.PADDING["rlp"]
    return {m: Setting(trace, rate, m, padding if m == "rlp" else 0) for m in METHODS}


if __name__ == "__main__":
    _TABLE.write(
        [*Setting._fields, "seed", *Row._fields],
        ([*of, seed, *row] for of in settings() for seed, row in enumerate(computed(of))),
    )
