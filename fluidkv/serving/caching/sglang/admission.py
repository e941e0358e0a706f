"""Who may join a prefill pass: SGLang's reservation of memory, and the tokens of the pass.

A request fits if what it computes, what it may still emit and a page are *less* than what is left
of free memory past the reservation: a share of what those who run may still emit, and all of it for
those who were admitted in the same pass.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from enum import Enum

from fluidkv.serving.caching.sglang.pool import Pool
from fluidkv.serving.caching.sglang.state import Request
from fluidkv.serving.sglang_settings import SglangSettings

_KEPT = 1  # tokens for each request that runs on, where all ignore the end of text


class Verdict(Enum):
    """What admission says of the next request in the queue."""

    GO_ON = "it may be tried"
    NO_MEMORY = "memory is short"
    SPENT = "the tokens of this pass are spent"


class Reserved:
    """Memory that is kept for those who run, in floats as the source adds them up.

    Args:
        beside: tokens that are taken in any case.
        running: in order.
        clip, ratio: of what each may still emit, at most so much, and this share of it.
    """

    def __init__(self, beside: int, running: Iterable[Request], clip: int, ratio: float) -> None:
        self.tokens = beside + shares(running, clip, ratio)

    def charge(self, tokens: int) -> None:
        """So many more."""
        self.tokens += tokens

    def leaves_more_than(self, tokens: int, free: int) -> bool:
        return tokens < free - self.tokens

    def leaves_at_least(self, tokens: int, free: int) -> bool:
        return tokens <= free - self.tokens

    def left_of(self, free: int) -> int:
        """What is left of so many free tokens, without its fraction."""
        return int(free - self.tokens)


def shares(running: Iterable[Request], clip: int, ratio: float) -> float:
    """Of each request a share of what it may still emit, added up in running order."""
    total = 0.0
    for request in running:
        total += request.may_emit(clip) * ratio
    return total


class Admission:
    """One prefill pass while it is put together.

    Args:
        settings, pool: the server's.
        reserved: for the decode batch, in a mixed pass with the tokens that it decodes.
        running: who it is, in order.
    """

    def __init__(
        self,
        settings: SglangSettings,
        pool: Pool,
        reserved: "Reserved",
        running: Sequence[Request],
    ) -> None:
        self.settings, self.pool, self.reserved = settings, pool, reserved
        self.decoding, self._running = len(running), running
        beside = self.decoding if settings.mixed else 0
        self.at_once = beside  # tokens of memory that this pass itself takes
        self.prompt_tokens = settings.max_prefill_tokens - beside
        size = settings.chunked_prefill_size
        self.chunk = None if size is None else size - beside
        self.admitted: list[Request] = []
        self.cut: Request | None = None  # admitted now, and not to its prompt's end
        self._releases: list[tuple[int, int]] | None = None

    @property
    def verdict(self) -> Verdict:
        """On whoever comes next."""
        free = self.pool.free
        if not self.reserved.leaves_more_than(0, free) or free <= self.at_once:
            return Verdict.NO_MEMORY
        if self.prompt_tokens <= 0 or (self.chunk is not None and self.chunk <= 0):
            return Verdict.SPENT
        return Verdict.GO_ON

    def fill(
        self, waiting: deque[Request], chunked: Request | None, full: bool
    ) -> tuple[Request | None, bool]:
        """The prompt that goes on, and from the head of the queue who fits; these leave it.

        Args:
            chunked, full: the prompt that is in memory in part; whether nobody else may be tried.

        Returns: the two after this pass.
        """
        if chunked:
            chunked = self.go_on(chunked)
        while waiting and self.verdict is not Verdict.SPENT:
            full = full or len(self.admitted) >= self.settings.max_running - self.decoding
            if full:
                break
            request, before = waiting[0], len(self.admitted)
            self.pool.match(request)
            verdict = self.add(request)
            if len(self.admitted) > before:
                waiting.popleft()
            if verdict is Verdict.NO_MEMORY:
                full = bool(self.admitted or self.decoding)
            if verdict is not Verdict.GO_ON:
                break
        chunked = self.cut or chunked
        if chunked and self.admitted:
            chunked.middle_chunks += 1
        return chunked, full

    # ------------------------------------------------------------------------- one more request

    def go_on(self, request: Request) -> Request | None:
        """The next chunk of a prompt that is in memory up to its prefix.

        Returns: the request, if its prompt does not end with this chunk.
        """
        chunk = self.chunk
        # Somebody's prompt was cut; and everybody who decodes now beside it and did not before
        # took a token of that pass.
        assert chunk is not None
        assert chunk > 0
        left = min(chunk, self.reserved.left_of(self.pool.free))
        if left <= 0:
            left = chunk  # it has to get on, so that its memory is free again some day
        computes = request.length - request.prefix
        ends = computes <= left
        self._take(request, min(computes, left), request.max_output if ends else 0)
        return None if ends else request

    def add(self, request: Request) -> Verdict:
        """Try to admit the head of the queue, whose prefix is known."""
        if self.settings.ignore_eos and not self.settings.radix:
            return self._add_of_known_length(request)
        self.pool.lock(request)
        verdict = self._select(request)
        if verdict is not Verdict.GO_ON:
            self.pool.unlock(request)
            return verdict
        return self.verdict

    def _select(self, request: Request) -> Verdict:
        settings, computes = self.settings, request.length - request.prefix
        page, whole = settings.page_size, settings.in_pages(computes)
        may_emit = max(request.may_emit(settings.clip), 0)
        if not self.reserved.leaves_more_than(computes + may_emit + page, self.pool.free):
            return Verdict.NO_MEMORY
        if self.chunk is None:
            if self.admitted and whole >= self.prompt_tokens:
                return Verdict.SPENT
        elif whole > self.chunk:
            end = (request.prefix + self.chunk // page * page) // page * page
            if end <= request.prefix:
                return Verdict.SPENT
            self.cut = request
            self._take(request, end - request.prefix, 0)
            return Verdict.GO_ON
        self._take(request, computes, request.max_output)
        return Verdict.GO_ON

    def _take(self, request: Request, computes: int, asked: int) -> None:
        """It is in the pass. Newcomers are charged all that they ask for."""
        whole, page = self.settings.in_pages(computes), self.settings.page_size
        request.end = request.prefix + computes
        self.admitted.append(request)
        self.reserved.charge(whole + page + min(asked, self.settings.clip))
        self.at_once += whole + page
        self.prompt_tokens -= whole
        if self.chunk is not None:
            self.chunk -= whole

    # ----------------------------------------------------------- all lengths known, nothing kept

    def _add_of_known_length(self, request: Request) -> Verdict:
        """Where nobody ends early and no tree keeps anything: play the releases to come."""
        computes = request.length
        now = self.settings.in_pages(computes) + self.settings.page_size
        free = self.pool.free
        if now > free - self.at_once or not self.reserved.leaves_at_least(now, free):
            return Verdict.NO_MEMORY
        if not self._releases_in_time(request, free - self.at_once - now):
            return Verdict.NO_MEMORY
        if self.chunk is None or computes <= self.chunk:
            self._take(request, computes, request.max_output)
        elif self.chunk <= 0:
            return Verdict.SPENT
        else:
            self.cut = request
            self._take(request, self.chunk, 0)
        return self.verdict

    def _releases_in_time(self, request: Request, free: int) -> bool:
        """Whether everybody can emit all that it may, in order of who is done first."""
        if self._releases is None:
            everybody = [request, *self._running, *self.admitted]
            self._releases = sorted(
                (self._release(each) for each in everybody if self._release(each)[0] > 0),
                key=lambda release: release[0],
            )
        elif self._release(request)[0] > 0:
            self._insert(self._release(request))
        for place, (to_come, held) in enumerate(self._releases):
            left = len(self._releases) - place
            if free - to_come * left <= _KEPT * left:
                return False
            free += held
        return True

    def _release(self, request: Request) -> tuple[int, int]:
        """What it may still emit, and the tokens that go then."""
        return request.max_output - request.outputs, request.length

    def _insert(self, release: tuple[int, int]) -> None:
        """Before the first that is not done earlier; where there is none, before the last."""
        assert self._releases is not None
        not_earlier = (
            place for place, (to_come, _) in enumerate(self._releases) if release[0] <= to_come
        )
        place = next(not_earlier, max(len(self._releases) - 1, 0))
        self._releases.insert(place, release)
