"""Thresholds of WAIT: how many prompts of each type a batch takes, the same at every stage.

A batch with n_j prompts at each stage of every type lasts Delta T(n) = d0 + sum of n_j w_j, where
w_j = d1 c_j + d2 l_j: it computes the inputs of n_j prompts, those at stage 0. Thresholds carry the
load where no more prompts come meanwhile than the batch takes in, and memory holds the batch:

    lambda_j Delta T(n) <= n_j for every type j,    sum of n_j c_j <= M.

Delta T grows with every n_j. So where two vectors satisfy the first line, their least values, type
by type, satisfy it too: there is a least solution among the real vectors, which is the fluid
equilibrium, and one among the whole ones. Each needs the least memory of its kind.

Source: WAIT, section 4.2 (equation 11, Theorem 1), for d2 = 0.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.wait.model import Exact, WaitSystem, exact, plain, several, shown
from fluidkv.wait.theory.fluid import fluid_equilibrium, require_stable
from fluidkv.wait.theory.least_whole import WholeClock, least_of_types


@dataclass(frozen=True)
class Thresholds(Record):
    """Thresholds that satisfy (11), and what follows from them; exact.

    Fields:
        thresholds: n_j, prompts of each type at every stage of a batch, in the order of types.
        iteration_time: Delta T(n), of a batch that every type is in.
        memory: sum of n_j c_j, tokens held by that batch.
        slack: n_j - lambda_j Delta T(n), at least 0: prompts that such a batch takes in beyond
            those that come while it runs, on average.

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem, integer_thresholds
        >>> system = WaitSystem([PromptType(1, 2, 1)], base=1, per_kv_token=Fraction(1, 10))
        >>> found = integer_thresholds(system, strict=True)
        >>> found.thresholds, found.slack, found.strict
        ((3,), (Fraction(1, 2),), (True,))
    """

    thresholds: tuple[Exact, ...]
    iteration_time: Fraction
    memory: Fraction
    slack: tuple[Fraction, ...]

    @property
    def strict(self) -> tuple[bool, ...]:
        """The types with slack above 0: Theorem 1 bounds their latency by a constant."""
        return tuple(slack > 0 for slack in self.slack)


def iteration_time(system: WaitSystem, thresholds: Iterable[Exact]) -> Fraction:
    """Delta T(n) = d0 + sum of n_j (d1 c_j + d2 l_j).

    Args:
        system: types and clock.
        thresholds: n_j of each type, at least 0; exact.

    Raises:
        InputError: a number that is not exact or below 0, or not one for each type.

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem
        >>> from fluidkv.wait.theory.thresholds import iteration_time
        >>> system = WaitSystem([PromptType(1, 2, 1)], base=1, per_kv_token=Fraction(1, 10))
        >>> iteration_time(system, [2])  # 2 prompts hold 2 tokens each, 2 others 3 each
        Fraction(2, 1)
    """
    return _iteration_time(system, _vector(system, thresholds))


def batch_memory(system: WaitSystem, thresholds: Iterable[Exact]) -> Fraction:
    """Sum of n_j c_j: tokens held by a batch that every type is in.

    Args, raises: as `iteration_time`.
    """
    return _memory(system, _vector(system, thresholds))


def minimal_thresholds(system: WaitSystem) -> tuple[Fraction, ...]:
    """The least real solution of (11): n_j = lambda_j tau*, the fluid equilibrium.

    Nothing feasible lies below it in any type: with t = Delta T(n), n_j >= lambda_j t gives
    t >= d0 + rho t, so t >= tau* and n_j >= lambda_j tau*.

    Raises:
        InputError: a load of 1 or more, for which the same line leaves nothing.

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem
        >>> from fluidkv.wait.theory.thresholds import minimal_thresholds
        >>> system = WaitSystem([PromptType(1, 2, 1)], base=1, per_kv_token=Fraction(1, 10))
        >>> minimal_thresholds(system)  # 2 come in an iteration of 2
        (Fraction(2, 1),)
    """
    return fluid_equilibrium(system).per_stage


def integer_thresholds(
    system: WaitSystem, capacity: Exact | None = None, *, strict: bool = False
) -> Thresholds:
    """The least whole thresholds that satisfy (11): no other whole ones are lower in any type.

    Args:
        system: types and clock.
        capacity: M, tokens, above 0; None: as large as needed.
        strict: ask for lambda_j Delta T(n) < n_j, so that every type has slack.

    Raises:
        InputError: a load of 1 or more; a capacity that no whole thresholds fit in (the message
            says whether M* would); or a load so near 1, with several types, that the least ones
            were not found.

    Each is at least 1, so memory is at least the sum of c_j. Where less than one prompt of a type
    comes in tau*, which is usual for long outputs, that is far above M*.

    They are the end of n <- ceil(lambda Delta T(n)) from ceil(n*), in longer steps. That sequence
    does not fall, as Delta T does not, and stays at or below every whole solution: it can only end
    in the least one. It ends because there is one, ceil(K n*) with K = 1 + (sum of w_j) / d0, where
    w_j is the time that one more prompt of type j in each stage adds, decoding and prefill:
    Delta T is then at most d0 + sum of (K n*_j + 1) w_j = K tau*. (Strict: floor(K n*) + 1.)

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem, integer_thresholds
        >>> system = WaitSystem([PromptType(1, 2, 1)], base=1, per_kv_token=Fraction(1, 10))
        >>> found = integer_thresholds(system, capacity=100)
        >>> found.thresholds, str(found.memory)
        ((2,), '10')
        >>> integer_thresholds(system, capacity=100, strict=True).thresholds
        (3,)
    """
    room = _capacity(capacity)
    require_stable(system)
    found = _record(system, _least_whole(system, strict=strict))
    if room is not None and found.memory > room:
        least = fluid_equilibrium(system).memory
        fits = "fits, but whole prompts do not" if least <= room else "does not fit either"
        kind = "whole thresholds with slack" if strict else "whole thresholds"
        needed = f"at least {shown(found.memory)} tokens for {kind}; M* = {shown(least)} {fits}"
        raise InputError("capacity", plain(room), needed)
    return found


def check_thresholds(
    system: WaitSystem, thresholds: Iterable[Exact], capacity: Exact | None = None
) -> Thresholds:
    """Thresholds that somebody chose, held against (11).

    Args:
        system: types and clock.
        thresholds: n_j of each type, at least 0; exact, whole or not.
        capacity: M, tokens, above 0; None: not asked.

    Raises:
        InputError: the first constraint that breaks, for which type and by how much; or a load of
            1 or more, for which there are no thresholds.

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem
        >>> from fluidkv.wait.theory.thresholds import check_thresholds
        >>> system = WaitSystem([PromptType(1, 2, 1)], base=1, per_kv_token=Fraction(1, 10))
        >>> check_thresholds(system, [4]).slack  # 4 join, 3 come in an iteration of 1 + 20/10
        (Fraction(1, 1),)
        >>> check_thresholds(system, [1])
        Traceback (most recent call last):
            ...
        fluidkv.errors.InputError: thresholds: got [1]; allowed: at least 2 for type 1 ...
    """
    n, room = _vector(system, thresholds), _capacity(capacity)
    require_stable(system)
    checked = _record(system, n)
    given = [plain(each) for each in n]
    low = next((place for place, slack in enumerate(checked.slack) if slack < 0), None)
    if low is not None:
        raise InputError("thresholds", given, _too_low(system, checked, low))
    if room is not None and checked.memory > room:
        most = f"sum n c of at most {shown(room)} tokens, the capacity: "
        over = f"{shown(checked.memory)} exceeds it by {shown(checked.memory - room)}"
        raise InputError("thresholds", given, most + over)
    return checked


def _too_low(system: WaitSystem, checked: Thresholds, place: int) -> str:
    """What the type would need beside the thresholds of the others, and what it lacks."""
    each, time = system.types[place], checked.iteration_time
    own = system.time_of(each)  # a larger n_j makes the batch longer as well
    others = time - own * checked.thresholds[place]
    least = each.arrival_rate * others / (1 - each.arrival_rate * own)
    return (
        f"at least {shown(least)} for type {place + 1} ({each.input_length}:{each.output_length}) "
        f"beside the others: arrivals in a full batch of {shown(time)} exceed n by "
        f"{shown(-checked.slack[place])}"
    )


def _least_whole(system: WaitSystem, *, strict: bool) -> tuple[int, ...]:
    given = [each.arrival_rate for each in system.types]
    clock = WholeClock.of(given, system.base, system.per_kv_token, system.per_prefill_token)
    rates = [int(rate * clock.unit) for rate in given]
    costs = [clock.time(int(2 * t.lifetime_cost), t.input_length) for t in system.types]
    found = least_of_types(rates, costs, clock, strict=strict)
    if found is None:
        raise InputError(
            "arrival_rate",
            f"{shown(system.arrival_rate)} prompts per unit of time",
            f"less, for the least whole thresholds: not found at a load of 1 - "
            f"{shown(1 - system.load)} with {len(rates)} types",
        )
    return found


def _record(system: WaitSystem, n: tuple[Exact, ...]) -> Thresholds:
    time = _iteration_time(system, n)
    slack = tuple(k - each.arrival_rate * time for k, each in zip(n, system.types, strict=True))
    return Thresholds(n, time, _memory(system, n), slack)


def _iteration_time(system: WaitSystem, n: tuple[Exact, ...]) -> Fraction:
    prefills = (k * each.input_length for k, each in zip(n, system.types, strict=True))
    prefill = system.per_prefill_token * sum(prefills, Fraction(0))
    return system.base + system.per_kv_token * _memory(system, n) + prefill


def _memory(system: WaitSystem, n: tuple[Exact, ...]) -> Fraction:
    return sum(
        (k * each.lifetime_cost for k, each in zip(n, system.types, strict=True)), Fraction(0)
    )


def _vector(system: WaitSystem, thresholds: Iterable[Exact]) -> tuple[Exact, ...]:
    """One exact number for each type, whole ones as int."""
    numbers = several("thresholds", thresholds, "one number a type")
    given = [exact("thresholds", each, least=0) for each in numbers]
    if len(given) != len(system.types):
        raise InputError("thresholds", f"{len(given)} of them", f"{len(system.types)}, one a type")
    return tuple(each.numerator if each.denominator == 1 else each for each in given)


def _capacity(capacity: Exact | None) -> Fraction | None:
    return None if capacity is None else exact("capacity", capacity, above=0)
