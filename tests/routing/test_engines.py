"""Workers that are engines: the same as those engines alone, and each hears only its own."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.prefix import Policy, Prompts, shared_prefixes
from fluidkv.routing import LBGR, Choice, Fleet, LinearScore, Service, Traffic, View, bounds, route
from fluidkv.routing.blind import Assigned
from fluidkv.routing.engines import Engine
from fluidkv.runs.requests import Requests
from fluidkv.serving.engines import engine
from fluidkv.serving.limits import Limits
from tests.routing.tables import drawn
from tests.serving.caching.cases import compiled

NAMES = ("vllm", "sglang")
TIGHT = 400


def tight(seed: int, count: int = 60) -> Traffic:
    """Requests of up to some 30 tokens with outputs that fill the memory: there are evictions."""
    requests, prompts = drawn(np.random.default_rng(seed), count, longest=40, rate=40.0)
    rng = np.random.default_rng(seed + 100)
    outputs = rng.integers(20, 120, count)
    longer = [
        ((piece._replace(length=int(tokens)),))
        for (piece,), tokens in zip(prompts.outputs, outputs, strict=True)
    ]
    table = Prompts(prompts.prompts, longer)
    return Traffic(
        Requests(table.input_length, table.output_length, arrival=requests.arrival), table
    )


def alone(name: str, traffic: Traffic, mine: np.ndarray) -> list[tuple]:
    """An engine with a table of these requests only, as they come by themselves."""
    table, said = traffic.requests, traffic.prompts
    requests = Requests(
        table.input_length[mine], table.output_length[mine], arrival=table.arrival[mine]
    )
    prompts = Prompts([said.prompts[i] for i in mine], [said.outputs[i] for i in mine])
    setting = Engine(name)  # pyright: ignore[reportArgumentType]
    if name == "vllm":
        limits = Limits(TIGHT, 16, setting.requests, setting.batch_tokens)
        server = compiled(requests, prompts, engine("vllm"), limits, setting.clock)
        while server.done < len(requests):
            server.step()
    else:
        server = setting.worker(requests, prompts, TIGHT, Policy.LRU).engine
        for index in range(len(requests)):
            while not server.idle and server.now < requests.arrival[index]:
                server.step()
            server.offer(index)
        while not server.idle:
            server.step()
    return [
        (r.admitted_at, r.first_token_at, r.last_token_at, r.first_hit_tokens, r.evictions)
        for r in server.all
    ]


def found(run, mine) -> list[tuple]:
    times = [run.times[j] for j in mine]
    return [(t.began, t.first_token, t.last_token, t.hits, t.evictions) for t in times]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("workers", [1, 3])
def test_each_worker_is_the_engine_alone_with_its_requests(name, workers):
    evictions = hits = 0
    for seed in range(3):
        traffic = tight(seed)
        chosen = np.random.default_rng(seed).integers(0, workers, len(traffic.requests))
        fleet = Fleet(workers, TIGHT, service=Engine(name))
        run = route(traffic, fleet, Assigned(tuple(chosen.tolist())))
        for worker in range(workers):
            mine = np.flatnonzero(chosen == worker)
            assert found(run, mine) == alone(name, traffic, mine)
        evictions += sum(each.evictions for each in run.times)
        hits += sum(each.hits for each in run.times)
    assert hits > 0
    assert evictions > 0 or workers > 1


@pytest.mark.parametrize("name", NAMES)
def test_every_request_is_served_once(name):
    traffic = Traffic(*shared_prefixes(1, groups=10, queries=6, rate=30.0))
    for router in (LinearScore(), LBGR()):
        run = route(traffic, Fleet(2, 40_000, service=Engine(name)), router)
        for each, arrival, length in zip(
            run.times, traffic.requests.arrival, traffic.requests.input_length, strict=True
        ):
            assert arrival <= each.began <= each.first_token <= each.last_token
            assert 0 <= each.hits < length
        assert (run.busy <= max(each.last_token for each in run.times)).all()


@dataclass(frozen=True)
class _Spy:
    """To the worker with the fewest requests; writes down what it is told."""

    told: list[tuple[str, float, float]]
    label: ClassVar[str] = "spy"
    looks_at_caches: ClassVar[bool] = True
    draws: ClassVar[bool] = False

    def start(self, workers: int) -> None:
        return None

    def route(self, state: None, view: View) -> Choice:
        self.told.append(("comes", view.now, float(view.pending.sum())))
        return Choice(int(view.pending.argmin()), state, view.now)

    def finished(self, state: None, ticket: Any, *, now: float, latency: float) -> None:
        self.told.append(("done", now, now - latency - ticket))


@pytest.mark.parametrize("service", [Service(missed=0.05), Engine("vllm"), Engine("sglang")])
def test_what_a_router_is_told_comes_in_order_and_not_before_it_happens(service):
    traffic = Traffic(*shared_prefixes(2, groups=10, queries=6, rate=30.0))
    spy = _Spy([])
    run = route(traffic, Fleet(3, 40_000, service=service), spy)
    times = [time for _, time, _ in spy.told]
    assert times == sorted(times)
    done = [row for row in spy.told if row[0] == "done"]
    assert len(done) == len(traffic.requests)
    assert all(abs(difference) < 1e-9 for _, _, difference in done)
    last = np.array([each.last_token for each in run.times])
    arrival = traffic.requests.arrival
    for index, (_, now, pending) in enumerate(row for row in spy.told if row[0] == "comes"):
        assert now == arrival[index]
        assert pending == (last[:index] > now).sum()


def test_engines_refuse_in_one_line():
    traffic = Traffic(*shared_prefixes(0, groups=5, queries=2))
    for name in NAMES:
        with pytest.raises(InputError, match="capacity"):
            route(traffic, Fleet(2, 5_000, service=Engine(name)), LBGR())
        with pytest.raises(InputError, match="policy: got 'rlt'"):
            route(traffic, Fleet(2, 50_000, Policy.RLT, service=Engine(name)), LBGR())
    with pytest.raises(InputError, match="name"):
        Engine("tgi")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="batch_tokens"):
        Engine("vllm", batch_tokens=0)
    with pytest.raises(InputError, match="service: got 'vllm'; allowed: plain service"):
        bounds(traffic, Fleet(2, 50_000, service=Engine("vllm")))
