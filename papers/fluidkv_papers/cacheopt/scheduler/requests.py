"""One request of CacheOPT and how far it is; the host's memory and the bus to it.

What copies mean is said at `fluidkv.serving.swap`.
"""

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from fluidkv.runs.records import RequestHistory
from fluidkv.serving.kernel.budget import decodes
from fluidkv.serving.kernel.restore import RESTORES, Restore, copied_out, end_of_copies
from fluidkv.serving.swap import Swap


@dataclass(eq=False)
class Request(RequestHistory):
    """One request and how far it is. Times are the run's clock; None: not yet."""

    index: int
    input_length: int
    output_length: int
    max_output: int
    arrival: float
    priority: int = 0
    predicted: int = 0  # outputs that a predictor says
    estimated: int = 0  # outputs that memory is given for
    tbt_slo: float = math.inf
    ttft_slo: float = math.inf
    outputs: int = 0  # tokens emitted and kept
    computed: int = 0  # tokens whose cache is in memory
    blocks: int = 0
    kept: int = 0  # tokens whose cache is in the host's memory; until it is back, it does not run
    ready_at: float = 0.0  # when its copy in is done
    highest: int = 0  # most tokens ever computed: what lies below is computed again
    is_new: bool = False  # it has emitted nothing since it was let in

    @property
    def length(self) -> int:
        """Tokens that must be in the cache before the next output comes."""
        return self.input_length + self.outputs

    @property
    def to_come(self) -> int:
        """s^o: outputs that it is still estimated to have; one more, once they are exceeded."""
        return max(self.estimated - self.outputs, 1)

    @property
    def demand(self) -> int:
        """M: prompt and estimated outputs, whose last one is never stored."""
        return self.length + self.to_come - 1

    @property
    def decoding(self) -> bool:
        """Only the token just emitted is missing from the cache."""
        return decodes(self.input_length, self.outputs, self.computed)

    def emit(self, now: float) -> bool:
        """One more output; whether it is new. What a restart emits again, its client has seen."""
        self.outputs += 1
        if self.computed <= self.highest:
            return False
        self.tell(now)
        return True


@dataclass(eq=False)
class Copies:
    """The copies of one run: whose cache waits in the host, and when it is back.

    Attributes:
        held: tokens in the host.
        free_at: the end of the last copy on the bus.
        out: tokens of each copy out that the next batch of work waits for.
    """

    restore: Restore
    swap: Swap
    held: int = 0
    free_at: float = 0.0
    out: list[int] = field(default_factory=list)

    def leave(self, victim: Request) -> None:
        """Its cache goes to the host or is lost. What the host still has is not copied again."""
        tokens, swap = victim.computed, self.swap
        goes = copied_out(RESTORES[self.restore], tokens, self.held, swap.tokens, swap.sweet_spot)
        if not victim.kept and goes:
            victim.kept = victim.computed
            self.held += victim.computed
            self.out.append(victim.computed)
        victim.computed = 0

    def land(self, running: Iterable[Request], now: float) -> None:
        """Who is back by now leaves the host."""
        for request in running:
            if request.kept and request.ready_at <= now:
                self.held -= request.kept
                request.kept = 0

    def go(self, now: float, admitted: Collection[Request]) -> tuple[float, int]:
        """The copies of an iteration are queued, those out first.

        Returns:
            When it begins to compute: now, or when its copies out are done. Tokens that it copies.
        """
        out, back = self.out, [request for request in admitted if request.kept]
        shared, self.out = self.swap.shared, []
        began, free = now, max(now, self.free_at) if shared else now
        if out:
            began = free = self._after(free, out if shared else [max(out)])
        for place, request in enumerate(back):
            copies = back[: place + 1] if shared else [request]
            request.ready_at = self._after(free, [each.kept for each in copies])
        self.free_at = back[-1].ready_at if back else free
        return began, sum(out) + sum(request.kept for request in back)

    def _after(self, start: float, tokens: list[int]) -> float:
        """The end of copies one after the other."""
        return end_of_copies(
            start, self.swap.per_token, sum(tokens), self.swap.per_copy, len(tokens)
        )
