"""What a batch takes in memory, and the largest one that fits."""

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.runs.requests import Requests
from fluidkv.serving.batches import batch_bytes, largest_batch
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server


@pytest.mark.parametrize("keep_requests", [True, False])
def test_a_dataset_is_most_of_what_is_said_and_no_more(keep_requests: bool) -> None:
    tables = [Requests(20, np.random.default_rng(seed).integers(5, 40, 400)) for seed in range(30)]
    found = serve(
        tables, Server("vllm", Limits(4000, 16), backend="kernel"), keep_requests=keep_requests
    )
    said = batch_bytes(30, 400, found.sizes["window"], keep_requests=keep_requests)
    assert 0.3 * said < found.nbytes < said  # the records, which it copies, go when it is there


@pytest.mark.parametrize("keep_requests", [True, False])
def test_the_largest_batch_fits_and_one_run_more_does_not(keep_requests: bool) -> None:
    how = {"keep_requests": keep_requests}
    for memory in (10**7, 10**9, 3 * 10**11):
        runs = largest_batch(memory, 1000, 500, **how)
        assert batch_bytes(runs, 1000, 500, **how) <= memory
        more = batch_bytes(runs + 1, 1000, 500, **how)
        assert more > memory
    assert largest_batch(1000, 1000, 500) == 0


def test_what_is_recorded_takes_memory() -> None:
    assert batch_bytes(9, 1000, 500) > batch_bytes(9, 1000, 500, keep_requests=False)
    assert batch_bytes(9, 1000, 500) > batch_bytes(9, 1000, 1)
    with pytest.raises(InputError, match="runs"):
        batch_bytes(0, 1000, 500)
