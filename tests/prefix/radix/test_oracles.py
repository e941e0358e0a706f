"""SGLang's own trees, call by call: every row of every record."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from fluidkv.prefix.policies import Policy
from fluidkv.prefix.radix.reference import RadixTree
from fluidkv.prefix.radix.values import SplitBirth
from tests.prefix.radix.calls import rows

ORACLES = Path(
    os.environ.get("FLUIDKV_ORACLES") or Path(__file__).parents[4] / "shared" / "oracles"
)
NAMES = (
    *("api_ps16_fifo", "multiturn_ps16_lru", "priority_ps16_priority", "scan_lower_bound_ps1_lru"),
    *("shared_prompts_ps1_lfu", "shared_prompts_ps1_lru", "tight_ps16_slru", "tree_ps1_lru"),
)


def oracle(name: str) -> dict[str, Any]:
    path = ORACLES / "sglang_radix" / f"{name}.json"
    if not path.is_file():
        pytest.skip(f"no oracles: FLUIDKV_ORACLES names no folder with {path.name}")
    return json.loads(path.read_text(encoding="utf-8"))


def recorded(record: dict[str, Any], birth: SplitBirth) -> list[list[Any]]:
    found = list(record["rows"])
    if birth is SplitBirth.OLD:
        for place, row in record.get("rows_unified", []):
            found[place] = row
    return [row if len(row) == 11 else [*row, []] for row in found]


def test_there_are_eight_oracles() -> None:
    oracle(NAMES[0])
    assert sorted(path.stem for path in (ORACLES / "sglang_radix").glob("*.json")) == list(NAMES)


@pytest.mark.parametrize("birth", SplitBirth)
@pytest.mark.parametrize("name", NAMES)
def test_every_row_is_equal(name: str, birth: SplitBirth) -> None:
    record = oracle(name)
    empty = RadixTree(record["page_size"], Policy(record["policy"]), birth)
    assert rows(empty, record["capacity_tokens"], record["ops"]) == recorded(record, birth)
