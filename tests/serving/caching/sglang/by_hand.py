"""A few requests on a small server, and the rows of its first steps."""

from collections.abc import Sequence
from typing import Any

from fluidkv.prefix.pieces import content
from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.sglang.seen import Row
from fluidkv.serving.caching.sglang.stepped import SglangEngine
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.sglang_settings import SglangSettings

Asked = tuple[float, list[list[int]], int, int]
"""Arrival step, prompt as [segment, length] pairs, outputs, outputs that are asked for."""


def alone(row: int, tokens: int, outputs: int, asked: int | None = None, at: float = 0) -> Asked:
    """A request that shares nothing."""
    return at, [[row, tokens]], outputs, asked or outputs


def engine(
    requests: Sequence[Asked],
    capacity: int,
    *,
    priority: Any = None,
    **options: Any,
) -> SglangEngine:
    """A server without overlap, if the options do not say otherwise."""
    arrival, prompts, outputs, asked = zip(*requests, strict=True)
    said = list(map(content, prompts))
    answers = [content([[1000 + row, tokens]]) for row, tokens in enumerate(outputs)]
    table = Prompts(said, answers)
    without: dict[str, Any] = {"overlap": False}
    return SglangEngine(
        Requests(table.input_length, outputs, arrival=arrival, max_output=asked, priority=priority),
        table,
        SglangSettings(capacity, **(without | options)),
        IterationClock.iterations(),
    )


def rows(run: SglangEngine, steps: int) -> list[Row]:
    """Its next steps; requests come at theirs."""
    found = []
    for _ in range(steps):
        while run.arrived < len(run.all) and run.all[run.arrived].arrival <= run.now:
            run.offer(run.arrived)
        run.step()
        found.append(run.row)
    return found


def column(found: Sequence[Row], name: str) -> list[Any]:
    return [getattr(row, name) for row in found]
