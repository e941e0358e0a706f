"""`fluidkv study`: the stable keys, the numbers behind them, and one line for bad input."""

import os
from fractions import Fraction

import numpy as np
import pytest

from fluidkv.cli import main
from fluidkv.exact.linear_stability import stability
from fluidkv.fluid import class_model, event_log, mode_starts
from fluidkv.workload import RequestClass, System, Workload
from tests.cli.answered import json_of, refusal
from tests.small_systems import one_class

SHORT = ["--iterations", "50"]


def test_stable_keys_of_two_classes(capsys):
    classes = ["--class", "50:2:1/2", "--class", "50:4:0.5"]
    answer = json_of(capsys, "study", *classes, "--capacity", "626", *SHORT)
    half = Fraction(1, 2)
    found = stability(System(Workload((RequestClass(50, 2, half), RequestClass(50, 4, half))), 626))
    assert answer["equilibrium"]["rate"] == 4
    assert answer["equilibrium"]["in_flight"] == 12
    assert answer["stability"]["verdict"] == "unstable"
    assert answer["stability"]["evidence"] == "exact"
    assert answer["stability"]["spectral_radius"] == list(found.spectral_radius)
    assert answer["stability"]["unstable_modes"] == 1
    assert answer["stability"]["leading_period"] == pytest.approx(2, rel=1e-15)
    assert answer["gcd"] == 2
    assert answer["workload"]["classes"] == 2
    assert answer["workload"]["requests"] is None
    assert answer["capacity"] == 626
    assert answer["simulation"]["iterations"] == 50
    assert "measured" not in answer


def test_equal_requests_get_their_worst_case(capsys):
    """10 in, 8 out: x* = M / sum of (10 + 1 + j) = 1000/116, worst 1000 / (8 * 18)."""
    answer = json_of(capsys, "study", "--class", "10:8", "--capacity", "1000")
    found = answer["homogeneous"]
    assert (found["input_length"], found["decode_length"]) == (10, 8)
    assert found["attractor"] == "maximal-eviction cycle"
    assert found["best_exact"] == answer["equilibrium"]["rate_exact"]
    assert found["worst_exact"] == str(Fraction(1000, 8 * 18))
    assert found["worst"] == 1000 / 144
    assert found["worst_case_ratio_exact"] == str(Fraction(2 * 10 + 8 + 1, 2 * (10 + 8)))
    assert found["equilibria"] == 35  # 36 necklaces of 8 beads in two colours, less the empty one
    groups = answer["simulation"]["starts"]
    assert [s["name"] for s in found["starts"]] == [g["name"] for g in groups]
    for start, group in zip(found["starts"], groups, strict=True):
        assert start["reached"] == start["starts"] == group["starts"]
        assert group["first_eviction"] <= start["iteration"] or group["starts"] == 1
        # From there on throughput is the worst: the second half has some sixty whole rounds of 8
        # iterations, and a part of a round more or less.
        assert group["throughput"] == pytest.approx(found["worst_case_ratio"], rel=1 / 60)
    # The empty server admits all it can at once, so its requests are in step from the start.
    assert found["starts"][-1]["iteration"] == 1


@pytest.mark.thorough
def test_who_is_in_the_worst_case_is_what_the_events_say(capsys):
    """Against `event_log`, another engine: first iterations with a single occupied stage."""
    answer = json_of(capsys, "study", "--class", "4:6", "--capacity", "300", "--iterations", "400")
    system = one_class(4, 6, 300)
    root = complex(stability(system).certificate.leading[0].ball.mid())
    model = class_model(system)
    for size, start in zip((0.01, 0.1), answer["homogeneous"]["starts"], strict=False):
        batch = mode_starts(model, root, count=8, size=size)[:, 0]
        settled = event_log(system, batch, iterations=400).settled.values
        assert start["reached"] == (settled >= 0).sum() == 8
        assert start["iteration"] == int(np.median(settled))


def test_equal_requests_too_short_a_run_to_collapse(capsys):
    answer = json_of(
        capsys, "study", "--class", "40:40", "--capacity", "9000", "--iterations", "50"
    )
    start = answer["homogeneous"]["starts"][0]
    assert (start["reached"], start["iteration"]) == (0, None)


def test_one_token_has_one_equilibrium(capsys):
    found = json_of(capsys, "study", "--class", "5:1", "--capacity", "60", *SHORT)["homogeneous"]
    assert (found["attractor"], found["equilibria"]) == ("fixed point", 1)
    assert found["worst_case_ratio_exact"] == "1"


def test_equal_requests_in_two_classes_are_one_class(capsys):
    twice = json_of(capsys, "study", "--class", "5:3", "--class", "5:3", "--capacity", "60", *SHORT)
    once = json_of(capsys, "study", "--class", "5:3", "--capacity", "60", *SHORT)
    assert twice["homogeneous"] == once["homogeneous"]


