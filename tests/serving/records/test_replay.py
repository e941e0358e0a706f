"""Records of real schedulers: every row is equal, a wrong rule is seen, files vary in form."""

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from fluidkv.errors import InputError
from fluidkv.serving.records.replay import VidurCounts, VllmRecord, read_records, replay
from fluidkv.serving.rules import Gate, Growth, Guard, Keeps, Requeue, Victim
from tests.serving.records.record_copies import (
    COUNTS,
    MISSING,
    OURS,
    changed_counts,
    changed_record,
    content,
    oracle,
    record_of,
    run_with,
)

NAMES = sorted(path.stem for path in OURS.glob("*.json"))
VLLM_NAMES = (
    *("budget_256", "four_class_bs16_rr", "homogeneous_bs1", "homogeneous_bs16"),
    *("long_outputs_bs1", "poisson_095", "two_class_bs1_iid", "watermark_05"),
)


vllm = partial(record_of, kind=VllmRecord)
vidur = partial(record_of, kind=VidurCounts)

# ------------------------------------------------------------------------------------ replayed


@pytest.mark.parametrize("name", VLLM_NAMES)
def test_every_row_of_the_vllm_oracles_is_equal(name):
    record = vllm(oracle(f"vllm/{name}.json"))
    result = replay(record)
    assert (result.equal, result.rows, result.difference) == (True, 800, None)
    preempt = record.columns.index("preempt")
    assert result.evictions == sum(row[preempt] for row in record.rows) > 0


def test_there_are_eight_vllm_oracles():
    folder = oracle("vllm/budget_256.json").parent
    assert sorted(path.stem for path in folder.glob("*.json")) == sorted(VLLM_NAMES)


def test_a_folder_is_read_in_the_order_of_names():
    assert [Path(record.source).stem for record in read_records(OURS)] == NAMES
    assert len(NAMES) == 16


@pytest.mark.parametrize("name", NAMES)
def test_every_row_of_our_records_is_equal(name):
    record = vllm(OURS / f"{name}.json")
    result = replay(record)
    assert (result.equal, result.rows) == (True, len(record.rows))
    assert result.evictions > 0
    assert record.notes == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"victim": Victim.FEWEST_OUTPUTS},
        {"keeps": Keeps.NOTHING},
        {"requeue": Requeue.TAIL},
        {"growth": Growth.ONE_FREE},
        {"gate": Gate.PEAK},
        {"guard": Guard.ALWAYS},
        {"admits_after_eviction": True},
        {"prefill_alone": True},
        {"reserved_tokens": 1},
    ],
    ids=str,
)
def test_one_wrong_rule_is_seen_in_our_records(changes):
    """Otherwise they would say nothing about that rule."""
    records = [vllm(OURS / f"{name}.json") for name in NAMES]
    records = [each for each in records if each.rules.victim is Victim.LAST_ADMITTED]
    if "prefill_alone" in changes:  # no rules for a first chunk
        records = [record for record in records if record.rules.gate is Gate.FULL_INPUT]
    wrong = [replace(record, rules=replace(record.rules, **changes)) for record in records]
    assert not all(replay(record).equal for record in wrong)


@pytest.mark.parametrize("name", ["chunks_and_preemption", "first_chunk_gate"])
def test_the_gate_of_the_file_matters(name):
    record = vllm(OURS / f"{name}.json")
    other = {Gate.FULL_INPUT: Gate.FIRST_CHUNK, Gate.FIRST_CHUNK: Gate.FULL_INPUT}
    rules = replace(record.rules, gate=other[record.rules.gate])
    assert not replay(replace(record, rules=rules)).equal


@pytest.mark.thorough  # 18 s: a run of 20,000 requests, written out literally, takes seconds
def test_every_run_of_the_vidur_counts_is_equal():
    result = replay(vidur(oracle("vidur/counts.json")))
    assert (result.equal, result.rows) == (True, 4)
    assert (result.evictions, result.iterations) == (784 + 229 + 3522 + 296, 4967)


