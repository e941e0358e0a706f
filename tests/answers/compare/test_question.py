"""`fluidkv compare`: which engines are compared, what its page says, and what is refused."""

import csv
import re
from pathlib import Path

import pytest

from fluidkv.answers.compare.question import COMPARE
from tests.cli.transcript import lines_in_every_form
from tests.questions.asked import answer_to, page_of

LINE, CROSSED = lines_in_every_form("compare")[:2]


def test_the_table_has_a_row_for_each_engine_and_run() -> None:
    answer = answer_to("compare", LINE)
    text = COMPARE.tables(answer)["compare.csv"]
    assert isinstance(text, str)
    rows = list(csv.DictReader(text.splitlines()))
    assert [(row["engine"], row["run"]) for row in rows][:4] == [
        *(("vllm", str(run)) for run in range(3)),
        ("trtllm-no-evict", "0"),
    ]
    mean = sum(float(row["latency_p99"]) for row in rows[3:]) / 3
    assert answer.mean(1, "latency_p99") == pytest.approx(mean)


def test_a_log_brings_its_engine_its_server_and_its_bias() -> None:
    answer = answer_to("compare", "sample:vllm-rtx4090 --engine vllm-0.11+cache --draws 2")
    assert answer.names == ("vllm-0.19.0+cache", "vllm-0.11+cache")
    assert answer.logged == 0
    assert answer.bias["output_throughput_per_time"].error_bar > 0
    assert (answer.runs, answer.requests, answer.pairs) == (1, 300, "draw")
    assert answer.better == ()


@pytest.mark.thorough
def test_a_log_of_sglang_is_held_against_what_it_counted(traces_dir: Path) -> None:
    source = traces_dir / "sglang_rtx4090_qwen3_4b"
    text = page_of("compare", f"{source} --engine sglang+cache --engine vllm+cache --draws 2")
    assert re.search(r"output, tokens/s +1,183 +1,143 +-3\.4%", text)


def test_the_crossover_is_said_and_has_its_table() -> None:
    answer = answer_to("compare", CROSSED)
    assert answer.names == ("trtllm-no-evict", "trtllm-max-utilization")
    found = answer.to_dict()["crossover"]
    assert found["by_max_tokens"]["points"][:2] == [1, 1.25]
    text = COMPARE.tables(answer)["crossover_runs.csv"]
    assert isinstance(text, str)
    rows = list(csv.DictReader(text.splitlines()))
    assert {row["axis"] for row in rows} == {"max_tokens", "capacity"}
    assert [figure.id for figure in COMPARE.figures_of(answer)] == ["engines", "crossover"]
