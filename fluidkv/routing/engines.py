"""Workers that are engines with their real caches: memory pressure, eviction and preemption in one.

A request that comes in the middle of an iteration is looked at when the next one begins, and a
token that an iteration makes is there when it ends: the router hears of it then and not before.
"""

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from fluidkv.errors import InputError
from fluidkv.prefix.policies import Policy
from fluidkv.prefix.prompts import Prompts
from fluidkv.prefix.radix.values import POLICIES
from fluidkv.record import Record
from fluidkv.routing.plain import Event, Times
from fluidkv.runs.checks import count
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.names import BlockNames
from fluidkv.serving.caching.sglang.stepped import SglangEngine
from fluidkv.serving.caching.worker import ServedRequest, Worker
from fluidkv.serving.clock import VIDUR_LLAMA3_8B_A100, IterationClock
from fluidkv.serving.limits import Limits
from fluidkv.serving.server import Server
from fluidkv.serving.sglang_settings import SglangSettings
from fluidkv.serving.stepped import Engine as SteppedEngine

ENGINES: dict[str, tuple[Policy, ...]] = {"vllm": (Policy.RELEASED,), "sglang": POLICIES}
"""Engine -> the policies that its cache has, its own default first.

>>> from fluidkv.routing.engines import ENGINES
>>> {name: policies[0].name for name, policies in ENGINES.items()}
{'vllm': 'RELEASED', 'sglang': 'LRU'}
"""

_BLOCK = {"vllm": 16, "sglang": 1}

CLOCK = IterationClock(VIDUR_LLAMA3_8B_A100.base, VIDUR_LLAMA3_8B_A100.per_kv_token, 1.5e-4)
"""Decodes as Vidur profiled them (Llama-3-8B on one A100); 0.15 s for 1,000 prompt tokens is ours,
as in `Service`."""


@dataclass(frozen=True)
class Engine(Record):
    """An engine as a worker.

    Args:
        name: "vllm" or "sglang", with their prefix caches.
        block_size: tokens of a block or page; None: 16 of vLLM, 1 of SGLang.
        batch_tokens: most prompt tokens of an iteration: `--max-num-batched-tokens` (where decodes
            count, too), `--chunked-prefill-size`.
        requests: most that run at once: `--max-num-seqs`, `--max-running-requests`.
        clock: how long an iteration lasts, seconds.

    Raises:
        InputError: another name, a number below 1, a clock that does not tell seconds.

    Examples:
        >>> from fluidkv.prefix import shared_prefixes
        >>> from fluidkv.routing import RoundRobin, Traffic, route
        >>> from fluidkv.routing.engines import Engine
        >>> traffic = Traffic(*shared_prefixes(0, groups=2, queries=4, lengths=1000))
        >>> run = route(traffic, fk.Fleet(1, 8_000, service=Engine("vllm")), RoundRobin())
        >>> [each.hits for each in run.times]  # whole blocks of 16
        [0, 496, 0, 496, 496, 496, 496, 496]
    """

    name: Literal["vllm", "sglang"] = "vllm"
    block_size: int | None = None
    batch_tokens: int = 8192
    requests: int = 256
    clock: IterationClock = field(default_factory=lambda: CLOCK)

    def __post_init__(self) -> None:
        if self.name not in ENGINES:
            raise InputError("name", self.name, f"one of {', '.join(ENGINES)}")
        size = _BLOCK[self.name] if self.block_size is None else self.block_size
        object.__setattr__(self, "block_size", count("block_size", size))
        for name in ("batch_tokens", "requests"):
            count(name, getattr(self, name))
        if self.clock.unit != "s":
            raise InputError("clock", self.clock.unit, "a clock in seconds")

    def worker(
        self, requests: Requests, prompts: Prompts, capacity: int, policy: Policy
    ) -> "EngineWorker":
        """A new one, empty.

        Args:
            capacity: KV tokens, of which what runs and what is cached have their part.

        Raises:
            InputError: a policy that the engine does not have; a request that does not fit.
        """
        if policy not in ENGINES[self.name]:
            known = ", ".join(each.value for each in ENGINES[self.name])
            raise InputError("policy", policy.value, f"{known}, with {self.name}")
        limits = Limits(capacity, count("block_size", self.block_size), self.requests)
        if self.name == "sglang":
            settings = SglangSettings.of(
                limits, chunked_prefill_size=self.batch_tokens, eviction=policy
            )
            names = _names(prompts, settings.page_size)
            clock = self.clock
            engine = SglangEngine(requests, prompts, settings, clock, names=names, compiled=True)
            return EngineWorker(engine)
        limits = Limits(capacity, limits.block_size, self.requests, self.batch_tokens)
        names = _names(prompts, limits.block_size)
        _check_fits(requests, limits)
        server = Server("vllm+cache", limits, self.clock, prompts)
        return EngineWorker(
            SteppedEngine(requests, server, offered=True, names=names, compiled=True)
        )


class EngineWorker:
    """An engine as the cluster sees it; `work` is the time that it was at work."""

    def __init__(self, engine: Worker) -> None:
        self.engine = engine
        self.busy = 0.0
        self._open: dict[int, bool] = {}  # not done -> whether its first token was told
        self._offered: list[int] = []

    @property
    def work(self) -> float:
        return self.busy

    @property
    def times(self) -> dict[int, Times]:
        """Of all requests that it was offered."""
        every = self.engine.all
        return {index: _times(every[index]) for index in self._offered}

    def offer(self, index: int) -> None:
        self.engine.offer(index)
        self._open[index] = False
        self._offered.append(index)

    def found(self, index: int) -> int:
        return self.engine.found(index)

    def advance(self, until: float) -> list[Event]:
        """Iterations that begin before a time; the last of them may end after it."""
        before = self.engine.now
        self.engine.advance(until)
        if self.engine.now == before:
            return []
        self.busy += self.engine.now - before
        every, events = self.engine.all, []
        for index, told in list(self._open.items()):
            request = every[index]
            if not told and request.first_token_at is not None:
                events.append(Event(request.first_token_at, index, False))
                self._open[index] = True
            if request.finished and request.last_token_at is not None:
                events.append(Event(request.last_token_at, index, True))
                del self._open[index]
        return events


def _times(request: ServedRequest) -> Times:
    return Times(
        began=_or_nan(request.admitted_at),
        first_token=_or_nan(request.first_token_at),
        last_token=_or_nan(request.last_token_at) if request.finished else math.nan,
        hits=min(request.first_hit_tokens, request.input_length),
        evictions=request.evictions,
        longest_gap=request.longest_gap,
    )


def _or_nan(time: float | None) -> float:
    return math.nan if time is None else time


@lru_cache(maxsize=8)
def _names(prompts: Prompts, block_size: int) -> BlockNames:
    """One for all workers of a table."""
    return BlockNames(prompts, block_size)


def _check_fits(requests: Requests, limits: Limits) -> None:
    whole = requests.input_length + requests.output_length
    row = int(whole.argmax())
    if limits.blocks_of(int(whole[row])) > limits.blocks:
        allowed = f"room for the largest request, {whole[row]} tokens"
        raise InputError("capacity", limits.capacity, allowed)
