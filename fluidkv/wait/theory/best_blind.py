"""The best that any policy can do while it cannot foresee outputs: a decision problem, exactly.

Work never runs out, memory is M, and an output shows its length only by ending. A policy then
chooses in each iteration how many prompts to start, to advance, to pause and to evict, stage by
stage. What waits unseen is alike, so the state is how many prompts hold how many tokens, and the
best long-run throughput is that of a semi-Markov decision process with finitely many states. A
server whose prompts come at random can do no better: it can imitate any decision, but must also
wait for work.

The optimum is found in floats by policy iteration and then proved in rationals: gain and relative
values of the policy found solve its equations exactly, and no action improves on them.

Source: ours, for WAIT, Propositions 3 and 5.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np
from flint import fmpq, fmpq_mat

from fluidkv.errors import InputError
from fluidkv.wait.model import WaitSystem, count

MOST_STATES = 100
"""Larger problems are refused: exact equations in that many unknowns take too long."""

State = tuple[int, ...]
"""Prompts that have computed stage s and no more, for s = 0, 1, ..., the longest output less 1."""


@dataclass(frozen=True)
class BestThroughput:
    """The optimum, proved.

    Fields:
        throughput: output tokens of completed prompts per unit of time; no policy has more.
        per_iteration_base: the same in units of 1 / d0.
        states, actions: size of the decision problem.
    """

    throughput: Fraction
    per_iteration_base: Fraction
    states: int
    actions: int


@dataclass(frozen=True)
class _Action:
    """One choice in one state: its duration, expected reward, and where it leads."""

    duration: Fraction
    reward: Fraction
    leads_to: tuple[tuple[Fraction, State], ...]


def best_blind_throughput(system: WaitSystem, capacity: int) -> BestThroughput:
    """The largest long-run throughput of any policy that learns an output's length at its end.

    Args:
        system: types that share one input length; rates say how the outputs are distributed (how
            often prompts come does not matter: work never runs out).
        capacity: M, tokens.

    Raises:
        InputError: several input lengths, a memory that cannot hold the longest prompt, or a
            problem of more than `MOST_STATES` states.
        ArithmeticError: the policy found in floats is not the optimum, or not the only answer.
    """
    inputs = {each.input_length for each in system.types}
    if len(inputs) > 1:
        raise InputError("input_length", sorted(inputs), "one input length for all types")
    longest = max(each.output_length for each in system.types)
    input_length = inputs.pop()
    if count("capacity", capacity) < input_length + longest:
        allowed = f"at least {input_length + longest} tokens, the largest prompt"
        raise InputError("capacity", capacity, allowed)
    if _states(input_length, longest, capacity) > MOST_STATES:
        raise InputError("capacity", capacity, f"a problem of at most {MOST_STATES} states")
    problem = _problem(system, input_length, _hazards(system, longest), capacity)
    return _optimum(problem, system.base)


def _states(input_length: int, longest: int, capacity: int) -> int:
    """Ways to hold at most the capacity in prompts of input_length + s tokens, s < longest."""
    ways = [1] * (capacity + 1)  # for memory of at most so many tokens, with no stage at all
    for size in range(input_length, input_length + longest):
        for tokens in range(size, capacity + 1):
            ways[tokens] += ways[tokens - size]
    return ways[capacity]


def _hazards(system: WaitSystem, longest: int) -> tuple[Fraction, ...]:
    """For each stage k = 1..longest: the share of those that reach it that end with it."""
    found = []
    for k in range(1, longest + 1):
        reach = sum(t.arrival_rate for t in system.types if t.output_length >= k)
        end = sum(t.arrival_rate for t in system.types if t.output_length == k)
        found.append(Fraction(end) / Fraction(reach))
    return tuple(found)


# --- the decision problem -----------------------------------------------------------------------


def _problem(
    system: WaitSystem, input_length: int, hazards: tuple[Fraction, ...], capacity: int
) -> dict[State, list[_Action]]:
    """Every state that can be reached from an empty server, and what can be done there."""
    empty = (0,) * len(hazards)
    problem: dict[State, list[_Action]] = {}
    frontier = [empty]
    while frontier:
        state = frontier.pop()
        if state in problem:
            continue
        problem[state] = [
            _action(system, input_length, hazards, *choice)
            for choice in _choices(state, input_length, capacity)
        ]
        frontier += [next_ for action in problem[state] for _, next_ in action.leads_to]
    return problem


def _choices(
    state: State, input_length: int, capacity: int
) -> Iterator[tuple[int, tuple[int, ...], tuple[int, ...]]]:
    """(starting, advancing by stage, pausing by stage) that fit; the rest is evicted."""

    def stages(s: int, room: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], int]]:
        if s == len(state):
            yield (), (), room
            return
        for advancing in range(state[s] + 1):
            for pausing in range(state[s] - advancing + 1):
                left = room - advancing * (input_length + s + 1) - pausing * (input_length + s)
                if left < 0:
                    break
                for rest_a, rest_p, end in stages(s + 1, left):
                    yield (advancing, *rest_a), (pausing, *rest_p), end

    for advancing, pausing, room in stages(0, capacity):
        for starting in range(room // input_length + 1):
            if starting or any(advancing):
                yield starting, advancing, pausing


def _action(
    system: WaitSystem,
    input_length: int,
    hazards: tuple[Fraction, ...],
    starting: int,
    advancing: tuple[int, ...],
    pausing: tuple[int, ...],
) -> _Action:
    tokens = starting * input_length
    tokens += sum(n * (input_length + s + 1) for s, n in enumerate(advancing))
    reward = sum(
        (n * (s + 1) * ends for (s, n), ends in zip(enumerate(advancing), hazards, strict=True)),
        Fraction(0),
    )
    # Survivors of stage s + 1 are binomial, independently by stage; at the last one all end.
    ways: list[tuple[Fraction, State]] = [(Fraction(1), (starting + pausing[0],))]
    for s, n in enumerate(advancing[:-1]):
        ways = [
            (p * comb(n, k) * (1 - hazards[s]) ** k * hazards[s] ** (n - k), (*held, k + further))
            for p, held in ways
            for k in range(n + 1)
            for further in (pausing[s + 1],)
        ]
    likely = tuple((p, state) for p, state in ways if p)
    return _Action(system.base + system.per_kv_token * tokens, reward, likely)


# --- its optimum --------------------------------------------------------------------------------


def _optimum(problem: dict[State, list[_Action]], base: Fraction) -> BestThroughput:
    places = {state: place for place, state in enumerate(problem)}
    policy = [0] * len(problem)
    while True:
        gain, values = _evaluate_floats(problem, places, policy)
        better = _improved(problem, places, policy, gain, values)
        if better == policy:
            break
        policy = better
    proved = _prove(problem, places, policy)
    return BestThroughput(
        throughput=proved,
        per_iteration_base=proved * base,
        states=len(problem),
        actions=sum(len(actions) for actions in problem.values()),
    )


def _evaluate_floats(
    problem: dict[State, list[_Action]], places: dict[State, int], policy: list[int]
) -> tuple[float, np.ndarray]:
    """Gain and relative values of a policy: h = reward - gain duration + P h, h(first) = 0."""
    size = len(problem)
    matrix, right = np.zeros((size + 1, size + 1)), np.zeros(size + 1)
    for (state, actions), chosen in zip(problem.items(), policy, strict=True):
        row, action = places[state], actions[chosen]
        matrix[row, row] += 1
        matrix[row, size] = action.duration
        right[row] = action.reward
        for p, leads in action.leads_to:
            matrix[row, places[leads]] -= p
    matrix[size, 0] = 1
    found = np.linalg.lstsq(matrix, right, rcond=None)[0]
    return float(found[size]), found[:size]


def _improved(
    problem: dict[State, list[_Action]],
    places: dict[State, int],
    policy: list[int],
    gain: float,
    values: np.ndarray,
) -> list[int]:
    found = []
    for actions, chosen in zip(problem.values(), policy, strict=True):
        scores = [
            float(a.reward)
            - gain * float(a.duration)
            + sum(float(p) * values[places[leads]] for p, leads in a.leads_to)
            for a in actions
        ]
        best = int(np.argmax(scores))
        # Rounding must not make it wander between equals; the proof below is exact in any case.
        found.append(best if scores[best] > scores[chosen] + 1e-9 else chosen)
    return found


def _prove(
    problem: dict[State, list[_Action]], places: dict[State, int], policy: list[int]
) -> Fraction:
    """The gain of the policy in rationals, once no action in any state improves on it."""
    size = len(problem)
    matrix, right = fmpq_mat(size + 1, size + 1), fmpq_mat(size + 1, 1)
    for (state, actions), chosen in zip(problem.items(), policy, strict=True):
        row, action = places[state], actions[chosen]
        entries = {row: Fraction(1), size: action.duration}
        for p, leads in action.leads_to:
            entries[places[leads]] = entries.get(places[leads], Fraction(0)) - p
        for column, value in entries.items():
            matrix[row, column] = _fmpq(value)
        right[row, 0] = _fmpq(action.reward)
    matrix[size, 0] = fmpq(1)
    try:
        found = matrix.solve(right)
    except ZeroDivisionError:
        raise ArithmeticError("the policy found has several recurrent classes") from None
    values = [_fraction(found[row, 0]) for row in range(size)]
    gain = _fraction(found[size, 0])
    for state, actions in problem.items():
        for action in actions:
            score = action.reward - gain * action.duration
            score += sum(p * values[places[leads]] for p, leads in action.leads_to)
            if score > values[places[state]]:
                raise ArithmeticError(f"an action in state {state} improves on the policy found")
    return gain


def _fmpq(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def _fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))
