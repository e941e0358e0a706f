"""A server under CacheOPT: who runs and waits, and the few things that all its parts do to it."""

from dataclasses import dataclass, field

from fluidkv.serving.clock import IterationClock
from fluidkv.serving.kernel.budget import pairs
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules
from fluidkv_papers.cacheopt.scheduler.memory import CountedMemory
from fluidkv_papers.cacheopt.scheduler.requests import Copies, Request
from fluidkv_papers.cacheopt.scheduler.settings import CacheOpt


@dataclass(eq=False)
class Server:
    """The state of a run, and what one iteration has decided so far.

    Attributes:
        longest: T_max, the longest iteration so far.
        computing: tokens that each computes in this iteration.
        rules: with the order of victims. copies: of those that are swapped.
        evicted: in this iteration; `pushed_out` of them by their hosts.
        admitted, embedded, handed_on: of this iteration: requests, embeddings, tokens.
    """

    settings: CacheOpt
    limits: Limits
    clock: IterationClock
    memory: CountedMemory
    rules: EngineRules
    copies: Copies

    iteration: int = 0
    now: float = 0.0
    longest: float = 0.0
    running: list[Request] = field(default_factory=list)
    waiting: list[Request] = field(default_factory=list)
    computing: dict[Request, int] = field(default_factory=dict)
    evicted: list[Request] = field(default_factory=list)
    pushed_out: list[Request] = field(default_factory=list)
    admitted: list[Request] = field(default_factory=list)
    embedded: int = 0
    handed_on: int = 0

    # ------------------------------------------------------------------------------------- looking

    @property
    def block(self) -> int:
        """B."""
        return self.limits.block_size

    def in_blocks(self, tokens: int) -> int:
        """Tokens of the blocks that hold so many."""
        return self.limits.blocks_of(tokens) * self.block

    def lacks(self, request: Request) -> int:
        """Tokens of its present length that its memory does not hold: it has used up all."""
        return max(0, request.length - self.memory.allocated(request.index))

    def basic(self, request: Request) -> int:
        """What a critical request needs at least: prompt and a block, or a block (3.3.2)."""
        if request.index in self.memory.holders:
            return self.in_blocks(max(self.lacks(request), 1))
        return self.in_blocks(request.length) + self.block

    def unmet(self, request: Request) -> int:
        """What its demand is above what it has; at least its basic need if it waits or lacks."""
        more = self.in_blocks(max(0, request.demand - self.memory.allocated(request.index)))
        least = self.block if request.index in self.memory.holders else 0
        return max(more, least) if self.lacks(request) else more

    def eligible(self) -> list[Request]:
        """Who waits and was not sent away in this iteration."""
        return [r for r in self.waiting if r not in self.evicted] if self.evicted else self.waiting

    @property
    def budget_left(self) -> int:
        return self.limits.budget - sum(self.computing.values())

    @property
    def full(self) -> bool:
        """No more may run, or compute."""
        return len(self.running) >= self.limits.sequences or self.budget_left <= 0

    def to_compute(self, request: Request) -> int:
        """Tokens that it computes if it enters now, where the budget has them."""
        return 0 if request.kept else request.length

    def duration(self, newcomer: Request | None = None) -> float:
        """How long this iteration will last, as it stands; with a newcomer's whole prompt."""
        computing = dict(self.computing)
        if newcomer:
            computing[newcomer] = self.to_compute(newcomer)
        cached = sum(r.computed for r in self.running) + sum(computing.values())
        prefills = [(r.computed, tokens) for r, tokens in computing.items() if not r.decoding]
        prefill = sum(tokens for _, tokens in prefills)
        of_pairs, decoding = sum(pairs(*each) for each in prefills), len(computing) - len(prefills)
        return self.clock.duration(cached, prefill, of_pairs, decoding)

    # ------------------------------------------------------------------------------------- changing

    def begin(self) -> None:
        """An iteration: who runs computes what it can, in order, while the budget lasts."""
        self.computing, self.evicted, self.pushed_out, self.admitted = {}, [], [], []
        self.embedded = self.handed_on = 0
        left = self.limits.budget
        self.copies.land(self.running, self.now)
        for request in self.running:
            tokens = 0 if request.kept else min(request.length - request.computed, left)
            if tokens:
                self.computing[request] = tokens
                left -= tokens

    def enter(self, request: Request, budget: int) -> None:
        """It runs from now on; memory it has already. What the host kept is copied back first."""
        self.waiting.remove(request)
        self.running.append(request)
        self.admitted.append(request)
        request.is_new = True
        if request.kept:
            request.computed = request.kept
            self.memory.write(request.index, request.kept)
        else:
            self.computing[request] = min(request.length, budget)
        if request.admitted_at is None:
            request.admitted_at = self.now

    def preempt(self, request: Request) -> None:
        """Its memory is released, not to its heirs, who are promised that of who completes."""
        self.running.remove(request)
        self.computing.pop(request, None)
        self.memory.release(request.index, to_heirs=False)
        self.copies.leave(request)
        request.halt(self.now)
        self.evicted.append(request)
        self.waiting.insert(0, request)
