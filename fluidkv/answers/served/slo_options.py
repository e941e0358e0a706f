"""`--slo METRIC=BOUND`: bounds on metrics, as people write them."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from fluidkv.errors import InputError
from fluidkv.questions.kinds import metric_bound
from fluidkv.text import nearest

if TYPE_CHECKING:
    from fluidkv.answers.served.slo import Slo
    from fluidkv.serving.clock import IterationClock

_UNITS = {"s": Fraction(1), "ms": Fraction(1, 1000)}
_TIMES = ("ttft", "latency", "tpot", "longest_gap")  # metrics that seconds can be a bound of


@dataclass(frozen=True)
class WrittenSlo:
    """A bound as it was written.

    Fields:
        text: all of it.
        slo: the bound; what was in ms is in seconds.
        unit: that was written.
    """

    text: str
    slo: "Slo"
    unit: str = ""


class BoundKind:
    """How bounds are read."""

    def read(self, argument: str, said: Any) -> WrittenSlo:
        """Of a text, of a pair of metric and number, or as it is."""
        return said if isinstance(said, WrittenSlo) else read_slo(argument, said)


def read_slo(argument: str, text: Any) -> WrittenSlo:
    """A bound, of its text or of a pair of metric and number."""
    from fluidkv.answers.served.slo import SLO_METRICS, Slo

    if not isinstance(text, str):
        name, number = text
        return WrittenSlo(f"{name}={number:g}", Slo(name, number))
    needs = "METRIC=BOUND, such as ttft_p99=2s or preemption_rate=0"
    name = text.partition("=")[0].strip()
    if name not in SLO_METRICS:
        raise InputError(argument, text, f"{needs}; as METRIC {nearest(name, SLO_METRICS)}")
    name, bound, unit = metric_bound(argument, text, needs=needs)
    if unit and (unit not in _UNITS or not name.startswith(_TIMES)):
        what = "a time: a number, s or ms" if name.startswith(_TIMES) else "a number without a unit"
        raise InputError(argument, text, f"{what}, for {name}")
    return WrittenSlo(text, Slo(name, float(bound * _UNITS.get(unit, 1))), unit)


def slos_of(written: Sequence[WrittenSlo], clock: "IterationClock | None") -> "list[Slo]":
    """The bounds; seconds only of a clock that has them."""
    for each in written:
        if each.unit and (clock is None or clock.unit != "s"):
            raise InputError("--slo", each.text, "a number of iterations, or --clock for seconds")
    return [each.slo for each in written]
