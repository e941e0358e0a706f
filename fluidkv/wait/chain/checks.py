"""What this room accepts: kinds of numbers, and runs whose counts fit into 32 bits."""

from math import inf, isfinite

from fluidkv.errors import InputError
from fluidkv.runs.checks import real
from fluidkv.runs.rates import RateSteps
from fluidkv.serving.clock import IterationClock
from fluidkv.wait.chain.numbers import arrival_rates, shapes
from fluidkv.wait.model import WaitSystem, several
from fluidkv.wait.policy import Wait
from fluidkv.wait.segments import Segments

MOST_SEED = 2**63 - 1
MOST_RUNS = 2**31 - 1
MOST_COUNT = 2**31 - 1
"""Counts are kept in 32 bits."""


def probability(argument: str, value: object) -> float:
    """The value as a float between 0 and 1, neither of them.

    Raises:
        InputError: something else.
    """
    found = real(value)
    if not 0 < found < 1:
        raise InputError(argument, value, "a number between 0 and 1")
    return found


def thresholds_of(model: Segments | WaitSystem, thresholds: object) -> tuple[int, ...]:
    """The thresholds, one for each type or segment.

    Raises:
        InputError: something else, or a model that is neither.

    Examples:
        >>> from fluidkv.wait import Segments, thresholds_of
        >>> segments = Segments(3, ends=(1, 3), rates=(3, 1))
        >>> thresholds_of(segments, [9, 4])
        (9, 4)
        >>> thresholds_of(segments, [9])
        Traceback (most recent call last):
            ...
        fluidkv.errors.InputError: thresholds: got [9]; allowed: 2, one for each type or segment
    """
    size = len(model.types) if isinstance(model, WaitSystem) else len(model)
    allowed = f"{size}, one for each type or segment"
    levels = Wait(several("thresholds", thresholds, allowed)).thresholds
    if len(levels) != size:
        raise InputError("thresholds", list(levels), allowed)
    return levels


def check_growth(
    model: Segments | WaitSystem,
    thresholds: tuple[int, ...],
    clock: IterationClock,
    steps: RateSteps | None,
    iterations: int,
    horizon: float,
) -> None:
    """Refuse a run in which a queue could outgrow 32 bits.

    A segment joins whenever the one before did and enough wait, so that its queue grows by no more
    than what comes in an iteration of full segments less its threshold. Random sums go beyond their
    mean m by 10 sqrt(m) with a probability below 2^-65 (see `alias.poisson_window`).

    Raises:
        InputError: a number of iterations or a horizon beyond that.
    """
    each, rates = shapes(model, thresholds), [float(rate) for rate in arrival_rates(model)]
    factor = 1.0 if steps is None else max(steps.factors)
    held = sum(segment.tokens(segment.span) for segment in each)
    full = clock.duration(held, sum(segment.prefill_tokens for segment in each))
    come = [factor * rate * full for rate in rates]
    if isinstance(model, Segments):
        shares = zip(thresholds[:-1], model.thinning, strict=True)
        come += [n * float(share) for n, share in shares]
    done = float(min(iterations, horizon / clock.base + 1))

    def most(after: float) -> float:
        """Of any queue after so many iterations."""
        return max(
            after * max(mean - n, 0) + 10 * (mean * after) ** 0.5 + 31 + n + mean
            for mean, n in zip(come, thresholds, strict=True)
        )

    arrivals = factor * max(rates) * (horizon + full)
    by_time = arrivals + 10 * arrivals**0.5 + 31 + max(thresholds) if isfinite(horizon) else inf
    if min(most(done), by_time) <= MOST_COUNT:
        return
    argument, value = ("horizon", horizon) if isfinite(horizon) else ("iterations", iterations)
    grown = f"{min(most(done), by_time):.2g}"
    raise InputError(
        argument, value, f"so few that no queue can pass {MOST_COUNT}; here one could reach {grown}"
    )
