"""Phases of a sequence of requests, and what Leaf-LRU does in each.

A phase has exactly as many distinct tokens as fit into the cache, the last one maybe fewer. As
printed it may start within a path, and then it has only the rest of that path. A *whole* phase
has that path's earlier tokens too: its tokens are closed under parents, as the marks of the
repaired RLT are, and all of them are in the cache of Leaf-LRU when it ends.

Source: Routing, section 3.2, after Fiat et al.; whole phases are ours.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from fluidkv.prefix.paging.lru import Recency, Step, accesses
from fluidkv.prefix.paging.tokens import Request, Token, check_requests


@dataclass(frozen=True)
class Phase:
    """A phase under Leaf-LRU.

    Args:
        new: its tokens, in the order in which they appear.
        clean: those that were not in the cache when the phase before it ended.
        misses: of Leaf-LRU.
        returned: tokens that were accessed, evicted and accessed again in it, in order.
        before: the cache when the phase before it ended.
        complete: whether it has as many tokens as fit.
    """

    new: tuple[Token, ...] = ()
    clean: int = 0
    misses: int = 0
    returned: tuple[Token, ...] = ()
    before: Recency = ()
    complete: bool = False


@dataclass(frozen=True)
class Course:
    """Where a sequence of requests has led.

    Args:
        cached: of Leaf-LRU.
        phase: the one that has not ended.
        ended: phases that ended with the last request.
    """

    cached: Recency = ()
    phase: Phase = Phase()
    ended: tuple[Phase, ...] = ()


def followed(course: Course, request: Request, capacity: int, *, whole: bool = False) -> Course:
    """After one more request; `whole` phases or printed ones."""
    cached, now, ended = course.cached, course.phase, []
    so_far: list[Token] = []
    for step in accesses(cached, request, capacity):
        if len(now.new) == capacity and step.token not in now.new:
            ended.append(now)
            now = Phase(new=tuple(so_far) if whole else (), before=step.before)
        now = _continued(now, step, capacity)
        cached = step.after
        so_far += [] if step.token in so_far else [step.token]
    return Course(cached, now, tuple(ended))


def phases(requests: Iterable[Request], capacity: int, *, whole: bool = False) -> list[Phase]:
    """Those of Leaf-LRU from the empty cache.

    Raises:
        InputError: as `check_requests`.
    """
    course, found = Course(), list[Phase]()
    for request in check_requests(requests, capacity):
        course = followed(course, request, capacity, whole=whole)
        found += course.ended
    return [*found, course.phase] if course.phase.new else found


def _continued(phase: Phase, step: Step, capacity: int) -> Phase:
    old = step.token in phase.new
    new = phase.new if old else (*phase.new, step.token)
    return replace(
        phase,
        new=new,
        clean=phase.clean + (not old and step.token not in phase.before),
        misses=phase.misses + step.missed,
        returned=(*phase.returned, step.token) if old and step.missed else phase.returned,
        complete=len(new) == capacity,
    )
