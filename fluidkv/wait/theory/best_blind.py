"""What no policy can exceed while it cannot foresee outputs, and what one attains; proved.

Work never runs out, memory is M, and an output shows its length only by ending. A policy chooses in
each iteration how many prompts to start, to advance, to pause and to evict. Prompts that have shown
the same are alike, so that the state is how many of each kind are in memory: those that have
computed stage s and are known to emit more than j tokens. An evicted prompt starts again, but what
it has shown is still known: with j >= 1 it waits in a pool, which can grow without end.

**At most.** Let every prompt that is put into pool j earn v_j, and every one that is taken from it
cost v_j, though there be none. As pools start empty and are never in debt, this takes nothing from
any policy in the long run, for whatever prices v >= 0; and the state is finite now. If g and
numbers h, one a state, satisfy reward + v (put - taken) + E h(next) - h <= g time for every action
in every state, no policy emits more than g per unit of time. On a server whose prompts come at
random it is no more either: such a policy can be imitated, and idles besides.

**Attained.** By a policy that forgets what the evicted have shown, with the reverse inequality for
its own actions: a much smaller problem.

Policies, prices and h are found in floats; both inequalities are then checked in integers.

Source: ours, for WAIT, Propositions 3 and 5.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.wait.model import Exact, WaitSystem, count, exact, plain
from fluidkv.wait.theory.blind_problem import (
    MOST_STATES,
    Action,
    Problem,
    decision_problem,
    few_states,
    hazards_of,
)

_SCALE = 2**40  # h is rounded to whole parts of this many; g then moves in the twelfth digit


@dataclass(frozen=True)
class BlindThroughput(Record):
    """Bounds on the output tokens of completed prompts per unit of time; proved.

    Fields:
        at_most: no policy that cannot foresee outputs has more.
        attained: a policy has at least this.
        prices: v_j for j = 1, 2, ...: the certificate's.
    """

    at_most: Fraction
    attained: Fraction
    prices: tuple[Fraction, ...]


def best_blind_throughput(
    system: WaitSystem, capacity: int, *, prices: Sequence[Exact] | None = None
) -> BlindThroughput:
    """Between what bounds is the best throughput without foresight?

    Args:
        system: types that share one input length; rates say how the outputs are distributed (how
            often prompts come does not matter: work never runs out).
        capacity: M, tokens.
        prices: v_j for each j from 1 to the longest output less 1, at least 0; None: searched,
            which takes several times as long. Any give a bound.

    Raises:
        InputError: a clock with prefill, several input lengths, a memory that cannot hold the
            longest prompt, a problem of more than `MOST_STATES` states, or prices that are not one
            for each j.

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem, best_blind_throughput
        >>> system = WaitSystem([PromptType(1, 1, 1), PromptType(1, 1, 2)], base=1, per_kv_token=0)
        >>> found = best_blind_throughput(system, capacity=3, prices=[0])
        >>> float(found.attained), float(found.at_most)
        (0.75, 0.75)
    """
    input_length, hazards = _checked(system, capacity)
    longest = len(hazards)
    if prices is not None and len(prices) != longest - 1:
        raise InputError("prices", f"{len(prices)} of them", f"{longest - 1}, one for each j")
    if not few_states(input_length, longest, capacity):
        raise InputError("capacity", capacity, f"a problem of at most {MOST_STATES} states")
    clock = system.base, system.per_kv_token
    problem = decision_problem(input_length, hazards, capacity, forgetful=False)
    if prices is None:
        chosen = _searched(problem, clock, longest)
    else:
        chosen = tuple(exact("prices", price, least=0) for price in prices)
    _, values = _solve(problem, clock, chosen)
    return BlindThroughput(
        at_most=_at_most(problem, clock, chosen, _rounded(values)),
        attained=attained_blind_throughput(system, capacity),
        prices=chosen,
    )


def attained_blind_throughput(system: WaitSystem, capacity: int) -> Fraction:
    """`BlindThroughput.attained` alone, in much less time.

    Args, raises: as `best_blind_throughput`.

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem, attained_blind_throughput
        >>> system = WaitSystem([PromptType(1, 1, 1), PromptType(1, 1, 2)], base=1, per_kv_token=0)
        >>> float(attained_blind_throughput(system, capacity=3))  # one prompt at a time: 3/5
        0.75
    """
    input_length, hazards = _checked(system, capacity)
    clock = system.base, system.per_kv_token
    problem = decision_problem(input_length, hazards, capacity, forgetful=True)
    policy, values = _solve(problem, clock, (Fraction(0),) * (len(hazards) - 1))
    return _attained(problem, clock, policy, _rounded(values))


def _checked(system: WaitSystem, capacity: int) -> tuple[int, tuple[Fraction, ...]]:
    """The common input length, and the hazards of outputs."""
    if system.per_prefill_token:
        d2 = str(plain(system.per_prefill_token))
        raise InputError("per_prefill_token", d2, "0: its decision problem has no prefill")
    inputs = {each.input_length for each in system.types}
    if len(inputs) > 1:
        raise InputError("input_length", sorted(inputs), "one input length for all types")
    longest = max(each.output_length for each in system.types)
    input_length = inputs.pop()
    if count("capacity", capacity) < input_length + longest:
        allowed = f"at least {input_length + longest} tokens, the largest prompt"
        raise InputError("capacity", capacity, allowed)
    if longest > MOST_STATES or not few_states(input_length, longest, capacity, forgetful=True):
        raise InputError("capacity", capacity, f"a problem of at most {MOST_STATES} states")
    return input_length, hazards_of(system, longest)


# --- policies and prices, in floats -------------------------------------------------------------


def _searched(
    problem: Problem, clock: tuple[Fraction, Fraction], longest: int
) -> tuple[Fraction, ...]:
    """Prices out of a grid: one after the other, that with the lowest bound. Any are valid."""
    prices = (Fraction(0),) * (longest - 1)
    for place in range(longest - 1):
        tried = [
            (*prices[:place], Fraction(longest * step, 20), *prices[place + 1 :])
            for step in range(11)
        ]
        prices = min(tried, key=lambda each: _bound(problem, clock, each))
    return prices


def _bound(
    problem: Problem, clock: tuple[Fraction, Fraction], prices: tuple[Fraction, ...]
) -> float:
    """The largest gain of any action, which is what will be proved."""
    _, values = _solve(problem, clock, prices)
    time, reward = _terms(problem, clock, prices)
    here = np.repeat(values, np.diff([*problem.first, len(problem.actions)]))
    return float(((reward + _expected(problem, values) - here) / time).max())


def _terms(
    problem: Problem, clock: tuple[Fraction, Fraction], prices: tuple[Fraction, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Time and reward of every action, what is put into pools paid."""
    time = float(clock[0]) + float(clock[1]) * problem.tokens
    return time, problem.reward + problem.put @ np.array([float(v) for v in prices])


