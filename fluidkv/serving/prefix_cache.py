"""The literal engine with vLLM's prefix cache, as far as lengths alone determine it.

With prefix caching on, a block that is freed keeps its content until somebody is given it. Free
blocks wait in one line: new ones are taken from its front, freed ones go to its end, the last of a
request first, so that its beginning lasts longest. A preempted request that comes back finds the
blocks of its own beginning that nobody took, and computes only the rest.

Left out, because lengths do not show it: prompts that begin alike. So this says what a request
finds of itself; what it finds of others would come on top.

Source: the public behaviour of vLLM's V1 block pool (0.11 to 0.33); no recorded steps with prefix
caching were at hand to hold it against.
"""

from dataclasses import dataclass, field

import xarray as xr

from fluidkv.errors import InputError
from fluidkv.runs.batch import Watch
from fluidkv.runs.dataset import as_dataset
from fluidkv.runs.records import in_windows
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engines import engine as named
from fluidkv.serving.limits import Limits
from fluidkv.serving.literal import played
from fluidkv.serving.reference import COUNTS, Engine, Request
from fluidkv.serving.rules import EngineRules, Keeps
from fluidkv.serving.run import NO_HORIZON, largest_request

Place = tuple[int, int]
"""(request, which of its blocks)."""


def serve_caching(
    requests: Requests, engine: str | EngineRules, limits: Limits, clock: IterationClock
) -> xr.Dataset:
    """One run with a prefix cache, until every request is done, as `serve` returns it.

    `reused_tokens` (run,) says how many tokens were found in the cache instead of computed.

    Raises:
        InputError: as `CachingEngine`; a request that this engine could never serve in this memory.
    """
    rules = named(engine)
    worst, needed, available = largest_request(rules, limits, requests)
    if needed > available:
        found = f"{limits.capacity}, where request {worst} needs {needed} blocks"
        raise InputError("capacity", found, f"its largest request; {available} blocks are there")
    run = CachingEngine(requests, rules, limits, clock)
    found = as_dataset(
        in_windows([played(run, NO_HORIZON, Watch())], 1),
        COUNTS,
        [requests],
        blocks=[limits.blocks],
        block_size=[limits.block_size],
        every=1,
        label=rules.label,
        unit=clock.unit,
    )
    return found.assign(reused_tokens=("run", [run.reused_tokens]))


@dataclass(eq=False)
class CachingEngine(Engine):
    """`reference.Engine`, and which block holds what.

    Raises:
        InputError: rules under which an evicted request loses its outputs, prefills run alone or
            newcomers come first, or an admission rate: not modelled together with a cache.
    """

    reused_tokens: int = field(default=0, init=False)
    """Tokens that requests found in the cache so far."""

    def __post_init__(self) -> None:
        super().__post_init__()
        another_order = self.rules.prefill_alone or self.rules.newcomers_first
        if self.rules.keeps is not Keeps.OUTPUTS or another_order:
            raise InputError("engine", self.rules.label, "one of vLLM's rules, for a prefix cache")
        if self.limits.admission_rate is not None:
            raise InputError("admission_rate", self.limits.admission_rate, "None, with a cache")
        self._line: dict[int, Place | None] = dict.fromkeys(range(self.limits.blocks))
        self._cached: dict[Place, int] = {}
        self._held: list[list[int]] = [[] for _ in self.all]

    def admit(self, budget: int, may_admit: bool = True) -> dict[Request, int]:
        """As without a cache, but what is found needs no computing; it needs its memory."""
        admitted: dict[Request, int] = {}
        while may_admit and self.waiting and budget > 0:
            request = self.waiting[0]
            found = self._found(request) * self.limits.block_size
            chunk = min(request.length - found, budget)
            if len(self.running) >= self.limits.sequences or not self._may_enter(
                request, found + chunk, admitted
            ):
                break
            self.waiting.popleft()
            self._take_back(request, found)
            self.running.append(request)
            admitted[request] = chunk
            budget -= chunk
            self._hold(request, self._blocks(request, chunk))
            if request.admitted_at is None:
                request.admitted_at = self.now
        return admitted

    def _found(self, request: Request) -> int:
        """Leading blocks of a request that are in the cache; one token is left to compute."""
        most = (request.length - 1) // self.limits.block_size
        found = 0
        while found < most and (request.index, found) in self._cached:
            found += 1
        return found

    def _take_back(self, request: Request, tokens: int) -> None:
        """What was found leaves the line without having lost its content."""
        for place in range(tokens // self.limits.block_size):
            block = self._cached.pop((request.index, place))
            del self._line[block]
            self._held[request.index].append(block)
        found = len(self._held[request.index])
        self.free -= found
        request.blocks = found
        request.computed = tokens
        self.reused_tokens += tokens

    def _hold(self, request: Request, blocks: int) -> None:
        # What survives of a request is always its beginning, and all of it is taken back on
        # admission: so no content is ever in two blocks.
        held = self._held[request.index]
        while len(held) < blocks:
            block = next(iter(self._line))
            overwritten = self._line.pop(block)
            if overwritten is not None:
                del self._cached[overwritten]
            held.append(block)
        if blocks == 0:
            full = request.computed // self.limits.block_size
            for place in reversed(range(len(held))):
                content = (request.index, place) if place < full else None
                self._line[held[place]] = content
                if content is not None:
                    self._cached[content] = held[place]
            held.clear()
        super()._hold(request, blocks)
