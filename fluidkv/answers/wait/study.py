"""The whole answer about one server: can it be stable, how much to let in, what memory that needs.

`wait_study` computes what the command `fluidkv wait` prints. What it says about memory is exact,
or in balls; its runs are samples.

Source: WAIT, sections 3 to 5 and 7.2; the rate at which thresholds fit and the least latency are
ours.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from fluidkv.answers.wait import report
from fluidkv.answers.wait.load import Load
from fluidkv.answers.wait.nested import NestedAnswer, nested_answer
from fluidkv.answers.wait.runs import Comparison, played_policies, require_work
from fluidkv.errors import InputError
from fluidkv.keys import Keyed
from fluidkv.wait.model import Exact, WaitSystem, count, exact
from fluidkv.wait.policy import NestedWait, Wait
from fluidkv.wait.theory.bounds import Theorem1Gap, theorem_1_gap
from fluidkv.wait.theory.fluid import FluidEquilibrium, fluid_equilibrium
from fluidkv.wait.theory.sensitivity import Sensitivities, sensitivity
from fluidkv.wait.theory.thresholds import Thresholds, check_thresholds, integer_thresholds

ITERATIONS = 10**6
"""Iterations without tokens that the horizon lasts where none is given."""

DELTA = Fraction(1, 100)
"""Chance of an overflow where none is given."""

_STEPS = 1000  # rates that fit are known to one part in so many


@dataclass(frozen=True, eq=False)
class WaitAnswer(Keyed):
    """What one server can do, and what lets it.

    Fields:
        system: types and clock.
        capacity: M, tokens.
        horizon: T of the bounds, time.
        equilibrium: tau*, n*_j (the least real thresholds), M* and the throughput; exact.
        least: the least whole thresholds; exact.
        with_slack: the least whole ones that leave every type slack; exact.
        given: the caller's thresholds, which satisfy (11); None: none, or of Nested WAIT.
        bound: Theorem 1 up to the horizon, of `chosen`; None where whole thresholds do not fit.
        latency_at_least: for each type, l' n / lambda with the chosen thresholds; exact. In the
            long run batches take the type in at rate lambda / n, as each takes n of it, and each
            moves its prompts on by one stage: their mean time from prefill to last stage.
        rate_factor: the largest factor on all rates, in thousandths and at most 1, at which the
            least whole thresholds fit the capacity; None: at none, as one prompt of each type at
            each stage does not.
        sensitivities: what moves the equilibrium; exact.
        nested: where outputs are not known; None: not asked.
        runs: policies side by side on the same arrivals; None: not asked, or not to be made.
        not_simulated: why they were asked for and not made; None: they were made, or not asked for.
        load: where the types came from; None: from nowhere but the caller.

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem
        >>> system = WaitSystem([PromptType(2, 1, 1)], 1, Fraction(1, 12))
        >>> found = fk.wait_study(system, 12, simulate=False)
        >>> found.equilibrium.per_stage, found.least.memory, found.most_rate
        ((Fraction(4, 1),), Fraction(12, 1), Fraction(4, 1))
        >>> found.reason, found.latency_at_least
        (None, (Fraction(2, 1),))
    """

    system: WaitSystem
    capacity: Fraction
    horizon: Fraction
    equilibrium: FluidEquilibrium
    least: Thresholds
    with_slack: Thresholds
    given: Thresholds | None
    bound: Theorem1Gap | None
    latency_at_least: tuple[Fraction, ...]
    rate_factor: Fraction | None
    sensitivities: Sensitivities
    nested: NestedAnswer | None
    runs: Comparison | None
    not_simulated: InputError | None = None
    load: Load | None = None

    KEYS = report.KEYS

    @property
    def chosen(self) -> Thresholds:
        """Given ones; else those with slack, if they fit; else the least."""
        if self.given is not None:
            return self.given
        return self.with_slack if self.with_slack.memory <= self.capacity else self.least

    @property
    def most_rate(self) -> Fraction | None:
        """All prompts per unit of time at which the load is 1; None: memory costs no time."""
        load = self.system.load
        return self.system.arrival_rate / load if load else None

    @property
    def fluid_fits(self) -> bool:
        """Whether the capacity holds the balanced state, M* <= M."""
        return self.equilibrium.memory <= self.capacity

    @property
    def come_in_an_iteration(self) -> Fraction:
        """Prompts of a type, or of a segment, that come in tau*: the mean over types or segments.

        Thresholds are 1 at least: far below 1, they hold far more than the balance does.
        """
        rates = [each.arrival_rate for each in self.system.types]
        if self.nested is not None:
            rates = list(self.nested.chosen.segments.rates)
        return sum(rates, Fraction(0)) / len(rates) * self.equilibrium.iteration_time

    @property
    def not_for_wait(self) -> bool:
        """Whether the load fits, but not whole thresholds, as so few prompts come.

        At most one half: whole thresholds are then at least twice the real ones, in the mean.
        """
        few = 2 * self.come_in_an_iteration <= 1
        return self.fluid_fits and not self.fits and few

    @property
    def fits(self) -> bool:
        """Whether the capacity suffices: for the thresholds, or with unknown outputs the bound."""
        return self.chosen.memory <= self.capacity if self.nested is None else self.nested.fits

    @property
    def reason(self) -> str | None:
        """What exceeds the capacity; None where it suffices."""
        if self.fits:
            return None
        room = shown(self.capacity)
        if not self.fluid_fits:
            held = shown(self.equilibrium.memory)
            return f"the balanced state holds M* = {held} tokens, the capacity is {room}"
        if self.nested is None:
            held = shown(self.least.memory)
            return f"the least whole thresholds hold {held} tokens, the capacity is {room}"
        bound = self.nested.chosen.bound
        if bound.batch > self.capacity:
            return f"a full batch holds {shown(bound.batch)} tokens, the capacity is {room}"
        return (
            f"batch, waiting and tail need {bound.capacity:,} tokens for delta = "
            f"{float(self.nested.delta):.6g}, the capacity is {room}"
        )

    @property
    def first_tokens(self) -> bool:
        """Whether times to first token are said: not in seconds in which prefill costs nothing."""
        return self.unit != "s" or self.system.per_prefill_token > 0

    @property
    def unit(self) -> str:
        """Of time: "s", or "" for the caller's own."""
        return "" if self.load is None else self.load.unit


