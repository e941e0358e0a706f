"""One iteration of the literal engine under every choice of victims, and what a state is.

The engine is told who goes first, one after the other. A script that turns out too short is tried
again with each who ran put at its end. So the verbs are the engine's own, and the search knows
nothing of how it evicts.
"""

from collections.abc import Iterator
from typing import NamedTuple

from fluidkv.errors import InputError
from fluidkv.runs.requests import Requests
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import Allocation, EngineRules, Gate, Requeue, Restore, Victim
from fluidkv.serving.server import Server
from fluidkv.serving.stepped import Engine, SteppedRequest

State = tuple[object, ...]
"""All that the rest of a run depends on."""


class Step(NamedTuple):
    """One iteration. Fields: victims in order, tokens recomputed in it, the engine after it."""

    victims: tuple[int, ...]
    recomputed: int
    after: Engine


def engine_of(
    requests: Requests, rules: EngineRules, limits: Limits, *, clients: int | None = None
) -> Engine:
    """An engine before its first iteration, on the theory's clock.

    Raises:
        InputError: rules whose state is more than what is looked at here: another restore or
                allocation, priorities in the queue, a ratio, a limit on the rate; newcomers first.
    """
    for name, known in (("restore", Restore.RECOMPUTE), ("allocation", Allocation.BY_BLOCK)):
        if getattr(rules, name) is not known:
            raise InputError(name, getattr(rules, name).name, known.name)
    if rules.requeue is Requeue.BY_PRIORITY:
        raise InputError("requeue", rules.requeue.name, "HEAD or TAIL")
    if rules.gate is Gate.RATIO:
        raise InputError("gate", rules.gate.name, "another one")
    if rules.newcomers_first:
        raise InputError("newcomers_first", True, "False")
    if limits.admission_rate is not None:
        raise InputError("admission_rate", limits.admission_rate, "None")
    return Engine(requests, Server(rules, limits), clients)


def choices(engine: Engine) -> Iterator[Step]:
    """The iteration under each sequence of victims that it may have."""
    running = [request.index for request in engine.running]
    scripts: list[tuple[int, ...]] = [()]
    while scripts:
        script = scripts.pop()
        after = engine.copy()
        after.name_victims(script)
        before = [request.evictions for request in after.all]
        counts = after.step()
        if counts["preempt"] == len(script):
            yield Step(script, counts["recomputed_tokens"], after)
            continue
        # Somebody went who was not named: each who could have gone instead is named.
        assert sum(r.evictions for r in after.all) - sum(before) == counts["preempt"]
        scripts += [(*script, index) for index in running if index not in script]


def state_of(engine: Engine) -> State:
    """Who runs and waits, in order, and how far each is.

    And the time, if somebody is to come or lots are drawn, which are new in each iteration.
    """
    more_come = engine.clients is None and engine.arrived < len(engine.all)
    timed = more_come or engine.rules.victim is Victim.RANDOM
    return (
        tuple((r.index, *_progress(r)) for r in engine.running),
        tuple((r.index, *_progress(r)) for r in engine.waiting),
        engine.arrived,
        engine.now if timed else None,
    )


def _progress(request: SteppedRequest) -> tuple[int, ...]:
    return request.outputs, request.computed, request.blocks, request.highest
