"""The option `--slo METRIC=BOUND`: bounds on metrics, in seconds or in iterations."""

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from fluidkv.errors import InputError
from fluidkv.questions.kinds import metric_bound
from fluidkv.text import nearest

if TYPE_CHECKING:
    from fluidkv.answers.served.slo import Slo
    from fluidkv.serving.clock import IterationClock

_UNITS = {"s": Fraction(1), "ms": Fraction(1, 1000)}
_TIMES = ("ttft", "latency", "tpot", "longest_gap")  # metrics that seconds can be a bound of


def read_slo(argument: str, text: str) -> "tuple[str, Slo, str]":
    """The text, the bound, and the unit in it; a bound in ms is in seconds then."""
    from fluidkv.answers.served.slo import SLO_METRICS, Slo

    needs = "METRIC=BOUND, such as ttft_p99=2s or preemption_rate=0"
    name = text.partition("=")[0].strip()
    if name not in SLO_METRICS:
        raise InputError(argument, text, f"{needs}; METRIC {nearest(name, SLO_METRICS)}")
    name, bound, unit = metric_bound(argument, text, needs=needs)
    if unit and (unit not in _UNITS or not name.startswith(_TIMES)):
        what = "a time: a number, s or ms" if name.startswith(_TIMES) else "a number without a unit"
        raise InputError(argument, text, f"{what}, for {name}")
    return text, Slo(name, float(bound * _UNITS.get(unit, 1))), unit


def slos_of(
    bounds: "Sequence[tuple[str, Slo, str]]", clock: "IterationClock | None"
) -> "list[Slo]":
    """The bounds, of which those in seconds need a clock that has some."""
    for text, _, unit in bounds:
        if unit and (clock is None or clock.unit != "s"):
            raise InputError("--slo", text, "a number of iterations, or --clock for seconds")
    return [slo for _, slo, _ in bounds]
