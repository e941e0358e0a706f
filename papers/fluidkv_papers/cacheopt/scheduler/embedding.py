"""A guest in memory that a host was given and does not use yet (CacheOPT, 3.3.1), derived anew.

A host has a slots and uses the first u of them. Each iteration it writes one more. A guest that
enters now writes its p prompt tokens at once and one token an iteration, and is gone after o
iterations, when the host's tip is at u + o. So it may lie in [s, s + p + o) if

    u + o + b <= s    the host stays b tokens before it to the end
    s + p + o <= a    it ends within the allocation

and such an s exists iff a - (u + o) - (p + o) >= b, which is the paper's condition. The lowest is
s = u + o + b. The paper's s0 = a - (u + o) - b is the length from there to the end of the
allocation: a place only where it is counted back from that end.

The cache of the last token is never stored, so that p + o - 1 slots would do; here, as in the
paper, a guest is lent p + o.
"""

from bisect import bisect_left

from fluidkv_papers.cacheopt.scheduler.settings import Place
from fluidkv_papers.cacheopt.scheduler.state import Request, Server


def fits(allocated: int, used: int, prompt: int, outputs: int, buffer: int) -> bool:
    """Whether a guest may live in a host (CacheOPT, 3.3.1), all in tokens.

    Args:
        allocated, used: a and u of the host.
        prompt, outputs: p and o of the guest, which lives o iterations.
        buffer: b, tokens between the host's tip and the guest when that is done.
    """
    return allocated - (used + outputs) - (prompt + outputs) >= buffer


def start(
    allocated: int, used: int, prompt: int, outputs: int, buffer: int, place: Place = Place.LOWEST
) -> int:
    """The first slot of a guest that fits, counted from the beginning of the host's allocation."""
    if place is Place.LOWEST:
        return used + outputs + buffer
    return allocated - (prompt + outputs)


class Hosts:
    """What each running request has and will not use before long, in an iteration.

    A guest goes to the host with the least left over that has room, and lies before those that are
    there. No guest hosts: the paper has no such case.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self.changed()

    def changed(self) -> None:
        """Memory was given or released: look again when somebody asks."""
        self._rooms: list[tuple[int, int, Request]] | None = None

    def embed(self, request: Request, life: int, slots: int) -> bool:
        """Embed it for so many iterations, with so many slots; whether there was a host."""
        server, memory = self._server, self._server.memory
        if not server.settings.embeds or memory.guests(request.index):
            return False
        room = life + slots + server.settings.buffer
        rooms = self._sorted()
        at = bisect_left(rooms, room, key=lambda found: found[0])
        while at < len(rooms) and rooms[at][2] is request:
            at += 1
        if at == len(rooms):
            return False
        host = rooms[at][2]
        front, used = memory.front(host.index), _tip(host)
        place = (front, used, slots - life, life, server.settings.buffer)
        assert fits(*place)
        first = start(*place, server.settings.place)
        memory.embed(request.index, host.index, first, slots)
        server.embedded += 1
        self.changed()
        return True

    def _sorted(self) -> list[tuple[int, int, Request]]:
        """What is left of each host's allocation, ascending; of equals, who runs longest."""
        if self._rooms is None:
            memory = self._server.memory
            self._rooms = sorted(
                (memory.front(request.index) - _tip(request), place, request)
                for place, request in enumerate(self._server.running)
                if not memory.borrows(request.index)
            )
        return self._rooms


def _tip(host: Request) -> int:
    """Slots after whose last one it writes its newest token in this iteration."""
    return host.length - 1
