"""What was missed elsewhere: on record, and computed again from the logs."""

from dataclasses import astuple

import pytest

from fluidkv.answers.served.elsewhere import ENGINES, LOGS, computed, missed_elsewhere, recorded
from fluidkv.answers.served.published import misses_of, published


def test_every_log_and_engine_is_on_record():
    for log in LOGS:
        assert {one.engine for one in recorded() if one.log == log} == set(ENGINES)
    for one in recorded():
        assert one.relative == pytest.approx(one.simulated / one.measured - 1, abs=2e-5)
        assert abs(one.relative) <= one.error_bar


def test_an_engine_is_told_what_its_own_kind_missed():
    assert {one.engine for one in missed_elsewhere("vllm-0.11", False)} == {"vllm"}
    assert {one.engine for one in missed_elsewhere("vllm", True)} == {"vllm+cache"}
    assert missed_elsewhere("restart", False) == ()


@pytest.mark.parametrize("folder", ["traces_dir", "unseen_dir"])
def test_the_logs_say_what_is_on_record(folder, request):
    found = computed(request.getfixturevalue(folder))
    logs = {one.log for one in found}
    kept = [one for one in recorded() if one.log in logs]
    assert logs
    assert [astuple(one)[:4] for one in found] == [astuple(one)[:4] for one in kept]
    for one, other in zip(found, kept, strict=True):
        # six digits are on record
        assert astuple(one)[4:] == pytest.approx(astuple(other)[4:], rel=1e-5, abs=1e-6)


def test_a_knob_has_its_published_misses():
    assert {one.knob for one in misses_of(["watermark"])} == {"watermark"}
    assert misses_of(["max_num_seqs"]) == ()
    assert len({one.claim for one in published()}) == len(published())
