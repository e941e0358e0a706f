"""What if there were twice the memory, or half of it; twice the prompts, twice the rate.

The same requests on the same clock, the server set as it is now. None of it is another machine: a
clock says what an iteration costs on the one that it is of.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import xarray as xr

from fluidkv.answers.recommend.records import WhatIf
from fluidkv.answers.recommend.runs import Plan
from fluidkv.answers.served.cases import Case
from fluidkv.answers.served.experiment import Backend
from fluidkv.answers.served.scaled import longer_prompts, scaled
from fluidkv.errors import InputError
from fluidkv.runs.dataset import RunStatus
from fluidkv.serving.caching.run import one_by_one
from fluidkv.serving.checks import largest_request

TWICE, HALF = Fraction(2), Fraction(1, 2)


class _Change(NamedTuple):
    of: str
    factor: Fraction
    case: Case


def what_if(plan: Plan, backend: Backend) -> tuple[WhatIf, ...]:
    """The server as it is now, and with each change; until every request is served.

    Where all requests wait from the start, the row without a change is run again here: the others
    have a horizon, by which twice the memory may run out of work.
    """
    if plan.engine.rules.may_cycle:
        return ()
    changes = list(_changes(plan))
    rows = [
        WhatIf(of, factor, case.limits.capacity, why=_too_large(plan, case))
        for of, factor, case in changes
    ]
    fitting = [place for place, row in enumerate(rows) if not row.why]
    # Where runs go one by one, each may be refused by itself.
    alone = one_by_one(plan.engine)
    for batch in [[place] for place in fitting] if alone else [fitting] * bool(fitting):
        answers = _run(plan, [changes[place].case for place in batch], backend)
        for place, (metrics, why) in zip(batch, answers, strict=True):
            rows[place] = replace(rows[place], metrics=metrics, why=why)
    return tuple(rows)


def _changes(plan: Plan) -> Iterator[_Change]:
    now = replace(plan.case(plan.settings[0]), tables=plan.tables, prompts=plan.prompts)
    limits = now.limits
    yield _Change("", Fraction(1), now)
    for factor in (TWICE, HALF):
        capacity = max(1, int(limits.blocks * factor)) * limits.block_size
        yield _Change("capacity", factor, replace(now, limits=replace(limits, capacity=capacity)))
    longer = [scaled(table, inputs=TWICE) for table in plan.tables]
    prompts = [text and longer_prompts(text, int(TWICE)) for text in plan.prompts]
    yield _Change("inputs", TWICE, replace(now, tables=longer, prompts=prompts))
    if now.clients is not None:
        yield _Change("clients", TWICE, replace(now, clients=2 * now.clients))
    elif plan.demand.kind != "saturated":
        faster = [scaled(table, rate=float(TWICE)) for table in plan.tables]
        yield _Change("rate", TWICE, replace(now, tables=faster))


def _too_large(plan: Plan, case: Case) -> str:
    """Why a change leaves a request that can never be served; "" if it does not."""
    for table in case.requests(plan.tables):
        worst, needed, there = largest_request(plan.engine.rules, case.limits, table)
        if needed > there:
            tokens = int(table.input_length[worst] + table.output_length[worst])
            return f"its largest request, {tokens:,} tokens, does not fit"
    return ""


def _run(
    plan: Plan, cases: Sequence[Case], backend: Backend
) -> list[tuple[dict[str, float] | None, str]]:
    """The metrics of each, or why there are none."""
    until_served = replace(plan, horizon=None, warm_up=0, ends=RunStatus.DONE)
    try:
        table, _, statuses = until_served.measured(cases, backend)
    except InputError as error:
        return [(None, f"refused: {error}")] * len(cases)
    late = until_served.unfinished(statuses).reshape(len(cases), -1)
    return [
        (None, "it gets stuck") if late[place].any() else (_means(table.isel(case=place)), "")
        for place in range(len(cases))
    ]


def _means(row: xr.Dataset) -> dict[str, float]:
    values = {str(name): float(column.mean()) for name, column in row.data_vars.items()}
    return {name: value for name, value in values.items() if value == value}
