"""One run, literally: requests as objects, two lists, a clock. Slow on purpose.

This is the meaning of every other engine here, which equals it row by row, and the page to compare
with an engine's source. An iteration is four verbs:

    arrive    who has come joins the tail of the queue
    evict     who has outgrown its grant goes; who runs asks for room for its next tokens; victims
              go until all that is asked fits, or, in turn, what each asks
    admit     the queue is served from its head, until the first that does not fit
    execute   tokens are computed; who has all its input computed emits one; who is done leaves

With `prefill_alone` admission comes first, and an iteration that can prefill does only that. With
`newcomers_first` it comes first, too, as if nobody ran; who ran before then asks for what is left.
Congestion's order (execute, arrive, evict, admit) is the same loop, entered one verb later: its
X^n is what runs here after admission.
"""

from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction

from fluidkv.runs.requests import Requests
from fluidkv.serving.clock import IterationClock, pairs
from fluidkv.serving.copies import Copies
from fluidkv.serving.counts import COUNTS as COUNTS
from fluidkv.serving.decisions.asking import asked, fit
from fluidkv.serving.decisions.choosing import first_to_go, urgency
from fluidkv.serving.decisions.gating import next_ratio, passes
from fluidkv.serving.decisions.granting import given_blocks, held_blocks, next_estimate, outgrown
from fluidkv.serving.limits import UNLIMITED, Limits
from fluidkv.serving.progress import NOBODY, Computing, Request
from fluidkv.serving.rules import EngineRules, Guard, Keeps, Requeue


