"""`size` at many points: the smallest memory that meets what is asked of a server."""

from typing import Any, NamedTuple

from fluidkv.errors import InputError
from fluidkv.questions.kinds import Number, Whole, Word
from fluidkv.serving.clock import IterationClock
from fluidkv.sweeps.analyses.served import ENGINE, clock_of
from fluidkv.sweeps.analyses.systems import CLASSES, workload_of
from fluidkv.sweeps.analysis import SEED, Analysis, Row, Setting, Variable, one_by_one
from fluidkv.workload import Workload

_BOUNDS = ("ttft_p99", "tpot_p99", "latency_p99")
VARIABLES = (
    Variable("kv_tokens", "smallest memory that meets every bound", "token", "int"),
    Variable("kv_blocks", "the same in blocks", kind="int"),
    Variable("too_small", "next smaller memory tried, which does not", "token", "int"),
    Variable("tried", "sizes tried", kind="int"),
)


class _Asked(NamedTuple):
    workload: Workload
    clock: IterationClock
    bounds: dict[str, float]
    row: Row


def _asked(row: Row) -> _Asked:
    bounds = {name: row[name] for name in _BOUNDS if row[name] is not None}
    if not bounds:
        raise InputError("ttft_p99", "none", f"a bound, or one of {', '.join(_BOUNDS[1:])}")
    return _Asked(workload_of(row), clock_of(row["clock"]), bounds, row)


def _find(asked: _Asked) -> dict[str, Any]:
    from fluidkv.answers.served.slo import Slo
    from fluidkv.answers.size.study import size_server

    workload, clock, bounds, row = asked
    found = size_server(
        workload,
        [Slo(name, bound) for name, bound in bounds.items()],
        rate=row["rate"],
        engine=row["engine"],
        clock=clock,
        block_size=row["block_size"],
        requests=row["requests"],
        runs=1,
        seed=row["seed"],
        draws=0,
        within=row["within"],
    )
    blocker = found.edge.blocker
    return {
        "kv_tokens": found.answer.blocks * row["block_size"],
        "kv_blocks": found.answer.blocks,
        "too_small": None if blocker is None else blocker.blocks * row["block_size"],
        "tried": len(found.along),
    }


SIZE = Analysis(
    name="size",
    title="How much memory meets what is asked of a server?",
    call="fluidkv.size_server",
    settings=(
        *CLASSES,
        Setting("rate", Number(above=0), "Poisson arrivals", "request / time"),
        Setting("clock", Word(check=clock_of, what="a clock"), "duration of an iteration"),
        *(
            Setting(name, Number(above=0), f"at most; {said}", "s", default=None, optional=True)
            for name, said in zip(
                _BOUNDS,
                ("to the first token, p99", "between tokens, p99", "to the last token, p99"),
                strict=True,
            )
        ),
        ENGINE,
        Setting("block_size", Whole(1, 2**30), "tokens a block", "token", default=16),
        Setting("requests", Whole(1, 10**6), "requests in a run", default=1000),
        Setting("within", Number(above=0, below=1), "how near the edge is found", default=0.05),
        SEED,
    ),
    variables=VARIABLES,
    admit=_asked,
    compute=one_by_one(VARIABLES, _asked, _find),
    answer=lambda row: _find(_asked(row)),
    chunk=8,
)
