"""WAIT, Theorem 3: rates that change in time, where the shares of outputs change too."""

from fractions import Fraction

from fluidkv.ledger.claim import Claim, Outcome
from fluidkv.ledger.outcomes import holds_for, verdict
from fluidkv.papers.wait.claims.nested_instances import at_most
from fluidkv.papers.wait.paper import as_read, wait
from fluidkv.verdict import Evidence, Verdict

_RATES = ((1, 1), (Fraction(1, 2), 1))  # (short, long) in turn: 2 in all, or two thirds long
_PIECE, _HORIZON, _TABLES = 20, 100, 200
_DELTA = Fraction(1, 10)
_THRESHOLDS = (5, 4)  # with the least ones, (3, 3), the queue before segment 2 cannot grow
_MEAN = Fraction(49, 10)  # long prompts in the first half of each unit of time, short in the other
_BATCH = 10


def _frequency() -> Outcome:
    from fluidkv.runs.rates import VaryingRates
    from fluidkv.serving.clock import IterationClock
    from fluidkv.wait.model import PromptType, WaitSystem
    from fluidkv.wait.policy import NestedWait
    from fluidkv.wait.runs.arrivals import poisson_prompts
    from fluidkv.wait.runs.run import run_policy
    from fluidkv.wait.theory.bounds import theorem_2_memory, worst_case_segments

    worst = worst_case_segments(1, (1, 2), _RATES)
    capacity = theorem_2_memory(worst, _THRESHOLDS, 1, _HORIZON, _DELTA, per_kv_token=0).capacity
    system = WaitSystem([PromptType(1, 1, 1), PromptType(1, 1, 2)], 1, 0)
    starts = range(0, _HORIZON, _PIECE)
    pieces = [[float(rate) for rate in _RATES[i % 2]] for i in range(len(starts))]
    rates = VaryingRates.steps(list(starts), pieces)
    tables = [
        poisson_prompts(system, rng=seed, horizon=float(_HORIZON), rates=rates)
        for seed in range(_TABLES)
    ]
    found = run_policy(
        tables,
        NestedWait((1, 2), _THRESHOLDS),
        clock=IterationClock(1.0, 0.0),
        horizon=float(_HORIZON),
        keep_requests=False,
        backend="reference",
    )
    peaks = found.peak_tokens.max("window").values
    over = int((peaks > capacity).sum())
    upper = at_most(over, _TABLES)
    return Outcome(
        verdict(upper <= _DELTA),
        Evidence.SAMPLED,
        ours=f"{over} of {_TABLES} runs exceed {capacity} tokens: at most {upper:.1%}; the most "
        f"held is {int(peaks.max())}",
        paper=f"at most {_DELTA}",
        note=f"n = {_THRESHOLDS}; worst rates {worst.rates[0]}, {worst.rates[1]}; shares point by "
        "point. At a confidence of 99 % (Clopper and Pearson, one-sided).",
    )


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


def _windows() -> Outcome:
    """P(the first ten prompts are all long) >= P(ten come in the first half unit)."""
    from flint import arb, fmpq

    from fluidkv.exact.precision import working

    (share,) = _window_shares()
    with working(128):
        mean = arb(fmpq(_MEAN.numerator, _MEAN.denominator))
        term, fewer = arb(1), arb(0)
        for k in range(_BATCH):
            fewer += term
            term = term * mean / (k + 1)
        chance = 1 - (-mean).exp() * fewer
        binomial = share**_BATCH
        above = chance > fmpq(binomial.numerator, binomial.denominator)
    return as_read(
        holds_for(
            f"long prompts come in the first half of each unit of time, {_MEAN} in the mean, short "
            f"ones in the other; n_1 = {_BATCH}, Delta T = 1: all of the first batch go on with a "
            f"chance of {chance.str(3, radius=False)}, Binomial({_BATCH}, {share}) says "
            f"{float(binomial):.2e}"
            if above
            else None,
            ours="with the largest share at any time, here 1, it is dominated",
            paper="(15) speaks of arrivals accumulated over Delta T; the formula of p* is lost",
            note="Rates are continuous: each rises evenly to "
            f"{4 * _MEAN} a unit of time and falls again in its half. In every window of one unit "
            f"half are long, and {2 * _MEAN} < n_1 come. This reading fails; read as the largest "
            "share at any time it holds (wait.lemma-9.thinned).",
            evidence=Evidence.SAMPLED,
            refuted=Evidence.BALL,
        )
    )


CLAIMS: tuple[Claim, ...] = (
    wait(
        "theorem-3.frequency.shares",
        "With rates and shares that change, (14) with the worst of both is exceeded with "
        f"probability {_DELTA} at most.",
        "Theorem 3",
        _frequency,
        kind="theorem",
        checked=f"l = 1, outputs 1 and 2: {_TABLES} runs of single prompts, {_HORIZON} d0",
    ),
    wait(
        "theorem-3.windows",
        "Binomial(n_1, p*) dominates who goes on from segment 1, p* read as the largest share in a "
        "window of Delta T.",
        "equation (15); appendix D.2",
        _windows,
        kind="theorem",
        expected=Verdict.UNDECIDED,
        checked="one pattern of continuous rates",
    ),
)