def test_different_lengths_have_no_homogeneous_part(capsys):
    answer = json_of(
        capsys, "study", "--class", "5:3", "--class", "6:3", "--capacity", "60", *SHORT
    )
    assert "homogeneous" not in answer


@pytest.mark.daily(2)
@pytest.mark.parametrize(
    ("lengths", "words"),
    [
        ("5:1", "every start is there after one iteration"),
        ("5:2", "others        the fixed point, unstable"),
        ("5:3", "the fixed point and 1 balanced cycle, both unstable"),
        ("5:8", "the fixed point and 33 balanced cycles, all unstable"),
        ("5:400", "the fixed point and some 10^117 balanced cycles, all unstable"),
    ],
)
def test_the_worst_case_in_words_within_80_columns(lengths, words, capsys, monkeypatch):
    """2^400 / 400 = 6.5e117 patterns."""
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["study", "--class", lengths, "--capacity", "5000", *SHORT]) == 0
    shown = capsys.readouterr().out
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert " ".join(words.split()) in " ".join(shown.split())


def test_growing_modes_are_listed_fastest_first_and_do_not_depend_on_capacity(capsys):
    tiers = ["--class", "64:12", "--class", "64:18", "--class", "64:30"]
    answers = [json_of(capsys, "study", *tiers, "--capacity", m, *SHORT) for m in ("200", "100000")]
    small, large = (answer["growing_modes"] for answer in answers)
    assert small == large
    assert small["complete"]
    assert small["count"] == small["enclosed"] == answers[0]["stability"]["unstable_modes"]
    assert small["count"] == sum(mode["multiplicity"] for mode in small["modes"])
    assert [mode["folding_time"] for mode in small["modes"]] == sorted(
        mode["folding_time"] for mode in small["modes"]
    )
    first, stability_ = small["modes"][0], answers[0]["stability"]
    assert first["modulus"] == stability_["spectral_radius"]
    assert first["period"] == stability_["leading_period"]
    # The latter from the middle of the bracket in doubles, where log |z| is about 0.01.
    assert first["folding_time"] == pytest.approx(stability_["folding_time"], rel=1e-12)


@pytest.mark.thorough
def test_longer_inputs_change_the_growing_modes(capsys):
    counts = []
    for l0 in (10, 40, 65):  # (5, 9): stable from 65 on
        classes = ["--class", f"{l0}:5", "--class", f"{l0}:9"]
        answer = json_of(capsys, "study", *classes, "--capacity", "1000", *SHORT)
        counts.append(answer["growing_modes"]["count"])
    assert counts[0] > 0
    assert counts[-1] == 0
    assert sorted(counts, reverse=True) == counts


def test_tiers_get_their_line_and_stable_mixes_no_growing_modes(capsys):
    answer = json_of(
        capsys, "study", "--class", "65:5", "--class", "65:9", "--capacity", "1000", *SHORT
    )
    assert answer["growing_modes"]["modes"] == []
    assert answer["growing_modes"]["complete"]
    assert answer["tiers"]["decode_lengths"] == [5, 9]
    assert answer["tiers"]["persistent_modes"] == 0
    assert answer["tiers"]["least_stable_input"] == 65
    assert "are coprime" in answer["tiers"]["sentence"]
    alike = json_of(capsys, "study", "--class", "65:5", "--capacity", "1000", *SHORT)
    assert "tiers" not in alike