def wait_study(
    system: WaitSystem | Load,
    capacity: Exact,
    *,
    unknown_lengths: bool = False,
    horizon: Exact | None = None,
    delta: Exact | None = None,
    thresholds: Iterable[int] | None = None,
    segment_ends: Iterable[int] | None = None,
    simulate: bool = True,
    seeds: int = 3,
    duration: Exact | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> WaitAnswer:
    """Whether a server can be stable, whom to let in and when, and what memory that needs.

    A capacity that does not suffice is an answer, not an error.

    Args:
        system: types and clock; or the load of a trace, from `binned_load`.
        capacity: M, tokens; at least the largest prompt.
        unknown_lengths: outputs are not known when prompts come: Nested WAIT too. All types then
            have one input length.
        horizon: T of the bounds, at least d0; None: `ITERATIONS` times d0.
        delta: with unknown lengths, the chance that memory overflows before the horizon, in (0, 1);
            None: `DELTA`.
        thresholds: one for each type or segment; held against (11) or (12). None: the least ones.
        segment_ends: the last output of each segment; None: one for each output length, and the
            best number of segments beside.
        simulate: run the policies on the same arrivals too: some seconds.
        seeds: of the runs, at least 1.
        duration: of each run, time; None: what takes some seconds.
        on_progress: told now and then what is being done.

    Raises:
        InputError: a load that no policy can serve; thresholds or ends that break a constraint (the
            message says which and by how much); a number out of range; a `duration` in which nobody
            comes, or of too much work. Runs that cannot be made for another reason are left out,
            and the reason is in the answer.

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem
        >>> tenth = Fraction(1, 10)
        >>> system = WaitSystem([PromptType(1, 1, 1), PromptType(1, 1, 2)], tenth, tenth)
        >>> found = fk.wait_study(system, 9, simulate=False)
        >>> found.equilibrium.memory, found.chosen.thresholds, found.fits
        (Fraction(9, 1), (1, 1), True)
        >>> fk.wait_study(system, 8, simulate=False).reason
        'the balanced state holds M* = 9 tokens, the capacity is 8'
    """
    load = system if isinstance(system, Load) else None
    system = system.system if isinstance(system, Load) else system
    room = _room(system, capacity)
    until = exact("horizon", system.base * ITERATIONS if horizon is None else horizon, above=0)
    if until < system.base:
        raise InputError("horizon", str(until), f"at least d0 = {system.base}, one iteration")
    chance = _chance(delta, unknown_lengths=unknown_lengths)
    if segment_ends is not None and not unknown_lengths:
        raise InputError("segment_ends", list(segment_ends), "together with unknown_lengths")
    play = _play(seeds, duration, on_progress) if simulate else None
    own = None if thresholds is None else tuple(count("thresholds", n) for n in thresholds)

    equilibrium = fluid_equilibrium(system)
    if simulate and duration is not None:  # before thresholds are computed, which may take long
        require_work(system, exact("duration", duration, above=0), seeds)
    given = None if own is None or unknown_lengths else check_thresholds(system, own, room)
    nested = None
    if unknown_lengths:
        nested = nested_answer(
            system, room, horizon=until, delta=chance, thresholds=own, ends=segment_ends
        )
    least, with_slack = integer_thresholds(system), integer_thresholds(system, strict=True)
    answer = WaitAnswer(
        system=system,
        capacity=room,
        horizon=until,
        equilibrium=equilibrium,
        least=least,
        with_slack=with_slack,
        given=given,
        bound=None,
        latency_at_least=(),
        rate_factor=_rate_factor(system, room),
        sensitivities=sensitivity(system),
        nested=nested,
        runs=None,
        load=load,
    )
    return _completed(answer, play)


def _play(
    seeds: int, duration: Exact | None, on_progress: Callable[[str], None] | None
) -> "partial[Comparison]":
    time = None if duration is None else exact("duration", duration, above=0)
    return partial(
        played_policies, seeds=count("seeds", seeds), duration=time, on_progress=on_progress
    )


def _room(system: WaitSystem, capacity: Exact) -> Fraction:
    """The capacity, if the largest prompt fits into it."""
    room = exact("capacity", capacity, above=0)
    largest = max(each.input_length + each.output_length for each in system.types)
    if room < largest:
        value = room.numerator if room.denominator == 1 else str(room)
        raise InputError("capacity", value, f"at least {largest} tokens, the largest prompt")
    return room


def _chance(delta: Exact | None, *, unknown_lengths: bool) -> Fraction:
    """Of an overflow before the horizon."""
    if delta is not None and not unknown_lengths:
        raise InputError("delta", _plain(delta), "together with unknown_lengths")
    chance = exact("delta", DELTA if delta is None else delta, above=0)
    if chance >= 1:
        raise InputError("delta", str(chance), "a probability in (0, 1)")
    return chance


def _completed(answer: WaitAnswer, play: "partial[Comparison] | None") -> WaitAnswer:
    """What follows from the thresholds that were chosen."""
    system, chosen = answer.system, answer.chosen
    whole = tuple(int(n) for n in chosen.thresholds)
    latency = tuple(
        n * each.output_length / each.arrival_rate
        for n, each in zip(whole, system.types, strict=True)
    )
    bound = None
    if chosen.memory <= answer.capacity:
        bound = theorem_1_gap(system, whole, answer.horizon, answer.capacity)
    answer = replace(answer, latency_at_least=latency, bound=bound)
    if play is None:
        return answer
    policy: Wait | NestedWait = Wait(whole)
    longest = max(latency)
    if answer.nested is not None:
        segments = answer.nested.chosen.segments
        policy = NestedWait(segments.ends, answer.nested.chosen.thresholds)
        longest = answer.nested.chosen.latency_at_least
    room, until = int(answer.capacity), answer.horizon
    try:
        runs = play(system, policy, capacity=room, longest=longest, most_time=until)
    except InputError as error:
        if error.argument == "duration" and play.keywords["duration"] is not None:
            raise
        return replace(answer, not_simulated=error)
    return replace(answer, runs=runs)


def _plain(value: object) -> object:
    return str(value) if isinstance(value, Fraction) else value


def _rate_factor(system: WaitSystem, capacity: Fraction) -> Fraction | None:
    """By bisection: the least whole thresholds rise with the rates, and their memory with them."""

    def fits(steps: int) -> bool:
        scaled = system.scaled(Fraction(steps, _STEPS))
        return integer_thresholds(scaled).memory <= capacity

    if sum((each.lifetime_cost for each in system.types), Fraction(0)) > capacity:
        return None  # every threshold is 1 at least
    if fits(_STEPS):
        return Fraction(1)
    if not fits(1):
        return Fraction(0)
    low, high = 1, _STEPS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return Fraction(low, _STEPS)


def shown(value: Exact) -> str:
    """Whole numbers in full, others to six digits."""
    return f"{value.numerator:,}" if value.denominator == 1 else f"{float(value):,.6g}"
