"""An engine that is handed its requests does what one does that they come to."""

from typing import Any

import pytest

from fluidkv.errors import InputError
from fluidkv.prefix.prompts import private
from fluidkv.runs.requests import Requests
from fluidkv.serving import stepped
from fluidkv.serving.caching.names import BlockNames
from fluidkv.serving.caching.sglang.stepped import SglangEngine
from fluidkv.serving.caching.worker import Worker
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import VLLM
from fluidkv.serving.limits import Limits
from fluidkv.serving.server import Server
from fluidkv.serving.sglang_settings import SglangSettings
from tests.serving.caching.cases import KINDS, Kind, compiled, drawn, literal
from tests.serving.caching.test_stepped import OF_REQUESTS


def handed_out(worker: Worker, arrivals: list[float]) -> None:
    """Each request as it comes, and then to the end."""
    for index, arrival in enumerate(arrivals):
        worker.advance(arrival)
        worker.offer(index)
    while not worker.idle:
        worker.step()


@pytest.mark.parametrize("kind", KINDS)
def test_one_worker_is_the_engine_alone(kind: Kind) -> None:
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


def test_a_long_call_is_made_in_parts_between_which_it_can_be_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:

    requests = Requests([10] * 30, [20] * 30)
    server = compiled(requests, None, VLLM, Limits(90), IterationClock(1.0), offered=True)
    for index in range(30):
        server.offer(index)
    calls, call = [], server._call
    monkeypatch.setattr(server, "_call", lambda *given: (calls.append(given), call(*given))[1])
    monkeypatch.setattr(stepped, "MOST_COST", 500)
    server.advance(float("inf"))
    assert server.done == 30
    assert len(calls) > 10


@pytest.mark.parametrize("kind", KINDS)
def test_two_workers_share_a_table_and_nothing_else(kind: Kind) -> None:
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


REQUESTS, CLOCK = Requests([10, 20], [5, 5], arrival=[0, 3]), IterationClock(0.01, 0.0, 1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_worker_stops_as_soon_as_the_clock_is_there(
    kind: Kind,
) -> None:
    worker = kind(REQUESTS, None, VLLM, Limits(100), IterationClock(1.0), offered=True)
    worker.offer(0)
    worker.advance(2.0)
    assert (worker.now, worker.iteration) == (2.0, 2)


def _made(kind: str) -> Worker:
    if kind.startswith("sglang"):
        return SglangEngine(REQUESTS, None, SglangSettings(100), CLOCK, compiled=kind == "sglang")
    engine = compiled if kind == "vllm" else literal
    return engine(REQUESTS, None, VLLM, Limits(100), CLOCK, offered=True)


@pytest.mark.parametrize("kind", ["vllm", "vllm, literal", "sglang", "sglang, literal"])
@pytest.mark.parametrize(
    ("offers", "said"),
    [
        ([0, 0], "index: got 0; allowed: a request from 0 to 1 not offered before"),
        ([2], "index: got 2; allowed: a request from 0 to 1 not offered before"),
        ([-1], "index: got -1; allowed: a request from 0 to 1 not offered before"),
        ([0, 1], "index: got 1; allowed: one that has come: it comes at 3, now is 0"),
    ],
)
def test_an_offer_that_cannot_be_is_refused(kind: str, offers: list[int], said: str) -> None:
    worker = _made(kind)
    for index in offers[:-1]:
        worker.offer(index)
    with pytest.raises(InputError) as caught:
        worker.offer(offers[-1])
    assert str(caught.value) == said
    worker.advance(4.0)
    assert [request.finished for request in worker.all] == [len(offers) == 2, False]


@pytest.mark.parametrize("kind", ["vllm", "vllm, literal", "sglang", "sglang, literal"])
@pytest.mark.parametrize("index", [2, -1, 0.5])
def test_nothing_is_found_for_no_request_of_the_table(kind: str, index: Any) -> None:
    with pytest.raises(InputError, match=f"^index: got {index}; allowed: an integer from 0 to 1$"):
        _made(kind).found(index)


@pytest.mark.parametrize("machine_code", [False, True])
def test_without_a_cache_nothing_is_found(machine_code: bool) -> None:
    server = Server("vllm", Limits(100), CLOCK)
    engine = stepped.Engine(REQUESTS, server, offered=True, compiled=machine_code)
    assert engine.found(0) == 0


def test_who_comes_by_the_table_is_not_offered() -> None:
    with pytest.raises(InputError, match=r"^index: got 0; allowed: none: .* without offered=True"):
        compiled(REQUESTS, None, VLLM, Limits(100), CLOCK).offer(0)


def test_names_of_another_table_are_refused() -> None:
    for table, size in ((REQUESTS, 8), (Requests([3], [3]), 16)):
        names = BlockNames(private(table), size)
        wanted = r"^names: got .*; allowed: those of 2 in blocks of 16"
        with pytest.raises(InputError, match=wanted):
            compiled(REQUESTS, None, VLLM, Limits(96, 16), CLOCK, names=names)
        with pytest.raises(InputError, match=wanted):
            SglangEngine(REQUESTS, None, SglangSettings(96, page_size=16), CLOCK, names=names)
