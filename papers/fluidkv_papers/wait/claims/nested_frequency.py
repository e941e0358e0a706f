"""WAIT, Theorem 2: how often the memory (14) is exceeded in runs, and how loose it is.

Runs of counts (`fluidkv.wait.chain.simulate`), from the empty system to the horizon, in the
capacity of (14). Nothing is evicted: a run counts as exceeded from its first iteration above the
capacity on.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from fluidkv import wait
from fluidkv.ledger import Evidence, Finding, Origin, np
from fluidkv_papers.wait.instances import nested
from fluidkv_papers.wait.instances.measured import counted
from fluidkv_papers.wait.paper import statements

CLAIMS = statements(origin=Origin.READING, evidence=Evidence.SAMPLED)

_DELTAS = ((1, Fraction(1, 10)), (2, Fraction(1, 100)))  # seed, delta: runs of their own


@dataclass(frozen=True)
class _Case:
    name: str
    said: str
    thresholds: tuple[int, ...]  # the least whole ones
    base: Fraction
    per_kv_token: Fraction
    horizon: int

    @property
    def segments(self) -> "wait.Segments":
        return nested.instance() if self.thresholds == nested.NESTED else nested.four()

    def capacity(self, delta: Fraction) -> int:
        """The least whole one that satisfies (14)."""
        return wait.theorem_2_memory(
            self.segments,
            self.thresholds,
            self.base,
            self.horizon,
            delta,
            per_kv_token=self.per_kv_token,
        ).capacity


_CASES = (
    _Case("two-segments", nested.INSTANCE, nested.NESTED, Fraction(1), Fraction(0), 300),
    _Case("four-segments", "l = 4, outputs 2, 4, 6, 8", (7, 6, 5, 3), *nested.FOUR_CLOCK, 200),
)


@cache
def _peaks(case: _Case, seed: int) -> "np.ndarray":
    """Most tokens held in each run."""
    if case.thresholds == nested.NESTED:
        return nested.instance_runs(nested.NESTED, case.horizon, seed).peak_held.values
    return wait.simulate_chain(
        case.segments,
        case.thresholds,
        base=case.base,
        per_kv_token=case.per_kv_token,
        runs=nested.RUNS,
        horizon=float(case.horizon),
        seed=seed,
    ).peak_held.values


def _frequency(case: _Case, seed: int, delta: Fraction) -> Finding:
    note = f"n = {case.thresholds}, horizon {case.horizon}."
    return counted(_peaks(case, seed), case.capacity(delta), delta, note)


def _looseness(case: _Case) -> Finding:
    """The largest memory of all runs, and the least capacity that would have done, by delta."""
    parts, bad = [], None
    for seed, delta in _DELTAS:
        peaks, capacity = np.sort(_peaks(case, seed))[::-1], case.capacity(delta)
        # exceeded by at most delta of the runs
        enough = int(peaks[int(delta * peaks.size)])
        parts.append(
            f"delta = {delta}: {capacity} asked, {enough} enough, {int(peaks[0])} the most seen"
        )
        if enough >= capacity:
            bad = f"delta = {delta}: {enough} needed"
    return Finding(
        bad,
        "; ".join(parts),
        paper="not given",
        note=f"Our own statement, about {nested.RUNS} runs for each delta.",
    )


for each in _CASES:
    for draws, chance in _DELTAS:
        CLAIMS.claim(
            f"theorem-2.frequency.{each.name}.delta-{chance.numerator}-{chance.denominator}",
            "Theorem 2",
            f"The memory (14) is exceeded by the horizon with probability {chance} at most.",
            checked=f"{each.said}: {nested.RUNS} runs (seed {draws})",
            given=(each, draws, chance),
        )(_frequency)
for each in _CASES:
    CLAIMS.claim(
        f"theorem-2.frequency.{each.name}.looseness",
        "beside Theorem 2 (our own)",
        "Less memory than (14) would have been exceeded no more often than delta.",
        kind="remark",
        checked=f"{each.said}: {nested.RUNS} runs for each delta",
        given=(each,),
    )(_looseness)
