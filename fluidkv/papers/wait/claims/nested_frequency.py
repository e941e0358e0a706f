"""WAIT, Theorems 2 to 4: how often memory is exceeded in runs, and how loose the bound is.

Runs of counts (`fluidkv.wait.chain.simulate`), from the empty system to the horizon, in the
capacity of (14); those of Theorem 4, whose segments hold several outputs, are of single prompts.
Nothing is evicted: a run counts as exceeded from its first iteration above the
capacity on.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Claim, Outcome
from fluidkv.ledger.outcomes import verdict
from fluidkv.papers.wait.claims.nested_instances import (
    FOUR_CLOCK,
    INSTANCE,
    NESTED,
    RUNS,
    at_most,
    four,
    instance,
    instance_runs,
    mean_and_error,
)
from fluidkv.papers.wait.paper import wait
from fluidkv.verdict import Evidence

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr

    from fluidkv.wait.segments import Segments

_DELTAS = ((1, Fraction(1, 10)), (2, Fraction(1, 100)))  # seed, delta: runs of their own
_FOUR = (7, 6, 5, 3)  # the least whole thresholds there
_LONG, _SHORT = 300, 200  # horizons of the instance and of the four segments
_PIECE = 25  # d0 between changes of the rate
_ENDS = (100, _LONG)  # after as many high pieces as low ones
_ERRORS = 5  # standard errors allowed; a right record fails one time in a million at most
_MERGED, _MERGED_N = (4, 8), (8, 5)  # ends of merged segments, thresholds with slack in (16)
_MERGED_RUNS, _MERGED_HORIZON = 200, 60


@dataclass(frozen=True)
class _Case:
    name: str
    said: str
    segments: "Callable[[], Segments]"
    thresholds: tuple[int, ...]
    base: Fraction
    per_kv_token: Fraction
    horizon: int

    @cache  # noqa: B019 -- two cases, for as long as the module
    def peaks(self, seed: int) -> "np.ndarray":
        """Most tokens held in each run."""
        from fluidkv.wait.chain.simulate import simulate_chain

        if len(self.thresholds) == len(NESTED):
            return instance_runs(NESTED, self.horizon, seed).peak_held.values
        return simulate_chain(
            self.segments(),
            self.thresholds,
            base=self.base,
            per_kv_token=self.per_kv_token,
            runs=RUNS,
            horizon=float(self.horizon),
            seed=seed,
        ).peak_held.values

    def capacity(self, delta: Fraction) -> int:
        """The least whole one that satisfies (14)."""
        from fluidkv.wait.theory.bounds import theorem_2_memory

        return theorem_2_memory(
            self.segments(),
            self.thresholds,
            self.base,
            self.horizon,
            delta,
            per_kv_token=self.per_kv_token,
        ).capacity


_CASES = (
    _Case("two-segments", INSTANCE, instance, NESTED, Fraction(1), Fraction(0), _LONG),
    _Case("four-segments", "l = 4, outputs 2, 4, 6, 8", four, _FOUR, *FOUR_CLOCK, _SHORT),
)


def _counted(peaks: "np.ndarray", capacity: int, delta: Fraction, note: str) -> Outcome:
    over = int((peaks > capacity).sum())
    upper = at_most(over, peaks.size)
    return Outcome(
        verdict(upper <= delta),
        Evidence.SAMPLED,
        ours=f"{over} of {peaks.size} runs exceed {capacity} tokens: at most {upper:.2%}",
        paper=f"at most {delta}",
        note=f"At a confidence of 99 % (Clopper and Pearson, one-sided). {note}",
    )


def _frequency(case: _Case, seed: int, delta: Fraction) -> Outcome:
    return _counted(
        case.peaks(seed),
        case.capacity(delta),
        delta,
        f"n = {case.thresholds}, horizon {case.horizon}.",
    )


def _looseness(case: _Case) -> Outcome:
    """The largest memory of all runs, and the least capacity that would have done, by delta."""
    import numpy as np

    parts, bad = [], None
    for seed, delta in _DELTAS:
        peaks, capacity = np.sort(case.peaks(seed))[::-1], case.capacity(delta)
        # exceeded by at most delta of the runs
        enough = int(peaks[int(delta * peaks.size)])
        parts.append(
            f"delta = {delta}: {capacity} asked, {enough} enough, {int(peaks[0])} the most seen"
        )
        if enough >= capacity:
            bad = f"delta = {delta}: {enough} needed"
    return Outcome(
        verdict(bad is None),
        Evidence.SAMPLED,
        ours="; ".join(parts),
        paper="not given",
        note=f"Our own statement, about {RUNS} runs for each delta.",
        witness=bad or "",
    )


def _merged(delta: Fraction) -> Outcome:
    """Prompt by prompt: outputs 2 and 4 share a segment, 6 and 8 another."""
    from fluidkv.wait.model import PromptType, WaitSystem
    from fluidkv.wait.policy import NestedWait
    from fluidkv.wait.runs.arrivals import poisson_prompts
    from fluidkv.wait.runs.run import run_policy
    from fluidkv.wait.segments import Segments
    from fluidkv.wait.theory.bounds import theorem_2_memory
    from fluidkv.wait.theory.nested import check_nested

    system = WaitSystem([PromptType(2, 4, output) for output in (2, 4, 6, 8)], *FOUR_CLOCK)
    segments = Segments.of(system, _MERGED)
    if check_nested(segments, _MERGED_N, *FOUR_CLOCK):
        raise ArithmeticError("the thresholds break (16)")
    base, per_kv_token = FOUR_CLOCK
    capacity = theorem_2_memory(
        segments, _MERGED_N, base, _MERGED_HORIZON, delta, per_kv_token=per_kv_token
    ).capacity
    tables = [
        poisson_prompts(system, rng=seed, horizon=float(_MERGED_HORIZON))
        for seed in range(_MERGED_RUNS)
    ]
    found = run_policy(
        tables,
        NestedWait(_MERGED, _MERGED_N),
        clock=system.clock,
        horizon=float(_MERGED_HORIZON),
        keep_requests=False,
        backend="reference",
    )
    peaks = found.peak_tokens.max("window").values
    return _counted(
        peaks,
        capacity,
        delta,
        f"n = {_MERGED_N}, horizon {_MERGED_HORIZON}; the most held is {int(peaks.max())}.",
    )


@cache
def _varying_runs(horizon: int) -> "xr.Dataset":
    """All rates halve and double; shares stay. The worst rates are those of the instance."""
    from fluidkv.runs.rates import RateSteps
    from fluidkv.wait.chain.simulate import simulate_chain
    from fluidkv.wait.theory.bounds import worst_case_segments

    worst = worst_case_segments(1, (1, 2), [[1, 1], [Fraction(1, 2), Fraction(1, 2)]])
    if worst != instance():
        raise ArithmeticError("not the worst rates of the instance")
    starts = tuple(range(0, _LONG + _PIECE, _PIECE))
    steps = RateSteps(starts, tuple(1 if i % 2 == 0 else 0.5 for i in range(len(starts))))
    return simulate_chain(
        worst,
        NESTED,
        base=1,
        per_kv_token=0,
        runs=RUNS,
        horizon=float(horizon),
        seed=3,
        rate_steps=steps,
    )


def _varying_gap() -> Outcome:
    """Prompts in the system where the same two pieces have just ended."""
    lost = [mean_and_error(runs.arrived - runs.completed) for runs in map(_varying_runs, _ENDS)]
    (first, wide), (last, narrow) = lost
    grows = last - first > _ERRORS * (wide**2 + narrow**2) ** 0.5
    shown = ", ".join(f"{mean:.3f} ± {error:.3f}" for mean, error in lost)
    return Outcome(
        verdict(not grows),
        Evidence.SAMPLED,
        ours=f"{shown} prompts at T = {', '.join(map(str, _ENDS))}",
        paper="asymptotically optimal throughput under bounded latency",
        note=f"n = {NESTED}; {RUNS} runs (seed 3), rates halved for every other {_PIECE} d0, ± one "
        f"standard error, {_ERRORS} of which are required. What is in the system and does not grow "
        "is a gap like 1 / T.",
        witness=shown if grows else "",
    )


def _varying(delta: Fraction) -> Outcome:
    return _counted(
        _varying_runs(_LONG).peak_held.values,
        _CASES[0].capacity(delta),
        delta,
        f"n = {NESTED}, horizon {_LONG}, rates halved for every other {_PIECE} d0.",
    )


def _slug(delta: Fraction) -> str:
    return f"delta-{delta.numerator}-{delta.denominator}"


CLAIMS: tuple[Claim, ...] = (
    *(
        wait(
            f"theorem-2.frequency.{case.name}.{_slug(delta)}",
            f"The memory (14) is exceeded by the horizon with probability {delta} at most.",
            "Theorem 2",
            lambda case=case, seed=seed, delta=delta: _frequency(case, seed, delta),
            kind="theorem",
            checked=f"{case.said}: {RUNS} runs (seed {seed})",
        )
        for case in _CASES
        for seed, delta in _DELTAS
    ),
    *(
        wait(
            f"theorem-2.frequency.{case.name}.looseness",
            "Less memory than (14) would have been exceeded no more often than delta.",
            "beside Theorem 2 (our own)",
            lambda case=case: _looseness(case),
            kind="remark",
            checked=f"{case.said}: {RUNS} runs for each delta",
        )
        for case in _CASES
    ),
    wait(
        "theorem-3.frequency.common-factor",
        "With rates that change by a common factor, (14) with the worst rates is exceeded with "
        "probability 1/10 at most.",
        "Theorem 3",
        lambda: _varying(Fraction(1, 10)),
        kind="theorem",
        checked=f"{INSTANCE}: {RUNS} runs (seed 3)",
    ),
    wait(
        "theorem-3.throughput.common-factor",
        "With rates that change by a common factor, thresholds for the worst rates let the "
        "throughput gap vanish as the horizon grows.",
        "Theorem 3",
        _varying_gap,
        kind="theorem",
        checked=f"{INSTANCE}: {RUNS} runs (seed 3) to each of T = {_ENDS[0]}, {_ENDS[1]}",
    ),
    wait(
        "theorem-4.frequency",
        "With two outputs in each segment the memory (17) is exceeded by the horizon with "
        "probability 1/10 at most.",
        "Theorem 4",
        lambda: _merged(Fraction(1, 10)),
        kind="theorem",
        checked=f"l = 4, outputs 2, 4, 6, 8: {_MERGED_RUNS} runs of single prompts "
        f"(seeds 0 to {_MERGED_RUNS - 1})",
    ),
)
