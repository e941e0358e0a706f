"""Where a line says when it was written, whoever passed it on."""

import pytest

from fluidkv.logs.stdout.lines import Clock, Stamp, log_lines


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        (
            "INFO 09-02 13:08:10 [loggers.py:123] a",
            "INFO 09-02 13:08:15 [loggers.py:1] b",
            Stamp.DAY,
        ),
        (
            "(APIServer pid=7) INFO 09-02 13:08:10 [l.py:1] a",
            "WARNING 09-02 13:08:15 x] b",
            Stamp.DAY,
        ),
        ("0: INFO 05-03 00:53:42 metrics.py:229] a", "0: INFO 05-03 00:53:47 m.py:1] b", Stamp.DAY),
        ("INFO 12-31 23:59:58 a.py:1] a", "INFO 01-01 00:00:03 a.py:1] b", Stamp.DAY),
        ("INFO 02-28 23:59:58 a.py:1] a", "INFO 03-01 00:00:03 a.py:1] b", Stamp.DAY),
        ("INFO 02-28 23:59:58 a.py:1] a", "INFO 02-29 00:00:03 a.py:1] b", Stamp.DAY),
        ("INFO 02-29 23:59:58 a.py:1] a", "INFO 03-01 00:00:03 a.py:1] b", Stamp.DAY),
        ("[2026-09-13 16:06:06] a", "[2026-09-13 16:06:11 TP0] b", Stamp.DATE),
        ("qwen  | [2026-09-13 16:06:06 DP1 TP0] a", "qwen  | [2026-09-13 16:06:11] b", Stamp.DATE),
        (
            "2026-04-19 12:18:36.500 | (APIServer pid=1) INFO 04-19 10:18:36 [u.py:1] a",
            "2026-04-19 12:18:41.500 | (APIServer pid=1) INFO 04-19 10:18:41 [u.py:1] b",
            Stamp.DATE,
        ),
        (
            "2026-09-18T04:07:30.000000002Z INFO 09-18 04:07:30 [l.py:1] a",
            "2026-09-18T04:07:35.000000002Z INFO 09-18 04:07:35 [l.py:1] b",
            Stamp.ZONE,
        ),
        ("2026-09-18T04:07:30+02:00 a", "2026-09-18T02:07:35Z b", Stamp.ZONE),
        ("[20:53:40] a", "[20:53:45] b", Stamp.TIME),
        ("[23:59:58] a", "[00:00:03] b", Stamp.TIME),
    ],
)
def test_five_seconds_lie_between_two_lines(first, second, kind) -> None:
    clock = Clock()
    assert clock.seconds(first) == 0
    assert clock.seconds(second) == pytest.approx(5)
    assert clock.kind is kind


@pytest.mark.parametrize(
    "line",
    [
        "no time at all",
        "INFO 13-45 99:99:99 a.py:1] a",
        "2026-13-45 10:00:00 a",
        "12:00:00 without brackets",
        "x" * 300 + " INFO 09-02 13:08:10 too far behind",
    ],
)
def test_other_text_has_no_time(line) -> None:
    clock = Clock()
    assert clock.seconds(line) is None
    assert clock.kind is None


def test_a_log_is_read_by_the_kind_of_its_first_stamp() -> None:
    clock = Clock()
    clock.seconds("[2026-09-13 16:06:06] a")
    assert clock.seconds("INFO 09-13 16:06:11 a.py:1] b") is None


def test_only_a_zone_says_the_seconds_since_1970(tmp_path) -> None:
    clock = Clock()
    clock.seconds("1970-01-02T00:00:01.5Z a")
    assert clock.zero_s == 86_401.5


def test_lines_have_their_numbers_without_colours_and_progress_bars(tmp_path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\r\n 10%|#\r 20%|##\r\x1b[36mtwo\x1b[0m\n\nthree")
    found = [(number, text) for number, text in log_lines(path) if text]
    assert found == [(1, "one"), (2, " 10%|#"), (2, " 20%|##"), (2, "two"), (4, "three")]
