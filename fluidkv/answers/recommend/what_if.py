"""What if there were twice the memory, or half of it; twice the prompts, twice the rate.

The same requests on the same clock, the server set as it is now. None of it is another machine: a
clock says what an iteration costs on the one that it is of.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import xarray as xr

from fluidkv.answers.recommend.plan import Plan
from fluidkv.answers.recommend.runs import Backend, Progress
from fluidkv.answers.served.cases import Case, measured_cases
from fluidkv.answers.served.scaled import longer_prompts, scaled
from fluidkv.answers.served.setting import engine_of, limits_of
from fluidkv.errors import InputError
from fluidkv.prefix.prompts import Prompts
from fluidkv.record import Record
from fluidkv.runs.dataset import RunStatus
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.run import one_by_one
from fluidkv.serving.checks import largest_request
from fluidkv.serving.limits import Limits

TWICE, HALF = Fraction(2), Fraction(1, 2)


@dataclass(frozen=True)
class WhatIf(Record):
    """One change.

    Fields:
        of: "capacity", "inputs", "rate" or "clients"; "" for no change.
        factor: on it.
        capacity: KV tokens then.
        metrics: means over runs; None where it was not run.
        why: it was not run; "" otherwise.
    """

    of: str
    factor: Fraction
    capacity: int
    metrics: Mapping[str, float] | None
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "of": self.of or None,
            "factor": float(self.factor),
            "capacity": self.capacity,
            "metrics": None if self.metrics is None else dict(self.metrics),
            "why": self.why or None,
        }


@dataclass(frozen=True, eq=False)
class _Change:
    of: str
    factor: Fraction
    limits: Limits
    tables: Sequence[Requests]
    prompts: Sequence[Prompts | None]
    clients: int | None


def what_if(
    plan: Plan, backend: Backend, on_progress: Progress | None = None
) -> tuple[WhatIf, ...]:
    """The server as it is now, and with each change; until every request is served.

    Where all requests wait from the start, the row without a change is run again here: the others
    have a horizon, by which twice the memory may run out of work.
    """
    changes = [] if plan.rules.may_cycle else _changes(plan)
    found: dict[int, WhatIf] = {}
    runnable: list[int] = []
    for place, change in enumerate(changes):
        why = _too_large(plan, change)
        if why:
            found[place] = WhatIf(change.of, change.factor, change.limits.capacity, None, why)
        else:
            runnable.append(place)
    # Where runs go one by one, each may be refused by itself.
    alone = one_by_one(plan.engine)
    for batch in [[place] for place in runnable] if alone else [runnable] * bool(runnable):
        found |= dict(
            zip(batch, _run(plan, [changes[p] for p in batch], backend, on_progress), strict=True)
        )
    return tuple(found[place] for place in range(len(changes)))


def _changes(plan: Plan) -> list[_Change]:
    limits, clients = limits_of(plan.limits, plan.settings[0]), plan.demand.clients
    plain = _Change("", Fraction(1), limits, plan.tables, plan.prompts, clients)

    def memory(factor: Fraction) -> _Change:
        blocks = max(1, int(limits.blocks * factor))
        larger = replace(limits, capacity=blocks * limits.block_size)
        return replace(plain, of="capacity", factor=factor, limits=larger)

    longer = [scaled(table, inputs=TWICE) for table in plan.tables]
    prompts = [text and longer_prompts(text, int(TWICE)) for text in plan.prompts]
    found = [plain, memory(TWICE), memory(HALF)]
    found.append(replace(plain, of="inputs", factor=TWICE, tables=longer, prompts=prompts))
    if clients is not None:
        found.append(replace(plain, of="clients", factor=TWICE, clients=2 * clients))
    elif plan.demand.kind != "saturated":
        faster = [scaled(table, rate=float(TWICE)) for table in plan.tables]
        found.append(replace(plain, of="rate", factor=TWICE, tables=faster))
    return found


def _too_large(plan: Plan, change: _Change) -> str:
    """Why a change leaves a request that can never be served; "" if it does not."""
    for table in change.tables:
        worst, needed, there = largest_request(plan.rules, change.limits, table)
        if needed > there:
            tokens = int(table.input_length[worst] + table.output_length[worst])
            return f"its largest request, {tokens:,} tokens, does not fit"
    return ""


def _run(
    plan: Plan, changes: Sequence[_Change], backend: Backend, on_progress: Progress | None
) -> list[WhatIf]:
    engine = engine_of(plan.engine, plan.settings[0])
    cases = [Case(engine, c.limits, plan.clock, c.clients, c.tables, c.prompts) for c in changes]
    try:
        table, statuses = measured_cases(
            cases, plan.tables, every=plan.every, backend=backend, on_progress=on_progress
        )
    except InputError as error:
        return [
            WhatIf(c.of, c.factor, c.limits.capacity, None, f"refused: {error}") for c in changes
        ]
    runs, found = len(plan.tables), []
    for place, change in enumerate(changes):
        ended = set(statuses[place * runs : (place + 1) * runs]) == {RunStatus.DONE.name}
        row = WhatIf(change.of, change.factor, change.limits.capacity, None, "it gets stuck")
        means = _means(table.isel(case=place)) if ended else None
        found.append(replace(row, metrics=means, why="") if ended else row)
    return found


def _means(row: xr.Dataset) -> dict[str, float]:
    values = {str(name): float(column.mean()) for name, column in row.data_vars.items()}
    return {name: value for name, value in values.items() if value == value}
