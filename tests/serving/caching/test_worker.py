"""An engine that is handed its requests does what one does that they come to."""

import pytest

from fluidkv.serving.caching.fast import FastEngine
from fluidkv.serving.caching.vllm import VllmEngine
from fluidkv.serving.caching.worker import Worker
from tests.serving.caching.cases import drawn
from tests.serving.caching.test_fast import OF_REQUESTS

KINDS = (VllmEngine, FastEngine)


def handed_out(worker: Worker, arrivals: list[float]) -> None:
    """Each request as it comes, and then to the end."""
    for index, arrival in enumerate(arrivals):
        worker.advance(arrival)
        worker.offer(index)
    while not worker.idle:
        worker.step()


@pytest.mark.parametrize("kind", KINDS)
def test_one_worker_is_the_engine_alone(kind: type[VllmEngine | FastEngine]) -> None:
    for seed in range(60):
        case = drawn(seed, offered=True)
        alone = kind(*case.given)
        while alone.done < len(alone.all):
            alone.step()
        worker = kind(*case.given, offered=True)
        handed_out(worker, case.requests.arrival.tolist())
        assert worker.now == alone.now
        for name in OF_REQUESTS:
            assert [getattr(r, name) for r in worker.all] == [getattr(r, name) for r in alone.all]


@pytest.mark.parametrize("kind", KINDS)
def test_two_workers_share_a_table_and_nothing_else(kind: type[VllmEngine | FastEngine]) -> None:
    """Every other request each: what one serves the other has never heard of."""
    for seed in range(30):
        case = drawn(seed, offered=True)
        workers = [kind(*case.given, offered=True) for _ in range(2)]
        for index, arrival in enumerate(case.requests.arrival.tolist()):
            for worker in workers:
                worker.advance(arrival)
            assert workers[index % 2].found(index) % case.limits.block_size == 0
            workers[index % 2].offer(index)
        for worker in workers:
            worker.advance(float("inf"))
            assert worker.idle
        for index in range(len(case.requests)):
            served = [worker.all[index].finished for worker in workers]
            assert served == [index % 2 == 0, index % 2 == 1]
