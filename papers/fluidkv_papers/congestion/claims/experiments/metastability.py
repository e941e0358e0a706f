"""Congestion, sections 5.1 and 6.1 in whole requests: time to collapse, and the way back.

The setting of Figure 4 (M = 2000, l0 = 10, l1 = 40), Poisson arrivals, the rules of `restart`. The
paper does not ask how long a run stays smooth; where a statement is ours it says so. Small samples
here; larger ones in the figure `metastability` and in docs/metastability.md.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache

from fluidkv import serving
from fluidkv.ledger import Evidence, Finding, Instance, Origin, np, xr
from fluidkv.serving.metastability.cohorts import CohortState
from fluidkv.serving.metastability.collapse import CollapsedCycle
from fluidkv.serving.metastability.survival import hazard
from fluidkv.serving.metastability.times import Times
from fluidkv.serving.metastability.two_starts import two_starts
from fluidkv.workload import RequestClass
from fluidkv_papers.congestion.paper import statements

_REQUEST, _DECODE, _CAPACITY = RequestClass(10, 40), 40, 2000
_SEED, _STARTS = 26, 60
_BEST = Fraction(100, 61)  # x*; `figure-4.best-rate` derives it
_BELOW = Fraction(81, 50)  # a rate a little below it
_LOAD = 1.4
_OURS = "not a statement of the paper"
_HERE = "sections 5.1 and 6.1"
_COLLAPSED = f"{_STARTS} collapsed servers"
_SETTING = "one setting, fixed seeds"

CLAIMS = statements(origin=Origin.READING, evidence=Evidence.SAMPLED, checked=_SETTING)
SECTION_6_1_RECOVERY = CLAIMS.section("section-6-1.recovery", "sections 5.1 and 6.1")


def _limits(**settings) -> "serving.Limits":
    return serving.Limits(_CAPACITY, **settings)


@cache
def cycles() -> list[CollapsedCycle]:
    """What collapsed servers end on."""
    return serving.collapsed_cycles(_REQUEST, _limits(), rng=_SEED, runs=_STARTS, settle=40)


@cache
def collapsed() -> CohortState:
    return serving.collapsed_start(
        _REQUEST, _limits(), rng=_SEED, runs=_STARTS, backlog=200, settle=40
    )


@cache
def times(rate: float, capacity: int = _CAPACITY, runs: int = 200) -> Times:
    """To collapse, or 8,000 iterations without it."""
    limits = serving.Limits(capacity)
    return serving.time_to_collapse(_REQUEST, limits, rate, rng=_SEED, runs=runs, horizon=8000)


def _returns(rate: float, limits: "serving.Limits", horizon: int) -> Times:
    return serving.time_to_return(_REQUEST, limits, rate, collapsed(), rng=_SEED, horizon=horizon)


@CLAIMS.fails(
    "figure-4.whole-requests.collapsed-rate",
    "section 6.1, in whole requests",
    checked=_COLLAPSED,
    evidence=Evidence.EXACT,
)
def _collapsed_rate() -> Finding:
    """In whole requests too, throughput above the worst-cycle rate equals that rate.

    Paper: throughput is equal to the worst-cycle rate, 1.00
    Note: Whole requests with somebody always waiting repeat themselves exactly; the cycles are
    exact, how often each is met is sampled. Memory that a whole request leaves over lets a few more
    run to their end. In masses the statement holds.
    Holds: figure-4.collapsed"""
    found = cycles()
    others = [c for c in found if c.throughput != 1]
    return Finding(
        not others
        or f"a cycle of {others[0].period} iterations with {others[0].throughput} completions and "
        f"{others[0].preemptions} evictions per iteration",
        "; ".join(
            f"{c.throughput} = {float(c.throughput):.4f} in {c.runs} of {_STARTS} runs"
            for c in found
        ),
    )


@CLAIMS.undecided(
    "figure-4.whole-requests.within-a-horizon", "section 6.1", origin=Origin.REPRODUCTION
)
def _within_a_horizon() -> Finding:
    """In whole requests, a load above the worst-cycle rate brings lasting evictions.

    Checked: 400 runs of 8,000 iterations at rate 1.1
    Paper: for loads above the worst-cycle rate, persistent evictions and a growing queue
    Note: 400 runs from an empty server; collapsed: ten lifetimes in a row with evictions and a
    growing queue."""
    rate = 1.1
    seen = times(rate, runs=400)
    fit, last = hazard(seen.duration, seen.observed), seen.duration.max()
    share, low, high = serving.kaplan_meier(seen.duration, seen.observed).at([last])[0]
    return Finding(
        not (low > 0.5)
        or f"rate {rate}: {share:.1%} of the runs are smooth after {last:,} iterations",
        f"rate {rate}: {share:.1%} smooth after {last:,} iterations (95 %: {low:.1%} to "
        f"{high:.1%}); a mean time to collapse of at least {1 / fit.high:,.0f} (97.5 %)",
    )


@CLAIMS.claim("section-6-1.time-to-collapse.memoryless", _HERE, paper=_OURS)
def _memoryless() -> Iterator[Instance]:
    """Once the start is forgotten, the time to collapse is memoryless.

    Checked: 400 runs of 8,000 iterations at three rates
    Note: 400 runs a rate; p of a constant hazard after ten lifetimes, rejected below 0.001. That it
    is not rejected is no proof that it is constant."""
    for rate in (1.2, 1.25, 1.3):
        seen = times(rate, runs=400)
        p = serving.memoryless(
            seen.duration, seen.observed, after=10 * _DECODE, parts=6, resolution=_DECODE
        )
        fit = hazard(seen.duration, seen.observed)
        shown = (
            f"rate {rate}: mean {fit.mean_time:,.0f} (95 %: {1 / fit.high:,.0f} to "
            f"{1 / fit.low:,.0f}), p = {p:.2f}"
        )
        yield Instance(p > 0.001, shown, f"rate {rate}: p = {p:.1e}")


@CLAIMS.claim("section-6-1.time-to-collapse.memory", _HERE, paper=_OURS)
def _more_memory() -> Iterator[Instance]:
    """At one load, collapse is the rarer the more memory there is.

    Checked: three capacities at one load
    Ours: mean iterations to collapse at a load of 0.82 x*: {all}
    Note: 200 runs each, 8,000 iterations; 95 % intervals do not overlap."""
    before = 0.0
    for capacity in (2000, 4000, 8000):
        seen = times(0.82 * float(_BEST) * capacity / _CAPACITY, capacity)
        fit = hazard(seen.duration, seen.observed)
        shown = f"M = {capacity:,}: {fit.mean_time:,.0f}"
        yield Instance(1 / fit.high > before, shown, f"M = {capacity}")
        before = 1 / fit.low


@SECTION_6_1_RECOVERY.claim("shed", paper=_OURS)
def _shed() -> Finding:
    """Below the collapsed rate a collapsed server drains and is smooth again, above it not.

    Note: Fluid: the queue falls by the collapsed rate less the load, and at an empty queue the
    evictions end. With 60 of 60 the share is above 94 % with 97.5 % confidence."""
    below, above = (_returns(rate, _limits(), 4000) for rate in (0.8, 1.2))
    share = {rate: int(seen.observed.sum()) for rate, seen in ((0.8, below), (1.2, above))}
    return Finding(
        share == {0.8: _STARTS, 1.2: 0} or str(share),
        f"of {_STARTS} collapsed servers with 200 waiting {share[0.8]} return at 0.8, the slowest "
        f"after {below.duration.max():,} iterations, and {share[1.2]} at 1.2 in 4,000",
    )


@SECTION_6_1_RECOVERY.claim(
    "max-num-seqs",
    checked=f"{_COLLAPSED}, 2,000 iterations",
    ours=f"completions per iteration at a load of {_LOAD}, by max_num_seqs: {{all}}",
    paper=_OURS,
    note=f"{_STARTS} collapsed servers, 2,000 iterations: every queue still grows. The largest "
    "number that can never evict, M / (l0 + l1) = 40, completes 40 in l1 iterations: exactly what "
    "the worst cycle does.",
)
def _max_num_seqs() -> Iterator[Instance]:
    """At a load of 1.4 no max_num_seqs of 40, 48, 56 or 64 brings a collapsed server back."""
    for most in (_CAPACITY // (_REQUEST.input_length + _DECODE), 48, 56, 64):
        limits = _limits(max_num_seqs=most)
        found, _ = serving.serve_cohorts(
            _REQUEST, limits, _arrivals(2000), state=collapsed(), every=_DECODE
        )
        rate = found.completed[:, 20:].mean() / _DECODE
        grows = found.waiting[:, -1].min() >= 200
        yield Instance(grows, f"{most}: {rate:.3f}", f"max_num_seqs = {most}")


@SECTION_6_1_RECOVERY.claim(
    "max-num-seqs.near-collapsed-rate", checked=f"{_COLLAPSED}, 12,000 iterations", paper=_OURS
)
def _bound_near_the_collapsed_rate() -> Finding:
    """At a load of 1.02 a max_num_seqs of 48 brings more collapsed servers back than none."""
    # The same bounds do help where hardly more comes than a collapsed server completes.
    rate, horizon = 1.02, 12_000
    without, bounded = (
        _returns(rate, limits, horizon).observed for limits in (_limits(), _limits(max_num_seqs=48))
    )
    # The same servers and arrivals twice: by chance a server that returns in one of the two runs
    # only does so in either alike.
    more, less = int((bounded & ~without).sum()), int((without & ~bounded).sum())
    counts = f"{int(bounded.sum())} with max_num_seqs = 48, {int(without.sum())} without"
    return Finding(
        more - less > 2 * (more + less) ** 0.5 or counts,
        f"of {_STARTS} collapsed servers with 200 waiting, at {rate}, these return within "
        f"{horizon:,} iterations: {counts}",
        note=f"{more} return with the bound only and {less} without it only; two standard "
        "deviations are asked. At loads of 1.1 and more none did, with or without.",
    )


@CLAIMS.claim(
    "section-5-1.transient.whole-requests-below",
    "section 5.1, in whole requests",
    "In whole requests, with a cap about one percent below x*, evictions end after at most l1 "
    "iterations, and the load is served.",
    given=(_BELOW,),
    checked=f"{_COLLAPSED}, 3,000 iterations",
)
@CLAIMS.fails(
    "section-5-1.transient.whole-requests",
    "section 5.1, in whole requests",
    "In whole requests, with a cap of x*, evictions end after at most l1 iterations.",
    given=(_BEST,),
    checked=f"{_COLLAPSED}, 3,000 iterations",
    evidence=Evidence.EXACT,
    holds="section-5-1.transient.whole-requests-below",
)
def _capped(rate: Fraction) -> Finding:
    """Evictions after l1 iterations under a cap, from collapsed servers."""
    arrivals = _arrivals(3000)
    records, _ = serving.serve_cohorts(
        _REQUEST, _limits(admission_rate=rate), arrivals, state=collapsed()
    )
    late = records.preempt[:, _DECODE:]
    served = records.completed[:, -1000:].sum() / arrivals[-1000:].sum()
    bad, where = None, np.argwhere(late)
    if where.size:
        bad = f"run {where[0][0]} evicts at iteration {where[0][1] + _DECODE + 1}"
    # Some 84,000 arrivals: 1 % is three of their standard deviations.
    elif abs(served - 1) > 0.01:
        bad = f"{served:.1%} of the late arrivals completed"
    return Finding(
        bad,
        f"cap {rate}: {int(late.sum())} evictions after iteration {_DECODE} in {_STARTS} runs of "
        f"3,000 at a load of {_LOAD}; {served:.1%} of the late arrivals completed",
        paper="after at most l1 iterations no active cohort exceeds the eviction-free profile",
        note="Admissions are whole: 1 or 2 per iteration make x* on average, and at x* itself the "
        "average fills the memory. In masses the bound holds.",
    )


def _arrivals(iterations: int) -> "np.ndarray":
    return np.random.default_rng(_SEED).poisson(_LOAD, (iterations, _STARTS))


@CLAIMS.claim("section-6-1.metastable.vllm", _HERE, paper=_OURS)
def _vllm() -> Finding:
    """vllm with a price on prefill holds a load from empty to which it does not come back."""
    rate = 0.92
    found, told = _two_starts("vllm", rate)
    waiting, served = found.waiting.values, found.throughput.values
    stuck = waiting[0] < 20 and waiting[1] > 300 and served[1] < rate
    return Finding(
        None if stuck else told,
        told,
        note=f"{_CLOCK} Progress is kept, and its cache computed again: the loss is prefill time.",
    )


@CLAIMS.claim("section-6-1.metastable.sglang", _HERE, paper=_OURS)
def _sglang() -> Finding:
    """sglang comes back from a backlog at a load close to the most that it holds from empty."""
    rate = 0.68
    found, told = _two_starts("sglang", rate)
    waiting, served = found.waiting.values, found.throughput.values
    back = waiting[0] < 40 and served[1] > rate and waiting[1] < 300
    return Finding(
        None if back else told,
        told,
        note=f"{_CLOCK} Its new-token ratio admits less after a retraction, so that a full server "
        "completes about as much as it can hold smoothly: no load with two faces was met.",
    )


_CLOCK = "An iteration takes 1 and each prefilled token 0.02 more; one run of 1,000 arrivals."


def _two_starts(engine: str, rate: float) -> "tuple[xr.Dataset, str]":
    """From empty and from a backlog; and what is seen, in words."""
    found = two_starts(
        _REQUEST,
        engine,
        _limits(),
        rate,
        backlog=300,
        count=1000,
        rng=_SEED,
        runs=1,
        clock=serving.IterationClock(1.0, 0.0, 0.02),
        backend="reference",  # one run; compiling takes longer
    ).isel(run=0)
    waiting, served = found.waiting.values, found.throughput.values
    return found, (
        f"load {rate}: from empty {served[0]:.3f} completed, {waiting[0]:.0f} waiting at the end; "
        f"from a backlog of 300, {served[1]:.3f} and {waiting[1]:.0f}"
    )
