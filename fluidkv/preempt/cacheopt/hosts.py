"""Which host a guest is embedded in: the one with the least left over that has room (3.3.1)."""

from bisect import bisect_left

from fluidkv.preempt.cacheopt import embedding
from fluidkv.preempt.cacheopt.state import Request, Server


class Hosts:
    """What each running request has and will not use before long, in an iteration.

    A guest lies before those that are there. No guest hosts: the paper has no such case.
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
        assert embedding.fits(*place)
        first = embedding.start(*place, server.settings.place)
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
