"""CacheOPT, section 3.3.2: the weights of case 3.

Case 3: n requests demand M_i = s^p_i + s^o_i each, more than the A' tokens there are. Request i is
given A_i = A' w_i / sum w, with w_i = (RT_i / sum RT) (s^p_i / sum s^p); its cut is M_i - A_i.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

from fluidkv.ledger import Origin, Range
from fluidkv_papers.cacheopt.paper import statements

CLAIMS = statements()
SECTION_3_3_2 = CLAIMS.section("section-3-3-2", "section 3.3.2, case 3")


@dataclass(frozen=True)
class Demand:
    """What the weights know of a request.

    Fields:
        slack: RT, time left to its objective; prompt, output: s^p and s^o, tokens.
    """

    slack: int
    prompt: int
    output: int

    @property
    def tokens(self) -> int:
        """M."""
        return self.prompt + self.output

    def __str__(self) -> str:
        return f"(RT {self.slack}, prompt {self.prompt}, output {self.output})"


Batch = tuple[Demand, ...]


def given(batch: Batch, available: int, *, by_output: bool = False) -> list[Fraction]:
    """A_i of case 3.

    Args:
        by_output: take s for the predicted output, which the sentence speaks of, not the prompt.
    """
    lengths = [r.output if by_output else r.prompt for r in batch]
    slack, length = sum(r.slack for r in batch), sum(lengths)
    weights = [
        Fraction(r.slack, slack) * Fraction(s, length) for r, s in zip(batch, lengths, strict=True)
    ]
    return [available * w / sum(weights) for w in weights]


def _cuts(batch: Batch, available: int, *, by_output: bool = False) -> list[Fraction]:
    shares = given(batch, available, by_output=by_output)
    return [r.tokens - a for r, a in zip(batch, shares, strict=True)]


def _batches(least: int = 1) -> Iterator[tuple[Batch, int]]:
    """(batch, A') of two requests with numbers up to 3, by the sum of all numbers."""
    single = [Demand(*x) for x in product(range(least, 4), range(1, 4), range(1, 4))]
    pairs = [pair for pair in product(single, repeat=2) if any(r.slack for r in pair)]
    pairs.sort(key=lambda pair: sum(r.slack + r.tokens for r in pair))
    for pair in pairs:
        for available in range(1, sum(r.tokens for r in pair)):
            yield pair, available


_PAIRS = Range(
    "two requests with times and lengths up to 3, every A' below what they demand", _batches
)


def _named(batch: Batch, available: int) -> str:
    shares = ", ".join(map(str, given(batch, available)))
    return f"{' and '.join(map(str, batch))}, A' = {available}: given {shares}"


@SECTION_3_3_2.fails("looser", over=replace(_PAIRS, name=_named))
def _looser(batch: Batch, available: int) -> bool:
    """Of two requests with the same prompt, the one with the looser objective and the longer
    predicted output is cut more.

    Ours: it may be cut no more, or less: it is given more
    Paper: a request with a looser SLO and a longer predicted output should have a higher cut
    Note: What is given grows with the weight, and the weight with the time left.
    Holds: section-3-3-2.looser-alone, section-3-3-2.longer.by-prompt"""
    tight, loose = batch
    both = tight.slack < loose.slack and tight.output < loose.output
    cuts = _cuts(batch, available)
    return not both or tight.prompt != loose.prompt or cuts[1] > cuts[0]


@SECTION_3_3_2.claim("looser-alone", over=_PAIRS, origin=Origin.READING)
def _looser_alone(batch: Batch, available: int) -> bool:
    """Of two requests alike but for their time left, the one with the looser objective is cut less.

    Ours: always: it is given more
    Paper: a looser SLO [...] a higher demand cut"""
    tight, loose = batch
    alike = tight.slack < loose.slack and replace(tight, slack=loose.slack) == loose
    cuts = _cuts(batch, available)
    return not alike or cuts[1] < cuts[0]


@SECTION_3_3_2.claim("longer.by-prompt", over=replace(_PAIRS, name=_named))
def _longer(batch: Batch, available: int) -> bool:
    """Of two requests alike but for their predicted output, the one with the longer is cut more.

    Ours: both are given as much
    Paper: and with a longer predicted output length
    Note: The weight has the prompt (Table 2), not the predicted output, which the sentence names.
    """
    short, long = batch
    alike = short.output < long.output and replace(short, output=long.output) == long
    cuts = _cuts(batch, available)
    return not alike or cuts[1] > cuts[0]


@SECTION_3_3_2.fails("longer.by-output", over=_PAIRS, origin=Origin.READING)
def _longer_by_output(batch: Batch, available: int) -> bool | str:
    """With the predicted output in the weight in place of the prompt, of two requests alike but for
    their predicted output, the one with the longer is cut more.

    Ours: it may be given more by more than it demands more
    Paper: and with a longer predicted output length"""
    short, long = batch
    if short.output >= long.output or replace(short, output=long.output) != long:
        return True
    cuts = _cuts(batch, available, by_output=True)
    return cuts[1] > cuts[0] or (
        f"{short} and {long}, A' = {available}: cut by {cuts[0]} and {cuts[1]}"
    )


@SECTION_3_3_2.fails("within-demand", over=replace(_PAIRS, name=_named), origin=Origin.READING)
def _within_demand(batch: Batch, available: int) -> bool:
    """Nobody is given more than it demands.

    Ours: weights do not know demands
    Paper: to match its total demand as closely as possible
    Note: What is too much for one is missing for the others.
    Holds: section-3-3-2.all-given"""
    return min(_cuts(batch, available)) >= 0


@SECTION_3_3_2.claim("all-given", ", with Table 2", over=_PAIRS)
def _all_given(batch: Batch, available: int) -> bool:
    """What is given is A' in all, and the cuts are E_kvc.

    Ours: exactly
    Paper: A_i = A' w_i / sum w_i; E_kvc = sum M_i - A
    Note: So the sums over RT and s^p that w_i is divided by change nothing."""
    excess = sum(r.tokens for r in batch) - available
    plain = [r.slack * r.prompt for r in batch]
    same = given(batch, available) == [Fraction(available * w, sum(plain)) for w in plain]
    return same and sum(_cuts(batch, available)) == excess


@SECTION_3_3_2.fails(
    "most-urgent",
    over=Range(
        "two requests with times 0 to 3 and lengths up to 3, not both at 0",
        lambda: _batches(0),
        name=_named,
    ),
    origin=Origin.READING,
)
def _most_urgent(batch: Batch, available: int) -> bool:
    """A request that has no time left is given something.

    Ours: nothing: its weight is 0
    Paper: critical requests will join the KVC allocation
    Note: Critical requests are those whose time left is about that of an iteration."""
    return min(given(batch, available)) > 0
