"""vLLM's scheduler with its prefix cache, literally: the loop of `reference` over a block pool.

Requests that begin alike share blocks, and one that comes back finds what nobody took of it. What
is found needs no computing and costs no budget, only its memory. Slow on purpose; `fast` equals it
row by row.

Source: the records in `shared/oracles/vllm_prefix` (vLLM 0.33.0's own scheduler), every row.
"""

from fluidkv.prefix.pieces import cut
from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.pool import BlockPool
from fluidkv.serving.caching.table import check_modelled, checked_prompts
from fluidkv.serving.caching.worker import Offers
from fluidkv.serving.checks import check_fits
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.counts import WITHOUT_COPIES
from fluidkv.serving.limits import Limits
from fluidkv.serving.progress import NOBODY, Computing, Request
from fluidkv.serving.reference import Engine
from fluidkv.serving.rules import EngineRules, Gate


class VllmEngine(Engine):
    """The state of a run, as `reference.Engine`, and which block says what.

    Args:
        requests, prompts: a table and what it says; None: nobody shares anything.
        rules, limits, clock: the run.
        clients: as `reference.Engine`.
        offered: nobody comes by itself, only by `offer`.

    Attributes:
        pool: the memory.
        admissions: of the last iteration: (request, tokens found, tokens computed) each.
        preempted, finished: of the last iteration: who.

    Raises:
        InputError: prompts of other lengths than the requests; a request that does not fit; rules
            that are not vLLM's; an admission rate: not modelled with a cache.

    Examples:
        >>> from fluidkv.prefix import Prompts
        >>> from fluidkv.serving import VllmEngine
        >>> alike = Prompts([[(0, 0, 12)], [(0, 0, 12)]], [[(1, 0, 2)], [(2, 0, 2)]])
        >>> requests, clock = fk.Requests([12, 12], [2, 2], arrival=[0, 1]), fk.IterationClock(1.0)
        >>> limits = fk.Limits(40, block_size=4)
        >>> server = VllmEngine(requests, alike, fk.engine("vllm"), limits, clock)
        >>> [server.step()["tokens"] for _ in range(3)], server.idle
        ([12, 5, 1], True)
        >>> server.finished, server.pool_free
        ([1], 10)
    """

    def __init__(
        self,
        requests: Requests,
        prompts: Prompts | None,
        rules: EngineRules,
        limits: Limits,
        clock: IterationClock,
        clients: int | None = None,
        *,
        offered: bool = False,
    ) -> None:
        check_modelled(rules, limits)
        check_fits(requests, rules, limits)
        super().__init__(requests, rules, limits, clock, clients)
        self.texts = checked_prompts(requests, prompts).paths
        self.pool = BlockPool(limits.blocks)
        self.held: list[list[int]] = [[] for _ in self.all]
        self.admissions: list[tuple[int, int, int]] = []
        self.preempted: list[int] = []
        self.finished: list[int] = []
        self._offers = Offers(self.all, by_table=not offered)
        if offered:
            self.arrived = len(self.all)

    # ---------------------------------------------------------------------------------- as a worker

    @property
    def idle(self) -> bool:
        """Nothing runs and nothing waits."""
        return not self.running and not self.waiting

    def offer(self, index: int) -> None:
        """A request joins the queue; the clock of an idle engine goes on to its arrival."""
        request = self._offers.take(index, self, stuck=self.stuck)
        if self.idle:
            self.now = max(self.now, request.arrival)
        self.waiting.append(request)

    def found(self, index: int) -> int:
        """Tokens that a request would find, were it admitted now; looking changes nothing."""
        return len(self._lookup(self._offers.of_table(index))) * self.limits.block_size

    def advance(self, until: float) -> None:
        """Iterations until the clock is at `until` or later, or the engine is idle."""
        while not self.idle and self.now < until:
            self.step()

    # ------------------------------------------------------------------------------- one iteration

    def step(self) -> dict[str, int]:
        """One iteration; its counts, keyed and ordered as `WITH_CACHE`."""
        self.admissions, self.preempted, self.finished = [], [], []
        forgotten = self.pool.forgotten
        counts = super().step()
        return {name: counts[name] for name in WITHOUT_COPIES} | {
            "cached_blocks": self.pool.cached,
            "distinct_blocks": self.pool.distinct,
            "evicted_blocks": self.pool.forgotten - forgotten,
            "found_tokens": sum(found for _, found, _ in self.admissions),
        }

    def evict(self, newcomers: Computing = NOBODY) -> tuple[list[Request], dict[Request, int]]:
        """One after the other takes its blocks: what a victim sets free, the next one takes."""
        evicted, computing = self._one_after_the_other(newcomers)
        self._requeue(evicted)
        self.preempted = [victim.index for victim in evicted]
        return evicted, computing

    def admit(self, budget: int, may_admit: bool = True) -> dict[Request, int]:
        """As without a cache, but what is found needs no computing; it needs its memory."""
        admitted: dict[Request, int] = {}
        while may_admit and self.waiting and budget > 0:
            request = self.waiting[0]
            found = self._lookup(request)
            tokens = len(found) * self.limits.block_size
            chunk = min(request.length - tokens, budget)
            full = len(self.running) >= self.limits.sequences
            if full or not self._may_share(request, found, chunk):
                break
            self.waiting.popleft()
            self.running.append(request)
            self._begin(request, found)
            self._compute(request, chunk)
            self.admissions.append((request.index, tokens, chunk))
            admitted[request] = chunk
            budget -= chunk
        return admitted

    # -------------------------------------------------------------------------------------- memory

    @property
    def pool_free(self) -> int:
        return len(self.pool.free)

    def _lookup(self, request: Request) -> list[int]:
        """Leading blocks of a request that are in the cache; one token is left to compute."""
        size = self.limits.block_size
        most, text = (request.length - 1) // size, self.texts[request.index]
        return self.pool.lookup(cut(text, 0, (place + 1) * size) for place in range(most))

    def _may_share(self, request: Request, found: list[int], chunk: int) -> bool:
        """Whether what is not found fits, and what is found in the line of free blocks with it."""
        tokens = len(found) * self.limits.block_size + chunk
        if self.rules.gate is Gate.FULL_INPUT:
            tokens = request.length
        needed = self.limits.blocks_of(tokens) - len(found)
        needed += sum(self.pool.holders[block] == 0 for block in found)
        kept = self.limits.watermark_blocks if self.running else 0
        return needed + kept <= self.pool_free

    def _begin(self, request: Request, found: list[int]) -> None:
        tokens = len(found) * self.limits.block_size
        self.pool.hold(found)
        self.held[request.index] = found
        request.blocks, request.computed = len(found), tokens
        request.hit_tokens += tokens
        if request.admitted_at is None:
            request.admitted_at, request.first_hit_tokens = self.now, tokens

    def _own_blocks(self, request: Request) -> int:
        return sum(self.pool.holders[block] == 1 for block in self.held[request.index])

    def _compute(self, request: Request, tokens: int) -> None:
        """It takes the blocks for its next tokens; those that will be full are known at once."""
        self._hold(request, self._blocks(request, tokens))
        size, text = self.limits.block_size, self.texts[request.index]
        for place in range(request.computed // size, (request.computed + tokens) // size):
            self.pool.write(self.held[request.index][place], cut(text, 0, (place + 1) * size))

    def _hold(self, request: Request, blocks: int) -> None:
        held = self.held[request.index]
        if blocks:
            held += self.pool.take(blocks - len(held))
        else:
            self.pool.release(held)
            self.held[request.index] = []
            if request.outputs == request.output_length:
                self.finished.append(request.index)
        request.blocks = blocks
        self.free = self.pool_free
