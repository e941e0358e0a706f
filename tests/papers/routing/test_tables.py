"""Tables of Routing: printed rows as printed, ours below them."""

import pytest

from fluidkv.ledger.registry import table
from fluidkv_papers.routing import tables
from fluidkv_papers.routing.instances.setting import Setting

SMALL = Setting("gsp", (("groups", 6), ("queries", 3), ("lengths", (64, 128))), 2, 400)


@pytest.fixture(autouse=True)
def _one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "cores", lambda: 1)


def test_table_2_has_each_method_printed_plain_and_served() -> None:
    served = Setting(SMALL.workload, SMALL.options, 2, 400, server=4)
    rows = tables.table_2_rows({"plain": SMALL, "SGLang": served}, seeds=(0,))
    assert [row.label for row in rows[:3]] == [
        "Cache-Aware + LRU",
        "  ours, plain",
        "  ours, SGLang",
    ]
    assert len(rows) == 3 * 5
    assert rows[0].values["latency_p50"] == 26.68055
    assert rows[9].values["hit_rate"] == 37.31
    assert rows[1].values["ttft_p50"] is None
    assert 0 < (rows[2].values["hit_rate"] or 0) <= 100 / 3
    assert set(rows[12].values.values()) == {None}  # the paper has no such row


def test_table_3_is_over_the_larger_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables.one_worker, "setting", lambda size: SMALL)
    lru, rlt, ours, other = tables.table_3_rows((400,))
    assert (lru.values["hit_rate"], rlt.values["hit_rate"]) == (6.06, 41.93)
    assert (lru.values["throughput"], rlt.values["latency_p95"]) == (0.62, 0.53)
    for key in ("latency_p50", "latency_p95", "throughput"):
        assert max(ours.values[key] or 0, other.values[key] or 0) == 1


def test_both_are_found_by_their_names() -> None:
    assert table("routing.2").source == "Routing, Table 2"
    assert table(" Routing.3 ").title.startswith("L-LRU and RLT")
