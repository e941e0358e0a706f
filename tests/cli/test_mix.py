"""`fluidkv mix`: stable keys, 80 columns, one line for bad input."""

import math
import re
from fractions import Fraction

import pytest

from fluidkv.cli import main
from tests.cli.answered import answer_of


def argv_of(*classes: str, nodes: int = 2) -> list[str]:
    return ["mix", *(word for c in classes for word in ("--class", c)), "--nodes", str(nodes)]


ARGV = argv_of("300:5", "300:10", "300:6", "300:12")
ROUTING = {"stability", "growing_modes", "spectral_radius", "evidence", "imbalance", "rate"}


def run_text(capsys, argv) -> str:
    assert main(argv) == 0
    return capsys.readouterr().out


def test_json_of_the_papers_four_classes(capsys):
    """Congestion, Table 2: apart 4 and 5 modes grow, mixed none."""
    answer = answer_of(capsys, *ARGV)
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


def test_short_of_long_inputs_coprime_is_not_enough(capsys):
    """Congestion, Table 1: 20 and 21 with inputs of 512, where the threshold is 1,729."""
    assert answer_of(capsys, *argv_of("512:20", "512:21"))["mixed"]["stability"] == "unstable"
    assert answer_of(capsys, *argv_of("1728:20", "1728:21"))["mixed"]["stability"] == "unstable"
    assert answer_of(capsys, *argv_of("1729:20", "1729:21"))["mixed"]["stability"] == "stable"


def test_the_bound_on_the_imbalance_changes_the_partition(capsys):
    answer = answer_of(capsys, *[*ARGV, "--max-imbalance", "1.2", "--capacity", "41408"])
    assert (answer["max_imbalance_exact"], answer["capacity"]) == ("6/5", 41408)
    assert answer["search"]["over_imbalance"] == 5
    assert answer["partition"]["imbalance"] <= 1.2
    nodes = answer["partition"]["on_nodes"]
    assert [n["classes"] for n in nodes] == [[0, 3], [1, 2]]
    fullest = max(n["utilisation"] for n in nodes)
    assert answer["partition"]["rate"] == pytest.approx(1 / fullest)


def test_shares_are_renormalised_on_each_node(capsys):
    answer = answer_of(capsys, *argv_of("30:2:1/2", "30:3:0.3", "30:5:1/5"))
    nodes = answer["segregated"]["on_nodes"]
    assert [n["classes"] for n in nodes] == [[0], [1, 2]]
    assert [n["shares_exact"] for n in nodes] == [["1"], ["3/5", "2/5"]]


def test_more_nodes_than_classes_leaves_mixing(capsys):
    answer = answer_of(capsys, *argv_of("30:2", "30:3", nodes=5))
    assert (answer["segregated"], answer["partition"]) == (None, None)
    assert answer["best"] == "mixed"
    assert len(answer["mixed"]["on_nodes"]) == 5


def test_text_says_what_is_best_and_how_that_is_known(capsys):
    out = run_text(capsys, ARGV)
    assert "best          all mixed: no mode grows; the best partition: 1 mode grows" in out
    assert "search        7 partitions (every partition), exact" in out
    assert "fullest node 1.34 times the mean load" in out


@pytest.mark.parametrize(
    "argv",
    [
        ARGV,
        [*ARGV, "--capacity", "1e15", "--max-imbalance", "1.05"],
        argv_of("512:1"),
        argv_of("512:1", nodes=1),
        argv_of("512:20", "512:21", nodes=3),
        argv_of("1000000:20", "1000000:21", "30:7", "30:8", "1000000:22"),
        argv_of(*(f"{100000 + n}:{n}" for n in range(5, 15)), nodes=2),
    ],
)
def test_text_fits_80_columns(argv, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # nothing is wrapped or cut to make it fit
    out = run_text(capsys, argv)
    assert max(len(line.rstrip()) for line in out.splitlines()) <= 80
    assert "all mixed" in out


def test_how_slowly_modes_grow_is_said(capsys):
    """From the printed radius, which is rounded to six digits."""
    out = run_text(capsys, argv_of("300:20", "300:21", nodes=1))
    assert "spectral radius 1.00265" in out
    (said,) = re.findall(r"growth +the fastest mode grows tenfold in (\d+) iterations", out)
    least, most = (math.ceil(math.log(10) / math.log(radius)) for radius in (1.002655, 1.002645))
    assert least <= int(said) <= most
    assert "growth" not in run_text(capsys, argv_of("300:5", "300:6", nodes=1))


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["mix", "--nodes", "2"], "Missing option '--class'"),
        (["mix", "--class", "30:2"], "Missing option '--nodes'"),
        (argv_of("30"), "--class: got '30'"),
        (argv_of("30:0"), "--class: got '30:0'"),
        (argv_of("30:2:1/2", "30:3"), "--class: got '30:3'; allowed: a share for every class"),
        (argv_of("30:2:1/2", "30:3:1/3"), "share: got 'sum 5/6'"),
        (argv_of("30:5000"), "--class: got '30:5000'; allowed: a decode length of at most 4096"),
        (argv_of(*["30:2"] * 65), "--class: got '65 classes'; allowed: at most 64"),
        (argv_of("30:2", nodes=0), "--nodes: got '0'"),
        (argv_of("30:2", nodes=-1), "--nodes: got '-1'"),
        ([*ARGV, "--capacity", "312"], "--capacity: got 312; allowed: more than 312 tokens"),
        ([*ARGV, "--capacity", "nan"], "--capacity: got 'nan'"),
        ([*ARGV, "--max-imbalance", "0.9"], "--max-imbalance: got '0.9'"),
        ([*ARGV, "--max-imbalance", "inf"], "--max-imbalance: got 'inf'"),
    ],
)
def test_bad_input_gets_one_line(argv, message, capsys):
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"fluidkv: {message}")
    assert captured.err.count("\n") == 1
