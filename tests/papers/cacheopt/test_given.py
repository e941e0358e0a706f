"""What requests are given, on record: each row is what a run gives; lengths are Table 1's."""

from itertools import chain

import numpy as np
import pytest

from fluidkv_papers.cacheopt.instances import table_1
from fluidkv_papers.cacheopt.instances.given import (
    SEEDS,
    Row,
    Setting,
    computed,
    recorded,
    settings,
)

CHEAP = [
    Setting("alpaca", 32.0, "vllm", 0),
    Setting("alpaca", 32.0, "rlp", 100),
    Setting("alpaca", 32.0, "s3", 0),
]
"""One draw of each is done by the literal engine before the other would be compiled."""


def agree(found: list[Row], known: list[Row]) -> None:
    """To the six digits that stand in the file."""
    for ours, theirs in zip(found, known, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("setting", CHEAP, ids=lambda each: each.method)
def test_a_run_on_record_is_found_again(setting):
    agree(computed(setting, seeds=[0]), recorded()[setting][:1])


def test_all_settings_are_on_record():
    assert list(recorded()) == list(settings())
    assert {len(rows) for rows in recorded().values()} == {SEEDS}


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["vllm", "rlp", "s3"])
def test_every_run_on_record_is_found_again(method):
    for setting in settings():
        if setting.method == method:
            agree(computed(setting), recorded()[setting])


@pytest.mark.parametrize("trace", table_1.TABLE_1)
def test_workloads_have_the_printed_lengths(trace):
    row, workload = table_1.TABLE_1[trace], table_1.workload(trace)
    for lengths, mean, values in (
        (row.input, workload.mean_input_length, [c.input_length for c in workload.classes]),
        (row.output, workload.mean_decode_length, [c.decode_length for c in workload.classes]),
    ):
        printed = [table_1.number(text) for text in (lengths.mean, lengths.least, lengths.most)]
        assert [float(mean), min(values), max(values)] == printed


def test_prompts_are_divided_and_nothing_is_lost():
    """4,097 tokens are two whole pieces and one of a token; 2,048 are one."""
    found = table_1.pieces(np.array([4097, 2048, 5, 4096]))
    assert found.tolist() == [2048, 2048, 1, 2048, 5, 2048, 2048]
    rng = np.random.default_rng(0)
    prompts = rng.integers(1, 20_000, 1000)
    pieces = table_1.pieces(prompts)
    assert pieces.sum() == prompts.sum()
    assert pieces.min() >= 1
    ends = np.cumsum(pieces)
    assert set(np.cumsum(prompts)) <= set(chain(ends))
