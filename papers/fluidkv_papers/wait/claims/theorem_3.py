"""WAIT, Theorem 3: rates that change in time, by a common factor or with the shares of outputs."""

from fractions import Fraction

from fluidkv import exact, serving, wait
from fluidkv.ledger import Evidence, Finding, Origin, flint
from fluidkv.runs.rates import VaryingRates
from fluidkv.wait import theory
from fluidkv_papers.wait.instances.measured import counted, first_queue
from fluidkv_papers.wait.instances.nested import (
    INSTANCE,
    NESTED,
    PIECE,
    RUNS,
    instance,
    varying_runs,
)
from fluidkv_papers.wait.instances.statistics import ERRORS, mean_and_error
from fluidkv_papers.wait.paper import statements

CLAIMS = statements(origin=Origin.READING, evidence=Evidence.SAMPLED)

_LONG, _ENDS = 300, (100, 300)  # horizons after as many high pieces as low ones
_DELTA = Fraction(1, 10)

# --- a common factor ----------------------------------------------------------------------------


@CLAIMS.claim(
    "theorem-3.frequency.common-factor", "Theorem 3", checked=f"{INSTANCE}: {RUNS} runs (seed 3)"
)
def _common_factor() -> Finding:
    """With rates that change by a common factor, (14) with the worst rates is exceeded with
    probability 1/10 at most."""
    capacity = wait.theorem_2_memory(instance(), NESTED, 1, _LONG, _DELTA, per_kv_token=0).capacity
    note = f"n = {NESTED}, horizon {_LONG}, rates halved for every other {PIECE} d0."
    return counted(varying_runs(_LONG).peak_held.values, capacity, _DELTA, note)


@CLAIMS.claim(
    "theorem-3.throughput.common-factor",
    "Theorem 3",
    checked=f"{INSTANCE}: {RUNS} runs (seed 3) to each of T = {_ENDS[0]}, {_ENDS[1]}",
)
def _gap() -> Finding:
    """With rates that change by a common factor, thresholds for the worst rates let the throughput
    gap vanish as the horizon grows.

    Paper: asymptotically optimal throughput under bounded latency"""
    # Prompts in the system where the same two pieces have just ended.
    lost = [mean_and_error(runs.arrived - runs.completed) for runs in map(varying_runs, _ENDS)]
    (first, wide), (last, narrow) = lost
    grows = last - first > ERRORS * (wide**2 + narrow**2) ** 0.5
    shown = ", ".join(f"{mean:.3f} ± {error:.3f}" for mean, error in lost)
    return Finding(
        not grows or shown,
        f"{shown} prompts at T = {', '.join(map(str, _ENDS))}",
        note=f"n = {NESTED}; {RUNS} runs (seed 3), rates halved for every other {PIECE} d0, ± one "
        f"standard error, {ERRORS} of which are required. What is in the system and does not grow "
        "is a gap like 1 / T.",
    )


@CLAIMS.claim(
    "theorem-3.latency.common-factor",
    "Theorem 3; appendix D.3",
    checked=f"{INSTANCE}: {RUNS} runs (seed 3) to each of T = {_ENDS[0]}, {_ENDS[1]}",
)
def _latency() -> Finding:
    """With rates that change by a common factor, thresholds for the worst rates keep the mean
    latency bounded.

    Paper: asymptotic optimal throughput under bounded latency and TTFT
    Note: The order is lost. Required: three times the horizon adds less than a tenth; what grows
    like its root would add seven tenths."""
    # Mean number in the system over the mean rate, which is 3/2 up to both ends (Little).
    found = [mean_and_error(varying_runs(end).in_system) for end in _ENDS]
    (first, _), (last, _) = found
    bounded = last - first < first / 10
    return Finding(
        bounded or f"{first:.3f}, {last:.3f}",
        ", ".join(f"{mean / 1.5:.3f}" for mean, _ in found)
        + f" d0 up to T = {_ENDS[0]}, {_ENDS[1]}",
    )


CLAIMS.claim(
    "appendix-d-1.mean-queue",
    "appendix D.1",
    "With rates that change, the mean queue before segment 1 is at most n_1 + Var / (2 "
    "|drift|) at the worst of them.",
    checked=f"{INSTANCE}: {RUNS} runs (seed 3) to T = {_LONG}",
    kind="lemma",
)(lambda: first_queue(varying_runs(_LONG), f"Rates halved for every other {PIECE} d0."))


# --- shares that change -------------------------------------------------------------------------

_RATES = ((1, 1), (Fraction(1, 2), 1))  # (short, long) in turn: 2 in all, or two thirds long
_PIECE, _HORIZON, _TABLES = 20, 100, 200
_THRESHOLDS = (5, 4)  # with the least ones, (3, 3), the queue before segment 2 cannot grow


