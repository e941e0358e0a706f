"""CacheOPT, 3.3.2: who is critical, when it is, and whether a run ends."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from fluidkv.ledger import Origin, Range
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import Restore
from fluidkv_papers.cacheopt.paper import statements
from fluidkv_papers.cacheopt.scheduler.engine import CacheOptEngine
from fluidkv_papers.cacheopt.scheduler.settings import CacheOpt

CLAIMS = statements(origin=Origin.READING)

_SECTION = "section 3.3.2"
_TENTH = Fraction(1, 10)


def _times(epsilons: Iterator[Fraction]) -> Iterator[tuple[Fraction, Fraction]]:
    """(RT when it is first looked at, epsilon): an objective that an iteration at once would meet.

    Iterations last 1.
    """
    for epsilon in epsilons:
        for tenths in range(10, 60):
            yield tenths * _TENTH, epsilon


def _met(left: Fraction, epsilon: Fraction, longest: Fraction = Fraction(1)) -> bool:
    """It is looked at before each iteration and batched when RT - T_max < epsilon."""
    while left - longest >= epsilon:
        left -= longest
    return left >= longest  # its own iteration


@CLAIMS.fails(
    "selection.epsilon",
    f"{_SECTION}, critical requests",
    over=lambda: _times(n * _TENTH for n in range(1, 10)),
)
def _epsilon(left: Fraction, epsilon: Fraction) -> bool | str:
    """Whoever is batched when RT - T_max first falls below a small epsilon meets its objective.

    Checked: iterations of T_max, RT of 1 to 5.9 T_max in tenths, epsilon = 0.1 ... 0.9 T_max
    Ours: it may be left with less than the iteration that it is batched in
    Paper: must be batched in order to satisfy their SLO
    Holds: selection.epsilon.an-iteration"""
    if _met(left, epsilon):
        return True
    return f"RT = {float(left):g} T_max when it comes, epsilon = {float(epsilon):g} T_max"


@CLAIMS.claim(
    "selection.epsilon.an-iteration",
    f"{_SECTION}, critical requests",
    over=lambda: _times(n * _TENTH for n in range(10, 31)),
)
def _an_iteration(left: Fraction, epsilon: Fraction) -> bool | str:
    """Whoever is batched when RT - T_max first falls below an epsilon of at least T_max meets its
    objective, where iterations last T_max.

    Checked: iterations of T_max, RT of 1 to 5.9 T_max in tenths, epsilon = 1 ... 3 T_max
    Ours: in all {count} cases
    Paper: epsilon is a small number
    Note: Proof. When it was last passed over, RT was at least T_max + epsilon; an iteration later
    epsilon is left, which is enough iff epsilon is at least T_max. Where iterations are shorter
    than the longest one so far, less is enough."""
    return _met(left, epsilon) or f"RT = {left}, epsilon = {epsilon}"


_BARE = CacheOpt(
    buffer=0,
    reserved_blocks=0,
    iterations_ahead=0,
    hands_on=False,
    embeds=False,
    restore=Restore.RECOMPUTE,
    spares_newcomers=False,
)
_LONG = 200


def _drawn(seed: int) -> tuple[Requests, Limits]:
    """Two requests that come at once and are late at once; budgets below their prompts."""
    rng = np.random.default_rng(seed)
    inputs, outputs = rng.integers(1, 5, 2), rng.integers(1, 5, 2)
    table = Requests(
        inputs,
        outputs,
        estimated_output=rng.integers(1, 7, 2),
        ttft_slo=np.full(2, 0.5),
        tbt_slo=rng.choice([0.5, 3.0], 2),
    )
    capacity = int((inputs + outputs).max() + rng.integers(0, 4))
    return table, Limits(capacity, max_num_batched_tokens=int(rng.integers(2, 4)))


def _ends(settings: CacheOpt, table: Requests, limits: Limits) -> bool:
    run = CacheOptEngine(table, settings, limits, IterationClock.iterations())
    while run.done < len(run.all) and run.iteration < _LONG:
        run.step()
    return run.done == len(run.all)


_RUNS = Range(
    "drawn runs of two requests, late at once, prompts in chunks", lambda: map(_drawn, range(60))
)


@CLAIMS.fails("selection.ends", f"{_SECTION}, preemptions for critical requests", over=_RUNS)
def _ends_as_printed(table: Requests, limits: Limits) -> bool | str:
    """Every request is served in the end.

    Ours: two late requests take turns: each is preempted for the other before its prompt is done
    Paper: preemptions are executed to make A = D
    Note: Whoever is late stays critical, since RT - T_max < epsilon; a preempted request loses the
    prompt tokens that it computed.
    Holds: selection.ends.spared"""
    if _ends(_BARE, table, limits):
        return True
    rows = zip(table.input_length, table.output_length, table.estimated_output, strict=True)
    return (
        "; ".join(f"{i} input, {o} output, estimated {e}" for i, o, e in rows)
        + f"; {limits.capacity} tokens of memory, {limits.budget} an iteration: not in {_LONG} "
        "iterations"
    )


@CLAIMS.claim("selection.ends.spared", f"{_SECTION}, preemptions for critical requests", over=_RUNS)
def _ends_if_spared(table: Requests, limits: Limits) -> bool | str:
    """If nobody is preempted before it emits a token, every request is served in the end.

    Ours: in all {count} runs
    Paper: no such rule
    Note: Proof, where somebody can always be let in: each time that somebody is, outputs still to
    come become fewer by one at least before it is preempted."""
    return _ends(replace(_BARE, spares_newcomers=True), table, limits) or str(limits)


def _fitting(seed: int) -> tuple[Requests, Limits]:
    """Two to four requests at once, predicted right, in memory for exactly what they demand."""
    rng = np.random.default_rng(seed)
    inputs, outputs = rng.integers(1, 30, (2, int(rng.integers(2, 5))))
    slo = np.full(inputs.size, 50.0)
    table = Requests(inputs, outputs, estimated_output=outputs, ttft_slo=slo, tbt_slo=slo)
    return table, Limits(int((inputs + outputs).sum()))


@CLAIMS.claim(
    "section-3-3-2.case-1",
    f"{_SECTION}, case 1",
    over=lambda: map(_fitting, range(60)),
    origin=Origin.PRINTED,
)
def _case_1(table: Requests, limits: Limits) -> bool | str:
    """Where the demands add up to what there is, each request gets a token in every iteration from
    the first to its last, and nobody is preempted.

    Checked: drawn runs of two to four requests, in time, A' = sum M
    Paper: guaranteed to receive the KVC they demand during execution
    Note: M has the estimated output, which is right here; an underestimate guarantees nothing."""
    run = CacheOptEngine(table, _BARE, limits, IterationClock.iterations())
    while run.done < len(run.all) and run.iteration < _LONG:
        run.step()
    served = all(
        request.evictions == 0 and request.last_token_at == request.output_length
        for request in run.all
    )
    return served or f"{table.input_length}, {table.output_length}, {limits.capacity} tokens"
