"""`fluidkv mix`: classes apart, mixed and in the best partition, in values and words."""

import math
import re
from fractions import Fraction

import pytest

from tests.cli.answered import refusal
from tests.questions.asked import text_of, values_of

FOUR = "--class 300:5 --class 300:10 --class 300:6 --class 300:12 --nodes 2"
ROUTING = {"stability", "growing_modes", "spectral_radius", "evidence", "imbalance", "rate"}


def mix(line: str) -> dict:
    return values_of("mix", line)


def test_the_papers_four_classes():
    """Congestion, Table 2: apart 4 and 5 modes grow, mixed none."""
    answer = mix(FOUR)
    assert answer["best"] == "mixed"
    assert [n["growing_modes"] for n in answer["segregated"]["on_nodes"]] == [4, 5]
    assert [n["common_divisor"] for n in answer["segregated"]["on_nodes"]] == [5, 6]
    assert answer["mixed"]["stability"] == "stable"
    assert answer["partition"]["growing_modes"] == 1
    assert [n["classes"] for n in answer["partition"]["on_nodes"]] == [[0, 2], [1, 3]]
    assert answer["search"] == {
        "examined": 7,
        "over_imbalance": 0,
        "undecided": 0,
        "ties": 0,
        "exhaustive": True,
        "evidence": "exact",
    }
    for name in ("segregated", "mixed", "partition"):
        assert answer[name].keys() == ROUTING | {"on_nodes", "imbalance_exact", "rate_exact"}
        assert sum(Fraction(n["load_share_exact"]) for n in answer[name]["on_nodes"]) == 1
    text = text_of("mix", FOUR)
    assert "best          all mixed: no mode grows; the best partition: 1 mode grows" in text
    assert "search        7 partitions (every partition), exact" in text
    assert "fullest node 1.34 times the mean load" in text


def test_short_of_long_inputs_coprime_is_not_enough():
    """Congestion, Table 1: 20 and 21 with inputs of 512, where the threshold is 1,729."""
    stability = {
        n: mix(f"--class {n}:20 --class {n}:21 --nodes 2")["mixed"]["stability"]
        for n in (512, 1728, 1729)
    }
    assert stability == {512: "unstable", 1728: "unstable", 1729: "stable"}


def test_the_bound_on_the_imbalance_changes_the_partition():
    answer = mix(f"{FOUR} --max-imbalance 1.2 --capacity 41408")
    assert (answer["max_imbalance_exact"], answer["capacity"]) == ("6/5", 41408)
    assert answer["search"]["over_imbalance"] == 5
    assert answer["partition"]["imbalance"] <= 1.2
    nodes = answer["partition"]["on_nodes"]
    assert [n["classes"] for n in nodes] == [[0, 3], [1, 2]]
    fullest = max(n["utilisation"] for n in nodes)
    assert answer["partition"]["rate"] == pytest.approx(1 / fullest)


def test_shares_are_renormalised_on_each_node():
    nodes = mix("--class 30:2:1/2 --class 30:3:0.3 --class 30:5:1/5 --nodes 2")["segregated"]
    assert [n["classes"] for n in nodes["on_nodes"]] == [[0], [1, 2]]
    assert [n["shares_exact"] for n in nodes["on_nodes"]] == [["1"], ["3/5", "2/5"]]


def test_more_nodes_than_classes_leaves_mixing():
    answer = mix("--class 30:2 --class 30:3 --nodes 5")
    assert (answer["segregated"], answer["partition"]) == (None, None)
    assert answer["best"] == "mixed"
    assert len(answer["mixed"]["on_nodes"]) == 5


def test_how_slowly_modes_grow_is_said():
    """From the printed radius, which is rounded to six digits."""
    text = text_of("mix", "--class 300:20 --class 300:21 --nodes 1")
    assert "spectral radius 1.00265" in text
    [tenfold] = re.findall(r"growth +the fastest mode grows tenfold in (\d+) iterations", text)
    least, most = (math.ceil(math.log(10) / math.log(radius)) for radius in (1.002655, 1.002645))
    assert least <= int(tenfold) <= most
    assert "growth" not in text_of("mix", "--class 300:5 --class 300:6 --nodes 1")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--nodes 2", "Missing option '--class'"),
        ("--class 30:2", "Missing option '--nodes'"),
        ("--class 30:0 --nodes 2", "--class: got '30:0'"),
        ("--class 30:2:1/2 --class 30:3 --nodes 2", "--class: got '30:3'; allowed: a share for"),
        ("--class 30:2:1/2 --class 30:3:1/3 --nodes 2", "share: got 'sum 5/6'"),
        ("--class 30:5000 --nodes 2", "--class: got '30:5000'; allowed: a decode length of at"),
        ("--class 30:2 " * 65 + "--nodes 2", "--class: got '65 classes'; allowed: at most 64"),
        (f"{FOUR} --capacity 312", "--capacity: got 312; allowed: more than 312 tokens"),
        (f"{FOUR} --max-imbalance 0.9", "--max-imbalance: got '0.9'"),
    ],
)
def test_bad_input_gets_one_line(line, message, capsys):
    assert refusal(capsys, "mix", *line.split()).startswith(f"fluidkv: {message}")
