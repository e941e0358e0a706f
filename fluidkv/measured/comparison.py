"""A prediction compared with a measurement."""

from dataclasses import dataclass

from fluidkv.measured.oscillation import Measurement
from fluidkv.record import Record


@dataclass(frozen=True, eq=False)
class Comparison(Record):
    """A prediction beside a measurement. Differences are (predicted - measured) / measured."""

    measured: Measurement
    predicted_in_flight: float
    predicted_period_s: float | None

    @property
    def in_flight_difference(self) -> float | None:
        return _relative(self.predicted_in_flight, self.measured.running_mean)

    @property
    def period_difference(self) -> float | None:
        return _relative(self.predicted_period_s, self.measured.period_s)

    def to_dict(self) -> dict[str, dict[str, object]]:
        """Plain values for JSON, with the keys `measured.*`, `predicted.*`, `difference.*`."""
        return {
            "measured": self.measured.to_dict(),
            "predicted": {
                "in_flight": self.predicted_in_flight,
                "period_s": self.predicted_period_s,
            },
            "difference": {
                "in_flight": self.in_flight_difference,
                "period_s": self.period_difference,
            },
        }


def compare_with_prediction(
    measurement: Measurement, in_flight: float, period_iterations: float | None
) -> Comparison:
    """Hold the equilibrium and the period of a mode against a measurement.

    Args:
        in_flight: requests running at the predicted equilibrium.
        period_iterations: predicted period, iterations; None where no mode oscillates. It is
            turned into seconds with the measured iterations a second.

    Examples:
        >>> from fluidkv.logs import read_series
        >>> found = fk.measure(read_series("sample:vllm-rtx4090"))
        >>> beside = fk.compare_with_prediction(found, in_flight=36.0, period_iterations=650.0)
        >>> round(beside.in_flight_difference, 3), round(beside.period_difference, 3)
        (0.04, -0.058)
    """
    rate = measurement.iterations_per_s
    period_s = None if period_iterations is None or not rate else float(period_iterations) / rate
    return Comparison(measurement, float(in_flight), period_s)


def _relative(predicted: float | None, measured: float | None) -> float | None:
    if predicted is None or not measured:
        return None
    return (predicted - measured) / measured
