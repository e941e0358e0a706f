"""A measured SGLang server, 0.5.18 on an RTX 4090: its retractions, and its ratio before and after.

It served one backlog whose requests ask for exactly what they emit. Only how long a pass takes is
taken from its log, as a line through it, so passes do not begin at the same times. Four repeats of
the run retracted 19 or 20 times.
"""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from fluidkv.prefix.pieces import content
from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.sglang.stepped import SglangEngine
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.sglang_settings import SglangSettings

FOLDER = "sglang_rtx4090_qwen3_4b"
PREFILL_S = 1e-4  # a token; the log does not show it, and less than a tenth of the run is prefill


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def folder(traces_dir) -> Path:
    if not (traces_dir / FOLDER / "events.jsonl").is_file():
        pytest.skip(f"no real traces: FLUIDKV_TRACES names no folder with {FOLDER}")
    return traces_dir / FOLDER


def clock_of(folder: Path, every: int) -> IterationClock:
    rows = list(csv.DictReader((folder / "decode_log.csv").read_text().splitlines()))
    time, tokens = (np.array([float(row[name]) for row in rows]) for name in ("time_s", "tokens"))
    per_token, base = np.polyfit(tokens[1:], np.diff(time) / every, 1)
    return IterationClock(float(base), float(per_token), PREFILL_S)


def run_of(folder: Path, *, ignore_eos: bool) -> SglangEngine:
    server = json.loads((folder / "meta.json").read_text())
    found = lines(folder / "requests.jsonl")
    prompts = [
        content(
            [[0, row["cached_prefix"]]] * (row["cached_prefix"] > 0)
            + [[1 + row["id"], row["input"] - row["cached_prefix"]]]
        )
        for row in found
    ]
    answers = [content([[10**6 + row["id"], row["output"]]]) for row in found]
    said = Prompts(prompts, answers)
    arrival = [row["arrival_s"] for row in found]
    settings = SglangSettings(
        server["kv_tokens"],
        server["page_size"],
        conservativeness=server["schedule_conservativeness"],
        chunked_prefill_size=server["chunked_prefill_size"],
        max_running=server["max_running_requests"],
        ignore_eos=ignore_eos,
    )
    requests = Requests(said.input_length, said.output_length, arrival=arrival)
    clock = clock_of(folder, server["decode_log_interval"])
    return SglangEngine(requests, said, settings, clock, compiled=True)


def retractions(run: SglangEngine) -> list[tuple[float, float]]:
    """The ratio before and after each."""
    found = []
    while run.done < len(run.all):
        before = run.new_token_ratio
        while run.arrived < len(run.all) and (run.idle or run.all[run.arrived].arrival <= run.now):
            run.offer(run.arrived)
        run.step()
        found += [(before, run.new_token_ratio)] * run.row.retracted
    return found


def test_retractions_and_ratios_are_those_of_the_log(folder):
    measured = [
        (event["ratio_before"], event["ratio_after"])
        for event in lines(folder / "events.jsonl")
        if event["kind"] == "retract"
    ]
    found = retractions(run_of(folder, ignore_eos=False))
    assert (len(measured), len(found)) == (20, 21)
    # The first four come in the same state, up to three passes, each of which takes 0.001.
    assert np.allclose(found[:4], measured[:4], atol=0.003)
    # Both waves begin at the least ratio, and they end alike, if some passes apart.
    for wave in (found, measured):
        assert [before for before, _ in wave].count(0.098) == 2
    last, in_log = found[-1][1], measured[-1][1]
    assert abs(last - in_log) < 0.02


def test_0_5_23_would_reserve_all_that_they_ask_for(folder):
    """Who says that it ignores the end of text is not over-admitted any more, and waits longer."""
    over, full = (run_of(folder, ignore_eos=each) for each in (False, True))
    assert retractions(full) == []
    retractions(over)
    assert 1.1 < full.now / over.now < 1.3
