"""WAIT, Theorem 4: two outputs in each segment, in runs of single prompts.

Outputs 2 and 4 share a segment, 6 and 8 another, with thresholds that have slack in (16).
"""

from fractions import Fraction
from functools import cache

from fluidkv import wait
from fluidkv.ledger import Evidence, Finding, Origin, np, xr
from fluidkv.wait.theory.nested import check_nested
from fluidkv_papers.wait.instances.measured import counted
from fluidkv_papers.wait.instances.nested import FOUR_CLOCK, four_types
from fluidkv_papers.wait.instances.statistics import ERRORS, mean_and_error
from fluidkv_papers.wait.paper import statements

CLAIMS = statements(origin=Origin.READING, evidence=Evidence.SAMPLED)

_ENDS, _THRESHOLDS = (4, 8), (8, 5)
_RUNS = {60: 200, 240: 50}  # horizon -> runs
_HORIZONS = (60, 240)
_DELTA = Fraction(1, 10)
_RANGE = "l = 4, outputs 2, 4, 6, 8: runs of single prompts"
_ORDERS = f"{_RANGE}, 200 to T = 60 and 50 to T = 240 (seeds from 0)"


def _segments() -> "wait.Segments":
    found = wait.Segments.of(four_types(), _ENDS)
    if check_nested(found, _THRESHOLDS, *FOUR_CLOCK):
        raise ArithmeticError("the thresholds break (16)")
    return found


@cache
def _runs(horizon: int) -> "xr.Dataset":
    _segments()
    system = four_types()
    return wait.run_policy(
        [
            wait.poisson_prompts(system, rng=seed, horizon=float(horizon))
            for seed in range(_RUNS[horizon])
        ],
        wait.NestedWait(_ENDS, _THRESHOLDS),
        clock=system.clock,
        horizon=float(horizon),
        backend="reference",
    )


@CLAIMS.claim(
    "theorem-4.frequency", "Theorem 4", checked=f"{_RANGE}, 200 to T = 60 (seeds 0 to 199)"
)
def _frequency() -> Finding:
    """With two outputs in each segment the memory (17) is exceeded by the horizon with probability
    1/10 at most."""
    base, per_kv_token = FOUR_CLOCK
    horizon = 60
    capacity = wait.theorem_2_memory(
        _segments(), _THRESHOLDS, base, horizon, _DELTA, per_kv_token=per_kv_token
    ).capacity
    peaks = _runs(horizon).peak_tokens.max("window").values
    note = f"n = {_THRESHOLDS}, horizon {horizon}; the most held is {int(peaks.max())}."
    return counted(peaks, capacity, _DELTA, note)


def _inside(horizon: int) -> "tuple[np.ndarray, np.ndarray]":
    """Of each run: prompts that came and are not complete at the end, and mean time spent."""
    run = _runs(horizon)
    came = np.isfinite(run.arrival.values) & (run.arrival.values <= horizon)
    done = run.finished.values & (run.last_token.values <= horizon)
    ends = np.where(done, run.last_token.values, float(horizon))
    spent = np.where(came, ends - run.arrival.values, 0.0).sum(axis=1) / came.sum(axis=1)
    return (came & ~done).sum(axis=1), spent


@CLAIMS.claim(
    "theorem-4.latency",
    "Theorem 4",
    "With two outputs in each segment mean latency stays bounded.",
    given=(1, "units of time in the system in the mean"),
    checked=_ORDERS,
)
@CLAIMS.claim(
    "theorem-4.throughput",
    "Theorem 4",
    "With two outputs in each segment the throughput gap vanishes as the horizon grows.",
    given=(0, "prompts that came are not complete"),
    checked=_ORDERS,
)
def _bounded(which: int, what: str) -> Finding:
    """Whether four times the horizon adds a quarter at most; what grows like its root doubles."""
    (first, wide), (last, narrow) = (mean_and_error(_inside(end)[which]) for end in _HORIZONS)
    error = (wide**2 + narrow**2) ** 0.5
    bounded = last - first + ERRORS * error < first / 4
    return Finding(
        bounded or f"{first:.3f}, {last:.3f} ± {error:.3f}",
        f"{first:.2f}, {last:.2f} {what} at T = {_HORIZONS[0]}, {_HORIZONS[1]}",
        paper="throughput so far away from optimal, and a latency; their orders are lost",
        note=f"n = {_THRESHOLDS}. Required: four times the horizon adds less than a quarter, "
        f"{ERRORS} standard errors included; what grows like its root doubles. What is in the "
        "system and does not grow is a gap like 1 / T.",
    )
