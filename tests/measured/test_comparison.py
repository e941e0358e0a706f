"""A prediction beside a measurement."""

import json

import pytest

from fluidkv.measured import compare_with_prediction, measure
from tests.measured.series import sine


def test_comparison_turns_iterations_into_seconds() -> None:
    measured = measure(sine(20.0), window=(0, 199))
    result = compare_with_prediction(measured, 33.0, 190.0)
    assert result.predicted_period_s == pytest.approx(19.0, rel=1e-12)
    shown = json.loads(json.dumps(result.to_dict()))
    assert shown["predicted"] == {"in_flight": 33.0, "period_s": result.predicted_period_s}
    assert shown["measured"]["running_mean"] == measured.running_mean
    assert (
        shown["difference"]["in_flight"] == (33.0 - measured.running_mean) / measured.running_mean
    )


def test_comparison_without_a_period() -> None:
    result = compare_with_prediction(measure(sine(20.0)), 33.0, None)
    assert result.predicted_period_s is None
    assert result.period_difference is None