@pytest.mark.thorough
def test_the_first_run_of_the_vidur_counts_is_equal():
    record = vidur(oracle("vidur/counts.json"))
    result = replay(replace(record, runs=record.runs[:1]))
    assert (result.equal, result.evictions, result.iterations) == (True, 784, 460)


# ---------------------------------------------------------------------------- what files may say


@pytest.fixture
def changed(tmp_path) -> Callable[..., Path]:
    return partial(changed_record, tmp_path)


@pytest.fixture
def counts(tmp_path) -> Callable[..., Path]:
    return partial(changed_counts, tmp_path)


def test_columns_may_come_in_any_order_and_fewer(changed):
    old = content()
    names = ["tokens", "preempt", "step", "used_blocks"]
    rows = [[row[old["columns"].index(name)] for name in names] for row in old["records"]]
    record = vllm(changed(columns=names, records=rows))
    assert record.columns == ("tokens", "preempt", "used_blocks")
    assert replay(record).equal
    without = [[a, b, d] for a, b, _, d in rows]
    assert replay(vllm(changed(columns=[*names[:2], names[3]], records=without))).equal


def test_the_first_row_that_differs_is_named_with_both_values(changed):
    rows = copy.deepcopy(content()["records"])
    names = content()["columns"]
    kept = rows[30][names.index("used_blocks")], rows[30][names.index("waiting")]
    rows[30][names.index("used_blocks")] += 2
    rows[30][names.index("waiting")] -= 1
    rows[41][names.index("tokens")] += 1
    result = replay(vllm(changed(records=rows)))
    assert (result.equal, result.rows, result.iterations) == (False, 30, 31)
    assert result.difference is not None
    assert (result.difference.row, result.difference.where) == (30, "step 30")
    assert result.difference.values == (
        ("waiting", kept[1] - 1, kept[1]),
        ("used_blocks", kept[0] + 2, kept[0]),
    )


def test_input_lengths_may_be_one_or_one_a_request(changed):
    """One number under either name; and a request of another length is another run."""
    size = len(content()["output_lengths"])
    for name in ("input_length", "input_lengths"):
        for value in (2, [2] * size):
            fields = {"input_length": MISSING, "input_lengths": MISSING, name: value}
            assert replay(vllm(changed(**fields))).equal
    other = {"input_length": [3] + [2] * (size - 1)}
    assert not replay(vllm(changed(**other))).equal


def test_usable_blocks_go_before_the_capacity(changed):
    path = changed("idle_and_odd_capacity", capacity_tokens=400)
    record = vllm(path)
    assert record.limits.blocks == 8
    assert record.notes == ("usable_blocks 8, not the 100 of capacity_tokens: replayed with 8",)
    assert replay(record).equal
    assert not replay(vllm(changed("idle_and_odd_capacity", usable_blocks=9))).equal


def test_watermark_blocks_are_the_share_of_one_block_more():
    """vLLM sets one block aside and counts it: int(0.05 (1000 + 1)) = 50."""
    record = vllm(oracle("vllm/watermark_05.json"))
    assert (record.limits.blocks, record.limits.watermark_blocks) == (1000, 50)


def test_null_is_no_cap(changed):
    big = vllm(changed("watermark_alone", max_num_batched_tokens=None))
    assert replay(big).equal


def test_settings_decide_and_another_version_is_noted(changed):
    record = vllm(changed(version="0.34.0"))
    assert record.notes == ("version 0.34.0: replayed under the rules of 0.33.0",)
    assert record.rules.gate is Gate.FIRST_CHUNK  # as this file says
    assert replay(record).equal
    late = vllm(changed("version_0_11", reserve_full_isl=True))
    assert late.rules.gate is Gate.FULL_INPUT
    assert late.notes == ("version 0.11.0: replayed under the rules of 0.33.0",)


