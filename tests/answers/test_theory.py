"""Questions of theory against hand counts, and lines that are one question.

What they print and refuse is in `tests/cli/transcripts`.
"""

import math
import re
from fractions import Fraction

import pytest

from tests.questions.asked import text_of, values_of

_MASS = Fraction(2000, 232)
LONGER = ",".join(map(str, [_MASS + 1, *[_MASS] * 6, _MASS - Fraction(11, 18)]))
"""A start of eight stages that fills 1,000 tokens with inputs of 10."""
SMALL = "--class 2:3 --capacity 24"
THIRDS = "3 4 5 --share 1/3 --share 1/3"
PAIR = "--input 50 --share"
WAIT = "--no-simulate --type"


@pytest.mark.parametrize(
    ("name", "line", "same"),
    [
        ("cascade", f"{SMALL} --start 5/2,2,17/10 --exact", f"{SMALL} --start 2.5,2,1.7 --exact"),
        (
            "cascade",
            f"{SMALL} --start 5/2,2,17/10 --exact",
            f"{SMALL} --start 5,4,17/5 --project --exact",
        ),
        ("pulse", f"4 2 {PAIR} 0.25 --capacity 626", f"2,4 {PAIR} 3/4 --capacity 626"),
        ("threshold", "8 3 --share 0.7", "3 8 --share 3/10"),
        ("threshold", "8 3 --share 0.7", "3,8 --share 0.3 --share 7/10"),
        ("threshold", "3 4 5", THIRDS),
        ("threshold", "5 9 --share 1/2 --ratio 1 --ratio 1", "5 9 --share 1/2"),
        # 0.1 + 9 * 0.1 is 1; in doubles the load would not be 9/10 and the thresholds 2.
        (
            "wait",
            f"{WAIT} 1:1:1 --type 1:1:2 --d0 0.1 --d1 0.1 --capacity 9",
            f"{WAIT} 1.0:1:1 --type 1e0:1:2 --d0 1/10 --d1 1e-1 --capacity 9.0",
        ),
    ],
)
def test_lines_that_are_one_question(name: str, line: str, same: str) -> None:
    assert values_of(name, line) == values_of(name, same)


@pytest.mark.parametrize("arithmetic", ["--exact", "--iterations 200"])
def test_one_request_more_than_the_fixed_point_collapses(arithmetic: str) -> None:
    line = f"--class 10:8 --capacity 1000 --start {LONGER} {arithmetic}"
    answer = values_of("cascade", line)
    assert answer["first_eviction"] == 33
    losses = zip((33, 72, 79, 81, 87, 93, 102), range(1, 8), strict=True)
    assert answer["support_losses"] == [list(pair) for pair in losses]
    # The last cycle is fixed by memory alone; float64 rounds once or twice a stage on it.
    assert answer["throughput"] == pytest.approx(1000 / (8 * 18), rel=1e-14)
    assert answer["exact"] is (arithmetic == "--exact")


def test_cycles_of_a_level_are_those_of_all() -> None:
    line = "--class 5:9 --capacity 1000"
    every = values_of("equilibria", line)["cycles"]
    assert len(every) == 59
    assert all(cycle["verified"] for cycle in every)
    level = values_of("equilibria", f"{line} --level 7")["cycles"]
    assert level == [cycle for cycle in every if cycle["level"] == 7]


def test_short_of_long_inputs_coprime_is_not_enough() -> None:
    """Congestion, Table 1: 20 and 21 with inputs of 512, where the threshold is 1,729."""
    stability = {
        n: values_of("mix", f"--class {n}:20 --class {n}:21 --nodes 2")["mixed"]["stability"]
        for n in (512, 1728, 1729)
    }
    assert stability == {512: "unstable", 1728: "unstable", 1729: "stable"}


def test_loads_of_nodes_are_parts_of_one_load() -> None:
    classes = "--class 300:5 --class 300:10 --class 300:6 --class 300:12"
    answer = values_of("mix", f"{classes} --nodes 2 --max-imbalance 1.2 --capacity 41408")
    for name in ("segregated", "mixed", "partition"):
        assert sum(Fraction(n["load_share_exact"]) for n in answer[name]["on_nodes"]) == 1
    fullest = max(n["utilisation"] for n in answer["partition"]["on_nodes"])
    assert answer["partition"]["rate"] == pytest.approx(1 / fullest)
    assert answer["partition"]["imbalance"] <= 1.2


def test_how_slowly_modes_grow_follows_from_the_radius() -> None:
    """From the printed radius, which is rounded to six digits."""
    text = text_of("mix", "--class 300:20 --class 300:21 --nodes 1")
    assert "spectral radius 1.00265" in text
    [tenfold] = re.findall(r"growth +the fastest mode grows tenfold in (\d+) iterations", text)
    least, most = (math.ceil(math.log(10) / math.log(radius)) for radius in (1.002655, 1.002645))
    assert least <= int(tenfold) <= most


@pytest.mark.parametrize(
    ("line", "least"),
    [
        ("5 9 --share 1/2", 65),
        ("8 3 --share 0.7", 67),
        (
            "1 2 --share 0.1",
            9,
        ),  # a crossing falls on 8 exactly; of the double next to 0.1 it does not
        ("3 2 --share 1/2 --ratio 50 --ratio 1", 2),
        ("127 255 509 --share 1/3 --share 1/3", 2_559_457),
        ("5 9 --share 1/2 --bound 64", None),
        ("5 9 --share 1/2 --bound 65", 65),
        ("2 4 --share 1/2", None),
        ("1 2 --share 9/10", 0),
    ],
)
def test_the_least_input_that_is_stable(line: str, least: int | None) -> None:
    answer = values_of("threshold", line)
    assert answer["l0_min"] == least
    if answer["below"] is not None:
        assert answer["below"]["input_length"] == (least or 0) - 1
        assert answer["below"]["growing_modes"] + answer["below"]["neutral_modes"] > 0
        assert all(last["input_length"] <= (least or 0) for last in answer["last_crossings"])


def test_counts_left_open_by_themselves_are_answered_by_the_crossings() -> None:
    answer = values_of("threshold", "499 500 --share 1/2")  # roots within 1e-15 of the circle
    assert answer["windows"][-2]["last"] == answer["l0_min"] - 1
    assert (answer["below"]["growing_modes"] is None) == (answer["below"]["evidence"] is None)


def test_a_first_order_from_an_unknown_gap_is_not_there() -> None:
    """Degree 4100: the radius of the limit stays in a bracket that reaches 1."""
    formulas = values_of("threshold", "4100 4101 --share 1/2 --bound 9")["asymptotic"]
    assert formulas["limit_radius"][1] >= 1
    assert formulas["first_order"] is formulas["first_order_relative_error"] is None
