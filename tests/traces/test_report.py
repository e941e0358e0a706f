"""A report must add up, and say it in words and in plain values."""

import json

import pytest

from fluidkv.errors import InputError
from fluidkv.traces.report import LoadReport, Reason

REPORT = LoadReport(
    source="a.csv",
    format="azure",
    read=5,
    kept=3,
    changed=1,
    dropped=2,
    dropped_because=(Reason("TIMESTAMP: empty", 2, 4),),
    changed_because=(Reason("ContextTokens: decimal", 1, 2),),
)


@pytest.mark.parametrize(
    ("argument", "counts"),
    [
        ("read", {"read": 6}),
        ("changed", {"changed": 4}),
        ("changed", {"changed": -1}),
        ("dropped_because", {"dropped_because": ()}),
    ],
)
def test_counts_that_do_not_add_up_are_refused(argument: str, counts: dict) -> None:
    with pytest.raises(InputError, match=f"^{argument}: "):
        LoadReport(**({key: getattr(REPORT, key) for key in REPORT.__dataclass_fields__} | counts))


def test_summary_gives_counts_and_reasons() -> None:
    assert REPORT.summary().splitlines() == [
        "a.csv (azure): 5 rows read, 3 kept, 1 changed, 2 dropped",
        "  dropped: 2 × TIMESTAMP: empty (first in line 4)",
        "  changed: 1 × ContextTokens: decimal (first in line 2)",
    ]


def test_as_dict_survives_json_and_misses_no_field() -> None:
    plain = json.loads(json.dumps(REPORT.to_dict()))
    assert set(plain) == set(REPORT.__dataclass_fields__)
    assert plain["dropped_because"] == [{"what": "TIMESTAMP: empty", "rows": 2, "first_line": 4}]