def test_a_file_of_0_11_need_not_name_what_came_later(changed):
    path = changed("version_0_11", watermark=MISSING, reserve_full_isl=MISSING)
    record = vllm(path)
    assert (record.rules.gate, record.limits.watermark) == (Gate.FIRST_CHUNK, 0.0)
    assert (record.notes, replay(record).equal) == ((), True)


def test_a_field_that_is_not_known_is_noted(changed):
    assert vllm(changed(seed=3)).notes == ("seed: not known, not used",)
    assert vllm(changed(policy="fcfs", long_prefill_token_threshold=0)).notes == ()


def test_requests_that_never_come_are_allowed(changed):
    by_step = [min(n, 19) for n in content()["arrived_by_step"]]
    record = vllm(changed(arrived_by_step=by_step))
    assert record.arrivals.requests.arrival[-1] == len(by_step)
    result = replay(record)
    assert result.difference is not None
    assert result.difference.row == content()["arrived_by_step"].index(20)
    assert result.difference.values[0][0] == "waiting"


# ------------------------------------------------------------------------------------- Vidur's


def test_vidurs_rule_by_hand(counts):
    result = replay(vidur(counts()))

    assert result.equal


@pytest.mark.parametrize(
    "fields",
    [
        {"order": "as listed", "runs": run_with(output_lengths=[3, 5, 3, 5])},
        {"order": [0, 1, 0, 1]},
        {"order": [1, 0, 1, 0], "runs": run_with(output_lengths=[5, 3])},
        {"input_length": [2, 2]},
        {"input_length": [2, 2, 2, 2]},
        {"requests": 9, "runs": run_with(requests=4)},
        {"batch_size_cap": None},
    ],
    ids=str,
)
def test_the_same_vidur_run_said_another_way(fields, counts):
    record = vidur(counts(**fields))
    assert replay(record).equal
    assert record.notes == ()


@pytest.mark.parametrize(
    "fields",
    [
        {"order": [0, 0, 1, 1]},
        {"input_length": [2, 3]},
        {"num_blocks": 5},
        {"block_size": 3},
        {"watermark_blocks": 0},
        {"batch_size_cap": 1},
        {"requests": 5},
    ],
    ids=str,
)
def test_another_vidur_run_differs(fields, counts):
    result = replay(vidur(counts(**fields)))
    assert not result.equal
    assert result.difference is not None
    assert result.difference.where == "run 1, outputs {3, 5}"


def test_the_second_run_that_differs_is_named(counts):
    runs = [COUNTS["runs"][0], COUNTS["runs"][0] | {"evictions": 7}]
    result = replay(vidur(counts(runs=runs)))
    assert (result.rows, result.evictions, result.iterations) == (1, 4, 22)
    assert result.difference is not None
    assert result.difference.values == (("evictions", 7, 2),)


def test_another_commit_and_unknown_fields_are_noted(counts):
    record = vidur(counts(commit="0000000", note="x", runs=run_with(seconds=4)))
    assert record.notes == (
        "commit 0000000: replayed under the rules of 7d47513",
        "note: not known, not used",
        "seconds: not known, not used",
    )


def test_a_run_that_stops_for_good_is_said(counts):
    """Alone in four blocks, all full, a request evicts itself; two are free for admission."""
    stuck = run_with(output_lengths=[7, 7])
    record = vidur(counts(requests=2, watermark_blocks=2, runs=stuck))
    with pytest.raises(InputError, match=r"counts\.json: outputs \{7, 7\}: .*evicted at 8 tokens"):
        replay(record)


def test_progress_is_reported(counts):
    said: list[str] = []
    replay(vllm(OURS / "few_sequences.json"), on_progress=said.append)
    replay(vidur(counts()), on_progress=said.append)
    assert said == ["step 0 of 55", "outputs {3, 5}: 0 of 4 requests done"]
