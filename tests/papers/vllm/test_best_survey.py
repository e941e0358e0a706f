"""The best victims on all small cases: the record is what the search finds."""

import pytest

from fluidkv_papers.vllm.instances.best_survey import RULES, SURVEYS, computed, recorded


def _same(survey: int) -> None:
    assert {score.victim: score for score in computed(SURVEYS[survey])} == recorded()[survey]


def test_record_has_every_rule_in_every_survey() -> None:
    names = {victim.name for victim in RULES}
    assert len(recorded()) == len(SURVEYS)
    assert all(set(scores) == names for scores in recorded())
    assert all(score.spent >= score.best for scores in recorded() for score in scores.values())


@pytest.mark.thorough
def test_the_smallest_survey_is_computed_again() -> None:
    _same(len(SURVEYS) - 1)


@pytest.mark.thorough
@pytest.mark.parametrize("survey", range(len(SURVEYS)))
def test_every_survey_is_computed_again(survey: int) -> None:
    _same(survey)
