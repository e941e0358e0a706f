"""Length predictors: what each says, and that it is wrong as often and as far as it claims."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.preempt import (
    RLP_QUOTED,
    DirectionClassifier,
    DrawnFromWorkload,
    LogNormalNoise,
    Perfect,
    Predictor,
    with_predictions,
)
from fluidkv.preempt.predictors.blind import MeanOfWorkload
from fluidkv.preempt.predictors.buckets import BucketClassifier, Bucketed
from fluidkv.preempt.predictors.file import Listed, predictions_from
from fluidkv.preempt.predictors.measured import RLP_EVALUATED, S3_QUOTED, ErrorTable
from fluidkv.preempt.predictors.noise import Biased, GaussianNoise, UniformNoise
from fluidkv.runs.requests import Requests

COUNT = 40_000
OUTPUTS = np.random.default_rng(1).integers(1, 900, COUNT)
EVERY: list[Predictor] = [
    Perfect(),
    UniformNoise(30, 0.5),
    GaussianNoise(30, 0.5),
    LogNormalNoise(0.7),
    Biased(0.5, -20),
    Biased(2, 3, LogNormalNoise(0.3)),
    DrawnFromWorkload(),
    DrawnFromWorkload(0.3, Bucketed()),
    MeanOfWorkload(),
    Bucketed(),
    BucketClassifier(0.79),
    BucketClassifier(0.79, wrong="neighbour"),
    ErrorTable((50, 100, 400), (0.59, 0.22, 0.19)),
    Listed(dict(enumerate(OUTPUTS.tolist()))),
]


@pytest.mark.parametrize("predictor", EVERY, ids=lambda p: type(p).__name__)
def test_predictions_are_whole_and_at_least_1_and_follow_the_seed(predictor: Predictor) -> None:
    said = predictor.predicted(OUTPUTS, 3)
    assert said.shape == OUTPUTS.shape
    assert said.dtype == np.int64
    assert said.min() >= 1
    assert np.array_equal(said, predictor.predicted(OUTPUTS, 3))
    drawn = not np.array_equal(said, predictor.predicted(OUTPUTS, 4))
    fixed = (Perfect, MeanOfWorkload, Listed)
    assert drawn is not (isinstance(predictor, fixed) or predictor in (Bucketed(), EVERY[4]))


@pytest.mark.parametrize("predictor", [UniformNoise(80), GaussianNoise(50), LogNormalNoise(0.5)])
def test_noise_is_unbiased(predictor: Predictor) -> None:
    errors = predictor.predicted(np.full(COUNT, 500), 0) - 500
    assert abs(errors.mean()) < 4 * errors.std() / COUNT**0.5  # four standard errors


def test_uniform_noise_stays_in_its_range() -> None:
    noise = UniformNoise(30, 0.1)
    errors = noise.predicted(OUTPUTS, 0) - OUTPUTS
    assert (2 * np.abs(errors) <= noise.spread(OUTPUTS)).all()
    assert (2 * np.abs(errors) == noise.spread(OUTPUTS)).any()


def test_what_is_drawn_has_the_distribution_and_no_information() -> None:
    said = DrawnFromWorkload().predicted(OUTPUTS, 0)
    assert abs(np.corrcoef(said, OUTPUTS)[0, 1]) < 4 / COUNT**0.5
    assert (
        np.abs(np.percentile(said, (10, 50, 90)) - np.percentile(OUTPUTS, (10, 50, 90))).max() < 15
    )


def test_a_larger_share_of_blind_predictions_has_the_smaller_one_in_it() -> None:
    wrong = [DrawnFromWorkload(s).predicted(OUTPUTS, 0) != OUTPUTS for s in (0.2, 0.5)]
    assert not (wrong[0] & ~wrong[1]).any()
    assert [round(float(w.mean()), 1) for w in wrong] == [0.2, 0.5]


@pytest.mark.parametrize("wrong", ["any", "neighbour"])
def test_a_classifier_puts_the_stated_share_in_the_right_bucket(wrong) -> None:
    said = BucketClassifier(0.79, wrong=wrong).predicted(OUTPUTS, 0)
    right = said == Bucketed().predicted(OUTPUTS, 0)
    assert abs(right.mean() - 0.79) < 4 * (0.79 * 0.21 / COUNT) ** 0.5
    far = np.abs(said - Bucketed().predicted(OUTPUTS, 0))[~right]
    assert far.min() == 50
    assert bool(far.max() == 50) is (wrong == "neighbour")


def test_errors_have_their_published_shares() -> None:
    errors = np.abs(RLP_EVALUATED.predicted(OUTPUTS, 0) - OUTPUTS)
    within = [(errors < bound).mean() for bound in (50, 100)]
    assert np.abs(np.subtract(within, (0.59, 0.81))).max() < 4 * 0.5 / COUNT**0.5
    assert abs(errors.mean() - 62) < 1  # what the repository prints, rounded
    assert errors.max() == 223
    quoted = np.abs(RLP_QUOTED.predicted(OUTPUTS, 0) - OUTPUTS)
    assert abs((quoted < 100).mean() - 0.67) < 4 * 0.5 / COUNT**0.5
    assert S3_QUOTED.accuracy == 0.79


def test_a_direction_is_right_as_often_as_stated() -> None:
    said = GaussianNoise(40).predicted(OUTPUTS, 0)
    under = DirectionClassifier(0.8).says_under(OUTPUTS, said, 0)
    assert abs((under == (said < OUTPUTS)).mean() - 0.8) < 4 * 0.4 / COUNT**0.5
    assert not DirectionClassifier().says_under(OUTPUTS, OUTPUTS, 0).any()


def test_predictions_replace_old_ones_and_keep_everything_else() -> None:
    requests = Requests([5, 5], [10, 60], arrival=[0, 2], priority=[1, 2], estimated_output=[7, 7])
    told = with_predictions(requests, Bucketed())
    assert told.predicted_output.tolist() == told.estimated_output.tolist() == [50, 100]
    assert told.arrival.tolist() == [0, 2]
    assert told.priority.tolist() == [1, 2]
    cut = with_predictions(requests, Bucketed(), most=[60, 60])
    assert cut.predicted_output.tolist() == [50, 60]
    assert with_predictions(requests, Perfect(), most=20).predicted_output.tolist() == [10, 20]


def test_a_file_says_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "said.csv"
    path.write_text("predicted,request,why\n7,1,x\n\n5,0,y\n")
    assert predictions_from(path).predicted(np.array([1, 2]), 0).tolist() == [5, 7]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("request,predicted\n0,5\n", "a row for each of 2 requests (request 1 has none)"),
        ("request,predicted\n0,5\n1,5\n7,5\n", "requests 0 to 1 only (there is 7)"),
        ("request,predicted\n0,5\n0,6\n", "each request once (line 3 has request 0 again)"),
        ("request,predicted\n0,0\n", "at least 1 output (line 2)"),
        ("request,predicted\n0,-4\n", "whole numbers of at least 0 (line 2 has -4)"),
        ("request,predicted\n0\n", "whole numbers of at least 0 (line 2 has none)"),
        ('request,predicted\n0,"5"5\n', "whole numbers of at least 0 (line 2 has none)"),
        ("request,outputs\n0,5\n", "the columns request and predicted"),
        ("", "the columns request and predicted"),
    ],
)
def test_a_bad_file_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "said.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=r"^predictions: ") as error:
        with_predictions(Requests([1, 1], [1, 1]), predictions_from(path))
    assert said in str(error.value)


@pytest.mark.parametrize(
    "bad",
    [
        lambda: UniformNoise(-1),
        lambda: UniformNoise(share=-1),
        lambda: GaussianNoise(float("nan")),
        lambda: LogNormalNoise(-0.1),
        lambda: Biased(0),
        lambda: Biased(1, float("inf")),
        lambda: DrawnFromWorkload(1.5),
        lambda: Bucketed(0),
        lambda: BucketClassifier(1.2),
        lambda: BucketClassifier(0.5, 0),
        lambda: BucketClassifier(0.5, wrong="none"),  # type: ignore[arg-type]  # wrong on purpose
        lambda: ErrorTable((), ()),
        lambda: ErrorTable((50, 40), (0.5, 0.5)),
        lambda: ErrorTable((50,), (0.5, 0.5)),
        lambda: ErrorTable((50,), (0.5,)),
        lambda: ErrorTable((50,), (1,), upward=2),
        lambda: ErrorTable((50, float("nan")), (0.5, 0.5)),
        lambda: ErrorTable((50, 90), (0.5, float("nan"))),
        lambda: DirectionClassifier(-0.1),
        lambda: predictions_from("no such file"),
        lambda: with_predictions(Requests([1], [1]), Perfect(), most=0),
        lambda: with_predictions(Requests([1], [1]), Perfect(), most=[2, 2]),
        lambda: with_predictions(Requests([1], [1]), Perfect(), seed=-1),
    ],
)
def test_bad_input_is_one_line(bad) -> None:
    with pytest.raises(InputError):
        bad()


def test_requests_can_be_replaced_column_by_column() -> None:
    requests = Requests([5], [10], ttft_slo=[2.0])
    assert replace(requests, predicted_output=[3]).ttft_slo.tolist() == [2.0]
