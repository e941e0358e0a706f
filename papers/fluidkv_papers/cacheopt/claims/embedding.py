"""CacheOPT, 3.3.1: a guest in what a host has and does not use, on all small cases.

Each case is played iteration by iteration, with the users of every slot on record; no formula of
ours decides whether two requests meet.
"""

from collections.abc import Callable

from fluidkv.ledger import Origin, Range
from fluidkv_papers.cacheopt.instances.embedded import Case, cases, conflict, distance
from fluidkv_papers.cacheopt.paper import statements

CLAIMS = statements()
READING = CLAIMS.section(origin=Origin.READING)

_SECTION = "section 3.3.1"
_FITTING = Range(
    "all a up to 12 with the condition, every u, p, o, b, either one writing first",
    lambda: ((case,) for case in cases(12)),
)
_ALL = Range(
    "all a up to 10, up to 3 tokens too large for the condition, either one writing first",
    lambda: ((case,) for case in cases(10, fitting=False)),
)


def _safe(case: Case, start: int, *, late: int = 0, last_token: bool = True) -> bool:
    return all(
        conflict(case, start, late=late, last_token=last_token, guest_first=first) is None
        for first in (True, False)
    )


def _starts(case: Case, *, last_token: bool = True) -> list[int]:
    """Where the guest meets nobody and the host stays b tokens away, tried one by one."""
    return [
        start
        for start in range(case.allocated)
        if distance(case, start) >= case.buffer and _safe(case, start, last_token=last_token)
    ]


@CLAIMS.claim("embedding.condition", f"{_SECTION}, the condition", over=_FITTING)
def _condition(case: Case) -> bool | str:
    """If a - (u + o) - (p + o) >= b, the guest can lie in the host's allocation, b tokens or more
    from where the host is when it is done.

    Ours: in all {count} cases; the lowest start is u + o + b
    Paper: a start exists
    Note: Proof for all sizes: [u + o + b, u + o + b + p + o) ends by a iff the condition holds."""
    start = case.used + case.outputs + case.buffer
    return min(_starts(case), default=None) == start or str(case)


@READING.claim("embedding.condition.needed", f"{_SECTION}, the condition", over=_ALL)
def _needed(case: Case) -> bool | str:
    """Without the condition no start leaves the guest its p + o slots and the host b more.

    Ours: in all {count} cases a start exists iff the condition holds
    Paper: if the condition holds"""
    return bool(_starts(case)) == case.fits or str(case)


@READING.claim(
    "embedding.condition.last-token",
    f"{_SECTION}, the condition, with slots counted as vLLM uses them",
    over=_ALL,
)
def _last_token(case: Case) -> bool | str:
    """Where the guest's last token is never stored, a start exists iff a - (u + o) - (p + o) >= b -
    1.

    Ours: a token less is enough, in all {count} cases
    Paper: >= b"""
    a, u, p, o, b = case
    enough = a - (u + o) - (p + o) >= b - 1
    return bool(_starts(case, last_token=False)) == enough or str(case)


def _placed(where: Callable[[Case], int]) -> Callable[[Case], bool | str]:
    """The predicate that a guest at this place meets nobody."""

    def predicate(case: Case) -> bool | str:
        start = where(case)
        for guest_first in (True, False):
            found = conflict(case, start, guest_first=guest_first)
            if found is not None:
                return f"{case}: s0 = {case.s0}, start at {start}: {found}"
        return True

    return predicate


CLAIMS.claim(
    "embedding.start.from-the-end",
    f"{_SECTION}, the red line",
    "Counted back from the end of the allocation, s0 = a - (u + o) - b is where the guest starts.",
    over=_FITTING,
    ours="a - s0 = u + o + b, the lowest start, in all {count} cases",
    paper="starting from the red line s0",
    note="As a length, s0 is what is left from there to the end of the allocation.",
)(_placed(lambda case: case.allocated - case.s0))

