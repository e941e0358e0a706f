"""Whether a log shows an instability or noise: on series of known truth, and on measured logs."""

import json
import os
from collections import Counter
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import fluidkv as fk
from fluidkv.answers.study.chance import chance
from fluidkv.answers.study.swing import Swings, measured_swing
from fluidkv.measured import Timeseries
from tests.cli.answered import answer_of

SHARED = Path(__file__).parents[4] / "shared"
ORACLES = Path(os.environ.get("FLUIDKV_ORACLES") or SHARED / "oracles")
TRACES = Path(os.environ.get("FLUIDKV_TRACES") or SHARED / "traces")
DRAWN = fk.Workload.from_lengths([(150 + 37 * k % 400, 5 + k) for k in range(36)])
ALIKE = fk.Workload.from_lengths([(60, 20), (80, 20)])


@pytest.mark.parametrize(
    ("workload", "verdict"), [(DRAWN, Swings.NOISE), (ALIKE, Swings.INSTABILITY)]
)
def test_series_of_known_truth(workload: fk.Workload, verdict: Swings) -> None:
    system = fk.System(workload, 40_000)
    server = fk.FullServer(fk.footprint_of(workload), system.capacity)
    running = fk.simulate_footprints(server, iterations=2500).running[0, 500:]
    ticks = np.arange(0, len(running), 8)  # a tick of 0.4 s is 8 iterations of 0.05 s
    full = np.ones(len(ticks))
    series = Timeseries(
        np.array(ticks * 0.05, np.float64), running[ticks], full, 20.0 * running[ticks]
    )
    found = measured_swing(series, fk.measure(series), chance(system), 20.0)
    assert (found.verdict, found.every) == (verdict, 8)
    period = found.to_dict()["predicted_period"]
    assert (period == 20.0) is (verdict is Swings.INSTABILITY)


def test_a_log_of_few_ticks_is_not_decided() -> None:
    series = Timeseries(np.arange(20.0), np.arange(20.0), np.ones(20), np.ones(20))
    found = measured_swing(series, fk.measure(series), chance(fk.System(DRAWN, 40_000)), None)
    assert found.verdict is None
    assert "at least" in found.reason


def test_a_study_of_a_log_says_what_its_running_requests_show(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The sample: 184 s of vLLM, a tick a second; unstable by its lengths."""
    measured = answer_of(capsys, "study", "sample:vllm-rtx4090", "--iterations", "50")["noise"]
    assert measured["measured"]["verdict"] == "instability"
    assert measured["measured"]["iterations_per_tick"] == 33
    assert (
        answer_of(capsys, "study", "--class", "9:2", "--capacity", "99")["noise"]["measured"]
        is None
    )


class Recorded(NamedTuple):
    """Steps of a recorded scheduler from the hundredth on, while requests wait, and its server."""

    columns: dict[str, NDArray[np.float64]]
    server: fk.FullServer
    log: dict[str, Any]


def recorded(name: str) -> Recorded:
    path = ORACLES / name
    if not path.is_file():
        pytest.skip(f"no oracles: FLUIDKV_ORACLES names no folder with {name}")
    log = json.loads(path.read_text(encoding="utf-8"))
    rows = np.array(log["records"], float)
    columns = {name: rows[:, k] for k, name in enumerate(log["columns"])}
    outputs = log["output_lengths"]
    inputs = log.get("input_lengths") or [log["input_length"]] * len(outputs)
    many = max(int(columns["completed"].sum()), 50)
    block = log["block_size"]
    server = fk.FullServer(
        _mix(tuple(zip(inputs, outputs, strict=True))[:many], block), log["usable_blocks"] * block
    )
    waits = np.flatnonzero(columns["waiting"] > 0)
    full = slice(waits[0] + 100, waits[-1] + 1)
    return Recorded({name: column[full] for name, column in columns.items()}, server, log)


@cache
def _mix(lengths: tuple[tuple[int, int], ...], block: int) -> fk.FootprintMix:
    """vLLM's: l0, l0 + 1, ... l0 + l1 - 1 tokens, in whole blocks."""
    counts = Counter(lengths)
    return fk.FootprintMix(
        [
            (Fraction(n, len(lengths)), fk.RequestFootprint(i - 1, o, block=block))
            for (i, o), n in sorted(counts.items())
        ]
    )


@pytest.mark.parametrize(
    ("name", "noise"),
    [
        ("vllm/homogeneous_bs1.json", False),
        ("vllm/homogeneous_bs16.json", False),
        ("vllm/long_outputs_bs1.json", False),
        ("vllm/budget_256.json", False),
        ("vllm/watermark_05.json", False),
        ("vllm/poisson_095.json", False),
        ("vllm/four_class_bs16_rr.json", False),
        # 17 running of two lengths: what grows is not above the rounding to whole requests
        ("vllm/two_class_bs1_iid.json", True),
        ("vllm_live/A_one_class_64_128_first.json", False),
        ("vllm_live/A_watermark_05.json", False),
    ],
)
def test_recorded_schedulers_of_vllm(name: str, noise: bool) -> None:
    """docs/noise.md has these: all are unstable by their lengths."""
    columns, server, _ = recorded(name)
    assert fk.footprint_stability(server).verdict.value == "unstable"
    found = fk.swing_test(columns["running"], server)
    assert found.noise is noise
    assert noise or found.ratio.max() > 5


def test_a_server_whose_lengths_come_in_turn_does_not_swing() -> None:
    assert np.ptp(recorded("vllm_live/B_mix_318_9_14.json").columns["running"]) == 0


def test_sglang_keeps_room_and_swings_less_than_chance(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It reserves what requests may still produce: nothing is admitted that only fits."""
    log = TRACES / "sglang_rtx4090_qwen3_4b"
    if not log.is_dir():
        pytest.skip(f"no traces: FLUIDKV_TRACES names no folder with {log.name}")
    found = answer_of(capsys, "study", str(log), "--iterations", "50")["noise"]["measured"]
    assert found["verdict"] == "less than chance"
    assert found["ticks"] == 90
