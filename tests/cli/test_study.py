"""`fluidkv study`: numbers behind its keys, and places that it refuses to write to."""

import os
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fluidkv.exact.linear_stability import stability
from fluidkv.fluid import class_model, event_log, mode_starts
from fluidkv.workload import RequestClass, System, Workload
from tests.cli.answered import json_of, refusal
from tests.questions.asked import values_of
from tests.small_systems import one_class

SHORT = ["--iterations", "50"]


def study(line: str) -> dict[str, Any]:
    return values_of("study", line if "--iterations" in line else f"{line} --iterations 50")


def test_two_classes_are_those_of_the_certificate() -> None:
    answer = study("--class 50:2:1/2 --class 50:4:0.5 --capacity 626")
    half = Fraction(1, 2)
    found = stability(System(Workload((RequestClass(50, 2, half), RequestClass(50, 4, half))), 626))
    assert (answer["equilibrium"]["rate"], answer["equilibrium"]["in_flight"]) == (4, 12)
    assert (answer["stability"]["verdict"], answer["stability"]["evidence"]) == (
        "unstable",
        "exact",
    )
    assert answer["stability"]["spectral_radius"] == list(found.spectral_radius)
    assert answer["stability"]["unstable_modes"] == 1
    assert answer["stability"]["leading_period"] == pytest.approx(2, rel=1e-15)
    assert (answer["gcd"], answer["workload"]["classes"]) == (2, 2)
    assert answer["workload"]["requests"] is None
    assert answer["simulation"]["iterations"] == 50
    assert "measured" not in answer


def test_equal_requests_get_their_worst_case() -> None:
    """10 in, 8 out: x* = M / sum of (10 + 1 + j) = 1000/116, worst 1000 / (8 * 18)."""
    answer = values_of("study", "--class 10:8 --capacity 1000")
    found = answer["homogeneous"]
    assert found["attractor"] == "maximal-eviction cycle"
    assert found["best_exact"] == answer["equilibrium"]["rate_exact"] == "250/29"
    assert found["worst_exact"] == str(Fraction(1000, 8 * 18))
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
def test_who_is_in_the_worst_case_is_what_the_events_say() -> None:
    """Against `event_log`, another engine: first iterations with a single occupied stage."""
    answer = study("--class 4:6 --capacity 300 --iterations 400")
    system = one_class(4, 6, 300)
    root = complex(stability(system).certificate.leading[0].ball.mid())
    model = class_model(system)
    for size, start in zip((0.01, 0.1), answer["homogeneous"]["starts"], strict=False):
        batch = mode_starts(model, root, count=8, size=size)[:, 0]
        settled = event_log(system, batch, iterations=400).settled.values
        assert start["reached"] == (settled >= 0).sum() == 8
        assert start["iteration"] == int(np.median(settled))


def test_equal_requests_too_short_a_run_to_collapse() -> None:
    start = study("--class 40:40 --capacity 9000")["homogeneous"]["starts"][0]
    assert (start["reached"], start["iteration"]) == (0, None)


def test_one_token_has_one_equilibrium_and_no_period() -> None:
    answer = study("--class 5:1 --capacity 60")
    found = answer["homogeneous"]
    assert (found["attractor"], found["equilibria"]) == ("fixed point", 1)
    assert found["worst_case_ratio_exact"] == "1"
    assert answer["stability"]["leading_period"] is None
    assert answer["stability"]["spectral_radius"] == [0, 0]


def test_equal_requests_in_two_classes_are_one_class() -> None:
    twice = study("--class 5:3 --class 5:3 --capacity 60")
    assert twice["homogeneous"] == study("--class 5:3 --capacity 60")["homogeneous"]
    assert "homogeneous" not in study("--class 5:3 --class 6:3 --capacity 60")


def test_growing_modes_are_listed_fastest_first_and_do_not_depend_on_capacity() -> None:
    tiers = "--class 64:12 --class 64:18 --class 64:30"
    answer, other = (study(f"{tiers} --capacity {tokens}") for tokens in (200, 100_000))
    modes, verdict = answer["growing_modes"], answer["stability"]
    assert modes == other["growing_modes"]
    assert modes["complete"]
    assert modes["count"] == modes["enclosed"] == verdict["unstable_modes"]
    assert modes["count"] == sum(mode["multiplicity"] for mode in modes["modes"])
    times = [mode["folding_time"] for mode in modes["modes"]]
    assert times == sorted(times)
    first = modes["modes"][0]
    assert first["modulus"] == verdict["spectral_radius"]
    assert first["period"] == verdict["leading_period"]
    # The latter from the middle of the bracket in doubles, where log |z| is about 0.01.
    assert first["folding_time"] == pytest.approx(verdict["folding_time"], rel=1e-12)


@pytest.mark.thorough
def test_longer_inputs_change_the_growing_modes() -> None:
    """(5, 9): stable from 65 on."""
    counts = [
        study(f"--class {l0}:5 --class {l0}:9 --capacity 1000")["growing_modes"]["count"]
        for l0 in (10, 40, 65)
    ]
    assert counts[0] > 0
    assert counts[-1] == 0
    assert sorted(counts, reverse=True) == counts


def test_tiers_get_their_line_and_stable_mixes_no_growing_modes() -> None:
    answer = study("--class 65:5 --class 65:9 --capacity 1000")
    assert answer["growing_modes"]["modes"] == []
    assert answer["growing_modes"]["complete"]
    assert answer["tiers"]["decode_lengths"] == [5, 9]
    assert answer["tiers"]["persistent_modes"] == 0
    assert answer["tiers"]["least_stable_input"] == 65
    assert "are coprime" in answer["tiers"]["sentence"]
    assert "tiers" not in study("--class 65:5 --capacity 1000")


def test_shares_left_out_are_equal() -> None:
    answer = study("--class 50:2 --class 50:3 --capacity 518")
    assert answer["equilibrium"]["rate"] == 4
    assert answer["stability"]["verdict"] == "stable"


def test_a_fractional_capacity_stays_exact() -> None:
    answer = study("--class 2:3 --capacity 49/2")
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


def test_a_measured_pipe_is_refused_not_waited_for(capsys, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    argv = ["study", "--class", "5:3", "--capacity", "100", "--measured", str(tmp_path / "pipe")]
    assert "not a regular file" in refusal(capsys, *argv)


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