READING.fails(
    "embedding.start.from-the-front",
    f"{_SECTION}, the red line counted from the front of the allocation",
    "Counted from the front of the allocation, s0 is where the guest starts.",
    over=_FITTING,
    ours="the guest meets its host, or ends past the allocation",
    paper="starting from the red line s0",
    holds="embedding.start.from-the-end",
)(_placed(lambda case: case.s0))

READING.fails(
    "embedding.start.from-the-tip",
    f"{_SECTION}, the red line counted from the used tokens on",
    "Counted from the host's tip, s0 is where the guest starts.",
    over=_FITTING,
    ours="the guest ends past the allocation",
    paper="starting from the red line s0",
    holds="embedding.start.when-right",
)(_placed(lambda case: case.used + case.s0))


@READING.claim("embedding.start.when-right", f"{_SECTION}, the red line", over=_FITTING)
def _when_right(case: Case) -> bool | str:
    """Counted from the front, s0 is right iff p <= u + b and a >= 2 (u + o) + b; counted from the
    tip, iff p <= b.

    Ours: in all {count} cases"""
    a, u, p, o, b = case
    front = p <= u + b and a >= 2 * (u + o) + b
    same = _safe(case, case.s0) == front and _safe(case, u + case.s0) == (p <= b)
    return same or str(case)


@CLAIMS.claim("embedding.start.b-tokens-before", _SECTION, over=_FITTING)
def _b_tokens_before(case: Case) -> bool | str:
    """When both have run o iterations, the guest is done and its host b tokens before its slots.

    Ours: for one start alone: u + o + b, in all {count} cases
    Paper: the point b tokens before r_i's KVC space"""
    found = [start for start in _starts(case) if distance(case, start) == case.buffer]
    return found == [case.allocated - case.s0] or str(case)


def _roomy(case: Case) -> Case:
    """The same with an allocation in which the guest never comes to an end."""
    return case._replace(allocated=case.allocated + 99)


@CLAIMS.claim(
    "embedding.buffer.keeps-away",
    _SECTION,
    over=lambda: ((case, late) for case in cases(10) for late in range(5)),
)
def _buffer(case: Case, late: int) -> bool | str:
    """A smaller b may cause the preemption of the guest: the host reaches one that is late by more
    than b iterations, and no other.

    Checked: all a up to 10 with the condition, guests 0 to 4 iterations late
    Ours: iff late > b, in all {count} cases
    Paper: a smaller b may cause the preemption of r_i
    Note: A guest at the end of the allocation keeps all that is left over before it: it is never
    reached earlier, and later wherever the condition holds with room to spare."""
    safe = _safe(_roomy(case), case.allocated - case.s0, late=late)
    return safe == (late <= case.buffer) or f"{case}, {late} late"


@READING.fails(
    "embedding.buffer.own-end",
    f"{_SECTION}, the buffer for an inaccurate estimate",
    over=lambda: ((c, late) for c in cases(10) for late in range(1, c.buffer + 1)),
)
def _own_end(case: Case, late: int) -> bool | str:
    """A guest that is late by at most b iterations needs no slots but those that b left it.

    Checked: all a up to 10 with the condition, guests 1 to b iterations late
    Ours: it writes past its own p + o slots: b keeps the host away and gives the guest nothing
    Paper: b functions as a buffer to handle the inaccurate estimation
    Note: Memory in pages can give such a guest more elsewhere; then b does what is said.
    Holds: embedding.buffer.keeps-away"""
    found = conflict(case, case.allocated - case.s0, late=late)
    return found is None or f"{case}, {late} late: {found}"


@READING.claim(
    "embedding.second-guest",
    f"{_SECTION}, the condition asked again while a guest is there",
    over=_FITTING,
)
def _second_guest(case: Case) -> bool | str:
    """With the first guest at the end of the allocation and a_j for what lies before it, the
    condition tells whether a second one like it has room.

    Ours: in all {count} cases
    Paper: no word on a second guest
    Note: With a_j all that the host was given, it does not know of the first."""
    before = case.allocated - case.prompt - case.outputs  # where the first one starts
    beside = [s for s in _starts(case) if s + case.prompt + case.outputs <= before]
    return bool(beside) == case._replace(allocated=before).fits or str(case)