@dataclass(eq=False)
class Engine:
    """The state of a run. `step` does one iteration and returns its counts.

    Args:
        requests, rules, limits, clock: the run.
        clients: of a closed population; a request then comes when an earlier one is done, and its
            own arrival time is not looked at. None: requests come at their arrival times.
    """

    requests: Requests
    rules: EngineRules
    limits: Limits
    clock: IterationClock
    clients: int | None = None

    now: float = field(default=0.0, init=False)
    iteration: int = field(default=0, init=False)
    arrived: int = field(default=0, init=False)
    done: int = field(default=0, init=False)
    running: list[Request] = field(default_factory=list, init=False)
    waiting: deque[Request] = field(default_factory=deque, init=False)
    credit: Fraction = field(default=Fraction(0), init=False)  # admissions the rate limit allows

    def __post_init__(self) -> None:
        columns = (
            self.requests.input_length,
            self.requests.output_length,
            self.requests.max_output,
            self.requests.arrival,
            self.requests.priority,
            self.requests.predicted_output,
            self.requests.estimated_output,
            self.requests.tbt_slo,
        )
        rows = zip(*(column.tolist() for column in columns), strict=True)
        self.all = [Request(index, *row) for index, row in enumerate(rows)]
        self.free = self.limits.blocks
        self.copies = Copies(self.rules.restore, self.limits.swap)
        self.ratio = self.rules.ratio.scaled[0]

    def start_with(self, outputs: list[int]) -> None:
        """The first requests run already, in this order, with so many outputs each (at least 1)."""
        for request, emitted in zip(self.all, outputs, strict=False):
            request.outputs = emitted
            request.computed = request.highest = request.length - 1
            request.admitted_at = request.first_token_at = request.last_token_at = self.now
            self._hold(request, self._given(request, 0))
            self.running.append(request)
            self.arrived += 1

    # ------------------------------------------------------------------------------- one iteration

    def step(self) -> dict[str, int]:
        """One iteration; its counts, keyed and ordered as `COUNTS`."""
        running_in = len(self.running)
        self.arrive()
        self.copies.land(self.running, self.now)
        if self.rules.prefill_alone:
            computing = self.asked(prefills_only=True)
            admitted = self.admit(self.limits.budget - sum(computing.values()))
            computing |= admitted
            evicted: list[Request] = []
            if not any(computing.values()):  # who is copied back prefills nothing
                ended = self.end_grants()
                evicted, computing = self.evict(admitted)
                evicted = ended + evicted
        elif self.rules.newcomers_first:
            admitted = self.admit(self.limits.budget)
            ended = self.end_grants()
            evicted, computing = self.evict(admitted)
            evicted, computing = ended + evicted, admitted | computing
        else:
            ended = self.end_grants()
            evicted, computing = self.evict()
            may_admit = self.rules.admits_after_eviction or not evicted
            evicted = ended + evicted
            admitted = self.admit(self.limits.budget - sum(computing.values()), may_admit)
            computing |= admitted
        resumed = sum(request.evictions > 0 for request in admitted)
        self.now, copied = self.copies.go(self.now, admitted)
        scheduled = {
            "running_in": running_in,
            "running": len(self.running),
            "waiting": len(self.waiting),
            "used_blocks": self.limits.blocks - self.free,
            "preempt": len(evicted),
            "admit_new": len(admitted) - resumed,
            "admit_resumed": resumed,
        }
        computing = {request: tokens for request, tokens in computing.items() if tokens}
        return scheduled | self.execute(computing) | {"copied_tokens": copied}

    @property
    def stuck(self) -> bool:
        """Nothing runs, nobody comes any more, and whoever waits first can never be admitted."""
        more_come = self.clients is None and self.arrived < len(self.all)
        if self.running or not self.waiting or more_come:
            return False
        return not self._may_enter(self.waiting[0], self.waiting[0].length, {})

    # -------------------------------------------------------------------------------------- arrive

    def arrive(self) -> None:
        """Who has come by now joins the queue; or one for each client that has nothing in it."""
        while self.arrived < len(self.all) and self._has_come(self.all[self.arrived]):
            request = self.all[self.arrived]
            if self.clients is not None:
                request.arrival = self.now
            self.waiting.append(request)
            self.arrived += 1
        self._line_up()

    def _has_come(self, request: Request) -> bool:
        if self.clients is not None:
            return request.index < self.clients + self.done
        return request.arrival <= self.now

    # --------------------------------------------------------------------------------------- evict

    def end_grants(self) -> list[Request]:
        """Who has outgrown what it was given goes, from the end of the list, budget or not."""
        gone = [r for r in reversed(self.running) if outgrown(self.rules, self.limits, r)]
        for request in gone:
            request.estimated = next_estimate(self.rules, self.limits, request)
            self._let_go(request)
        self._requeue(gone)
        return gone

    def evict(self, newcomers: Computing = NOBODY) -> tuple[list[Request], dict[Request, int]]:
        """Victims go, one at a time, until the others find room; these get their blocks.

        Newcomers, where they come first, hold theirs already, and none of them goes.

        Returns:
            Who went, in order; and of those who run and are no newcomers, what each computes.
        """
        if self.rules.in_turn:
            evicted, computing = self._one_after_the_other(newcomers)
        else:
            evicted, computing = self._all_at_once(newcomers)
        self._requeue(evicted)
        self.ratio = next_ratio(self.rules, self.ratio, self.running, evicted)
        return evicted, computing

    def _all_at_once(self, newcomers: Computing) -> tuple[list[Request], dict[Request, int]]:
        """Victims go until all that is asked for fits."""
        evicted: list[Request] = []
        while not self._fit(self.asked(newcomers)):
            evicted.append(self._victim([r for r in self.running if r not in newcomers]))
        computing = self.asked(newcomers)
        for request, tokens in computing.items():
            self._hold(request, self._blocks(request, tokens))
        return evicted, computing

    def _one_after_the_other(
        self, newcomers: Computing
    ) -> tuple[list[Request], dict[Request, int]]:
        """Each asks in its turn, and who finds no room has victims go, itself maybe.

        Who finds no room beside the blocks of those behind it would find none beside all that they
        ask for. So, as long as tokens are the same either way, victims go for the same lists, and
        this is all at once. They are the same where the budget is not short, or where victims are
        the end of the list (`Victim.LAST_ADMITTED`), as it is handed out from the front. A rule
        that counts blocks sees those that were taken in this round, which all at once are not.
        """
        evicted: list[Request] = []
        computing: dict[Request, int] = {}
        left = UNLIMITED if self.rules.prefill_alone else self.limits.budget
        for request in list(self.running):
            if left == 0:
                break
            if request in evicted or request.kept:
                continue
            tokens = min(request.length - request.computed, left)
            while request not in evicted and not self._fit({request: tokens}):
                running = [r for r in self.running if r not in newcomers]
                evicted.append(self._victim(running, request))
                left += computing.pop(evicted[-1], 0)
            if request in evicted:
                continue
            self._compute(request, tokens)
            computing[request] = tokens
            left -= tokens
        return evicted, computing

    def first_to_go(self, running: list[Request], asker: Request | None = None) -> Request:
        """Who of these goes. A rule that no `Victim` has is an engine that says so here.

        Args:
            running: at least one, in order of admission.
            asker: who asks for room in its turn; None: all ask at once.
        """
        seed, own = self.limits.seed, self._own_blocks
        return first_to_go(self.rules, running, seed, self.iteration, asker=asker, own_blocks=own)

    def _victim(self, running: list[Request], asker: Request | None = None) -> Request:
        """Who of these goes, and is gone."""
        victim = self.first_to_go(running, asker)
        self._let_go(victim)
        return victim

    def _let_go(self, victim: Request) -> None:
        """It leaves the running list and its memory."""
        self.running.remove(victim)
        self._hold(victim, 0)
        self.copies.leave(victim)
        victim.halt(self.now)
        if self.rules.keeps is Keeps.NOTHING:
            victim.outputs = 0

    def _requeue(self, evicted: list[Request]) -> None:
        if self.rules.requeue is Requeue.HEAD:
            self.waiting.extendleft(evicted)
        else:
            self.waiting.extend(evicted)
        self._line_up()

    def _line_up(self) -> None:
        """By priority, then arrival, where the rules say so; a request's index is its arrival's."""
        if self.rules.requeue is Requeue.BY_PRIORITY:
            self.waiting = deque(sorted(self.waiting, key=urgency))

    def asked(
        self, newcomers: Computing = NOBODY, *, prefills_only: bool = False
    ) -> dict[Request, int]:
        """Tokens that running requests compute next: see `asking`."""
        return asked(self.rules, self.limits, self.running, newcomers, prefills_only=prefills_only)

    def _fit(self, asked: Computing) -> bool:
        """Whether memory holds what these ask for."""
        growth = [self._blocks(r, tokens) - r.blocks for r, tokens in asked.items()]
        return fit(self.rules, self.free, growth)

    # --------------------------------------------------------------------------------------- admit

    def admit(self, budget: int, may_admit: bool = True) -> dict[Request, int]:
        """From the head of the queue to the first that does not fit: what each computes."""
        rate = self.limits.admission_rate
        permits = self.limits.sequences
        if rate is not None:
            self.credit += rate
            permits = self.credit // 1
        admitted: dict[Request, int] = {}
        while may_admit and self.waiting and len(admitted) < permits:
            request = self.waiting[0]
            tokens = 0 if request.kept else min(request.length, budget)
            if not (tokens or request.kept):  # no budget is left
                break
            held = request.length if request.kept else tokens
            if len(self.running) >= self.limits.sequences or not self._may_enter(
                request, held, admitted
            ):
                break
            self.waiting.popleft()
            self.running.append(request)
            admitted[request] = tokens
            budget -= tokens
            held = request.length if self.rules.prefill_alone else held
            self._hold(request, self._given(request, held))
            request.computed = request.kept
            if request.admitted_at is None:
                request.admitted_at = self.now
        self.credit %= 1  # whole permits are used now or lapse
        return admitted

    def _may_enter(self, request: Request, chunk: int, admitted: Computing) -> bool:
        free = self.free
        if self.rules.newcomers_first:  # whoever else runs can be evicted
            free = self.limits.blocks - sum(r.blocks for r in admitted)
        if self.running or self.rules.guard is Guard.ALWAYS:
            free -= self.limits.watermark_blocks
        return passes(
            self.rules, self.limits, self.ratio, request, chunk, free, self.running, admitted
        )

    # -------------------------------------------------------------------------------------- memory

    def _blocks(self, request: Request, tokens: int) -> int:
        """Blocks that it holds once so many more tokens are computed; none is given back."""
        return held_blocks(self.rules, self.limits, request, tokens)

    def _given(self, request: Request, tokens: int) -> int:
        """Blocks that it holds once admitted, if it computes so many tokens then."""
        return given_blocks(self.rules, self.limits, request, self._blocks(request, tokens))

    def _own_blocks(self, request: Request) -> int:
        """Blocks that nobody else holds."""
        return request.blocks

    def _compute(self, request: Request, tokens: int) -> None:
        """It takes the blocks for its next tokens."""
        self._hold(request, self._blocks(request, tokens))

    def _hold(self, request: Request, blocks: int) -> None:
        self.free += request.blocks - blocks
        request.blocks = blocks

    # ------------------------------------------------------------------------------------- execute

    def execute(self, computing: dict[Request, int]) -> dict[str, int]:
        """Compute; the clock runs; who has its whole length computed emits; who is done leaves."""
        prefill = prefill_pairs = recomputed = completed = new_outputs = 0
        for request, tokens in computing.items():
            if not request.decoding:
                prefill += tokens
                prefill_pairs += pairs(request.computed, tokens)
            recomputed += max(0, min(tokens, request.highest - request.computed))
            request.computed += tokens
        cached = sum(request.computed for request in self.running)
        self._advance(cached, prefill, prefill_pairs, idle=not computing)
        for request in computing:
            if request.computed == request.length:
                new_outputs += request.emit(self.now)
            request.highest = max(request.highest, request.computed)
            if request.outputs == request.output_length:
                self.running.remove(request)
                self._hold(request, 0)
                request.finished = True
                completed += 1
        self.done += completed
        self.iteration += 1
        return {
            "completed": completed,
            "sched_reqs": len(computing),
            "tokens": sum(computing.values()),
            "prefill_tokens": prefill,
            "recomputed_tokens": recomputed,
            "kv_tokens": cached,
            "new_outputs": new_outputs,
        }

    def _advance(self, cached: int, prefill: int, prefill_pairs: int, *, idle: bool) -> None:
        """An iteration lasts what it costs; an idle one, a tick or until who it waits for."""
        if not idle:
            self.now += self.clock.duration(cached, prefill, prefill_pairs)
        elif self.clock.jumps and (events := self._events()):
            self.now = max(self.now, min(events))
        else:
            self.now += self.clock.base

    def _events(self) -> list[float]:
        """What an idle engine waits for: who is copied back; if nobody waits, who comes next."""
        events = [request.ready_at for request in self.running if request.kept]
        if self.clients is None and not self.waiting and self.arrived < len(self.all):
            events.append(self.all[self.arrived].arrival)
        return events
