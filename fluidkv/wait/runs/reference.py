"""One run of WAIT or Nested WAIT, literally: batches by stage, which no server forms.

Prompts are objects; slow on purpose. This is the meaning of the faster runs of this room, which
equal it iteration by iteration, and the page to compare with the paper's algorithms. An iteration
is four verbs:

    arrive    who has come waits at stage 0; nobody holds memory there
    select    the policy forms the batch
    evict     where a memory is given and does not suffice: last admitted first
    execute   each prompt in the batch computes its stage; who has computed its last one leaves

While the batch is empty, or memory leaves nothing of it, time runs to the next arrival.

Memory in an iteration is l + stage for each prompt in the batch, and l + stage - 1 for each that is
paused at `stage`: what it computed stays in the cache.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import SupportsIndex

from fluidkv.errors import InputError
from fluidkv.runs.records import RequestHistory
from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock
from fluidkv.wait.policy import NestedWait, Policy, Wait

COUNTS = (
    "running",  # prompts in the batch
    "paused",  # prompts that hold memory and are not in the batch
    "waiting",  # prompts that have come and hold no memory, after the batch was formed
    "joined",  # types (WAIT) or segments (Nested WAIT) in the batch
    "preempt",  # evictions since the iteration before
    "admit_new",  # prompts in the batch for their first prefill
    "admit_resumed",  # prompts in the batch for a prefill after an eviction
    "completed",  # prompts that computed their last stage
    "kv_tokens",  # tokens that the batch holds, which set the iteration's duration
    "held_tokens",  # tokens in memory: the batch and the paused
    "new_outputs",  # output tokens that their client had not seen
    "completed_outputs",  # output tokens of the prompts that completed: the paper's throughput
    "tokens",  # tokens computed: l at a prefill, one at each later stage
    "recomputed_tokens",  # of these, what an eviction had lost
)
"""What an iteration counts, in this order; all integers."""


MOST_TOKENS = 2**53
"""Memories and all prompts together hold fewer, so that a float holds every sum of tokens exactly.
"""


@dataclass(eq=False)
class Prompt(RequestHistory):
    """One prompt and the stage it computes next."""

    index: int
    type: int
    input_length: int
    output_length: int
    arrival: float
    stage: int = 0
    seen: int = 0  # output tokens that its client has

    @property
    def computing(self) -> int:
        """Tokens it holds while its stage is computed."""
        return self.input_length + self.stage

    @property
    def paused(self) -> int:
        """Tokens it holds while it is not: none before its prefill."""
        return self.input_length + self.stage - 1 if self.stage else 0


@dataclass(eq=False)
class WaitEngine:
    """The state of a run. `step` does one iteration and returns its counts, or None at the end.

    Args:
        requests: who comes when; `output_length` is the paper's l', `class_index` the type.
        policy: Wait or NestedWait.
        clock: d0, d1 and d2 of the iteration time; the paper has no d2.
        capacity: M, tokens; None: memory is only counted. A batch that does not fit drops its
            newcomers, the last first, then evicts whoever was admitted last. The evicted go to the
            tail of the queue and start again.

    Raises:
        InputError: a type without a threshold, an output beyond the last segment, a prompt that
            does not fit into the memory, or a clock with a term for pairs.

    Examples:
        >>> from fluidkv.runs import Requests
        >>> from fluidkv.serving import IterationClock
        >>> from fluidkv.wait import Wait
        >>> from fluidkv.wait.runs.reference import WaitEngine
        >>> prompts = Requests([3, 3], [1, 1], arrival=[0, 4])
        >>> engine = WaitEngine(prompts, Wait([2]), IterationClock(1))
        >>> counts = engine.step()
        >>> counts["running"], counts["kv_tokens"], engine.now  # both waited for the second
        (2, 6, 5.0)
    """

    requests: Requests
    policy: Policy
    clock: IterationClock
    capacity: int | None = None

    now: float = field(default=0.0, init=False)
    arrived: int = field(default=0, init=False)
    waiting: list[Prompt] = field(default_factory=list, init=False)  # first come first
    inside: list[Prompt] = field(default_factory=list, init=False)  # hold memory; first admitted
    lost: int = field(default=0, init=False)  # evictions that no iteration has counted yet

    def __post_init__(self) -> None:
        check_run(self.requests, self.policy, self.clock, self.capacity)
        columns = (
            self.requests.class_index,
            self.requests.input_length,
            self.requests.output_length,
            self.requests.arrival,
        )
        rows = zip(*(column.tolist() for column in columns), strict=True)
        self._longest = int(self.requests.output_length.max())
        self.all = [Prompt(index, *row) for index, row in enumerate(rows)]

    # ------------------------------------------------------------------------------- one iteration

    def step(self) -> dict[str, int] | None:
        """One iteration; its counts, keyed and ordered as `COUNTS`.

        None: no batch can be formed any more, whether or not prompts are left. Evictions on the
        way to that have no iteration after them: they stay in `lost`.
        """
        batch = self.select()
        return None if batch is None else self.execute(batch)

    def arrive(self) -> None:
        """Who has come by now joins the queue."""
        while self.arrived < len(self.all) and self.all[self.arrived].arrival <= self.now:
            self.waiting.append(self.all[self.arrived])
            self.arrived += 1

    # -------------------------------------------------------------------------------------- select

    def select(self, *, horizon: float = math.inf) -> list[Prompt] | None:
        """The batch that fits, after waiting for it as long as must be.

        None: it never comes. Empty: prompts would start at or after the horizon, for whom nobody
        is evicted any more, and nobody asks whether they fit.
        """
        while True:
            self.arrive()
            inside = len(self.inside)
            batch = self._batch()
            if batch and self.now >= horizon:
                return []
            batch = self.evict(batch)
            if batch:
                return batch
            if len(self.inside) < inside:
                continue  # who was evicted waits again, maybe as one of enough
            if self.arrived == len(self.all):
                return None
            self.now = self.all[self.arrived].arrival

    def _batch(self) -> list[Prompt]:
        if isinstance(self.policy, Wait):
            return self._of_types(self.policy.thresholds)
        return self._of_segments(self.policy)

    def _of_types(self, thresholds: tuple[int, ...]) -> list[Prompt]:
        """n_j prompts at each stage of every type of which n_j wait at stage 0."""
        inventory = Counter(prompt.type for prompt in self.waiting)
        joined = {j for j, n in enumerate(thresholds) if inventory[j] >= n}
        left = Counter[tuple[int, int]]()  # taken so far, by type and stage
        batch = []
        for prompt in (*self.inside, *self.waiting):
            place = prompt.type, prompt.stage
            if prompt.type in joined and left[place] < thresholds[prompt.type]:
                left[place] += 1
                batch.append(prompt)
        return batch

    def _of_segments(self, policy: NestedWait) -> list[Prompt]:
        """Up to n_k prompts at each stage of the segments before the first that lacks prompts."""
        inventory = Counter(prompt.stage for prompt in (*self.inside, *self.waiting))
        limit: dict[int, int] = {}  # stage -> most prompts of it in the batch
        last = self._longest
        for start, end, n in zip(policy.starts, policy.ends, policy.thresholds, strict=True):
            if inventory[start] < n:
                break
            limit |= dict.fromkeys(range(start, min(end, last) + 1), n)
        taken = Counter[int]()
        batch = []
        for prompt in (*self.inside, *self.waiting):
            if taken[prompt.stage] < limit.get(prompt.stage, 0):
                taken[prompt.stage] += 1
                batch.append(prompt)
        return batch

    # --------------------------------------------------------------------------------------- evict

    def held(self, batch: list[Prompt]) -> int:
        """Tokens in memory while the batch runs."""
        paused = sum(p.paused for p in self.inside) - sum(p.paused for p in batch)
        return paused + sum(p.computing for p in batch)

    def evict(self, batch: list[Prompt]) -> list[Prompt]:
        """What is left of the batch once memory suffices; who lost its cache for it waits again."""
        batch = list(batch)
        while self.capacity is not None and self.held(batch) > self.capacity:
            newcomers = [prompt for prompt in batch if prompt.stage == 0]
            if newcomers:
                batch.remove(newcomers[-1])
                continue
            victim = self.inside.pop()
            victim.stage = 0
            victim.halt(self.now)
            self.lost += 1
            self.waiting.append(victim)
            if victim in batch:
                batch.remove(victim)
        return batch

    # ------------------------------------------------------------------------------------- execute

    def execute(self, batch: list[Prompt]) -> dict[str, int]:
        """Newcomers get memory, every prompt of the batch computes its stage, the clock runs."""
        newcomers = {prompt: None for prompt in batch if prompt.stage == 0}  # in order of arrival
        for prompt in newcomers:
            if prompt.admitted_at is None:
                prompt.admitted_at = self.now
        tokens, held = sum(p.computing for p in batch), self.held(batch)
        self.waiting = [prompt for prompt in self.waiting if prompt not in newcomers]
        self.inside += newcomers
        resumed = [prompt for prompt in newcomers if prompt.evictions]
        counts = {
            "running": len(batch),
            "paused": len(self.inside) - len(batch),
            "waiting": len(self.waiting),
            "joined": self._joined(newcomers, batch),
            "preempt": self.lost,
            "admit_new": len(newcomers) - len(resumed),
            "admit_resumed": len(resumed),
        }
        self.lost = 0
        prefill = sum(p.input_length for p in newcomers)
        self.now += self.clock.duration(tokens, prefill)
        new_outputs = sum(self._emit(prompt) for prompt in batch)
        for prompt in batch:
            prompt.stage += 1
            prompt.finished = prompt.stage > prompt.output_length
        completed = [prompt for prompt in batch if prompt.finished]
        self.inside = [prompt for prompt in self.inside if not prompt.finished]
        decoding = len(batch) - len(newcomers)
        return counts | {
            "completed": len(completed),
            "kv_tokens": tokens,
            "held_tokens": held,
            "new_outputs": new_outputs,
            "completed_outputs": sum(p.output_length for p in completed),
            "tokens": prefill + decoding,
            "recomputed_tokens": sum(p.input_length for p in resumed) + decoding - new_outputs,
        }

    def _joined(self, newcomers: Iterable[Prompt], batch: list[Prompt]) -> int:
        """How many types or segments run: each that does takes prompts in at its first stage."""
        if isinstance(self.policy, Wait):
            return len({prompt.type for prompt in newcomers})
        return sum(any(p.stage == start for p in batch) for start in self.policy.starts)

    def _emit(self, prompt: Prompt) -> bool:
        """Whether stage k >= 1 gave a token that its client had not seen before an eviction."""
        if prompt.stage <= prompt.seen:
            return False
        prompt.seen = prompt.stage
        prompt.tell(self.now)
        return True


def check_run(
    requests: Requests, policy: Policy, clock: IterationClock, capacity: int | None
) -> None:
    """Refuse what cannot run.

    Raises:
        InputError: as `WaitEngine`.
    """
    if clock.per_prefill_pair:
        raise InputError("per_prefill_pair", clock.per_prefill_pair, "0: WAIT's clock has none")
    if not clock.by_tokens_alone:
        raise InputError("clock", clock, "one without terms of requests and experts, as WAIT's")
    if isinstance(policy, Wait):
        types = int(requests.class_index.max()) + 1
        if requests.class_index.min() < 0 or types > len(policy.thresholds):
            raise InputError(
                "thresholds", list(policy.thresholds), f"one for each of the {types} types"
            )
    elif requests.output_length.max() > policy.ends[-1]:
        longest = int(requests.output_length.max())
        raise InputError("ends", list(policy.ends), f"a last end of at least {longest} outputs")
    if capacity is not None:
        largest = int((requests.input_length + requests.output_length).max())
        whole = isinstance(capacity, SupportsIndex) and not isinstance(capacity, bool)
        if not whole or capacity < largest:
            raise InputError("capacity", capacity, f"at least {largest} tokens, the largest prompt")
        if capacity >= MOST_TOKENS:
            raise InputError("capacity", capacity, "fewer than 2^53 tokens; None: not limited")
