"""What the price rule may be compared with, where it takes a schedule: flows of slots through time.

A memory of M has floor(M / c) slots. Each is a unit that goes through the rounds; in a round it is
empty, or holds a token and gains its worth. So the best schedule is a flow that gains most, and
linear programming finds it, although tokens are whole (`flows`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool

from fluidkv.record import Record
from fluidkv.runs.checks import not_negative
from fluidkv.tokenpd.knapsack.pool import Pool
from fluidkv.tokenpd.pricing import Pricing
from fluidkv_papers.theory.price_rule.flows import Arc, most_gaining
from fluidkv_papers.theory.price_rule.worths import Worths, worths, zero_of


@dataclass(frozen=True)
class Schedule(Record):
    """Who is kept when.

    Fields:
        kept: shape (round, token).
        reward: worth of what is kept, less what returns cost; a Fraction where worths are.
        returned: how often a token came back.

    Examples:
        >>> from fluidkv.tokenpd.knapsack.pool import Pool
        >>> from fluidkv_papers.theory.price_rule import clairvoyant
        >>> returns, risk = [[1, 0.5], [0, 1]], np.zeros((2, 2))
        >>> pool = Pool(returns, request=[0, 0], arrival=[0, 0], end=[2, 2], risk=risk)
        >>> best = clairvoyant(pool, 1, price_of_return=0.25)
        >>> best.kept.tolist(), float(best.reward), best.returned  # 1 + 1 less a return
        ([[True, False], [False, True]], 1.75, 1)
    """

    kept: Bool[np.ndarray, "round token"]
    reward: Any
    returned: int


def best_fixed_set(pool: Pool, budget: int, pricing: Pricing | None = None) -> Schedule:
    """Section 3's comparator read to the letter: one x for all rounds, which never violates (3).

    A token of the set is kept whenever it is present. As tokens come and go, slots serve several
    tokens in turn: this is the scheduling of intervals on floor(M / c) machines, weighted by total
    worth, whose constraint matrix has consecutive ones.

    Args:
        budget: M, units of memory.
        pricing: says what a token is worth; its return where None.

    Examples:
        >>> from fluidkv.tokenpd.knapsack.pool import Pool
        >>> from fluidkv_papers.theory.price_rule import best_fixed_set
        >>> returns, risk = [[1, 0.5], [0, 1]], np.zeros((2, 2))
        >>> pool = Pool(returns, request=[0, 0], arrival=[0, 0], end=[2, 2], risk=risk)
        >>> best = best_fixed_set(pool, budget=1)
        >>> best.kept.tolist(), float(best.reward)
        ([[False, True], [False, True]], 1.5)
    """
    given = worths(pool, budget, pricing)
    arcs, spans = _timeline(given), []
    for token, begin, end in _lives(given):
        total = sum(given.true[begin:end, token], zero_of(given.true))
        spans.append((len(arcs), token, begin, end))
        arcs.append(Arc(begin, end, 1, total))
    flow = most_gaining(arcs, len(given.true) + 1, _slots(given))
    kept = np.zeros(given.present.shape, bool)
    for at, token, begin, end in spans:
        kept[begin:end, token] = flow[at] == 1
    return _schedule(given, kept, returns_of(kept, given.present), 0)


def clairvoyant(
    pool: Pool,
    budget: int,
    pricing: Pricing | None = None,
    *,
    price_of_return: Any = None,
) -> Schedule:
    """The best that one who knows the whole conversation does within a hard budget.

    Args:
        budget: M, units of memory.
        pricing: says what a token is worth; its return where None.
        price_of_return: what it costs to keep a token in a round after one in which it was present
            and not kept; where None what is gone is gone. At 0, as in Appendix A, rounds have
            nothing to do with one another, and the best is `round_optimum`.

    Raises:
        InputError: a price of return below 0.

    Examples:
        >>> from fluidkv.tokenpd.knapsack.pool import Pool
        >>> from fluidkv_papers.theory.price_rule import clairvoyant
        >>> returns, risk = [[1, 0.5], [0, 1]], np.zeros((2, 2))
        >>> pool = Pool(returns, request=[0, 0], arrival=[0, 0], end=[2, 2], risk=risk)
        >>> [float(clairvoyant(pool, 1, price_of_return=price).reward) for price in (None, 0, 0.25)]
        [1.5, 2.0, 1.75]
    """
    if price_of_return is not None:
        not_negative("price_of_return", price_of_return)
    given = worths(pool, budget, pricing)
    rounds = len(given.true)
    arcs, holds = _timeline(given), []
    node = rounds + 1  # of the token in hand before its first round; nodes up to here are rounds
    for token, begin, end in _lives(given):
        arcs.append(Arc(begin, node, 1, 0))
        for at in range(begin, end):
            if at > begin and price_of_return is not None:
                arcs.append(Arc(at, node, 1, -price_of_return))
            holds.append((len(arcs), at, token))
            arcs.append(Arc(node, node + 1, 1, given.true[at, token]))
            node += 1
            arcs.append(Arc(node, at + 1, 1, 0))
        node += 1
    flow = most_gaining(_ending_at(arcs, rounds, node - 1), node, _slots(given))
    kept = np.zeros(given.present.shape, bool)
    for index, at, token in holds:
        kept[at, token] = flow[index] == 1
    returned = returns_of(kept, given.present)
    return _schedule(given, kept, returned, price_of_return or 0)


def returns_of(kept: np.ndarray, present: np.ndarray) -> int:
    """How often a token is kept in a round after one in which it was present and not kept."""
    return int((kept[1:] & present[:-1] & ~kept[:-1]).sum())


def _timeline(given: Worths) -> list[Arc]:
    """Slots that stay empty for a round."""
    return [Arc(at, at + 1, _slots(given), 0) for at in range(len(given.true))]


def _slots(given: Worths) -> int:
    """No more than can be used: beyond, HiGHS would round them."""
    return min(given.slots, given.present.shape[1])


def _lives(given: Worths) -> list[tuple[int, int, int]]:
    """Token, first round, round after the last, of tokens that are ever present."""
    found = []
    for token, here in enumerate(given.present.T):
        rounds = np.flatnonzero(here)
        if rounds.size:
            found.append((token, int(rounds[0]), int(rounds[-1]) + 1))
    return found


def _ending_at(arcs: list[Arc], node: int, last: int) -> list[Arc]:
    """The same network with two nodes' numbers exchanged, so that slots end in the last."""
    name = {node: last, last: node}
    return [
        Arc(name.get(arc.tail, arc.tail), name.get(arc.head, arc.head), arc.capacity, arc.gain)
        for arc in arcs
    ]


def _schedule(given: Worths, kept: np.ndarray, returned: int, price: Any) -> Schedule:
    return Schedule(kept, sum(given.true[kept], zero_of(given.true)) - returned * price, returned)
