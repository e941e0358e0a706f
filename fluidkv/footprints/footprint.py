"""A request as a random footprint: what it holds in each iteration from its admission on.

phi(j) is what it holds in its j-th iteration, j = 0, 1, ..., until it leaves, and psi(j) = 1 while
it is there. A plain request holds phi(j) = l0 + 1 + j for l1 iterations. What servers do besides
(windows, state-space layers, drafts, chunks of a prompt, blocks, shared prefixes) changes phi, and
nothing else of the theory.

Each footprint is a `Growth`, or a mix of them by shares: some iterations that are the same for all,
then a walk along what is held, whose steps are drawn independently. Moments are read off it
(`fluidkv.footprints.second_moments`), simulations follow it (`fluidkv.footprints.simulation`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from jaxtyping import Int

from fluidkv.errors import InputError
from fluidkv.footprints.attention import Attention, FullAttention, check_shares, check_unit
from fluidkv.record import Record
from fluidkv.workload import Workload


@dataclass(frozen=True)
class Growth(Record):
    """A walk along what a request holds: the common form of all footprints.

    Fields:
        start: tokens held in each of the first iterations, the same for every request; times
            `unit`.
        held: tokens held at each place of the walk that follows, times `unit`; it begins at place 0
            and the request leaves with the first step beyond the last place.
        steps: probability of steps of 1, 2, ... places in an iteration; sum 1.
        unit: parts of a token that are counted.
        silent: first iterations that yield no token; each later one of `start` yields one, and each
            step as many as the places it goes.

    Raises:
        InputError: nothing is held in any iteration; steps that do not sum to 1, with which a
            request never ends.

    Examples:
        >>> from fluidkv.footprints import Growth
        >>> growth = Growth(np.array([4]), np.array([5, 6]), (Fraction(1, 2), Fraction(1, 2)))
        >>> growth.iterations, str(growth.largest)
        (3, '6')
    """

    start: Int[np.ndarray, " iteration"]
    held: Int[np.ndarray, " place"]
    steps: tuple[Fraction, ...] = (Fraction(1),)
    unit: int = 1
    silent: int = 0

    def __post_init__(self) -> None:
        if not len(self.start) + len(self.held):
            raise InputError("held", "no iteration", "what is held in at least one iteration")
        if sum(self.steps) != 1 or min(self.steps) < 0:
            allowed = "chances of steps of 1, 2, ... places that sum to 1, so that a request ends"
            raise InputError("steps", f"sum {sum(self.steps)}", allowed)

    @property
    def walk(self) -> int:
        """The longest walk, iterations: by the shortest step that is ever taken."""
        shortest = next(n for n, chance in enumerate(self.steps, start=1) if chance)
        return -(-len(self.held) // shortest)

    @property
    def iterations(self) -> int:
        """The longest life."""
        return len(self.start) + self.walk

    @property
    def largest(self) -> Fraction:
        """The most that is ever held, tokens."""
        return Fraction(int(np.concatenate([self.start, self.held]).max()), self.unit)


NO_WALK = np.zeros(0, np.int64)


class Footprint(Protocol):
    """Whatever says what a request may hold: growths, with the share of requests of each.

    Examples:
        >>> plain = fk.RequestFootprint(input_length=2, output_length=3)
        >>> [(str(share), growth.start) for share, growth in plain.growths]
        [('1', array([3, 4, 5]))]
    """

    @property
    def growths(self) -> tuple[tuple[Fraction, Growth], ...]: ...


@dataclass(frozen=True)
class Speculation(Record):
    """Drafts of `drafts` tokens an iteration, accepted one after the other up to the first refusal.

    Args:
        drafts: K, at least 1.
        acceptance: probability that a draft is accepted if all before it were, in [0, 1]: one
            number, or one for each of the K places.
        reserved: slots that are reserved for every running request, whatever is accepted; K if
            left out, as in vLLM.

    Raises:
        InputError: drafts below 1, an acceptance outside [0, 1] or not one for each place, slots
            below 0.

    Examples:
        >>> drafts = fk.Speculation(2, Fraction(1, 2))
        >>> [str(chance) for chance in drafts.steps], str(drafts.tokens_per_iteration)
        (['1/2', '1/4', '1/4'], '7/4')
    """

    drafts: int
    acceptance: Fraction | tuple[Fraction, ...]
    reserved: int | None = None

    def __post_init__(self) -> None:
        if self.drafts < 1:
            raise InputError("drafts", self.drafts, "an integer of at least 1")
        if self.reserved is not None and self.reserved < 0:
            raise InputError("reserved", self.reserved, "an integer of at least 0")
        several = self.acceptance if isinstance(self.acceptance, tuple) else (self.acceptance,)
        if len(several) not in (1, self.drafts):
            raise InputError("acceptance", several, f"one number, or {self.drafts}, one a draft")
        for chance in several:
            if not 0 <= chance <= 1:
                raise InputError("acceptance", chance, "a rational number in [0, 1]")
        exact = tuple(Fraction(chance) for chance in several)
        object.__setattr__(self, "acceptance", exact[0] if len(exact) == 1 else exact)

    @cached_property
    def steps(self) -> tuple[Fraction, ...]:
        """Probability of 1, 2, ... K + 1 tokens in an iteration."""
        several = self.acceptance
        chances = several if isinstance(several, tuple) else (several,) * self.drafts
        reached, steps = Fraction(1), []
        for chance in chances:
            steps.append(reached * (1 - chance))
            reached *= chance
        return (*steps, reached)

    @property
    def slots(self) -> int:
        """Reserved for every running request."""
        return self.drafts if self.reserved is None else self.reserved

    @property
    def tokens_per_iteration(self) -> Fraction:
        return sum((n * p for n, p in enumerate(self.steps, start=1)), Fraction(0))


@dataclass(frozen=True)
class RequestFootprint(Record):
    """What a request of some lengths holds, on a server that may keep less or more than tokens.

    While it computes up to a length L it holds `attention.held(L)` tokens, and the slots that are
    reserved for drafts. The iteration that ends the prompt yields one token; drafts follow it.

    Args:
        input_length: l0, tokens, at least 1.
        output_length: l1, tokens, at least 1.
        attention: what the layers keep; all of it if left out.
        speculation: drafts; none if left out.
        prefill_chunk: tokens of a prompt that an iteration computes at most; all if left out.
        shared_prefix: first tokens of the prompt that many share. They are held once for all of
            them, not here: take them off the capacity. At most `input_length`.
        block: tokens of a block; each request holds whole blocks.

    Raises:
        InputError: a length, chunk or block below 1, a prefix below 0 or above the input.

    Source: the plain case is Congestion, section 2.2.

    Examples:
        >>> from fluidkv.footprints import SlidingWindow
        >>> window = fk.RequestFootprint(3, 4, attention=SlidingWindow(5))
        >>> window.growths[0][1].start
        array([4, 5, 5, 5])
        >>> chunked = fk.RequestFootprint(5, 2, prefill_chunk=2)
        >>> chunked.growths[0][1].start
        array([2, 4, 6, 7])
    """

    input_length: int
    output_length: int
    attention: Attention = FullAttention()  # noqa: RUF009 (it is frozen)
    speculation: Speculation | None = None
    prefill_chunk: int | None = None
    shared_prefix: int = 0
    block: int = 1

    def __post_init__(self) -> None:
        for name in ("input_length", "output_length", "prefill_chunk", "block"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(name, value, "an integer of at least 1")
        if not 0 <= self.shared_prefix <= self.input_length:
            allowed = f"an integer from 0 to the input length, {self.input_length}"
            raise InputError("shared_prefix", self.shared_prefix, allowed)

    @property
    def growths(self) -> tuple[tuple[Fraction, Growth], ...]:
        return ((Fraction(1), self._growth),)

    @cached_property
    def _growth(self) -> Growth:
        reserved = self.speculation.slots if self.speculation else 0
        own = self.input_length - self.shared_prefix
        chunk = self.prefill_chunk or max(own, 1)
        computed = np.arange(chunk, own, chunk)
        # the last piece of the prompt yields one token, whose place is taken at once
        first, last = own + 1 + reserved, int(computed[-1]) if len(computed) else 0
        start = self._held(computed, chunk), self._held(np.array([first]), first - last)
        held = self._held(first + np.arange(1, self.output_length), 1 + reserved)
        unit = self.attention.unit
        if self.speculation is None:
            return Growth(np.concatenate([*start, held]), NO_WALK, unit=unit, silent=len(computed))
        return Growth(np.concatenate(start), held, self.speculation.steps, unit, len(computed))

    def _held(self, length: Int[np.ndarray, " n"], new: int) -> Int[np.ndarray, " n"]:
        return self.attention.held(length, new=new, block=self.block)


@dataclass(frozen=True)
class RecordedFootprint(Record):
    """A footprint that is known iteration by iteration, as a log has it.

    Args:
        held: phi(0), phi(1), ...: tokens, integers or rationals above 0; the request is there as
            long as this is.

    Raises:
        InputError: no iteration, or one in which nothing is held.

    Examples:
        >>> from fluidkv.footprints import RecordedFootprint
        >>> len(RecordedFootprint([3, 4, 4]).growths)
        1
    """

    held: tuple[Fraction, ...]

    if TYPE_CHECKING:  # what may be passed is wider than what is stored

        def __init__(self, held: Sequence[Fraction | int]) -> None: ...

    def __post_init__(self) -> None:
        held = tuple(map(Fraction, self.held))
        if not held:
            raise InputError("held", (), "what is held in at least one iteration")
        for j, tokens in enumerate(held):
            if tokens <= 0:
                raise InputError("held", f"{tokens} in iteration {j}", "tokens above 0")
        object.__setattr__(self, "held", held)
        check_unit("held", self._unit)

    @property
    def _unit(self) -> int:
        return math.lcm(*(tokens.denominator for tokens in self.held))

    @property
    def growths(self) -> tuple[tuple[Fraction, Growth], ...]:
        start = np.array([int(tokens * self._unit) for tokens in self.held], np.int64)
        return ((Fraction(1), Growth(start, NO_WALK, unit=self._unit)),)


@dataclass(frozen=True)
class FootprintMix(Record):
    """Requests of several footprints: each admitted one is of a kind drawn by shares.

    Args:
        parts: (share, footprint) of each; shares are rationals in (0, 1] that sum to exactly 1.

    Raises:
        InputError: no parts, a share outside (0, 1], shares that do not sum to 1.

    Examples:
        >>> short, long = fk.RequestFootprint(20, 2), fk.RequestFootprint(20, 3)
        >>> mix = fk.FootprintMix(((Fraction(1, 4), short), (Fraction(3, 4), long)))
        >>> [(str(share), growth.iterations) for share, growth in mix.growths]
        [('1/4', 2), ('3/4', 3)]
    """

    parts: tuple[tuple[Fraction, Footprint], ...]

    if TYPE_CHECKING:  # what may be passed is wider than what is stored

        def __init__(self, parts: Sequence[tuple[Fraction | int, Footprint]]) -> None: ...

    def __post_init__(self) -> None:
        parts = tuple((Fraction(share), footprint) for share, footprint in self.parts)
        check_shares("parts", [share for share, _ in parts])
        object.__setattr__(self, "parts", parts)

    @property
    def growths(self) -> tuple[tuple[Fraction, Growth], ...]:
        return tuple(
            (share * inner, growth)
            for share, footprint in self.parts
            for inner, growth in footprint.growths
        )


def footprint_of(
    workload: Workload,
    *,
    attention: Attention | None = None,
    speculation: Speculation | None = None,
    prefill_chunk: int | None = None,
    shared_prefix: int = 0,
    block: int = 1,
) -> FootprintMix:
    """The footprint of a workload on a server: each class with its share.

    Args:
        workload: any number of classes; `Workload.from_lengths` makes one of (input, output) pairs.
        attention, speculation, prefill_chunk, shared_prefix, block: as of `RequestFootprint`, of
            all classes.

    Examples:
        >>> mix = fk.footprint_of(fk.Workload.from_lengths([(2, 3), (4, 1)]), block=4)
        >>> [growth.start for _, growth in mix.growths]
        [array([8]), array([4, 4, 8])]
    """
    rules = attention or FullAttention(), speculation, prefill_chunk, shared_prefix, block
    return FootprintMix(
        [
            (c.share, RequestFootprint(c.input_length, c.decode_length, *rules))
            for c in workload.classes
        ]
    )
