"""The decisions of a policy that cannot foresee outputs, in a memory of a few tokens.

See `best_blind` for what is decided, what is known of an evicted prompt, and what it is for.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import comb

import numpy as np

from fluidkv.wait.model import WaitSystem

MOST_STATES = 200
"""Larger problems are refused: they take minutes."""

Kind = tuple[int, int]
"""(s, j): has computed stage s, is known to emit more than j tokens."""

State = tuple[int, ...]
"""How many prompts of each kind are in memory between two iterations."""


@dataclass(frozen=True)
class Action:
    """One choice in one state. Chances are integers over `whole`."""

    tokens: int  # held by the batch
    reward: Fraction  # expected output tokens of who completes
    put: tuple[int, ...]  # net, into pool j = 1, 2, ...
    ways: tuple[tuple[int, int], ...]  # (chance, place of the next state)
    whole: int


@dataclass(frozen=True, eq=False)
class Problem:
    """Every state that can be reached from an empty server, and what can be done there.

    `first` is where the actions of each state begin; the arrays repeat the actions for floats.
    """

    actions: tuple[Action, ...]
    first: np.ndarray
    tokens: np.ndarray
    reward: np.ndarray
    put: np.ndarray
    chance: np.ndarray
    target: np.ndarray
    begin: np.ndarray

    @property
    def states(self) -> int:
        return len(self.first)


def hazards_of(system: WaitSystem, longest: int) -> tuple[Fraction, ...]:
    """For each stage k = 1..longest: the share of those that reach it that end with it."""
    found = []
    for k in range(1, longest + 1):
        reach = sum(t.arrival_rate for t in system.types if t.output_length >= k)
        end = sum(t.arrival_rate for t in system.types if t.output_length == k)
        found.append(Fraction(end) / Fraction(reach))
    return tuple(found)


def few_states(input_length: int, longest: int, capacity: int, *, forgetful: bool = False) -> bool:
    """Whether at most `MOST_STATES` multisets of kinds fit; s has longest - s kinds, or one."""
    if capacity > MOST_STATES * input_length:  # as many empty places of the shortest alone
        return False
    ways = [1] * (capacity + 1)  # in at most so many tokens, with no kind at all
    for s in range(longest):
        for _ in range(1 if forgetful else longest - s):
            size = input_length + s
            for tokens in range(size, capacity + 1):
                ways[tokens] += ways[tokens - size]
            if ways[capacity] > MOST_STATES:
                return False
    return True


@lru_cache(maxsize=8)
def decision_problem(
    input_length: int, hazards: tuple[Fraction, ...], capacity: int, *, forgetful: bool
) -> Problem:
    """With `forgetful`, nothing is taken from a pool, and nobody is known to emit more than s."""
    longest = len(hazards)
    kinds = [(s, j) for s in range(longest) for j in range(s, s + 1 if forgetful else longest)]
    pools = 1 if forgetful else longest  # that prompts may be started from, the unseen among them
    places: dict[State, int] = {(0,) * len(kinds): 0}
    order = list(places)
    actions: list[Action] = []
    first = []
    # Most actions share these with others, and there are many actions.
    rewards: dict[State, Fraction] = {}
    outcomes: dict[tuple[State, State], tuple[tuple[tuple[int, int], ...], int]] = {}
    for state in order:  # grows while it is walked
        first.append(len(actions))
        for starting, advancing, pausing in _choices(state, kinds, pools, input_length, capacity):
            staying = _staying(kinds, starting, pausing)
            if (advancing, staying) not in outcomes:
                outcome = _outcome(kinds, hazards, advancing, staying)
                for _, next_ in outcome:
                    if next_ not in places:
                        places[next_] = len(order)
                        order.append(next_)
                ways = tuple((chance, places[next_]) for chance, next_ in outcome)
                outcomes[advancing, staying] = ways, sum(chance for chance, _ in ways)
            if advancing not in rewards:
                rewards[advancing] = _reward(kinds, hazards, advancing)
            ways, whole = outcomes[advancing, staying]
            actions.append(
                Action(
                    tokens=_tokens(kinds, input_length, starting, advancing),
                    reward=rewards[advancing],
                    put=_put(kinds, longest, state, starting, advancing, pausing),
                    ways=ways,
                    whole=whole,
                )
            )
    chances = [chance / a.whole for a in actions for chance, _ in a.ways]
    return Problem(
        actions=tuple(actions),
        first=np.array(first),
        tokens=np.array([a.tokens for a in actions], float),
        reward=np.array([float(a.reward) for a in actions]),
        put=np.array([a.put for a in actions], float).reshape(len(actions), longest - 1),
        chance=np.array(chances),
        target=np.array([place for a in actions for _, place in a.ways]),
        begin=np.cumsum([0, *(len(a.ways) for a in actions[:-1])]),
    )


def _choices(
    state: State, kinds: list[Kind], pools: int, input_length: int, capacity: int
) -> Iterator[tuple[tuple[int, ...], State, State]]:
    """(starting by j, advancing by kind, pausing by kind) that fit; the others are evicted."""

    def held(place: int, room: int) -> Iterator[tuple[State, State, int]]:
        if place == len(kinds):
            yield (), (), room
            return
        size = input_length + kinds[place][0]
        for advancing in range(state[place] + 1):
            for pausing in range(state[place] - advancing + 1):
                left = room - advancing * (size + 1) - pausing * size
                if left < 0:
                    break
                for more, others, end in held(place + 1, left):
                    yield (advancing, *more), (pausing, *others), end

    for advancing, pausing, room in held(0, capacity):
        most = room // input_length
        for starting in product(range(most + 1), repeat=pools):
            if sum(starting) <= most and (any(starting) or any(advancing)):
                yield starting, advancing, pausing


def _tokens(kinds: list[Kind], input_length: int, starting: State, advancing: State) -> int:
    moved = zip(kinds, advancing, strict=True)
    return sum(starting) * input_length + sum(n * (input_length + s + 1) for (s, _), n in moved)


def _reward(kinds: list[Kind], hazards: tuple[Fraction, ...], advancing: State) -> Fraction:
    moved = zip(kinds, advancing, strict=True)
    return sum((n * (s + 1) * hazards[s] for (s, j), n in moved if s == j), Fraction(0))


def _put(
    kinds: list[Kind],
    longest: int,
    state: State,
    starting: State,
    advancing: State,
    pausing: State,
) -> tuple[int, ...]:
    """Evicted less taken, for each j >= 1. Of whoever has shown nothing there are always more."""
    put = [0] * longest
    for j, taken in enumerate(starting):
        put[j] -= taken
    for (_, j), had, moved, kept in zip(kinds, state, advancing, pausing, strict=True):
        put[j] += had - moved - kept
    return tuple(put[1:longest])


def _staying(kinds: list[Kind], starting: State, pausing: State) -> State:
    """Prompts of each kind that are in memory afterwards and were not advanced."""
    return tuple(
        kept + (starting[j] if s == 0 and j < len(starting) else 0)
        for (s, j), kept in zip(kinds, pausing, strict=True)
    )


def _outcome(
    kinds: list[Kind], hazards: tuple[Fraction, ...], advancing: State, staying: State
) -> list[tuple[int, State]]:
    """Where it leads: (integer chance, state). Survivors of a stage are binomial."""
    sure = dict(zip(kinds, staying, strict=True))
    random: list[tuple[Kind, int, Fraction]] = []  # where survivors go, of how many, hazard
    for (s, j), n in zip(kinds, advancing, strict=True):
        if s < j:
            sure[s + 1, j] += n
        elif s + 1 < len(hazards):
            random.append(((s + 1, s + 1), n, hazards[s]))
    ways = [(1, sure)]
    for kind, n, hazard in random:
        ends, stays = hazard.numerator, hazard.denominator - hazard.numerator
        ways = [
            (chance * comb(n, k) * stays**k * ends ** (n - k), held | {kind: held[kind] + k})
            for chance, held in ways
            for k in range(n + 1)
        ]
    return [(chance, tuple(held[kind] for kind in kinds)) for chance, held in ways if chance]
