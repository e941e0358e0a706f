"""The host's memory and the bus to it: whose cache waits there, and when it is back.

What it means is said at `fluidkv.serving.swap`.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from fluidkv.preempt.cacheopt.progress import Request
from fluidkv.serving.kernel.restore import RESTORES, Restore, copied_out, end_of_copies
from fluidkv.serving.swap import Swap


@dataclass(eq=False)
class Copies:
    """The copies of one run.

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
