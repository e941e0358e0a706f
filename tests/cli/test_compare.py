"""`fluidkv compare`: what is printed and written, and one line for bad input."""

import csv
import json
import re
from pathlib import Path

import pytest

from fluidkv.cli import main
from tests.cli.answered import answer_in, refusal

QUICK = (
    *("--class", "8:10", "--class", "30:20", "--capacity", "160", "--block-size", "4"),
    *("--clock", "0.1:1e-4:2e-3", "--rate", "4", "--requests", "40", "--runs", "3"),
)
TWO = ("--engine", "vllm", "--engine", "trtllm-no-evict")


def said(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(["compare", *argv]) == 0
    return capsys.readouterr().out


def test_the_page_holds_every_engine_against_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, *QUICK, *TWO)
    assert max(map(len, text.splitlines())) <= 80
    assert "Against the first, vllm" in text
    assert "2.            trtllm-no-evict: " in text
    flat = " ".join(text.split())
    assert "95% for all 6 differences at once (Bonferroni)" in flat
    assert "trtllm-no-evict sets room aside as it sees all outputs to come exactly" in flat


def test_json_and_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = answer_in(said(capsys, *QUICK, *TWO, "--json", "--out", str(out)))
    assert [each["engine"] for each in found["engines"]] == ["vllm", "trtllm-no-evict"]
    assert found["engines"][0]["against_first"] is None
    assert found["engines"][1]["against_first"]["latency_p99"]["is"]
    assert found["crossover"] is None
    with (out / "compare.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["engine"], row["run"]) for row in rows][:4] == [
        *(("vllm", str(run)) for run in range(3)),
        ("trtllm-no-evict", "0"),
    ]
    mean = found["engines"][1]["metrics"]["latency_p99"]["mean"]
    assert mean == pytest.approx(sum(float(row["latency_p99"]) for row in rows[3:]) / 3)
    assert {"engines.png", "compare.json"} < {path.name for path in out.iterdir()}


def test_a_log_brings_its_engine_its_server_and_its_bias(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = said(capsys, "sample:vllm-rtx4090", "--engine", "vllm-0.11+cache", "--json")
    found = json.loads(text)
    assert [each["engine"] for each in found["engines"]] == ["vllm-0.19.0+cache", "vllm-0.11+cache"]
    assert found["logged"] == "vllm-0.19.0+cache"
    assert found["bias"]["output_throughput_per_time"]["error_bar"] > 0
    assert (found["runs"], found["requests"], found["pairs"]) == (1, 300, "draw")
    assert found["better"] == []


def test_a_log_of_sglang_is_held_against_what_it_counted(
    capsys: pytest.CaptureFixture[str], traces_dir: Path
) -> None:
    source = str(traces_dir / "sglang_rtx4090_qwen3_4b")
    text = said(capsys, source, "--engine", "sglang+cache", "--engine", "vllm+cache")
    assert re.search(r"output, tokens/s +1,183 +1,143 +-3\.4%", text)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--engine", "vllm"), "--engine: got 'vllm'; allowed: at least two"),
        ((), "--engine: got 'none'; allowed: at least two"),
        (("--engine", "vllm", "--engine", "vlm"), "--engine: got 'vlm'; allowed: near: vllm"),
        (
            ("--engine", "vllm", "--engine", "sglang+cache:mem_fraction=0.8"),
            "without mem_fraction: it is memory",
        ),
        ((*TWO, "--max-tokens", "15"), "--max-tokens: got '15'; allowed: at least the 20 outputs"),
        ((*TWO, "--max-tokens", "400"), "--capacity: got 160; allowed: memory for request"),
        ((*TWO, "--now", "watermark=0.1"), "--now: got 0.1; allowed: 0: it has none; under trtllm"),
        ((*TWO, "--runs", "0"), "--runs: got '0'"),
    ],
)
def test_bad_input_is_one_line(
    capsys: pytest.CaptureFixture[str], argv: tuple[str, ...], said: str
) -> None:
    assert said in refusal(capsys, "compare", *QUICK, *argv)


def test_blocks_are_refused_where_each_engine_has_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = refusal(capsys, "compare", *TWO, "--class", "8:10", "--capacity", "40b")
    assert "--capacity: got '40b'; allowed: tokens, or --block-size beside it" in line


def test_the_crossover_is_said_and_drawn(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    argv = [*QUICK[:-4], "--requests", "12", "--runs", "2", "--crossover"]
    text = said(capsys, *argv, "--out", str(tmp_path / "out"))
    page = text.replace(str(tmp_path), "")  # a folder may be as long as it likes
    assert max(map(len, page.splitlines())) <= 80
    assert "MAX_UTILIZATION or GUARANTEED_NO_EVICT" in text
    assert "1.25x" in text
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"crossover_runs.csv", "crossover.png", "engines.png"} < names
    found = json.loads((tmp_path / "out" / "compare.json").read_text())
    assert found["crossover"]["policies"] == ["trtllm-no-evict", "trtllm-max-utilization"]
    assert found["crossover"]["by_max_tokens"]["points"][:2] == [1, 1.25]


def test_the_first_lines_say_what_it_sees_of_shared_prompts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without a cache among the engines there is nothing to say of prefixes."""
    first = said(capsys, *QUICK, "--engine", "vllm", "--engine", "vllm+cache").partition("Means")[0]
    flat = " ".join(first.split())
    assert "a prefix cache finds only what preempted requests left of themselves" in flat
    assert "fluidkv cache and fluidkv route" in flat
    assert "fluidkv cache" not in said(capsys, *QUICK, *TWO)