@CLAIMS.claim(
    "theorem-3.frequency.shares",
    "Theorem 3",
    "With rates and shares that change, (14) with the worst of both is exceeded with "
    f"probability {_DELTA} at most.",
    checked=f"l = 1, outputs 1 and 2: {_TABLES} runs of single prompts, {_HORIZON} d0",
)
def _shares() -> Finding:
    worst = theory.bounds.worst_case_segments(1, (1, 2), _RATES)
    capacity = wait.theorem_2_memory(
        worst, _THRESHOLDS, 1, _HORIZON, _DELTA, per_kv_token=0
    ).capacity
    system = wait.WaitSystem([wait.PromptType(1, 1, 1), wait.PromptType(1, 1, 2)], 1, 0)
    starts = range(0, _HORIZON, _PIECE)
    pieces = [[float(rate) for rate in _RATES[i % 2]] for i in range(len(starts))]
    rates = VaryingRates.steps(list(starts), pieces)
    found = wait.run_policy(
        [
            wait.poisson_prompts(system, rng=seed, horizon=float(_HORIZON), rates=rates)
            for seed in range(_TABLES)
        ],
        wait.NestedWait((1, 2), _THRESHOLDS),
        clock=serving.IterationClock(1.0, 0.0),
        horizon=float(_HORIZON),
        keep_requests=False,
        backend="reference",
    )
    peaks = found.peak_tokens.max("window").values
    return counted(
        peaks,
        capacity,
        _DELTA,
        f"n = {_THRESHOLDS}; worst rates {worst.rates[0]}, {worst.rates[1]}; shares point by "
        f"point; the most held is {int(peaks.max())}.",
    )


_MEAN = Fraction(49, 10)  # long prompts in the first half of each unit of time, short in the other
_BATCH = 10


def _tent(time: Fraction) -> Fraction:
    """Integral from 0 of a rate that rises from 0 at 0 to 4 at 1/4, falls to 0 at 1/2 and stays
    there up to 1, over and over: 1 each time."""
    whole, part, quarter = time // 1, time % 1, Fraction(1, 4)
    first, second = min(part, quarter), min(max(part - quarter, Fraction(0)), quarter)
    return Fraction(whole) + 8 * first**2 + 4 * second - 8 * second**2


def _window_shares() -> set[Fraction]:
    """Share of long prompts in windows of one unit of time; fewer than a batch come in each."""
    found = set()
    for start in range(32):
        low, high = Fraction(start, 16), Fraction(start, 16) + 1
        half = Fraction(1, 2)  # short prompts come half a unit later
        long = _MEAN * (_tent(high) - _tent(low))
        short = _MEAN * (_tent(high + half) - _tent(low + half))
        if long + short >= _BATCH:
            raise ArithmeticError("the first line of (15) is broken")
        found.add(long / (long + short))
    return found


@CLAIMS.undecided(
    "theorem-3.windows", "equation (15); appendix D.2", evidence=Evidence.BALL, kind="theorem"
)
def _windows() -> Finding:
    """Binomial(n_1, p*) dominates who goes on from segment 1, p* read as the largest share in a
    window of Delta T.

    Checked: one pattern of continuous rates
    Paper: (15) speaks of arrivals accumulated over Delta T; the formula of p* is lost"""
    # P(the first ten prompts are all long) >= P(ten come in the first half unit).
    from fluidkv.exact.precision import working

    (share,) = _window_shares()
    with working(128):
        mean = exact.to_ball(_MEAN)
        term, fewer = flint.arb(1), flint.arb(0)
        for k in range(_BATCH):
            fewer += term
            term = term * mean / (k + 1)
        chance = 1 - (-mean).exp() * fewer
        binomial = share**_BATCH
        above = chance > flint.fmpq(binomial.numerator, binomial.denominator)
    return Finding(
        not above
        or f"long prompts come in the first half of each unit of time, {_MEAN} in the mean, short "
        f"ones in the other; n_1 = {_BATCH}, Delta T = 1: all of the first batch go on with a "
        f"chance of {chance.str(3, radius=False)}, Binomial({_BATCH}, {share}) says "
        f"{float(binomial):.2e}",
        "with the largest share at any time, here 1, it is dominated",
        note="Rates are continuous: each rises evenly to "
        f"{4 * _MEAN} per unit of time and falls again in its half. In every window of one unit "
        f"half are long, and {2 * _MEAN} < n_1 come. This reading fails; read as the largest "
        "share at any time it holds (wait.lemma-9.thinned).",
    )
