"""What a step of SGLang's scheduler shows: the columns of the records, and an engine's counts."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from fluidkv.serving.caching.sglang.pool import Pool
from fluidkv.serving.caching.sglang.ratio import NewTokens
from fluidkv.serving.caching.sglang.state import Mode, Request
from fluidkv.serving.clock import pairs
from fluidkv.serving.counts import WITHOUT_COPIES
from fluidkv.serving.sglang_settings import SglangSettings

COUNTS = (
    *WITHOUT_COPIES,
    "found_tokens",  # tokens of admitted requests that were found and not computed
)
"""What an iteration counts, in this order; `used_blocks` are those that requests use."""


class Row(NamedTuple):
    """One step, as the records show it: after scheduling, before the tokens of its pass.

    Fields:
        arrived: requests that have come.
        mode, batch: the pass and its requests.
        running, waiting: the decode batch, which waits in a prefill pass; the queue.
        admitted, retracted: requests; a prompt that goes on is not admitted again.
        completed: known after this step.
        prefill_tokens, hit_tokens: of those who are admitted, computed and found in the tree.
        used, available, evictable, protected: tokens of memory, and of the tree.
        new_token_ratio, batch_is_full (0 or 1): the scheduler's.
        chunked: the request in the middle of its prompt, or -1.
        admissions: [request, tokens of its prefix, tokens it computes], prompts that go on too.
        retracted_ids, aborted_ids: in order; finished_ids: in the order of the table.
    """

    arrived: int
    mode: str
    batch: int
    running: int
    waiting: int
    admitted: int
    retracted: int
    completed: int
    prefill_tokens: int
    hit_tokens: int
    used: int
    available: int
    evictable: int
    protected: int
    new_token_ratio: float
    batch_is_full: int
    chunked: int
    admissions: list[list[int]]
    retracted_ids: list[int]
    finished_ids: list[int]
    aborted_ids: list[int]


@dataclass
class Happened:
    """What one step does, collected while it does it."""

    running_in: int = 0  # requests in memory before it
    admitted: list[Request] = field(default_factory=list)  # in order, prompts that go on too
    resumed: set[Request] = field(default_factory=set)  # of these: were retracted before
    going_on: Request | None = None  # of these: a prompt that goes on
    retracted: list[Request] = field(default_factory=list)
    aborted: list[Request] = field(default_factory=list)
    finished: list[Request] = field(default_factory=list)
    recomputed: int = 0
    new_outputs: int = 0

    @property
    def first_passes(self) -> list[Request]:
        """Who is admitted, without the prompt that goes on."""
        return [request for request in self.admitted if request is not self.going_on]

    @property
    def prefill_tokens(self) -> int:
        return sum(request.end - request.prefix for request in self.admitted)

    @property
    def prefill_pairs(self) -> int:
        """As `fluidkv.serving.clock.pairs` counts them, with what the tree has of each prompt."""
        return sum(pairs(request.prefix, request.end - request.prefix) for request in self.admitted)


class Server(Protocol):
    """What a scheduler shows of itself once it has scheduled a step."""

    settings: SglangSettings
    pool: Pool
    ratio: NewTokens
    arrived: int
    chunked: Request | None

    @property
    def waiting(self) -> Collection[Request]: ...


def counts_of(
    server: Server, happened: Happened, batch: int, in_memory: int, kv_tokens: int
) -> dict[str, int]:
    """The counts of a step, keyed and ordered as `COUNTS`, before its results.

    Args:
        batch: requests in the pass.
        in_memory: requests in memory.
        kv_tokens: that these hold.
    """
    prefill, first = happened.prefill_tokens, happened.first_passes
    used = server.settings.tokens - server.pool.free
    return {
        "running_in": happened.running_in,
        "running": in_memory,
        "waiting": len(server.waiting),
        "used_blocks": used // server.settings.page_size,
        "preempt": len(happened.retracted),
        "admit_new": len(first) - len(happened.resumed),
        "admit_resumed": len(happened.resumed),
        "completed": 0,
        "sched_reqs": batch,
        "tokens": prefill + batch - len(happened.admitted),
        "prefill_tokens": prefill,
        "recomputed_tokens": happened.recomputed,
        "kv_tokens": kv_tokens,
        "new_outputs": 0,
        "found_tokens": sum(request.prefix for request in first),
    }


def row_of(
    server: Server, happened: Happened, mode: Mode, batch: int, running: int, full: bool
) -> Row:
    """What the records show of a step, before its results.

    Args:
        mode, batch: of the pass.
        running, full: of the decode batch.
    """
    pool, first = server.pool, happened.first_passes
    return Row(
        arrived=server.arrived,
        mode=mode.value,
        batch=batch,
        running=running,
        waiting=len(server.waiting),
        admitted=len(first),
        retracted=len(happened.retracted),
        completed=0,
        prefill_tokens=happened.prefill_tokens,
        hit_tokens=sum(request.prefix for request in first),
        used=server.settings.tokens - pool.available,
        available=pool.available,
        evictable=pool.evictable,
        protected=pool.protected,
        new_token_ratio=server.ratio.now,
        batch_is_full=int(full),
        chunked=server.chunked.index if server.chunked else -1,
        admissions=[[r.index, r.prefix, r.end - r.prefix] for r in happened.admitted],
        retracted_ids=[request.index for request in happened.retracted],
        finished_ids=[],
        aborted_ids=[request.index for request in happened.aborted],
    )
