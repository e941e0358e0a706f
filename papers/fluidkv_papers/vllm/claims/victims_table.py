"""The victim rules on one bench: who wastes least, by how much, and who pays for it.

Differences to last come first, paired over the six draws of each setting; intervals are of 95 %
over draws. Statements are ours.
"""

import numpy as np

from fluidkv.ledger import Evidence, Finding, Origin, Statements
from fluidkv.serving.rules import Victim
from fluidkv_papers.vllm.instances.victim_rules import RULES
from fluidkv_papers.vllm.instances.victims_bench import DRAWS, SETTINGS, of

_CHECKED = "4 mixes, 2 loads, 2 sizes of memory, prompts whole and cut; six draws, on record"
CLAIMS = Statements(
    "vllm-54644", "vLLM", origin=Origin.READING, evidence=Evidence.SAMPLED, checked=_CHECKED
)

_PLACE = "RFC 54644, on a bench of ours"
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
def _is_faster() -> Finding:
    """Least computed first gives more tokens a second and a shorter 99th percentile of the time to
    first token.

    Paper: TTFT p99 down 21 percent"""
    bad, shown = None, []
    for whole in (True, False):
        speed = against_last(Victim.LEAST_COMPUTED, "output_per_s", whole=whole)
        wait = against_last(Victim.LEAST_COMPUTED, "ttft_p99", whole=whole)
        shown.append(f"tokens/s {_shown(speed)}, TTFT {_shown(wait)}")
        if speed[1] <= 0 or wait[2] >= 0:
            bad = bad or shown[-1]
    return Finding(bad, f"whole: {shown[0]}; cut: {shown[1]}")


@CLAIMS.claim(
    "bench.who-pays", _PLACE, checked=f"{_CHECKED}; mean longest gap of each third by length"
)
def _the_short_pay() -> Finding:
    """Under least computed first the shortest third of the requests wait longer in their midst.

    Paper: -"""
    bad, shown = None, []
    for whole in (True, False):
        short = against_last(Victim.LEAST_COMPUTED, "gap_short", whole=whole)
        long = against_last(Victim.LEAST_COMPUTED, "gap_long", whole=whole)
        shown.append(f"shortest third {_shown(short)}, longest {_shown(long)}")
        if short[1] <= 0 or long[0] >= short[0]:
            bad = bad or shown[-1]
    return Finding(bad, f"whole: {shown[0]}; cut: {shown[1]}")


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
def _most_computed_is_worst() -> Finding:
    """Most computed first has the highest tax and the fewest tokens a second of all.

    Paper: -"""
    bad, shown = None, []
    for whole in (True, False):
        taxes = {v: against_last(v, "tax", whole=whole)[0] for v in RULES}
        speeds = {v: against_last(v, "output_per_s", whole=whole)[0] for v in RULES}
        shown.append(f"{100 * taxes[Victim.MOST_COMPUTED]:+.1f} points")
        worst = max(taxes, key=lambda v: taxes[v]), min(speeds, key=lambda v: speeds[v])
        if set(worst) != {Victim.MOST_COMPUTED}:
            bad = bad or f"{worst}"
    return Finding(bad, f"whole {shown[0]}; cut {shown[1]}")
