"""What Theorems 1 to 4 promise, in numbers; each assumption is checked before a number is given.

Theorem 4 (several output lengths a segment) is Theorem 2 on those segments: `theorem_2_memory`
takes any `Segments`. Theorem 3 (rates that vary) is Theorem 2 on constant rates that dominate:
`worst_case_segments` makes them.

Source: WAIT, Theorems 1 to 4 (equations 14, 15, 17), appendices B to D.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from flint import arb

from fluidkv.errors import InputError
from fluidkv.exact.precision import shown_alike, working
from fluidkv.record import Record
from fluidkv.wait.model import Exact, WaitSystem, count, exact, probability, several
from fluidkv.wait.segments import Segments
from fluidkv.wait.theory.boundary_queue import Eta, ends, eta, to_ball
from fluidkv.wait.theory.lindley import kingman
from fluidkv.wait.theory.nested import peak_memory, require_nested, require_thinning

_BITS = 128


@dataclass(frozen=True)
class TypeGap(Record):
    """Theorem 1 for one type.

    Fields:
        slack: n - lambda Delta T, at least 0; above 0 no number here grows with the horizon but
            for the throughput lost, which falls like 1 / T.
        queue: bound on the mean number that wait for their prefill, at any time up to the horizon.
        throughput_gap: bound on lambda l' less the mean of completed output tokens per unit time.
        latency: bound on the mean time that prompts spend here within the horizon, for each prompt
            that is expected to arrive.
        first_token: likewise, until the first output token.
    """

    slack: Fraction
    queue: float
    throughput_gap: float
    latency: float
    first_token: float


@dataclass(frozen=True)
class Theorem1Gap(Record):
    """Theorem 1 for a system; types in the order of the system.

    Fields:
        types: one a type.
        throughput_gap: bound on the fluid throughput less the mean throughput, tokens per unit of
            time over the horizon.

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem
        >>> from fluidkv.wait.theory.bounds import theorem_1_gap
        >>> system = WaitSystem([PromptType(1, 2, 1)], base=1, per_kv_token=Fraction(1, 10))
        >>> found = theorem_1_gap(system, [4], horizon=1000)
        >>> round(found.throughput_gap, 6), round(found.types[0].latency, 3)
        (0.0165, 16.5)
    """

    types: tuple[TypeGap, ...]
    throughput_gap: float


def theorem_1_gap(
    system: WaitSystem,
    thresholds: Iterable[int],
    horizon: Exact,
    capacity: Exact | None = None,
) -> Theorem1Gap:
    """Bounds on what WAIT loses up to a horizon, with constants; rounded up.

    Let c = n / Delta T >= lambda. Since the last moment at which fewer than n waited, each batch
    takes n of the type and lasts Delta T at most, so the number that waits at t is at most

        2 n - 1 + sup over u <= t of (arrivals in the last u) - c u.

    The mean of the supremum is at most sqrt(lambda T) (Lemma 4 on ever finer grids), and with slack
    at most lambda Delta T / (2 (n - lambda Delta T)), what Kingman's bound says of one Delta T
    (here exact: an M/D/1 queue). Besides, at most n are at each of the l' + 1 stages.

    Args:
        system: types and clock.
        thresholds: n_j, whole.
        horizon: T, above 0; exact.
        capacity: M, tokens; None: not asked.

    Raises:
        InputError: thresholds that break (11), or a number out of range.

    Examples:
        >>> from fluidkv.wait import PromptType, WaitSystem
        >>> from fluidkv.wait.theory.bounds import theorem_1_gap
        >>> system = WaitSystem([PromptType(1, 2, 1)], base=1, per_kv_token=Fraction(1, 10))
        >>> lost = [theorem_1_gap(system, [4], horizon).throughput_gap for horizon in (100, 1000)]
        >>> [round(each, 6) for each in lost]  # with slack it falls like 1 / horizon
        [0.165, 0.0165]
    """
    from fluidkv.wait.theory.thresholds import check_thresholds

    given = several("thresholds", thresholds, "integers of at least 1")
    n = tuple(count("thresholds", each) for each in given)
    checked, time = check_thresholds(system, n, capacity), exact("horizon", horizon, above=0)
    gaps = []
    for each, size, slack in zip(system.types, n, checked.slack, strict=True):
        rate, output = each.arrival_rate, each.output_length
        with working(_BITS):
            swing = to_ball(rate * time).sqrt()
            if slack > 0:
                steady = kingman(-slack, rate * checked.iteration_time)
                swing = swing.min(to_ball(steady))
            queue = 2 * size - 1 + swing
            inside = queue + size * each.stages
            gap = TypeGap(
                slack=slack,
                queue=_up(queue),
                throughput_gap=_up(inside * output / to_ball(time)),
                latency=_up(inside / to_ball(rate)),
                first_token=_up((queue + 2 * size) / to_ball(rate)),
            )
        gaps.append(gap)
    total = math.fsum(gap.throughput_gap for gap in gaps)
    return Theorem1Gap(tuple(gaps), math.nextafter(total, math.inf))


@shown_alike
@dataclass(frozen=True)
class MemoryBound(Record):
    """KV tokens that are not exceeded up to a horizon, but with probability delta (14), (17).

    Fields:
        batch: M^pi, sum of n_k S_k; exact.
        queue: sum of (l + l'_(k-1)) n_k over k >= 2; exact.
        tail: sum of (l + l'_(k-1)) ln((L - 1) N / delta) / eta_k over k >= 2, in a ball.
        batches: N = floor(T / d0), as many as can end before the horizon.
        etas: eta_k for k = 2, 3, ...

    Examples:
        >>> from fluidkv.wait import Segments, theorem_2_memory
        >>> segments = Segments(3, ends=(1, 3), rates=(3, 1))
        >>> bound = theorem_2_memory(segments, (9, 4), base=1, horizon=100, delta=Fraction(1, 100))
        >>> bound.batch, bound.queue, bound.batches
        (Fraction(107, 1), Fraction(16, 1), 100)
        >>> round(float(bound.tail.mid()), 2), bound.capacity
        (39.53, 163)
    """

    batch: Fraction
    queue: Fraction
    tail: arb
    batches: int
    etas: tuple[Eta, ...]

    @property
    def total(self) -> arb:
        """The three terms together."""
        with working(_BITS):
            return to_ball(self.batch + self.queue) + self.tail

    @property
    def capacity(self) -> int:
        """The least whole capacity that certainly satisfies the bound, tokens.

        Raises:
            ArithmeticError: a total that is not finite. `theorem_2_memory` makes none.
        """
        with working(_BITS + self.total.bits()):
            whole = self.total.upper().ceil().unique_fmpz()
        if whole is None:
            raise ArithmeticError("a bound that is not finite")
        return int(whole)

    @property
    def upper(self) -> float:
        """A double at or above the total, tokens."""
        return ends(self.total)[1]


def theorem_2_memory(
    segments: Segments,
    thresholds: Iterable[int],
    base: Exact,
    horizon: Exact,
    delta: Exact,
    *,
    per_kv_token: Exact | None = None,
    per_prefill_token: Exact = 0,
    eta_from: Literal["exact", "lower"] = "exact",
) -> MemoryBound:
    """The memory of Nested WAIT, in three terms.

    Each boundary queue is above a level x after one of N batches with probability N e^(-eta x) at
    most; (L - 1) of them share delta. Who waits outside of a batch are at most n_k - 1 + x, and
    those inside are counted in M^pi. A queue that cannot grow (infinite eta) adds nothing to the
    tail; one segment has no boundary and no tail.

    Args:
        segments: one or several output lengths a segment (Theorem 2 or 4).
        thresholds: n_k, whole.
        base: d0, time of an iteration without tokens, above 0; exact.
        horizon: T, above 0; exact.
        delta: chance of more, in (0, 1); exact.
        per_kv_token: d1, to check all of (12). None: n_1 > r_1 Delta T is not checked. It keeps the
            first queue short, which holds no memory; the bound holds without.
        per_prefill_token: d2, together with d1. No other term has it: batches last d0 at least.
        eta_from: "exact", or "lower" for the paper's bound 8 (n_k - p_k n_(k-1)) / n_(k-1), which
            makes the tail larger. (Where eta is infinite, that is finite.)

    Raises:
        InputError: thresholds that break (12), or a number out of range.
        ArithmeticError: as `eta`, at a drift that is too small.

    Examples:
        >>> from fluidkv.wait import Segments, theorem_2_memory
        >>> segments = Segments(3, ends=(1, 3), rates=(3, 1))
        >>> bound = theorem_2_memory(segments, (9, 4), base=1, horizon=100, delta=Fraction(1, 100))
        >>> bound.capacity  # in 99 of 100 runs, no more tokens are held
        163
    """
    given = several("thresholds", thresholds, "integers of at least 1")
    n = tuple(count("thresholds", each) for each in given)
    d0, time = exact("base", base, above=0), exact("horizon", horizon, above=0)
    chance = probability("delta", delta)
    if eta_from not in ("exact", "lower"):
        raise InputError("eta_from", eta_from, "'exact' or 'lower'")
    if per_kv_token is None:
        require_thinning(segments, n)
    else:
        require_nested(segments, n, d0, per_kv_token, per_prefill_token)
    etas = tuple(
        eta(before, p, after) for before, p, after in zip(n, segments.thinning, n[1:], strict=False)
    )
    tokens, batches = segments.boundary_tokens, int(time // d0)
    return MemoryBound(
        batch=peak_memory(segments, n),
        queue=Fraction(sum(held * each for held, each in zip(tokens, n[1:], strict=True))),
        tail=_tail(tokens, etas, batches, chance, lower=eta_from == "lower"),
        batches=batches,
        etas=etas,
    )


def worst_case_segments(
    input_length: int,
    segment_ends: Iterable[int],
    low: Sequence[Sequence[Exact]],
    high: Sequence[Sequence[Exact]] | None = None,
) -> Segments:
    """Constant rates that dominate rates that vary: what Theorem 3 puts into Theorem 2.

    The aggregate rate is r*_1, the largest sum over segments; the share that goes on to segment k
    is p*_k, the largest at any time; and r*_k = r*_(k-1) p*_k. A prompt that came at time s goes on
    with its share at s, and a batch may hold prompts from any time: so p*_k is taken point by
    point. (Shares of what accumulates over a batch's duration are smaller and do not dominate: a
    burst of long outputs may fill a whole batch.)

    Args:
        input_length: l, tokens, common to all prompts.
        segment_ends: the last stage of each segment.
        low: the least rate of prompts that finish in each segment, [piece of time][segment]; exact,
            at least 0.
        high: likewise the largest; None: rates are constant within each piece, as in `low`.

    Raises:
        InputError: tables of different shapes, a rate below 0, high below low, or a segment that
            no prompt ever reaches.

    Examples:
        >>> from fluidkv.wait.theory.bounds import worst_case_segments
        >>> day, night = [4, 2], [1, 1]  # rates of short and of long prompts
        >>> segments = worst_case_segments(3, (1, 3), low=[day, night])
        >>> segments.rates, segments.thinning  # the rate of the day, the share of the night
        ((Fraction(6, 1), Fraction(3, 1)), (Fraction(1, 2),))
    """
    stops = several("segment_ends", segment_ends, "the last stage of each segment")
    least = _table("low", low, len(stops))
    most = least if high is None else _table("high", high, len(stops))
    pairs = [pair for rows in zip(least, most, strict=False) for pair in zip(*rows, strict=True)]
    if len(most) != len(least) or any(above < below for below, above in pairs):
        raise InputError("high", high, "a rate of at least `low` for each of its entries")
    rates = [max(sum(row, Fraction(0)) for row in most)]
    for k in range(1, len(stops)):
        # x / (a + x) rises with x and falls with a: the most that goes on, the least that ends
        shares = [
            going / (ending + going)
            for ending, going in (
                (row[k - 1], sum(above[k:], Fraction(0)))
                for row, above in zip(least, most, strict=True)
            )
            if going > 0
        ]
        if not shares:
            raise InputError("high", high, f"prompts that reach segment {k + 1} at some time")
        rates.append(rates[-1] * max(shares))
    return Segments(input_length, stops, tuple(rates))


def _tail(
    tokens: tuple[int, ...], etas: tuple[Eta, ...], batches: int, delta: Fraction, *, lower: bool
) -> arb:
    if not etas or not batches:  # no boundary, or no batch that could fill a queue
        return arb(0)
    with working(_BITS):
        folds = to_ball(len(etas) * batches / delta).log()
        per_fold = [1 / to_ball(each.lower) if lower else each.reciprocal for each in etas]
        return folds * sum((t * each for t, each in zip(tokens, per_fold, strict=True)), arb(0))


def _table(
    argument: str, rows: Sequence[Sequence[Exact]], segments: int
) -> list[tuple[Fraction, ...]]:
    what = f"rows of {segments} rates, one a segment"
    table = [
        tuple(exact(argument, rate, least=0) for rate in several(argument, row, what))
        for row in several(argument, rows, what)
    ]
    if not table or any(len(row) != segments for row in table):
        raise InputError(argument, rows, f"at least one row of {segments} rates, one a segment")
    return table


def _up(value: arb) -> float:
    return ends(value)[1]
