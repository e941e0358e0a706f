"""A table of requests: what is said of them where nothing is given, and what is refused."""

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.runs.requests import Requests


def test_a_prediction_is_the_truth_and_an_estimate_the_prediction_unless_they_are_given():
    plain, told = Requests([3, 3], [5, 6]), Requests([3, 3], [5, 6], predicted_output=[7, 2])
    assert plain.estimated_output.tolist() == plain.predicted_output.tolist() == [5, 6]
    assert told.estimated_output.tolist() == [7, 2]
    assert plain.priority.tolist() == [0, 0]
    assert np.isinf([plain.ttft_slo, plain.tbt_slo]).all()


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("priority", [0.5, 1.0]),
        ("priority", [1, 2, 3]),
        ("priority", np.array([0, 2**63], np.uint64)),  # would turn into the most urgent
        ("predicted_output", [0, 1]),
        ("estimated_output", [1, -1]),
        ("ttft_slo", [1.0, 0.0]),
        ("tbt_slo", [1.0, float("nan")]),
        ("tbt_slo", ["1", "2"]),
    ],
)
def test_a_column_that_makes_no_sense_is_one_line(column, values):
    with pytest.raises(InputError, match=f"^{column}: "):
        Requests([3, 3], [5, 6], **{column: values})
