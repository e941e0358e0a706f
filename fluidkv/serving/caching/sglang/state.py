"""One request of SGLang's scheduler, the batches that it is in."""

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from fluidkv.prefix.pieces import Content, cut, joined


@dataclass(eq=False)
class Request:
    """One request and how far it is. Times are the run's clock; None: not yet."""

    index: int
    input_length: int
    output_length: int
    max_output: int  # what its client asks for; the scheduler knows no more
    arrival: float
    prompt: Content
    output: Content
    priority: int = 0  # the lower, the more urgent
    whole: Content | None = None  # prompt and output, once they were asked for

    outputs: int = 0  # tokens emitted, as far as the scheduler knows
    evictions: int = 0
    hit_tokens: int = 0  # found in the tree, at all its admissions
    first_hit_tokens: int = 0  # of these, at its first admission
    highest: int = 0  # most tokens ever computed: what lies below is computed again
    admitted_at: float | None = None
    first_token_at: float | None = None
    last_token_at: float | None = None
    longest_gap: float = 0.0
    halted: float = 0.0  # from evictions to the next output
    halted_since: float | None = None
    finished: bool = False
    aborted: bool = False

    prefix: int = 0  # tokens that its next prefill need not compute
    end: int = 0  # of what its latest prefill computes
    slots: int = 0  # tokens that have a place in memory
    shared: int = 0  # of these, in the tree and locked; whole pages
    inserted: int = 0  # tokens that it has put into the tree
    node: Any = None  # where its match or its lock ends
    locked: bool = False
    retracted: bool = False  # and not admitted again yet
    middle_chunks: int = 0  # passes in flight that do not end its prompt

    @property
    def length(self) -> int:
        """Tokens of its prompt and of its outputs that are known."""
        return self.input_length + self.outputs

    def emit(self, now: float) -> None:
        """One more output is known; it was there at this time."""
        self.outputs += 1
        if self.last_token_at is None:
            self.first_token_at = now
        else:
            self.longest_gap = max(self.longest_gap, now - self.last_token_at)
        self.last_token_at = now
        if self.halted_since is not None:
            self.halted += now - self.halted_since
            self.halted_since = None

    def halt(self, now: float) -> None:
        """It is retracted."""
        self.evictions += 1
        if self.halted_since is None:
            self.halted_since = now

    def content(self, tokens: int) -> Content:
        """The first of its prompt and outputs."""
        if self.whole is None:
            self.whole = joined(self.prompt + self.output)
        return cut(self.whole, 0, tokens)

    def may_emit(self, clip: int) -> int:
        """Outputs that may still come, as far as they count."""
        return min(self.max_output - self.outputs, clip)


class Mode(Enum):
    """What a pass computes."""

    PREFILL = "prefill"
    MIXED = "mixed"
    DECODE = "decode"
    IDLE = "idle"

    @property
    def extends(self) -> bool:
        """Whether its requests join the decode batch afterwards."""
        return self in (Mode.PREFILL, Mode.MIXED)


@dataclass(eq=False)
class Batch:
    """Requests that run together.

    Args:
        full: of the decode batch: nobody is admitted before a request leaves it.
        chunked: of a prefill: the request whose prompt it does not end.
        decoding: of a mixed pass: those who decode in it.
        ended_at: when its tokens are there.
    """

    requests: list[Request]
    mode: Mode = Mode.IDLE
    full: bool = False
    chunked: Request | None = None
    decoding: Collection[Request] = ()
    ended_at: float = 0.0

    def keep(self, without: Collection[Request | None] = ()) -> bool:
        """Who is done or named leaves. Returns: whether anybody did."""
        before = len(self.requests)
        self.requests = [r for r in self.requests if not (r.finished or r in without)]
        return len(self.requests) < before

    def copy(self) -> "Batch":
        return Batch(
            list(self.requests), self.mode, self.full, self.chunked, self.decoding, self.ended_at
        )


def most_urgent_first(waiting: Iterable[Request]) -> deque[Request]:
    """The queue by priority; of equals as they stand in it."""
    return deque(sorted(waiting, key=lambda request: request.priority))


def last_goes_first(requests: Collection[Request], *, by_priority: bool) -> list[Request]:
    """Who decodes, in the order of retraction from its end; of equals as they stand."""
    if by_priority:
        return sorted(requests, key=_by_priority, reverse=True)
    return sorted(requests, key=_by_length, reverse=True)


def _by_length(request: Request) -> tuple[int, int]:
    return request.outputs, -request.input_length


def _by_priority(request: Request) -> tuple[int, int, int]:
    return -request.priority, *_by_length(request)
