"""Drawn runs with a prefix cache: prompts that continue each other, in a memory that is short."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np

from fluidkv.prefix.pieces import Content, content, cut, joined
from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.engines import VLLM, VLLM_0_11
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules, Requeue, Victim
from fluidkv.serving.server import Server
from fluidkv.serving.stepped import Engine

CLOCKS = (
    IterationClock.iterations(),
    IterationClock(0.1, 0.003, 0.01),
    IterationClock(0.7, 1e-3, 0.0),
)


@dataclass(frozen=True)
class Case:
    """What an engine is constructed with."""

    requests: Requests
    prompts: Prompts
    rules: EngineRules
    limits: Limits
    clock: IterationClock
    clients: int | None = None

    @property
    def given(self) -> tuple[Any, ...]:
        return (
            *(self.requests, self.prompts, self.rules),
            *(self.limits, self.clock, self.clients),
        )


def drawn(seed: int, *, offered: bool = False) -> Case:
    """A case; half of the prompts continue an earlier request, output included.

    Args:
        offered: its requests come at their times, on a clock in seconds.
    """
    draw = Random(seed)
    prompts = _prompts(draw)
    gaps = [draw.choice([0, 0, 0, 1, 2.5]) for _ in range(len(prompts))]
    of_clients = Random(seed + 2**32)  # its own draws, so that the rest of a case stays what it is
    outputs = prompts.output_length
    requests = Requests(
        prompts.input_length,
        outputs,
        arrival=np.cumsum(gaps),
        max_output=outputs + [of_clients.choice([0, 0, 3, 40]) for _ in outputs],
        priority=[of_clients.randint(-1, 2) for _ in outputs],
        predicted_output=[of_clients.randint(1, 40) for _ in outputs],
        tbt_slo=[of_clients.choice([0.5, 2.0, np.inf]) for _ in outputs],
    )
    size = draw.choice([1, 2, 3, 4, 16])
    largest = int((requests.input_length + requests.output_length).max())
    limits = Limits(
        capacity=(-(-largest // size) + draw.choice([0, 0, 1, 3, 8, 30])) * size,
        block_size=size,
        max_num_seqs=draw.choice([None, None, 1, 3, 8]),
        max_num_batched_tokens=draw.choice([None, None, 1, 2, 5, 17, 64]),
        watermark=draw.choice([0, 0, 0.1, 0.3]),
        seed=seed,
    )
    rules = draw.choice([VLLM, VLLM, VLLM_0_11])
    clock = draw.choice(CLOCKS[1:] if offered else CLOCKS)
    clients = None if offered else draw.choice([None, None, None, 3])
    return Case(requests, prompts, rules, limits, clock, clients)


def literal(
    requests: Requests,
    prompts: Prompts | None,
    rules: EngineRules,
    limits: Limits,
    clock: IterationClock,
    clients: int | None = None,
    **how: Any,
) -> Engine:
    """vLLM's rules with a prefix cache, as plain Python."""
    server = Server(ServedEngine(rules, caching=True), limits, clock, prompts)
    return Engine(requests, server, clients, **how)


def compiled(*given: Any, **how: Any) -> Engine:
    """The same as machine code."""
    return literal(*given, **how, compiled=True)


Kind = Callable[..., Engine]
KINDS = (literal, compiled)


def with_victims(case: Case, seed: int) -> Case:
    """The same case under another rule of who goes."""
    draw = Random(seed)
    rules = replace(
        case.rules,
        victim=draw.choice(list(Victim)),
        requeue=draw.choice([Requeue.HEAD, Requeue.BY_PRIORITY]),
        asker_stays=draw.choice([False, False, True]),
    )
    return replace(case, rules=rules)


def _prompts(draw: Random) -> Prompts:
    segments = draw.randint(1, 6)
    texts: list[Content] = []
    prompts: list[Content] = []
    outputs: list[Content] = []
    for index in range(draw.randint(1, 25)):
        begins: Content = ()
        if texts and draw.random() < 0.5:
            begins = cut(draw.choice(texts), 0, draw.randint(1, 60))
        pieces = [
            content([[draw.randint(0, segments), draw.randint(1, 12)]])
            for _ in range(draw.randint(0, 2))
        ]
        prompt = joined(piece for part in (begins, *pieces) for piece in part)
        prompt = prompt or content([[1000 + index, draw.randint(1, 15)]])
        answer = draw.randint(0, segments) if draw.random() < 0.3 else 2000 + index
        output = content([[answer, draw.randint(1, draw.choice([3, 12, 30]))]])
        prompts.append(prompt)
        outputs.append(output)
        texts.append(joined([*prompt, *output]))
    return Prompts(prompts, outputs)
