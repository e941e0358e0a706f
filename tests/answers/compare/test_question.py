"""`fluidkv compare`: which engines are compared, what its page says, and what is refused."""

import csv
import re
from pathlib import Path

import pytest

from fluidkv.answers.compare.question import COMPARE
from fluidkv.errors import InputError
from tests.questions.asked import answer_to, page_of
from tests.questions.cases import CASES, COMPARES, ENGINES

LINE, CROSSED = CASES["compare"]


def test_the_page_holds_every_engine_against_the_first() -> None:
    text = page_of("compare", LINE)
    assert "Against the first, vllm" in text
    assert "2. trtllm-no-evict: " in text
    assert "95% for all 6 differences at once (Bonferroni)" in text
    assert "trtllm-no-evict sets room aside as it sees all outputs to come exactly" in text
    assert "per 1M" in text


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
    text = page_of("compare", CROSSED)
    assert "MAX_UTILIZATION or GUARANTEED_NO_EVICT" in text
    assert "1.25x" in text
    answer = answer_to("compare", CROSSED)
    assert answer.names == ("trtllm-no-evict", "trtllm-max-utilization")
    found = answer.to_dict()["crossover"]
    assert found["by_max_tokens"]["points"][:2] == [1, 1.25]
    text = COMPARE.tables(answer)["crossover_runs.csv"]
    assert isinstance(text, str)
    rows = list(csv.DictReader(text.splitlines()))
    assert {row["axis"] for row in rows} == {"max_tokens", "capacity"}
    assert [figure.id for figure in COMPARE.drawn(answer)] == ["engines", "crossover"]


def test_the_first_lines_say_what_it_sees_of_shared_prompts() -> None:
    """Without a cache among the engines there is nothing to say of prefixes."""
    text = page_of("compare", f"{COMPARES} --engine vllm --engine vllm+cache")
    first = text.partition("Means")[0]
    assert "a prefix cache finds only what preempted requests left of themselves" in first
    assert "fluidkv cache and fluidkv route" in first
    assert "fluidkv cache" not in page_of("compare", LINE)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (f"{COMPARES} --engine vllm", "--engine: got 'vllm'; allowed: at least two"),
        (COMPARES, "--engine: got 'none'; allowed: at least two"),
        (f"{COMPARES} --engine vllm --engine vlm", "--engine: got 'vlm'; allowed: vllm"),
        (
            f"{COMPARES} --engine vllm --engine sglang+cache:mem_fraction=0.8",
            "without mem_fraction: it is memory",
        ),
        (f"{COMPARES} {ENGINES} --max-tokens 15", "max_tokens: got '15'; .* at least the 20 outp"),
        (f"{COMPARES} {ENGINES} --max-tokens 400", "capacity: got 160; allowed: memory for requ"),
        (
            f"{COMPARES} {ENGINES} --now watermark=0.1",
            "watermark: got 0.1; allowed: 0: it has none; under trtllm",
        ),
        (
            f"{COMPARES} {ENGINES} --now watermark=0.01,0.02",
            "--now: got 'watermark=0.01,0.02'; allowed: watermark=W, max_num_seqs=N or",
        ),
        (
            f"{COMPARES} {ENGINES} --seed 1e99",
            "--seed: got '1e99'; allowed: a whole number from 0 to 4,611,686,018,427,387,904",
        ),
        (
            f"{ENGINES} --class 8:10 --capacity 40b",
            "--capacity: got '40b'; allowed: tokens, or --block-size beside it",
        ),
        (f"{ENGINES} --class 8:10 --capacity 160 --price 1", "--price: .* together with a clock"),
    ],
)
def test_what_cannot_be_compared(line: str, error: str) -> None:
    with pytest.raises(InputError, match=error):
        answer_to("compare", line)
