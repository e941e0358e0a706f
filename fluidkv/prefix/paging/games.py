"""All sequences of requests of a few paths, of any length: an online policy against the optimum.

What is cached online, and for every cache that the optimum may have how much more than the least
it costs, are finitely many states; a sequence of requests is a walk through them. So the largest
ratio in the long run is that of a cycle, found exactly: a bound that no cycle exceeds holds for
every sequence, up to a constant.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any

from fluidkv.prefix.paging.optimum import EMPTY, Costs, served
from fluidkv.prefix.paging.tokens import Request

if TYPE_CHECKING:
    import numpy as np

Online = Callable[[Any, Request], tuple[Hashable, int | Fraction]]
"""State and request -> state after it, and what it adds to the online side."""


@dataclass(frozen=True)
class Game:
    """Every state that some sequence leads to.

    Args:
        requests: that may come, in any order.
        source, target, request: of each step, in numbers of states and requests.
        gain: what it adds online, times `scale`.
        cost: what it adds to the least misses of all who served the same.
        scale: a common denominator of the gains.
    """

    requests: tuple[Request, ...]
    source: "np.ndarray"
    target: "np.ndarray"
    request: "np.ndarray"
    gain: "np.ndarray"
    cost: "np.ndarray"
    scale: int


@dataclass(frozen=True)
class Worst:
    """A cycle with the largest ratio of gain to cost.

    Args:
        gain, cost: around the cycle.
        cycle: its requests, in order.
    """

    gain: Fraction
    cost: int
    cycle: tuple[Request, ...]

    @property
    def ratio(self) -> Fraction:
        return self.gain / self.cost


def walked(requests: Iterable[Request], start: Hashable, online: Online) -> Iterator[Any]:
    """Every state that some sequence of the requests leads to, each once."""
    chosen = tuple(requests)
    found, waiting = {start}, [start]
    while waiting:
        state = waiting.pop()
        yield state
        for request in chosen:
            after, _ = online(state, request)
            if after not in found:
                found.add(after)
                waiting.append(after)


def play(requests: Iterable[Request], capacity: int, start: Hashable, online: Online) -> Game:
    """All states, from `start` and the optimum's empty cache."""
    import numpy as np

    chosen = tuple(requests)
    first = (start, frozenset(EMPTY.items()))
    number, waiting, steps = {first: 0}, [first], []
    while waiting:
        state = waiting.pop()
        for at, request in enumerate(chosen):
            after, gain = online(state[0], request)
            costs, cost = _least_taken_off(served(dict(state[1]), request, capacity))
            target = (after, frozenset(costs.items()))
            if target not in number:
                number[target] = len(number)
                waiting.append(target)
            steps.append((number[state], number[target], at, gain, cost))
    scale = lcm(*(Fraction(gain).denominator for *_, gain, _ in steps))
    source, to, at, gain, cost = zip(*steps, strict=True)
    return Game(
        chosen,
        np.array(source),
        np.array(to),
        np.array(at),
        np.array([int(each * scale) for each in gain]),
        np.array(cost),
        scale,
    )


def optimum_rate(requests: Iterable[Request], capacity: int) -> Fraction:
    """Misses of the optimum per request, in the long run, where each request is drawn uniformly.

    The states of a game without an online side are a chain, which is solved in rationals.
    """
    game = play(requests, capacity, (), lambda state, _: (state, 0))
    states = int(game.source.max()) + 1
    chance = [[Fraction(0)] * states for _ in range(states)]
    cost = [Fraction(0)] * states
    share = Fraction(1, len(game.requests))
    for source, target, misses in zip(game.source, game.target, game.cost, strict=True):
        chance[int(source)][int(target)] += share
        cost[int(source)] += share * int(misses)
    return _rate(chance, cost)


def _rate(chance: list[list[Fraction]], cost: list[Fraction]) -> Fraction:
    """The mean cost of a step, g, by elimination: g + h = cost + chance h, with h = 0 in one state.

    Raises:
        ArithmeticError: no unique solution, as there is where runs may end in states that differ.
    """
    states = len(cost)
    rows = [
        [int(at == to) - chance[at][to] for to in range(1, states)] + [Fraction(1), cost[at]]
        for at in range(states)
    ]
    for column in range(states):
        pivot = next((at for at in range(column, states) if rows[at][column]), None)
        if pivot is None:
            raise ArithmeticError("the mean cost depends on where the chain ends")
        rows[column], rows[pivot] = rows[pivot], rows[column]
        head = [each / rows[column][column] for each in rows[column]]
        rows[column] = head
        for at in range(column + 1, states):
            factor = rows[at][column]
            if factor:
                rows[at] = [each - factor * top for each, top in zip(rows[at], head, strict=True)]
    return rows[-1][-1]


