"""WAIT, Theorem 2: what Nested WAIT loses up to a horizon, and what happens where (12) is broken.

Prompts that have come and are not complete are what is lost: fluid throughput less mean throughput
is their mean over T, in prompts (in tokens, once to twice that: outputs are 1 and 2). All runs are
of the instance of Proposition 3, from empty, at three horizons. The theorem's orders are lost; they
are given back from appendix C.3.
"""

from fractions import Fraction
from math import log

from fluidkv.ledger import Evidence, Finding, Origin
from fluidkv.wait.theory.nested import Constraint, check_nested, nested_time
from fluidkv_papers.wait.instances.measured import first_queue
from fluidkv_papers.wait.instances.nested import INSTANCE, NESTED, instance, instance_runs
from fluidkv_papers.wait.instances.statistics import ERRORS, mean_and_error
from fluidkv_papers.wait.paper import statements

CLAIMS = statements(origin=Origin.READING, evidence=Evidence.SAMPLED)

_RUNS = 4000
_HORIZONS = (25, 100, 400)  # each four times the one before
_CLOCK = Fraction(1, 18)  # d1: a load of 1/2 in the instance
_NEAR = 0.15  # of an exponent: what the first horizon, which starts empty, takes off
_RANGE = f"{INSTANCE}, to {_HORIZONS[-1]} d0"


def _lost(thresholds: tuple[int, int], per_kv_token: Fraction) -> list[tuple[float, float]]:
    """Prompts in the system at each horizon: mean and standard error."""
    found = []
    for horizon in _HORIZONS:
        runs = instance_runs(thresholds, horizon, 0, per_kv_token, _RUNS)
        found.append(mean_and_error(runs.arrived - runs.completed))
    return found


def _power(lost: list[tuple[float, float]]) -> float:
    """T^a grows by 4^a as much from the second horizon to the third as from the first to it.

    0 where the last growth is within the errors.
    """
    (first, _), (second, wide), (third, narrow) = lost
    if third - second < ERRORS * (wide**2 + narrow**2) ** 0.5:
        return 0.0
    return log((third - second) / (second - first)) / log(_HORIZONS[2] / _HORIZONS[1])


def _grows(
    thresholds: tuple[int, int],
    expected: float,
    paper: str,
    *,
    per_kv_token: Fraction = Fraction(0),
    note: str = "",
) -> Finding:
    """Whether what is lost grows like T to that power."""
    lost = _lost(thresholds, per_kv_token)
    power = _power(lost)
    shown = ", ".join(f"{mean:.2f} ± {error:.2f}" for mean, error in lost)
    grows = f"like T^{power:.2f}" if power else "within the errors it does not grow"
    found = abs(power - expected) < _NEAR
    return Finding(
        found or f"T^{power:.2f}",
        f"{shown} prompts at T = {', '.join(map(str, _HORIZONS))}: {grows}",
        paper=paper,
        note=f"n = {thresholds}; {_RUNS} runs (seed 0), ± one standard error. {note}".strip(),
    )


@CLAIMS.claim("theorem-2.throughput", "Theorem 2", checked=_RANGE)
def _theorem_2() -> Finding:
    """With thresholds that satisfy (12) the throughput gap vanishes as the horizon grows."""
    return _grows(
        NESTED,
        0,
        "a gap of O((zeta T)^(-1/2)), or O(1 / (zeta T))",
        note="So the gap falls like 1 / T. The exponent is lost; both readings hold.",
    )


@CLAIMS.claim("theorem-2.latency", "Theorem 2; appendix C.3", checked=_RANGE)
def _little() -> Finding:
    """With thresholds that satisfy (12) mean latency stays bounded.

    Paper: bounded latency and TTFT
    Note: Mean number in the system over the rate (Little). Bounded if what four times the horizon
    adds falls to a quarter; five standard errors are allowed."""
    # Mean number in the system, and with it the mean latency.
    runs = [instance_runs(NESTED, horizon, 0, Fraction(0), _RUNS) for horizon in _HORIZONS]
    found = [mean_and_error(each.in_system) for each in runs]
    # An empty start takes a / T off the mean: then the growth falls to a quarter at each step.
    steps = found[1][0] - found[0][0], found[2][0] - found[1][0]
    error = (found[1][1] ** 2 + found[2][1] ** 2) ** 0.5
    return Finding(
        steps[1] < steps[0] / 4 + ERRORS * error,
        ", ".join(f"{mean / 2:.3f}" for mean, _ in found)
        + f" d0 up to T = {', '.join(map(str, _HORIZONS))}",
    )


@CLAIMS.claim("appendix-c-1.mean-queue", "appendix C.1", checked=_RANGE, kind="lemma")
def _first_segment() -> Finding:
    """The mean queue before segment 1 is at most n_1 + Var / (2 |drift|) of Poisson(r_1
    Delta T)."""
    runs = instance_runs(NESTED, _HORIZONS[-1], 0, Fraction(0), _RUNS)
    return first_queue(runs, "Rates stay.")


@CLAIMS.claim(
    "equation-12.thinning.equal",
    "equation (12)",
    "With n_2 = p_2 n_1 prompts pile up before segment 2 like the root of time.",
    given=((4, 2), 0.5),
    checked=_RANGE,
)
@CLAIMS.claim(
    "equation-12.thinning.broken",
    "equation (12)",
    "With n_2 below p_2 n_1 prompts pile up before segment 2 in proportion to time.",
    given=((4, 1), 1.0),
    checked=_RANGE,
)
@CLAIMS.claim(
    "equation-12.arrivals.equal",
    "equation (12)",
    "With n_1 = r_1 Delta T and d1 = 0 prompts pile up like the root of time.",
    given=((2, 2), 0.5),
    checked=_RANGE,
)
@CLAIMS.claim(
    "equation-12.arrivals.broken",
    "equation (12)",
    "With n_1 below r_1 Delta T and d1 = 0, prompts pile up in proportion to time.",
    given=((1, 1), 1.0),
    checked=_RANGE,
)
def _equation_12(thresholds: tuple[int, int], power: float) -> Finding:
    return _grows(thresholds, power, "thresholds must satisfy (12)")


@CLAIMS.claim(
    "equation-12.arrivals.not-necessary",
    "equation (12) (our own)",
    checked=f"the instance with d1 = {_CLOCK}, to {_HORIZONS[-1]} d0",
    kind="remark",
)
def _not_needed() -> Finding:
    """The first line of (12), n_1 > r_1 Delta T, is sufficient and not necessary."""
    # n = (5, 5) with d1 = 1/18: r_1 Delta T = 16/3, though batches last 9/4 in the mean.
    thresholds = (5, 5)
    (broken,) = check_nested(instance(), thresholds, 1, _CLOCK)
    if broken.constraint is not Constraint.ARRIVALS:
        raise ArithmeticError("another constraint is broken")
    arrivals = 2 * nested_time(instance(), thresholds, 1, _CLOCK)
    return _grows(
        thresholds,
        0,
        "thresholds must satisfy n_1 > r_1 Delta T",
        per_kv_token=_CLOCK,
        note=f"Our own statement; here r_1 Delta T = {arrivals}. Segment k runs in a share "
        "r_k n_1 / (r_1 n_k) of the batches only: where the second line of (12) holds, "
        "n_1 > r_1 d0 / (1 - load) suffices, here 4.",
    )