def _solve(
    problem: Problem, clock: tuple[Fraction, Fraction], prices: tuple[Fraction, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """The action of each state, and h, of a policy that no action improves on up to rounding."""
    time, reward = _terms(problem, clock, prices)
    spans = _spans(problem)  # begin with what computes most
    policy = np.array([low + problem.tokens[low:high].argmax() for low, high in spans])
    gain, values = _evaluated(problem, policy, time, reward)
    for _ in range(100):
        score = reward - gain * time + _expected(problem, values)
        best = np.array([low + score[low:high].argmax() for low, high in spans])
        better = score[best] > score[policy] + 1e-9  # equals are left alone, or it would not end
        if not better.any():
            break
        policy = np.where(better, best, policy)
        gain, values = _evaluated(problem, policy, time, reward)
    return policy, values


def _spans(problem: Problem) -> list[tuple[int, int]]:
    ends = [*problem.first[1:].tolist(), len(problem.actions)]
    return list(zip(problem.first.tolist(), ends, strict=True))


def _expected(problem: Problem, values: np.ndarray) -> np.ndarray:
    """E h(next) of every action."""
    return np.add.reduceat(problem.chance * values[problem.target], problem.begin)


def _evaluated(
    problem: Problem, policy: np.ndarray, time: np.ndarray, reward: np.ndarray
) -> tuple[float, np.ndarray]:
    """Gain and h of a policy: h = reward - gain time + E h(next), h of the empty server 0."""
    size = problem.states
    matrix, right = np.zeros((size + 1, size + 1)), np.zeros(size + 1)
    for row, chosen in enumerate(policy):
        action = problem.actions[chosen]
        matrix[row, row] += 1
        for chance, place in action.ways:
            matrix[row, place] -= chance / action.whole
    matrix[:size, size], right[:size] = time[policy], reward[policy]
    matrix[size, 0] = 1
    found = np.linalg.lstsq(matrix, right, rcond=None)[0]
    return float(found[size]), found[:size]


# --- the proof, in integers ---------------------------------------------------------------------


def _rounded(values: np.ndarray) -> list[int]:
    return [round(float(value) * _SCALE) for value in values]


def _at_most(
    problem: Problem,
    clock: tuple[Fraction, Fraction],
    prices: tuple[Fraction, ...],
    values: list[int],
) -> Fraction:
    """The largest gain of any action in any state with these h: what no policy exceeds."""
    best, per = 0, 1  # the largest so far is best / per
    paid = {
        put: sum((v * n for v, n in zip(prices, put, strict=True)), Fraction(0))
        for put in {action.put for action in problem.actions}
    }
    for place, (low, high) in enumerate(_spans(problem)):
        for action in problem.actions[low:high]:
            gain, time = _gain(action, clock, action.reward + paid[action.put], values, place)
            if gain * per > best * time:
                best, per = gain, time
    return Fraction(best, per)


def _attained(
    problem: Problem, clock: tuple[Fraction, Fraction], policy: np.ndarray, values: list[int]
) -> Fraction:
    """The least gain of a policy's own actions in the states that it reaches from the empty."""
    reached, frontier = {0}, [0]
    gains = []
    while frontier:
        place = frontier.pop()
        action = problem.actions[policy[place]]
        gains.append(Fraction(*_gain(action, clock, action.reward, values, place)))
        new = {after for _, after in action.ways} - reached
        reached |= new
        frontier += new
    return min(gains)


def _gain(
    action: Action,
    clock: tuple[Fraction, Fraction],
    reward: Fraction,
    values: list[int],
    place: int,
) -> tuple[int, int]:
    """(reward + E h(next) - h) / time as two integers: fractions would cancel at every step."""
    base, each = clock
    ahead = sum(chance * values[after] for chance, after in action.ways)
    over = action.whole * _SCALE
    change = ahead - action.whole * values[place]
    gain = reward.numerator * over + change * reward.denominator
    time = base.numerator * each.denominator + each.numerator * base.denominator * action.tokens
    return gain * base.denominator * each.denominator, reward.denominator * over * time
