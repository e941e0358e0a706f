"""vLLM's scheduler with its prefix cache, fast: an iteration costs what changes in it.

A running request that decodes grows by a token an iteration. It is looked at when a block of it
begins, is full, or when it is done, which is known beforehand; in between only sums grow. Rules,
counts and times are those of `vllm`, iteration by iteration and bit by bit.
"""

from bisect import insort
from collections import deque

from fluidkv.errors import InputError
from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.fast_pool import FastPool
from fluidkv.serving.caching.fast_request import GONE, Decodes, FastRequest
from fluidkv.serving.caching.names import BlockNames
from fluidkv.serving.caching.table import check_modelled, checked_prompts
from fluidkv.serving.caching.worker import Offers
from fluidkv.serving.checks import check_fits
from fluidkv.serving.clock import IterationClock, pairs
from fluidkv.serving.decisions.choosing import first_to_go, urgency
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules, Gate, Requeue, Victim


class FastEngine:
    """As `VllmEngine`.

    Args:
        names: of the blocks of `prompts`, which then is not looked at: many engines may have them
            in common.

    Examples:
        >>> from fluidkv.prefix import Prompts
        >>> from fluidkv.serving import FastEngine
        >>> alike = Prompts([[(0, 0, 12)], [(0, 0, 12)]], [[(1, 0, 2)], [(2, 0, 2)]])
        >>> requests, clock = fk.Requests([12, 12], [2, 2], arrival=[0, 1]), fk.IterationClock(1.0)
        >>> limits = fk.Limits(40, block_size=4)
        >>> server = FastEngine(requests, alike, fk.engine("vllm"), limits, clock, offered=True)
        >>> server.offer(0)
        >>> server.advance(until=5.0)
        >>> server.found(1), server.iteration
        (8, 2)
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
        names: BlockNames | None = None,
    ) -> None:
        check_modelled(rules, limits)
        check_fits(requests, rules, limits)
        if names is None:
            names = BlockNames(checked_prompts(requests, prompts), limits.block_size)
        if (names.requests, names.block_size) != (len(requests), limits.block_size):
            found = f"{names.requests} requests in blocks of {names.block_size}"
            allowed = f"those of {len(requests)} in blocks of {limits.block_size}"
            raise InputError("names", found, allowed)
        self.requests, self.rules, self.limits, self.clock = requests, rules, limits, clock
        self.clients, self.names = clients, names
        self.decodes = Decodes()
        columns = (
            *(requests.input_length, requests.output_length, requests.arrival),
            *(requests.max_output, requests.priority, requests.predicted_output),
            requests.tbt_slo,
        )
        rows = zip(*(column.tolist() for column in columns), strict=True)
        self.all = [
            FastRequest(index, inputs, outputs, arrival, self.decodes, *others)
            for index, (inputs, outputs, arrival, *others) in enumerate(rows)
        ]
        self._offers = Offers(self.all, by_table=not offered)
        self.now = 0.0
        self.arrived = len(self.all) if offered else 0
        self.done = 0
        self.running: dict[FastRequest, None] = {}  # in the order of admission
        self.waiting: deque[FastRequest] = deque()
        self.pool = FastPool(limits.blocks)
        self.admissions: list[tuple[int, int, int]] = []
        self.preempted: list[int] = []
        self.finished: list[int] = []
        self._prefilling: FastRequest | None = None  # cut by the budget; the last that runs
        self._due: dict[int, list[FastRequest]] = {}  # iteration -> who is looked at in it
        self._admitted = 0  # so far; the order of those that run
        self._kv_tokens = 0
        self._blocked: FastRequest | None = None  # who was looked up last, and did not fit
        self._shared = 0  # how many leading blocks of it are held by others, at most
        self._next_shared = GONE  # the name of the one behind them

    # ---------------------------------------------------------------------------------- as a worker

    @property
    def iteration(self) -> int:
        """Iterations done."""
        return len(self.decodes.gaps)

    @property
    def idle(self) -> bool:
        """Nothing runs and nothing waits."""
        return not self.running and not self.waiting

    @property
    def stuck(self) -> bool:
        """Whoever waits first can never be admitted: this engine refuses such requests."""
        return False

    def offer(self, index: int) -> None:
        """A request joins the queue; the clock of an idle engine goes on to its arrival."""
        request = self._offers.take(index, self, stuck=self.stuck)
        if self.idle:
            self.now = max(self.now, request.arrival)
        self._join(request)

    def found(self, index: int) -> int:
        """Tokens that a request would find, were it admitted now; looking changes nothing."""
        request = self.all[index]
        names = request.names or self.names.of(index)
        size = self.limits.block_size
        return len(self.pool.lookup(names, (request.length - 1) // size)) * size

    def advance(self, until: float) -> None:
        """Iterations until the clock is at `until` or later, or the engine is idle."""
        while not self.idle and self.now < until:
            self.step()

    # ------------------------------------------------------------------------------- one iteration

    def step(self) -> dict[str, int]:
        """One iteration; its counts, keyed and ordered as `vllm.COUNTS`."""
        pool, budget = self.pool, self.limits.budget
        self.admissions, self.preempted, self.finished = [], [], []
        running_in, forgotten = len(self.running), pool.forgotten
        self._arrive()
        done = self._grow()
        # The budget is never short of decodes: who runs had a token of it when it was admitted.
        computing = self._prefill_on(budget - self._decoding)
        decodes = self._decoding
        done = [request for request in done if request in self.running]  # not evicted since
        left = budget - decodes - sum(tokens for _, tokens in computing)
        admitted = [] if self.preempted else self._admit(left)
        computing += admitted
        resumed = sum(request.evictions > 0 for request, _ in admitted)
        scheduled = {
            "running_in": running_in,
            "running": len(self.running),
            "waiting": len(self.waiting),
            "used_blocks": self.limits.blocks - pool.free,
            "preempt": len(self.preempted),
            "admit_new": len(admitted) - resumed,
            "admit_resumed": resumed,
        }
        counts = scheduled | self._execute(decodes, done, computing)
        return counts | {
            "cached_blocks": pool.cached,
            "distinct_blocks": pool.distinct,
            "evicted_blocks": pool.forgotten - forgotten,
            "found_tokens": sum(found for _, found, _ in self.admissions),
        }

    def _arrive(self) -> None:
        while self.arrived < len(self.all):
            request = self.all[self.arrived]
            if self.clients is None:
                if request.arrival > self.now:
                    break
            elif request.index >= self.clients + self.done:
                break
            else:
                request.arrival = self.now
            self._join(request)
            self.arrived += 1

    def _join(self, request: FastRequest) -> None:
        if self.rules.requeue is Requeue.BY_PRIORITY:
            insort(self.waiting, request, key=urgency)
        else:
            self.waiting.append(request)

    # --------------------------------------------------------------------------------------- decode

    @property
    def _decoding(self) -> int:
        return len(self.running) - (self._prefilling is not None)

    def _look_at(self, request: FastRequest, iteration: int) -> None:
        request.due = iteration
        self._due.setdefault(iteration, []).append(request)

    def _next_look(self, request: FastRequest, computed: int) -> int:
        """Tokens computed when it is looked at next: a block begins, one is full, or it is done."""
        size = self.limits.block_size
        within = computed % size
        return min(computed - within + size - 1, request.total - 1) if within else computed

    def _grow(self) -> list[FastRequest]:
        """Blocks that decodes need and fill in this iteration, and who will be done with it."""
        now, size, pool = self.iteration, self.limits.block_size, self.pool
        done: list[FastRequest] = []
        due = self._due.pop(now, [])
        if len(due) > 1:
            due.sort(key=lambda request: request.order)
        for request in due:
            if request.due != now:  # it left
                continue
            computed = request.computed
            if computed % size == 0:
                while not pool.free and request.due == now:
                    self._preempt_for(request)
                if request.due != now:  # it was the victim itself
                    continue
                request.held += pool.take(1)
            computed += 1
            if computed % size == 0:
                self._write(request, computed // size - 1, computed // size)
            if computed == request.total:
                request.due = GONE
                done.append(request)
            else:
                self._look_at(request, now + 1 + self._next_look(request, computed) - computed)
        return done

    def _preempt_for(self, asker: FastRequest) -> None:
        """Somebody goes for one that asks for room, maybe itself."""
        if self.rules.victim is Victim.LAST_ADMITTED and not self.rules.asker_stays:
            request = next(reversed(self.running))
        else:
            running, seed = list(self.running), self.limits.seed
            request = first_to_go(
                self.rules, running, seed, self.iteration, asker=asker, own_blocks=self._own_blocks
            )
        del self.running[request]
        if request is self._prefilling:
            self._prefilling = None
        request.settle(self.now)
        self._kv_tokens -= request.computed
        self.pool.release(request.held)
        request.lose(self.now)
        if self.rules.requeue is Requeue.HEAD:
            self.waiting.appendleft(request)
        else:
            self._join(request)
        self.preempted.append(request.index)

    def _own_blocks(self, request: FastRequest) -> int:
        return self.pool.held_once(request.held)

    # -------------------------------------------------------------------------------------- prefill

    def _prefill_on(self, left: int) -> list[tuple[FastRequest, int]]:
        """The prompt that the budget cut goes on; what it computes."""
        request = self._prefilling
        if request is None or left == 0:
            return []
        tokens = min(request.length - request.computed, left)
        while self._lacks(request, tokens) > self.pool.free:
            self._preempt_for(request)
            if self._prefilling is None:  # it was the victim itself
                return []
        self._compute(request, tokens)
        return [(request, tokens)]

    def _admit(self, budget: int) -> list[tuple[FastRequest, int]]:
        """From the head of the queue to the first that does not fit: what each computes."""
        admitted: list[tuple[FastRequest, int]] = []
        size = self.limits.block_size
        while self.waiting and budget > 0 and len(self.running) < self.limits.sequences:
            request = self.waiting[0]
            kept = self.limits.watermark_blocks if self.running else 0
            if self._surely_blocked(request, kept):
                break
            if not request.names:
                request.names = self.names.of(request.index)
            found = self.pool.lookup(request.names, (request.length - 1) // size)
            tokens = len(found) * size
            chunk = min(request.length - tokens, budget)
            whole = self.rules.gate is Gate.FULL_INPUT
            needed = self.limits.blocks_of(request.length if whole else tokens + chunk)
            needed += self.pool.unheld(found) - len(found)
            if needed + kept > self.pool.free:
                self._block(request)
                break
            self._blocked, self._next_shared = None, GONE
            self.waiting.popleft()
            self.running[request] = None
            self._admitted += 1
            self.pool.hold(found)
            request.begin(found, tokens, self.now, self._admitted)
            self._kv_tokens += tokens
            self._compute(request, chunk)
            self.admissions.append((request.index, tokens, chunk))
            admitted.append((request, chunk))
            budget -= chunk
        return admitted

    def _surely_blocked(self, request: FastRequest, kept: int) -> bool:
        """Looked up before; with all that others may hold of it by now it does not fit."""
        if request is not self._blocked:
            return False
        needed = self.limits.blocks_of(request.length) - self._shared
        return needed + kept > self.pool.free

    def _block(self, request: FastRequest) -> None:
        """While it waits first nobody is admitted: others hold more of it only as they write it."""
        if self.rules.gate is not Gate.FULL_INPUT:
            return
        most = (request.length - 1) // self.limits.block_size
        self._blocked = request
        self._shared = self.pool.held_prefix(request.names, most)
        self._expect_next()

    def _expect_next(self) -> None:
        assert self._blocked is not None  # somebody is expected to share with
        names = self._blocked.names
        self._next_shared = names[self._shared] if self._shared < len(names) else GONE

    # --------------------------------------------------------------------------------------- memory

    def _lacks(self, request: FastRequest, tokens: int) -> int:
        """Blocks that it does not hold yet and needs to compute so many tokens more."""
        return self.limits.blocks_of(request.computed + tokens) - len(request.held)

    def _compute(self, request: FastRequest, tokens: int) -> None:
        """It takes the blocks for these tokens; those that will be full are known at once."""
        size = self.limits.block_size
        request.held += self.pool.take(self._lacks(request, tokens))
        first, last = request.computed // size, (request.computed + tokens) // size
        if first < last:
            self._write(request, first, last)

    def _write(self, request: FastRequest, first: int, last: int) -> None:
        names = request.names[first:last]
        self.pool.write(request.held[first:last], names)
        for name in names:
            if name == self._next_shared:
                self._shared += 1
                self._expect_next()

    # -------------------------------------------------------------------------------------- execute

    def _execute(
        self, decodes: int, done: list[FastRequest], computing: list[tuple[FastRequest, int]]
    ) -> dict[str, int]:
        """The clock runs; who has its whole length computed emits; who is done leaves."""
        iteration = self.iteration
        prefill = prefill_pairs = recomputed = 0
        for request, tokens in computing:
            if not request.decoding:
                prefill += tokens
                prefill_pairs += pairs(request.computed, tokens)
            recomputed += max(0, min(tokens, request.highest - request.computed))
            request.compute(tokens)
        computed = decodes + sum(tokens for _, tokens in computing)
        self._kv_tokens += computed
        kv_tokens = self._kv_tokens
        self._advance(prefill, prefill_pairs, idle=not computed)
        new_outputs, finished = decodes, done
        for request in done:
            request.settle(self.now)
        for request, _ in computing:
            if request.computed < request.length:
                self._prefilling = request
                continue
            if request is self._prefilling:
                self._prefilling = None
            request.emit(self.now)
            new_outputs += 1
            if request.outputs == request.output_length:
                finished.append(request)
            else:
                request.since = iteration + 1
                ahead = self._next_look(request, request.computed) - request.computed
                self._look_at(request, iteration + 1 + ahead)
        for request in finished:
            self._finish(request)
        return {
            "completed": len(finished),
            "sched_reqs": decodes + len(computing),
            "tokens": computed,
            "prefill_tokens": prefill,
            "recomputed_tokens": recomputed,
            "kv_tokens": kv_tokens,
            "new_outputs": new_outputs,
        }

    def _finish(self, request: FastRequest) -> None:
        del self.running[request]
        self._kv_tokens -= request.computed
        self.pool.release(request.held)
        request.finish()
        self.finished.append(request.index)
        self.done += 1

    def _advance(self, prefill: int, prefill_pairs: int, *, idle: bool) -> None:
        """An iteration lasts what it costs; an idle one, a tick or until somebody comes."""
        before = self.now
        if not idle:
            self.now += self.clock.duration(self._kv_tokens, prefill, prefill_pairs)
        elif self.clock.jumps and not self.waiting and self.arrived < len(self.all):
            self.now = self.all[self.arrived].arrival
        else:
            self.now += self.clock.base
        self.decodes.ends(self.now, self.now - before)
