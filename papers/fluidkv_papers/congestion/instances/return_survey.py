"""Starts of every kind, followed until they return: what the claims, the table and the figure use.

`main` prints the table of which docs/global_convergence.md shows a part (minutes).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import gcd

from fluidkv import exact, fluid, runs
from fluidkv.ledger import np
from fluidkv.workload import RequestClass, System, Workload

SEED = 20260
HORIZON = 200_000
"""Iterations. Just above the threshold modes decay by a millionth in an iteration, and the slowest
return that was met took 62,100."""

STARTS, QUICK_HORIZON = 200, 20_000
"""Of the claims: iterations of which the slowest return met there takes a tenth."""

SHARES = (Fraction(1, 20), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(19, 20))


@dataclass(frozen=True)
class Survey:
    """What became of the starts at one input length.

    Fields:
        mix, input_length: the system; its capacity scales all masses and nothing else.
        least: l0_min of the mix, certified on both sides.
        starts: how many: every burst, the rest uniform, sparse, near-pulses and below capacity.
        returned: to the eviction-free equilibrium.
        periods: of those that repeat themselves instead.
        slowest: iterations of the slowest return.
        last_eviction: the last of any start that returned.
        final: cohort masses at the end of one start that did not return, and its period; or None.
    """

    mix: "exact.LengthMix"
    input_length: Fraction | int
    least: int
    starts: int
    returned: int
    periods: tuple[int, ...]
    slowest: int
    last_eviction: int
    final: tuple[tuple[float, ...], int] | None

    @property
    def all_return(self) -> bool:
        return self.returned == self.starts


def survey(
    mix: "exact.LengthMix",
    input_length: Fraction | int,
    *,
    least: int,
    count: int,
    seed: int = SEED,
    horizon: int = HORIZON,
) -> Survey:
    """Follow the bursts and about `count` other starts."""
    system = system_of(mix, input_length)
    families = fluid.start_families(runs.random_key(seed), system, count=count)
    starts = np.concatenate(list(families.values()))
    found = fluid.convergence(system, starts, iterations=horizon)
    back = found.outcome.values == fluid.RETURNED
    others = np.flatnonzero(~back)
    # One whose period is known, if there is one: that is what can be confirmed exactly.
    period = found.period.values
    shown = others[np.argmax(period[others])] if others.size else None
    return Survey(
        mix=mix,
        input_length=input_length,
        least=least,
        starts=len(starts),
        returned=int(back.sum()),
        periods=tuple(int(n) for n in np.unique(period[others]) if n > 0),
        slowest=int(found.settled.values.max()),
        last_eviction=int(found.last_eviction.values[back].max(initial=0)),
        final=None
        if shown is None
        else (tuple(map(float, found.final_state.values[shown])), int(period[shown])),
    )


@cache
def survey_at(pair: tuple[int, int], share: Fraction, factor: int, more: int) -> Survey:
    """What became of all starts of a pair at factor * l0_min + more."""
    mix = exact.two_lengths(*pair, share)
    least = threshold(mix)
    length = factor * max(least, 1) + more
    return survey(mix, length, least=least, count=STARTS, horizon=QUICK_HORIZON)


def system_of(mix: "exact.LengthMix", input_length: Fraction | int) -> System:
    """The mix at an input length, also between two whole ones, with little capacity.

    V is linear in the input length. So a class half of whose requests have an input of 2 tokens and
    half one of 3 moves on the cohort manifold as if all had 2 1/2. Capacity scales all masses and
    matters to nothing here.
    """
    classes = []
    for length, share, ratio in zip(mix.decode_lengths, mix.shares, mix.input_ratios, strict=True):
        tokens, rest = divmod(ratio * input_length, 1)
        for more, part in ((0, 1 - rest), (1, rest)):
            if part:
                classes.append(RequestClass(int(tokens) + more, length, share * part))
    workload = Workload(tuple(classes))
    return System(workload, workload.largest_footprint + 1)


def threshold(mix: "exact.LengthMix") -> int:
    """l0_min, certified stable there and not one token below."""
    found = exact.input_threshold(mix)
    if found.least is None:
        raise ArithmeticError(f"no threshold of {mix.decode_lengths}")
    return found.least


def coprime_pairs(longest: int, *, shortest: int = 1) -> Iterator[tuple[int, int]]:
    """a < n <= longest without a common divisor, a at least `shortest`."""
    for n in range(2, longest + 1):
        yield from ((a, n) for a in range(shortest, n) if gcd(a, n) == 1)


def surveys(
    pairs: Iterable[tuple[int, int]],
    shares: Iterable[Fraction] = SHARES,
    *,
    beyond: Iterable[int] = (0, 1),
    factors: Iterable[int] = (2,),
    count: int = 400,
) -> Iterator[Survey]:
    """At l0_min plus each of `beyond` and times each of `factors`; l0 of at least 1."""
    shares = tuple(shares)
    for pair in pairs:
        for share in shares:
            mix = exact.two_lengths(*pair, share)
            least = threshold(mix)
            first = max(least, 1)  # inputs have at least one token
            lengths = {first + more for more in beyond} | {first * times for times in factors}
            for length in sorted(lengths):
                yield survey(mix, length, least=least, count=count)


def named(s: Survey) -> str:
    """Short name of the system of a survey."""
    a, n = s.mix.decode_lengths
    return f"({a}, {n}), p = {s.mix.shares[0]}, l0 = {s.input_length}"


def main() -> None:
    """Print the table: one row for each pair, all shares together, and the exceptions."""
    exceptions = []
    print("| pair | inputs | starts | not returned | slowest return | at |")
    print("|---|---|---:|---:|---:|---|")
    total = 0
    for pair in coprime_pairs(12):
        for inputs, beyond, factors in (
            ("l0_min", (0,), ()),
            ("l0_min + 1, 2 l0_min", (1,), (2,)),
        ):
            found = list(surveys([pair], beyond=beyond, factors=factors, count=1000))
            starts = sum(s.starts for s in found)
            lost = sum(s.starts - s.returned for s in found)
            slow = max(found, key=lambda s: s.slowest)
            exceptions += [s for s in found if not s.all_return]
            total += starts
            print(
                f"| {pair} | {inputs} | {starts:,} | {lost:,} | {slow.slowest:,} "
                f"| p = {slow.mix.shares[0]}, l0 = {slow.input_length} |",
                flush=True,
            )
    print(f"\n{total:,} starts. Exceptions:\n")
    for s in exceptions:
        cycles = f", periods {s.periods}" if s.periods else ""
        print(f"- {named(s)}: {s.starts - s.returned} of {s.starts} do not return{cycles}")
