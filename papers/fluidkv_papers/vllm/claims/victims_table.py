"""The victim rules on one bench: who wastes least, by how much, and who pays for it.

Differences to last come first, paired over the six draws of each setting; intervals are of 95 %
over draws. Statements are ours.
"""

from collections.abc import Iterator

import numpy as np

from fluidkv.ledger import Evidence, Finding, Instance, Origin, Statements
from fluidkv.serving.rules import Victim
from fluidkv_papers.vllm.instances.victim_rules import RULES
from fluidkv_papers.vllm.instances.victims_bench import DRAWS, SETTINGS, of

_CHECKED = "4 mixes, 2 loads, 2 sizes of memory, prompts whole and cut; six draws, on record"
CLAIMS = Statements(
    "vllm-54644", "vLLM", origin=Origin.READING, evidence=Evidence.SAMPLED, checked=_CHECKED
)

_PLACE = "RFC 54644, on a bench of ours"
_PROMPTS = {True: "whole", False: "cut"}
_T = 2.571  # Student's t, five degrees of freedom, 95 %

Interval = tuple[float, float, float]
"""Mean, lower and upper end."""


def against_last(victim: Victim, name: str, *, whole: bool) -> Interval:
    """Difference of the tax; of other numbers the relative one, in the mean of the settings."""
    mine = [k for k, setting in enumerate(SETTINGS) if setting.whole is whole]
    ours, last = of(victim, name)[mine], of(Victim.LAST_ADMITTED, name)[mine]
    off = (ours - last) if name == "tax" else ours / last - 1
    draws = off.mean(axis=0)
    mean, half = float(draws.mean()), _T * float(draws.std(ddof=1)) / DRAWS**0.5
    return mean, mean - half, mean + half


def _shown(interval: Interval, unit: str = "%") -> str:
    mean, low, high = (100 * value for value in interval)
    return f"{mean:+.1f} ({low:+.1f} to {high:+.1f}) {unit}"


@CLAIMS.claim("bench.tax", _PLACE)
def _lowers_the_tax() -> Finding:
    """Least computed first lowers the tax where prompts are whole, and more where they are cut; so
    does fewest blocks, and no other rule does.

    Paper: lower"""
    bad, shown = None, []
    for whole in (True, False):
        found = {v: against_last(v, "tax", whole=whole) for v in RULES}
        lower = {v for v, (_, _, high) in found.items() if high < 0}
        if lower != {Victim.LEAST_COMPUTED, Victim.FEWEST_BLOCKS}:
            bad = bad or f"{'whole' if whole else 'cut'}: {sorted(v.name for v in lower)}"
        shown.append(_shown(found[Victim.LEAST_COMPUTED], "points"))
    more = against_last(Victim.LEAST_COMPUTED, "tax", whole=False)[2]
    if more >= against_last(Victim.LEAST_COMPUTED, "tax", whole=True)[1]:
        bad = bad or f"no more where cut: {shown}"
    return Finding(bad, f"whole {shown[0]}; cut {shown[1]}")


@CLAIMS.claim("bench.throughput", _PLACE)
def _is_faster() -> Iterator[Instance]:
    """Least computed first gives more tokens a second and a shorter 99th percentile of the time to
    first token.

    Paper: TTFT p99 down 21 percent"""
    for whole, name in _PROMPTS.items():
        speed = against_last(Victim.LEAST_COMPUTED, "output_per_s", whole=whole)
        wait = against_last(Victim.LEAST_COMPUTED, "ttft_p99", whole=whole)
        shown = f"{name}: tokens/s {_shown(speed)}, TTFT {_shown(wait)}"
        yield Instance(speed[1] > 0 and wait[2] < 0, shown)


@CLAIMS.claim(
    "bench.who-pays", _PLACE, checked=f"{_CHECKED}; mean longest gap of each third by length"
)
def _the_short_pay() -> Iterator[Instance]:
    """Under least computed first the shortest third of the requests wait longer in their midst.

    Paper: -"""
    for whole, name in _PROMPTS.items():
        short = against_last(Victim.LEAST_COMPUTED, "gap_short", whole=whole)
        long = against_last(Victim.LEAST_COMPUTED, "gap_long", whole=whole)
        shown = f"{name}: shortest third {_shown(short)}, longest {_shown(long)}"
        yield Instance(short[1] > 0 and long[0] < short[0], shown)


@CLAIMS.claim("bench.least-progressed", _PLACE)
def _least_progressed_is_last() -> bool | str:
    """Least progressed first, with outputs kept and the evicted at the head, is last come first.

    Ours: the same numbers
    Paper: -"""
    names = ("tax", "ttft_p99", "gap_p99", "output_per_s")
    off = max(
        float(np.abs(of(Victim.LEAST_PROGRESSED, n) - of(Victim.LAST_ADMITTED, n)).max())
        for n in names
    )
    return not off or f"differ by {off:g}"


@CLAIMS.claim("bench.worst", _PLACE)
def _most_computed_is_worst() -> Iterator[Instance]:
    """Most computed first has the highest tax and the fewest tokens a second of all.

    Paper: -"""
    for whole, name in _PROMPTS.items():
        taxes = {v: against_last(v, "tax", whole=whole)[0] for v in RULES}
        speeds = {v: against_last(v, "output_per_s", whole=whole)[0] for v in RULES}
        worst = {max(taxes, key=lambda v: taxes[v]), min(speeds, key=lambda v: speeds[v])}
        shown = f"{name} {100 * taxes[Victim.MOST_COMPUTED]:+.1f} points"
        yield Instance(worst == {Victim.MOST_COMPUTED}, shown, f"{worst}")
