"""Tables beside our engines: our columns against records and closed forms, theirs against rows."""

import json
import os
from fractions import Fraction
from pathlib import Path

import pytest

from fluidkv.errors import InputError
from fluidkv.ledger.outcomes import span
from fluidkv.ledger.registry import table, tables
from fluidkv.ledger.table import Column, Table
from fluidkv_papers.congestion.experiments.a100 import (
    BASE_S,
    BATCH_CAP,
    BLOCK_SIZE,
    BLOCKS,
    ENGINES,
    INPUT,
    LLAMA_3_8B,
    PER_KV_TOKEN_S,
    QWEN_2_5_1_5B,
    REQUESTS,
    limits,
    totals,
)
from fluidkv_papers.congestion.experiments.printed_tables import ROUTED, TABLE_1, TABLE_7
from fluidkv_papers.congestion.tables import routed_rows

ORACLES = Path(os.environ.get("FLUIDKV_ORACLES") or Path(__file__).parents[2] / "../shared/oracles")


def test_the_machine_is_that_of_vidurs_records_and_so_are_its_counts() -> None:
    file = ORACLES / "vidur" / "counts.json"
    if not file.is_file():
        pytest.skip(f"no records of Vidur: FLUIDKV_ORACLES names no folder with {file.name}")
    record = json.loads(file.read_text(encoding="utf-8"))
    assert (record["num_blocks"], record["block_size"]) == (BLOCKS, BLOCK_SIZE)
    assert (record["batch_size_cap"], record["input_length"]) == (BATCH_CAP, INPUT)
    assert record["requests"] == REQUESTS
    assert limits("vidur-sarathi").watermark_blocks == record["watermark_blocks"]
    for run in record["runs"]:
        found = totals(tuple(run["output_lengths"]), "vidur-sarathi")
        assert (found.evictions, found.iterations) == (run["evictions"], run["iterations"])


@pytest.mark.parametrize("engine", ENGINES)
def test_seconds_are_the_clocks_line_over_the_counted_iterations(engine: str) -> None:
    found = totals((20, 21), engine)
    seconds = BASE_S * found.iterations + PER_KV_TOKEN_S * found.kv_token_iterations
    assert found.per_s == pytest.approx(REQUESTS / seconds, rel=1e-12)  # sums in another order


def test_prefill_is_every_prompt_once_and_what_evictions_make_again() -> None:
    kept = totals((100, 200), "vidur-sarathi")
    assert kept.prefill_tokens > REQUESTS * INPUT + kept.evictions * INPUT  # outputs on top
    lost = totals((100, 200), "restart")
    assert lost.prefill_tokens == (REQUESTS + lost.evictions) * INPUT


def test_average_and_change_are_of_the_rows_above() -> None:
    first, second, average, mixed, change = routed_rows(TABLE_7)
    for key in ("evictions_restart", "latency_vidur-sarathi", "iterations_restart"):
        found = [row.values[key] for row in (first, second, average, mixed, change)]
        a, b, mean, pool, percent = (value for value in found if value is not None)
        assert mean == pytest.approx((a + b) / 2, rel=1e-15)
        assert percent == pytest.approx(100 * (pool - mean) / mean, rel=1e-12)
    assert (mixed.percent, change.percent) == (False, True)
    assert mixed.values["evictions_paper"] == 2449


def test_every_table_has_what_its_columns_name() -> None:
    assert {"1", "2", "3", "6", "7"} <= set(tables())
    for name in ("6", "congestion.7"):
        of = table(name)
        rows = of.data()
        keys = [column.key for column in of.columns]
        assert all(set(keys) <= set(row.values) for row in rows)
        assert of.to_dict()["rows"][0]["evictions_paper"] == rows[0].values["evictions_paper"]


def test_unknown_tables_and_double_columns_are_refused() -> None:
    with pytest.raises(InputError, match="table: got '9'"):
        table("9")
    column = Column("x", "g", "h")
    with pytest.raises(InputError, match="keys that differ"):
        Table("1", "t", "s", (column, column), (), list)


def test_printed_numbers_stand_for_all_that_round_to_them() -> None:
    assert span("5.44") == (Fraction("5.435"), Fraction("5.445"))
    assert span("53") == (Fraction("52.5"), Fraction("53.5"))


def test_pools_are_the_lengths_of_both_nodes() -> None:
    for case in ROUTED:
        first, second, pool = case.lengths
        assert pool == tuple(sorted(first + second))
    assert [row.evictions for row in TABLE_1.rows] == ["908", "931", "53"]


def test_weights_are_within_what_the_models_have_in_all() -> None:
    """8.03 and 1.54 billion with both embeddings, of 128,256 x 4096 and 151,936 x 1536 (shared)."""
    llama = LLAMA_3_8B + 2 * 128_256 * 4096
    assert llama == pytest.approx(8.03e9, rel=2e-3)  # norms are left out
    qwen = QWEN_2_5_1_5B + 151_936 * 1536
    assert qwen == pytest.approx(1.54e9, rel=5e-3)  # so are biases
