"""The victims that cost least of all, by exact search: shortest paths over states of the engine.

An iteration leads from a state to one state for each sequence of victims that it may have, and
costs what it computes again, and itself. Costs are not negative and states are finitely many, so
that Dijkstra's algorithm finds the least cost of a run that ends, and the victims on the way to it.
A rule is one of these paths; one that comes back to a state never ends.
"""

import heapq
import math
from dataclasses import dataclass
from enum import Enum
from itertools import count

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.runs.requests import Requests
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.stepped import Engine
from fluidkv_papers.theory.best.steps import State, choices, engine_of, state_of

MOST_STATES = 100_000


class Cost(Enum):
    """What is to be least; the other one decides between equals.

    Examples:
        >>> from fluidkv_papers.theory.best import Cost, best_victims
        >>> table, vllm = fk.Requests([1, 1, 2], [3, 3, 2]), fk.engine("vllm")
        >>> bests = [best_victims(table, vllm, fk.Limits(4), cost=cost) for cost in Cost]
        >>> [(best.recomputed, best.iterations) for best in bests]
        [(3, 6), (4, 5)]
    """

    RECOMPUTED = "tokens computed again"
    ITERATIONS = "iterations until all is done"


@dataclass(frozen=True)
class Best(Record):
    """A run of least cost.

    Fields:
        recomputed: tokens computed again.
        iterations: until every request is done.
        victims: of each iteration, indices of requests in the order in which they go.
        states: how many the search looked at.

    Examples:
        >>> from fluidkv_papers.theory.best import best_victims
        >>> best = best_victims(fk.Requests([1, 2, 1], [2, 2, 1]), fk.engine("vllm"), fk.Limits(3))
        >>> best.recomputed, best.iterations, best.victims
        (1, 3, ((), (0,), ()))
    """

    recomputed: int
    iterations: int
    victims: tuple[tuple[int, ...], ...]
    states: int


def best_victims(
    requests: Requests,
    rules: EngineRules,
    limits: Limits,
    *,
    cost: Cost = Cost.RECOMPUTED,
    most_states: int = MOST_STATES,
) -> Best:
    """The least that any choice of victims costs, with everything known before.

    Args:
        requests: few and short: the number of states grows with both.
        rules: all of them but the victim are kept.
        limits: memory and caps.
        cost: what is least.
        most_states: to look at, at most.

    Raises:
        InputError: rules that `steps.engine_of` refuses; no end within `most_states` states.

    Examples:
        >>> from fluidkv_papers.theory.best import best_victims, cost_of_rule
        >>> table, vllm, limits = fk.Requests([1, 2, 1], [2, 2, 1]), fk.engine("vllm"), fk.Limits(3)
        >>> best_victims(table, vllm, limits).recomputed, cost_of_rule(table, vllm, limits)[0]
        (1, 2)
    """
    first = engine_of(requests, rules, limits)
    order = count()
    # (cost, tie, engine, link to the victims before)
    heap: list[tuple[tuple[int, int], int, Engine, tuple]] = [((0, 0), next(order), first, ())]
    settled: set[State] = set()
    while heap:
        spent, _, engine, path = heapq.heappop(heap)
        if engine.done == len(engine.all):
            return Best(*_named(spent, cost), _unlinked(path), len(settled))
        state = state_of(engine)
        if state in settled:
            continue
        settled.add(state)
        if len(settled) > most_states:
            break
        for victims, recomputed, after in choices(engine):
            added = (recomputed, 1) if cost is Cost.RECOMPUTED else (1, recomputed)
            total = (spent[0] + added[0], spent[1] + added[1])
            heapq.heappush(heap, (total, next(order), after, (victims, path)))
    raise InputError("requests", f"{len(requests)} requests", f"an end within {most_states} states")


def cost_of_rule(requests: Requests, rules: EngineRules, limits: Limits) -> tuple[float, float]:
    """Tokens computed again and iterations under the rules' own victims; infinite if they cycle.

    Raises:
        InputError: rules that `steps.engine_of` refuses.

    Examples:
        >>> from fluidkv_papers.theory.best import cost_of_rule
        >>> cost_of_rule(fk.Requests([1, 1], [2, 2]), fk.engine("vllm"), fk.Limits(2))
        (1, 3)
    """
    engine = engine_of(requests, rules, limits)
    seen: set[State] = set()
    recomputed = 0
    while engine.done < len(engine.all):
        state = state_of(engine)
        if state in seen:
            return math.inf, math.inf
        seen.add(state)
        recomputed += engine.step()["recomputed_tokens"]
    return recomputed, engine.iteration


def _named(spent: tuple[int, int], cost: Cost) -> tuple[int, int]:
    """(recomputed, iterations), in which order they were compared."""
    first, second = spent
    return (first, second) if cost is Cost.RECOMPUTED else (second, first)


def _unlinked(path: tuple) -> tuple[tuple[int, ...], ...]:
    victims = []
    while path:
        last, path = path
        victims.append(last)
    return tuple(reversed(victims))
