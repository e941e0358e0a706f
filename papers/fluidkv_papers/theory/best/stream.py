"""An endless stream beside one request: does it ever finish, and does any request?

Requests of one kind keep coming, one for each that is done, so that as many are in the system as
there are clients. One request among the first is of another kind. The state of such a system is
finite, so that it comes back to itself: if it does so before the one is done, the one never is, and
that is a proof. Requests of a kind are told apart by where they stand alone.

Where outputs are kept and the evicted wait at the head, as in vLLM, nobody starves, whatever the
victims. While the one waits, only those pass it who were evicted after it. While it runs, somebody
new comes in only in an iteration in which it emits: one that evicts admits nobody, and one that has
budget left has served whoever runs. So as many admissions of others pass as it has outputs. And
somebody emits again and again: whoever is last in the list is the only one with a prompt begun and
not done, as nobody is admitted before it is; the others emit or go, and it then has memory to
itself.

Where evicted progress is lost, or the evicted wait at the tail and prompts are cut into chunks, it
depends on the victims.
"""

from dataclasses import dataclass

from fluidkv.record import Record
from fluidkv.runs.requests import Requests
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.stepped import Engine, SteppedRequest
from fluidkv_papers.theory.best.steps import engine_of

Lengths = tuple[int, int]
"""Input and output, tokens."""


@dataclass(frozen=True)
class Endless(Record):
    """What becomes of the one.

    Fields:
        done: iteration in which the one is done; None: never.
        completed: requests of the stream that are done until then; or in each turn of the cycle.
        evictions: of the one until it is done; or in each turn.
        start, period: the cycle, in iterations; period 0 where the one is done.

    Examples:
        >>> from dataclasses import replace
        >>> from fluidkv_papers.theory.best import endless
        >>> from fluidkv.serving.rules import Keeps, Victim
        >>> rules = replace(fk.engine("vllm"), keeps=Keeps.NOTHING, victim=Victim.MOST_COMPUTED)
        >>> found = endless((1, 2), (1, 5), rules, fk.Limits(5), clients=4)
        >>> found.done, found.locked, found.starves
        (None, True, False)
    """

    done: int | None
    completed: int
    evictions: int
    start: int = 0
    period: int = 0

    @property
    def starves(self) -> bool:
        """The one is never done, and others are."""
        return self.done is None and self.completed > 0

    @property
    def locked(self) -> bool:
        """Nobody is ever done again."""
        return self.done is None and self.completed == 0


def endless(
    one: Lengths,
    stream: Lengths,
    rules: EngineRules,
    limits: Limits,
    *,
    clients: int,
    place: int = 0,
    iterations: int = 300,
) -> Endless:
    """Follow one request in an endless stream until it is done or the state comes back.

    Args:
        one, stream: input and output of the one, and of all others.
        rules, limits: of the engine.
        clients: requests in the system at any time, the one among them.
        place: of the one in the queue at the start, 0 for the head.
        iterations: to look at, at most.

    Raises:
        InputError: rules that `steps.engine_of` refuses.
        ArithmeticError: neither an end nor a cycle within these iterations.

    Examples:
        >>> from dataclasses import replace
        >>> from fluidkv_papers.theory.best import endless
        >>> from fluidkv.serving.rules import Keeps, Victim
        >>> endless((1, 2), (1, 2), fk.engine("vllm"), fk.Limits(2), clients=2).done
        2
        >>> forgets = replace(fk.engine("vllm"), keeps=Keeps.NOTHING, victim=Victim.LEAST_COMPUTED)
        >>> endless((1, 2), (1, 2), forgets, fk.Limits(2), clients=2).starves
        True
    """
    for horizon in sorted({min(_MOST_END_WITHIN, iterations), iterations}):
        end = _end(one, stream, rules, limits, clients, place, horizon)
        if end is not None:
            return end
    raise ArithmeticError(f"neither an end nor a cycle in {iterations} iterations")


_MOST_END_WITHIN = 20
"""Iterations. An engine is made of all requests that could come: few, where the end is near."""


def _end(
    one: Lengths,
    stream: Lengths,
    rules: EngineRules,
    limits: Limits,
    clients: int,
    place: int,
    iterations: int,
) -> Endless | None:
    """None where these iterations are too few."""
    size = clients + iterations * limits.capacity
    inputs, outputs = [stream[0]] * size, [stream[1]] * size
    inputs[place], outputs[place] = one
    engine = engine_of(Requests(inputs, outputs), rules, limits, clients=clients)
    wanted = engine.all[place]
    seen: dict[object, tuple[int, int, int]] = {}
    while engine.iteration < iterations:
        if wanted.finished:
            return Endless(engine.iteration, engine.done - 1, wanted.evictions)
        state = _of_kinds(engine, wanted)
        if state in seen:
            start, done, evictions = seen[state]
            period = engine.iteration - start
            return Endless(None, engine.done - done, wanted.evictions - evictions, start, period)
        seen[state] = (engine.iteration, engine.done, wanted.evictions)
        engine.step()
    return None


def _of_kinds(engine: Engine, wanted: SteppedRequest) -> object:
    """The state, blind to which request of the stream is which; before arrivals, which follow."""

    def shown(request: SteppedRequest) -> tuple[int, ...]:
        progress = request.outputs, request.computed, request.blocks, request.highest
        return int(request == wanted), *progress

    return tuple(map(shown, engine.running)), tuple(map(shown, engine.waiting))
