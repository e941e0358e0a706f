"""Records of SGLang's scheduler: every row is equal, wrong rules are seen, bad files are named."""

from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fluidkv.runs.interpreted import interpreted
from fluidkv.serving.records.replay import SglangRecord, read_records, replay
from tests.serving.records.record_copies import STEPS, changed_steps, oracle, record_of

RECORDED = {
    "closed_20_21_conservative03": 192,
    "closed_20_ps1": 168,
    "closed_4_7_chunked64": 199,
    "closed_many_prompts": 236,
    "overlap_closed_20_conservative03": 177,
    "poisson_shared_prompts": 847,
    "tight_long_outputs_conservative01": 1500,
}


def recorded(name: str) -> SglangRecord:
    return record_of(oracle(f"sglang_sched/{name}.json"), SglangRecord)


# --------------------------------------------------------------------------------------- replayed


@pytest.mark.parametrize("name", RECORDED)
def test_every_row_of_the_oracles_is_equal(name):
    record = recorded(name)
    assert record.notes == ()
    assert len(record.columns) == 21
    for compiled in (False, True):
        result = record.replay(lambda _: None, compiled=compiled)
        assert (result.equal, result.rows, result.difference) == (True, RECORDED[name], None)


KERNEL = "fluidkv.serving.caching.sglang.kernel"


def nothing(*_: Any) -> None:
    """In the place of a rule."""


def forgetful(run: Any, space: Any, parting: bool) -> int:
    full = run.full
    gone = STAY(run, space, parting)
    run.full = full
    return gone


def untiring(run: Any, space: Any) -> None:
    FILL(run, space)
    run.full = 0


RATIO, SCHEDULE = (interpreted(f"{KERNEL}.{name}") for name in ("ratio", "schedule"))
STAY, FILL = SCHEDULE._keep_those_who_decode, SCHEDULE.fill
WRONG = {
    "nothing is reserved": ("admission.shares", lambda *_: 0.0),
    "newcomers are charged nothing": ("admission.charge", nothing),
    "the ratio starts again": ("schedule.estimate", lambda run, _: RATIO.reset(run)),
    "the estimate looks at now": ("ratio.RETRACT_STEPS", 0),
    "the ratio stands still": ("schedule.sink", nothing),
    "the ratio stays when idle": ("loop.reset", nothing),
    "nobody touches": ("schedule._touch", nothing),
    "all touch each time": ("schedule.TOUCH_EVERY", 1),
    "no room for later passes": ("schedule.RETRACT_STEPS", 0),
    "the last admitted goes": ("schedule.sort", nothing),
    "tried in spite of the flag": ("schedule.fill", untiring),
    "leaving does not count": ("schedule._keep_those_who_decode", forgetful),
    "prefills do not enter the tree": ("loop.keep", nothing),
}
"""A rule of the kernel, which runs as plain Python -> where it is, and what is there instead."""


def differs() -> bool:
    return not all(replay(recorded(name)).equal for name in RECORDED)


@pytest.mark.daily(4)
@pytest.mark.parametrize("rule", WRONG)
def test_a_wrong_rule_is_seen(rule, monkeypatch):
    where, instead = WRONG[rule]
    module, name = where.split(".")
    monkeypatch.setattr(interpreted(f"{KERNEL}.{module}"), name, instead)
    assert differs()


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("overlap_closed_20_conservative03", {"overlap": False}),
        ("closed_20_ps1", {"conservativeness": 0.9}),
        ("closed_20_ps1", {"page_size": 2}),
        ("closed_20_ps1", {"max_running": 27}),
        ("closed_20_ps1", {"max_prefill_tokens": 479}),
        ("closed_4_7_chunked64", {"chunked_prefill_size": None}),
        ("closed_4_7_chunked64", {"mixed_chunk": True}),
        ("closed_many_prompts", {"eviction": "fifo"}),
        ("closed_many_prompts", {"radix": False}),
        ("tight_long_outputs_conservative01", {"clip": 150}),
    ],
)
def test_a_wrong_setting_is_seen(name, setting):
    record = recorded(name)
    assert not replay(replace(record, settings=replace(record.settings, **setting))).equal


# ---------------------------------------------------------------------------------------- in files


@pytest.fixture
def fields() -> dict[str, Any]:
    """A record in our own hand, to change."""
    return deepcopy(STEPS)


def written(folder: Path, fields: dict[str, Any]) -> Path:
    return changed_steps(folder, **fields)


def test_our_own_record_is_equal(fields, tmp_path):
    [record] = read_records(written(tmp_path, fields))
    assert replay(record).equal


def test_rows_may_have_some_columns_in_any_order(fields, tmp_path):
    kept = [fields["columns"].index(name) for name in ("admissions", "mode", "used")]
    fields["columns"] = [fields["columns"][place] for place in kept]
    fields["records"] = [[row[place] for place in kept] for row in fields["records"]]
    [record] = read_records(written(tmp_path, fields))
    assert record.notes == ()
    assert replay(record).equal


def test_another_version_and_unknown_fields_are_noted(fields, tmp_path):
    [record] = read_records(written(tmp_path, fields | {"version": "0.5.18", "moon": 1}))
    versions = "version 0.5.18: replayed under the rules of 0.5.23"
    assert record.notes == (versions, "moon: not known, not used")
    assert replay(record).equal


def test_the_first_row_that_differs_is_shown(fields, tmp_path):
    fields["records"][2][fields["columns"].index("mode")] = "mixed"
    [record] = read_records(written(tmp_path, fields))
    result = replay(record)
    assert result.difference is not None
    assert (result.rows, result.difference.values) == (2, (("mode", "mixed", "decode"),))


def test_requests_are_called_by_their_place_in_the_file(fields, tmp_path):
    fields["requests"].reverse()
    names = ("admissions", "finished_ids")
    places = [fields["columns"].index(name) for name in names]
    for row in fields["records"]:
        row[places[0]] = [[1 - index, *tokens] for index, *tokens in row[places[0]]]
        row[places[1]] = [1 - index for index in row[places[1]]]
    [record] = read_records(written(tmp_path, fields))
    assert replay(record).equal
