"""The same requests through several servers: engines, memories, clocks, numbers of clients."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import xarray as xr

from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.measuring import metrics
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.run import one_by_one
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.engines import with_cache
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server

TIMED = ("ttft", "latency")
"""Metrics that need arrival times."""


@dataclass(frozen=True)
class Case:
    """One server.

    Args:
        engine: as `serve` takes it: a text such as "sglang+cache:conservativeness=0.3", or rules.
        limits: memory and caps.
        clock: duration of an iteration.
        clients: a closed population; None: requests come at their times.
        tables: other requests than those of the other cases, as many tables.
        prompts: what these say.
    """

    engine: str | EngineRules | ServedEngine
    limits: Limits
    clock: IterationClock
    clients: int | None = None
    tables: Sequence[Requests] | None = None
    prompts: Sequence[Prompts | None] = ()

    def requests(self, tables: Sequence[Requests]) -> Sequence[Requests]:
        """Its own, or those of all."""
        return tables if self.tables is None else self.tables


def measured_cases(
    cases: Sequence[Case],
    tables: Sequence[Requests],
    prompts: Sequence[Prompts | None] = (),
    *,
    horizon: int | None = None,
    every: int = 1,
    warm_up: int = 0,
    backend: Literal["auto", "kernel", "reference"] = "auto",
    also: Callable[[xr.Dataset], xr.Dataset] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> tuple[xr.Dataset, list[str]]:
    """Metrics of every table of requests under every case.

    Cases of one engine run in one batch; where runs go one after the other, one at a time is in
    memory.

    Args:
        cases: at least one.
        tables: the requests of each run, the same for all cases.
        prompts: what they say, for an engine with a cache; none: nobody shares anything.
        horizon: iterations; None: until every request is done.
        every: iterations of a record.
        warm_up: records left out at the start, of what is not a time between tokens.
        backend: of `serve`.
        also: what else to measure of some runs: columns with a dimension run, and maybe more.
        on_progress: told now and then how many requests are served, of how many in all runs.

    Returns:
        Metrics of `fluidkv.runs.measuring` (case, run), both without coordinates; and how each run
        ended, names of `RunStatus`, case by case.

    Raises:
        InputError: as `serve`.
    """
    how: dict[str, Any] = {"iterations": horizon, "every": every}
    total = len(cases) * sum(map(len, tables))
    batches: list[tuple[list[int], xr.Dataset]] = []
    statuses: dict[int, list[str]] = {}
    for engine in dict.fromkeys(case.engine for case in cases):
        places = [i for i, case in enumerate(cases) if case.engine == engine]
        for batch in [[i] for i in places] if one_by_one(engine) else [places]:
            before = len(statuses) * sum(map(len, tables))
            of_batch = [cases[i] for i in batch]
            run = _run(of_batch, tables, prompts, backend, how, before, total, on_progress)
            columns = _metrics(run, warm_up).reset_coords(drop=True)
            if also is not None:
                columns = columns.merge(also(run).reset_coords(drop=True))
            for place, index in enumerate(batch):
                part = slice(place * len(tables), (place + 1) * len(tables))
                statuses[index] = run.status.values[part].tolist()
            batches.append((batch, columns))
    table = _by_case(batches, len(tables))
    return table, [status for i in range(len(cases)) for status in statuses[i]]


def _by_case(batches: Sequence[tuple[list[int], xr.Dataset]], runs: int) -> xr.Dataset:
    """Columns (case, run, ...) in the order of the cases, of batches with one run after the other.

    Of arrays: a dataset for each of hundreds of cases would take longer than to run them.
    """
    order = np.argsort([index for places, _ in batches for index in places])
    first = batches[0][1].drop_vars("run", errors="ignore")
    columns: dict[Any, Any] = {}
    for name, variable in first.variables.items():
        rest = [dim for dim in variable.dims if dim != "run"]
        if len(rest) == variable.ndim:
            columns[name] = variable
            continue
        parts = [batch.variables[name].transpose("run", *rest).values for _, batch in batches]
        values = np.concatenate(parts)
        by_case = values.reshape(-1, runs, *values.shape[1:])[order]
        columns[name] = ("case", "run", *rest), by_case, variable.attrs
    return xr.Dataset(columns, attrs=first.attrs)


def _run(
    cases: Sequence[Case],
    tables: Sequence[Requests],
    prompts: Sequence[Prompts | None],
    backend: str,
    how: dict[str, Any],
    before: int,
    total: int,
    on_progress: Callable[[int, int], None] | None,
) -> xr.Dataset:
    """Every table under every case, of one engine."""
    each = [case for case in cases for _ in tables]

    def tell(_: int, served: int) -> None:
        if on_progress is not None:
            on_progress(before + served, total)

    texts = None
    if with_cache(cases[0].engine)[1]:
        said = [case.prompts if case.tables is not None else prompts for case in cases]
        texts = [text for texts in said for text in texts] or None
    limits, clocks = [case.limits for case in each], [case.clock for case in each]
    return serve(
        [table for case in cases for table in case.requests(tables)],
        Server(cases[0].engine, limits, clocks, texts, backend),
        clients=[case.clients for case in each],
        on_progress=tell,
        **how,
    )


def _metrics(run: xr.Dataset, warm_up: int) -> xr.Dataset:
    """Where all wait from the start, of requests from their first token."""
    found = metrics(run)
    if not warm_up:
        return found
    late = metrics(run, first=warm_up)
    keep = [n for n in found if str(n).startswith(("tpot", "longest_gap"))]
    drop = [n for n in late if str(n).startswith((*TIMED, "tpot", "longest_gap", "censored"))]
    return late.drop_vars(drop).merge(found[keep])