@pytest.mark.daily(3)
@pytest.mark.parametrize(
    ("classes", "words"),
    [
        (["512:128", "512:256", "512:512"], "127 modes, all enclosed; a pair turns once"),
        (["512:128", "512:256", "512:512"], "by a factor e in 676.9 iterations and 118 more"),
        (
            ["512:128", "512:256", "512:512"],
            "share the divisor 128: at least 127 modes grow at any",
        ),
        (["512:127", "512:255", "512:509"], "is stable only from l0 = 2,559,457 on"),
        (["512:127", "512:255", "512:509"], "no KV size stabilises this mix"),
        (["10:5", "10:6"], "only the leading mode (a pair of mirror images)"),
        (["50:2", "50:4"], "only the leading mode (a single root)"),
        (["20:1000"], "999 modes; some of the fastest, each enclosed"),
    ],
)
def test_growing_modes_in_words_within_80_columns(classes, words, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    options = [word for text in classes for word in ("--class", text)]
    assert main(["study", *options, "--capacity", "100000", *SHORT]) == 0
    shown = capsys.readouterr().out
    wrapped = [line for line in shown.splitlines() if not line.startswith("  fluidkv ")]
    assert max(map(len, wrapped)) <= 80
    assert words in " ".join(shown.split())


def test_shares_left_out_are_equal(capsys):
    answer = json_of(
        capsys, "study", "--class", "50:2", "--class", "50:3", "--capacity", "518", *SHORT
    )
    assert answer["equilibrium"]["rate"] == 4
    assert answer["stability"]["verdict"] == "stable"


def test_one_iteration_requests_have_no_period(capsys):
    answer = json_of(capsys, "study", "--class", "5:1", "--capacity", "60", *SHORT)
    assert answer["stability"]["leading_period"] is None
    assert answer["stability"]["spectral_radius"] == [0, 0]


def test_a_fractional_capacity_stays_exact(capsys):
    answer = json_of(capsys, "study", "--class", "2:3", "--capacity", "49/2", *SHORT)
    assert (answer["capacity"], answer["capacity_exact"]) == (24.5, "49/2")
    assert answer["equilibrium"]["rate_exact"] == "49/24"


def test_measured_log_comes_out_as_the_paper_page_says(capsys, traces_dir):
    """Values stated for this log between 20 and 150 s, to the digits stated.

    The mean is 34.65 with both ends of the window and 34.71 without the tick at 20 s.
    """
    log = traces_dir / "vllm_rtx4090_llama31_8b"
    answer = json_of(
        capsys,
        "study",
        str(log),
        "--capacity",
        "41408",
        "--measured",
        str(log / "timeseries.csv"),
        "--window",
        "20:150",
        *SHORT,
    )
    assert round(answer["equilibrium"]["in_flight"], 2) == 34.39
    assert round(answer["equilibrium"]["rate"], 6) == 0.052703
    assert [round(r, 7) for r in answer["stability"]["spectral_radius"]] == [1.0001226, 1.0001226]
    assert answer["stability"]["unstable_modes"] == 2
    assert round(answer["stability"]["leading_period"], 1) == 657.8
    assert (answer["workload"]["requests"], answer["gcd"]) == (300, 1)
    assert answer["measured"]["window_s"] == [20, 150]
    assert answer["measured"]["running_mean"] == pytest.approx(34.7, abs=0.06)
    assert answer["measured"]["iterations_per_s"] == pytest.approx(32.5, abs=0.06)
    assert 21 <= answer["measured"]["period_s"] <= 22
    assert round(answer["predicted"]["period_s"], 1) == 20.2
    assert answer["predicted"]["in_flight"] == answer["equilibrium"]["in_flight"]


def test_capacity_of_a_log_folder_is_read_from_the_log(capsys, traces_dir):
    answer = json_of(capsys, "study", str(traces_dir / "vllm_rtx4090_llama31_8b"), *SHORT)
    assert answer["capacity"] == 41408


def test_dropped_rows_are_counted_and_shown(capsys, tmp_path):
    trace = tmp_path / "trace.csv"
    trace.write_text("input_length,output_length\n10,5\n10,0\nx,5\n12,7\n", encoding="utf-8")
    answer = json_of(capsys, "study", str(trace), "--capacity", "100", *SHORT)
    rows = answer["inputs"]["read"]
    assert (rows["read"], rows["kept"], rows["dropped"]) == (4, 2, 2)
    assert main(["study", str(trace), "--capacity", "100", *SHORT]) == 0
    shown = capsys.readouterr().out
    assert "4 rows read, 2 kept" in shown
    assert "dropped: " in shown


BAD = {
    "no source": ["--capacity", "10"],
    "two sources": ["--class", "5:3", "--preset", "sharegpt", "--capacity", "10"],
    "zero input": ["--class", "0:5", "--capacity", "100"],
    "zero output": ["--class", "5:0", "--capacity", "100"],
    "negative": ["--class", "5:-1", "--capacity", "100"],
    "fractional": ["--class", "5:2.5", "--capacity", "100"],
    "nan length": ["--class", "nan:2", "--capacity", "100"],
    "infinite length": ["--class", "5:inf", "--capacity", "100"],
    "no colon": ["--class", "5", "--capacity", "100"],
    "huge length": ["--class", "5:" + "9" * 30, "--capacity", "100"],
    "shares below one": ["--class", "5:3:1/2", "--capacity", "100"],
    "shares above one": ["--class", "5:3:1/2", "--class", "5:4:2/3", "--capacity", "100"],
    "zero share": ["--class", "5:3:0", "--class", "5:4:1", "--capacity", "100"],
    "share over zero": ["--class", "5:3:1/0", "--capacity", "100"],
    "mixed shares": ["--class", "5:3:1/2", "--class", "5:4", "--capacity", "100"],
    "no capacity": ["--class", "5:3"],
    "capacity of the largest request": ["--class", "5:3", "--capacity", "8"],
    "unknown preset": ["--preset", "wikipedia", "--capacity", "10000"],
    "format without a source": ["--class", "5:3", "--capacity", "100", "--format", "azure"],
    "window without measured": ["--class", "5:3", "--capacity", "100", "--window", "1:2"],
    "capacity with an underscore": ["--class", "5:3", "--capacity", "41_408"],
    "capacity in other digits": ["--class", "5:3", "--capacity", "４１"],
    "iterations for years": ["--class", "5:3", "--capacity", "100", "--iterations", "1" + "0" * 12],
    "too long an output": ["--class", "5:200000", "--capacity", "1000000"],
}


@pytest.mark.parametrize("argv", BAD.values(), ids=BAD.keys())
def test_bad_arguments_get_one_line(argv, capsys):
    refusal(capsys, "study", *argv)


def test_a_window_without_a_tick_is_shown_as_it_is_written(capsys):
    log = "sample:vllm-rtx4090"
    line = refusal(capsys, "study", log, "--measured", log, "--window", "100000:200000")
    assert line.startswith("fluidkv: --window: got 100000:200000; allowed: first <= last")


FILES = {
    "empty": b"",
    "binary": b"\x89PNG\r\n\x1a\n\x00\x00\xff\xfe",
    "columns": b"a,b,c\n1,2,3\n",
    "header only": b"TIMESTAMP,ContextTokens,GeneratedTokens\n",
    "words": b"TIMESTAMP,ContextTokens,GeneratedTokens\nx,y,z\n",
    "truncated": b'{"timestamp": 0, "input_length": 67',
}


@pytest.mark.parametrize("content", FILES.values(), ids=FILES.keys())
def test_bad_files_get_one_line(content, capsys, tmp_path):
    path = tmp_path / "trace"
    path.write_bytes(content)
    assert "SOURCE" in refusal(capsys, "study", str(path), "--capacity", "100")


def test_unknown_format_names_the_known_ones(capsys, tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("input_length,output_length\n10,5\n", encoding="utf-8")
    line = refusal(capsys, "study", str(path), "--capacity", "100", "--format", "parquet")
    assert "azure" in line
    assert "mooncake" in line


def test_measured_without_its_columns_is_refused(capsys, tmp_path):
    series = tmp_path / "series.csv"
    series.write_text("t,running\n1,2\n", encoding="utf-8")
    line = refusal(
        capsys, "study", "--class", "5:3", "--capacity", "100", "--measured", str(series)
    )
    assert "waiting" in line
    assert "gen_throughput" in line


def test_a_measured_pipe_is_refused_not_waited_for(capsys, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    argv = ["study", "--class", "5:3", "--capacity", "100", "--measured", str(tmp_path / "pipe")]
    assert "not a regular file" in refusal(capsys, *argv)


def test_dropped_rows_of_a_measured_series_are_counted_and_shown(capsys, tmp_path):
    series = tmp_path / "series.csv"
    rows = [f"{t},{10 + t % 8},5,100" for t in range(32)]
    rows[5] = "5,many,5,100"
    series.write_text("\n".join(["t,running,waiting,gen_throughput", *rows]), encoding="utf-8")
    argv = ["--class", "5:3", "--capacity", "100", "--measured", str(series), *SHORT]
    counted = json_of(capsys, "study", *argv)["measured"]["rows"]
    assert (counted["read"], counted["kept"]) == (32, 31)
    assert [reason["rows"] for reason in counted["dropped_because"]] == [1]
    assert main(["study", *argv]) == 0
    assert "32 rows read, 31 kept; 1 dropped" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("window", ["5", "a:b", "9:3", "1:2:3"])
def test_bad_windows_are_refused(window, capsys, tmp_path):
    series = tmp_path / "series.csv"
    series.write_text("t,running,waiting,gen_throughput\n1,2,3,4\n", encoding="utf-8")
    argv = ["--class", "5:3", "--capacity", "100", "--measured", str(series), "--window", window]
    assert "--window" in refusal(capsys, "study", *argv)


def test_an_out_that_is_a_file_is_refused_and_kept(capsys, tmp_path):
    out = tmp_path / "notes.txt"
    out.write_text("mine", encoding="utf-8")
    argv = ["study", "--class", "5:3", "--capacity", "100", "--out", str(out)]
    assert "--out" in refusal(capsys, *argv)
    assert out.read_text() == "mine"


def test_an_out_below_a_file_is_refused(capsys, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    out = str(tmp_path / "file" / "deep" / "study")
    assert "--out" in refusal(capsys, "study", "--class", "5:3", "--capacity", "100", "--out", out)


def test_a_refused_study_leaves_no_folder_behind(capsys, tmp_path):
    out = tmp_path / "new" / "study"
    refusal(capsys, "study", "--class", "5:3", "--capacity", "8", "--out", str(out))
    assert list(tmp_path.iterdir()) == []