def _least_taken_off(costs: Costs) -> tuple[Costs, int]:
    """Costs above the least, without caches that are of no use, and the least.

    A cache is of no use beside one that costs less by as many tokens as it lacks of it: from
    there, they are missed once each at most.
    """
    least = min(costs.values())
    useful = {
        cache: cost - least
        for cache, cost in costs.items()
        if not any(
            other_cost < cost and other_cost + len(cache - other) <= cost
            for other, other_cost in costs.items()
        )
    }
    return useful, least


def worst(game: Game) -> Worst | None:
    """The cycle with the largest ratio; None if no cycle gains.

    Raises:
        ArithmeticError: a cycle gains at no cost.
    """
    best: Worst | None = None
    while True:
        least = best.ratio * game.scale if best else Fraction(0)
        _check_size(game, least)
        cycle = positive_cycle(game, game.gain * least.denominator - game.cost * least.numerator)
        if cycle is None:
            return best
        gain = Fraction(int(game.gain[cycle].sum()), game.scale)
        cost = int(game.cost[cycle].sum())
        requests = tuple(game.requests[at] for at in game.request[cycle])
        if not cost:
            raise ArithmeticError(f"a gain of {gain} at no cost: {requests}")
        best = Worst(gain, cost, requests)


def _check_size(game: Game, ratio: Fraction) -> None:
    """Whether whole walks fit into the numbers that add them up.

    Raises:
        ArithmeticError: they may not.
    """
    most = int(game.gain.max()) * ratio.denominator + int(game.cost.max()) * ratio.numerator
    if most * (int(game.source.max()) + 2) >= 2**63:
        raise ArithmeticError(f"walks of {most} a step do not fit into 64 bits")


def positive_cycle(game: Game, weight: "np.ndarray") -> "Sequence[int] | None":
    """Steps around a cycle of positive weight, in order; None if there is none.

    Longest walks from every state, step by step, until nothing grows or a walk has returned.
    """
    import numpy as np

    states = int(game.source.max()) + 1
    order = np.argsort(game.target, kind="stable")
    target, source, weight = game.target[order], game.source[order], weight[order]
    first = np.flatnonzero(np.diff(target, prepend=-1))
    length, last = np.zeros(states, np.int64), np.full(states, -1)
    for turn in range(states + 1):
        walks = length[source] + weight
        most = np.maximum.reduceat(walks, first)
        grown = most > length[target[first]]
        if not grown.any():
            return None
        at = target[first][grown]
        chosen = _where_most(walks, first, most)[grown]
        length[at], last[at] = most[grown], chosen
        if turn % 8 == 7 or turn == states:
            cycle = _returned(last, source)
            if cycle is not None:
                return [int(order[step]) for step in cycle]
    raise ArithmeticError("walks grow without a cycle")


def _where_most(walks: "np.ndarray", first: "np.ndarray", most: "np.ndarray") -> "np.ndarray":
    """For each group of steps the place of one that attains the largest."""
    import numpy as np

    sizes = np.diff(np.append(first, len(walks)))
    hits = np.flatnonzero(walks == np.repeat(most, sizes))
    group = np.repeat(np.arange(len(first)), sizes)[hits]
    return hits[np.flatnonzero(np.diff(group, prepend=-1))]


def _returned(last: "np.ndarray", source: "np.ndarray") -> "list[int] | None":
    """A cycle of the steps by which states were last reached."""
    import numpy as np

    mark = np.zeros(len(last), np.int64)
    for root in range(len(last)):
        state = root
        while state >= 0 and not mark[state]:
            mark[state] = root + 1
            state = int(source[last[state]]) if last[state] >= 0 else -1
        if state >= 0 and mark[state] == root + 1:
            cycle, at = [], state
            while not cycle or at != state:
                cycle.append(int(last[at]))
                at = int(source[last[at]])
            return cycle[::-1]
    return None
