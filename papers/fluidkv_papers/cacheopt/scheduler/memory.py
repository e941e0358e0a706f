"""Memory as CacheOPT gives it out, counted: a pool, a reservation, guests in hosts, heirs.

A request holds slots in the order in which it writes them: pieces of its own, of the reservation
and of a host's allocation. The same with every slot by its number stands among the tests.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple


class Source(Enum):
    """Whose slots a piece is made of."""

    POOL = auto()
    RESERVE = auto()
    HOST = auto()


class Piece(NamedTuple):
    """Slots of a request that lie together; of a host: its id and their place in its sequence."""

    source: Source
    size: int
    host: int = -1
    start: int = 0


@dataclass
class Holding:
    """What a request holds: `used` of the slots in `pieces` are written, from the front.

    `allocated` is the size of all pieces together.
    """

    pieces: list[Piece] = field(default_factory=list)
    used: int = 0
    guests: list[int] = field(default_factory=list)
    allocated: int = 0

    @property
    def borrows(self) -> bool:
        return any(piece.source is Source.HOST for piece in self.pieces)


class CountedMemory:
    """How many slots are whose.

    Args:
        capacity: slots in all.
        reserve: of these, slots that only `take_reserved` gives (CacheOPT, 3.3.3).

    Raises:
        ValueError: from every call that asks for what is not there.
    """

    def __init__(self, capacity: int, reserve: int = 0) -> None:
        self.pool = capacity - reserve
        self.reserve = reserve
        self._held: dict[int, Holding] = {}
        self._heirs: dict[int, dict[int, int]] = {}

    # ------------------------------------------------------------------------------------- looking

    @property
    def holders(self) -> Iterable[int]:
        return self._held.keys()

    def allocated(self, request: int) -> int:
        return self._held[request].allocated if request in self._held else 0

    def used(self, request: int) -> int:
        return self._held[request].used if request in self._held else 0

    def borrows(self, request: int) -> bool:
        """Whether it lies in a host. Such a request hosts nobody: the paper has no such case."""
        return request in self._held and self._held[request].borrows

    def guests(self, host: int) -> list[int]:
        return list(self._held[host].guests) if host in self._held else []

    def front(self, request: int) -> int:
        """Slots that it may write before it meets a guest, or the end of what it has."""
        lent = [piece.start for _, piece in self._lent(request)]
        return min(lent, default=self.allocated(request))

    def in_the_way(self, request: int, used: int) -> list[int]:
        """Guests that lie where it writes, once it uses so many slots."""
        found = (guest for guest, piece in self._lent(request) if piece.start < used)
        return list(dict.fromkeys(found))

    def returns(self, request: int) -> int:
        """Slots that the pool, or an heir, would have of it if it went now."""
        holding = self._held[request]
        own = sum(piece.size for piece in holding.pieces if piece.source is Source.POOL)
        lent = [_sources(holding.pieces, p.start, p.size) for _, p in self._lent(request)]
        return own - sum(size for parts in lent for source, size in parts if source is Source.POOL)

    def promised(self, giver: int) -> Mapping[int, int]:
        """Who gets how much of what it releases."""
        return self._heirs.get(giver, {})

    # -------------------------------------------------------------------------------------- giving

    def take(self, request: int, slots: int) -> None:
        """Slots of the pool."""
        self._enough(slots, self.pool)
        self.pool -= slots
        self._give(request, Piece(Source.POOL, slots))

    def take_reserved(self, request: int, slots: int) -> None:
        """Slots of the reservation, which come back to it."""
        self._enough(slots, self.reserve)
        self.reserve -= slots
        self._give(request, Piece(Source.RESERVE, slots))

    def embed(self, request: int, host: int, start: int, slots: int) -> None:
        """Slots [start, start + slots) of the host's, which stay the host's."""
        free = self.front(host)
        if host == request or self.borrows(host) or self.guests(request):
            raise ValueError("no guests in guests")
        if not (self.used(host) <= start and start + slots <= free):
            raise ValueError(f"[{start}, {start + slots}) in {self.used(host)} to {free}")
        self._give(request, Piece(Source.HOST, slots, host, start))
        if request not in self._held[host].guests:
            self._held[host].guests.append(request)

    def write(self, request: int, used: int) -> None:
        """It uses its first so many slots now."""
        if not self.used(request) <= used <= self.front(request):
            raise ValueError(f"{used} slots of {self.front(request)}")
        self._held[request].used = used

    def promise(self, giver: int, heir: int, slots: int) -> None:
        """What the giver releases goes to its heirs first, in the order of the promises."""
        if giver == heir or giver not in self._held:
            raise ValueError(f"{giver} cannot leave anything to {heir}")
        heirs = self._heirs.setdefault(giver, {})
        heirs[heir] = heirs.get(heir, 0) + slots

    def release(self, request: int, *, to_heirs: bool = True) -> dict[int, int]:
        """All that it holds is given back: to its guests what they lie in, to its heirs, the pool.

        Args:
            request: who.
            to_heirs: else the pool has what was promised, too.

        Returns:
            What each heir got.
        """
        holding = self._held.pop(request)
        left = dict.fromkeys(Source, 0)
        for source, size in _sources(holding.pieces, 0, holding.allocated):
            left[source] += size
        for guest in holding.guests:
            for source, size in self._inherit(guest, request, holding.pieces):
                left[source] -= size
        for host in {piece.host for piece in holding.pieces if piece.source is Source.HOST}:
            self._held[host].guests.remove(request)
        self.reserve += left[Source.RESERVE]
        self.pool += left[Source.POOL]
        return self._hand_on(request, left[Source.POOL] if to_heirs else 0)

    def _hand_on(self, giver: int, freed: int) -> dict[int, int]:
        got: dict[int, int] = {}
        for heir, slots in self._heirs.pop(giver, {}).items():
            given = min(slots, freed)
            if heir in self._held and given:
                self.take(heir, given)
                freed -= given
                got[heir] = given
        for heirs in self._heirs.values():
            heirs.pop(giver, None)
        return got

    # ------------------------------------------------------------------------------------ in pieces

    def _inherit(self, guest: int, host: int, pieces: list[Piece]) -> list[tuple[Source, int]]:
        """What the guest lies in becomes its own; of which sources that is."""
        holding = self._held[guest]
        kept: list[Piece] = []
        inherited: list[tuple[Source, int]] = []
        for piece in holding.pieces:
            if piece.host == host:
                parts = _sources(pieces, piece.start, piece.size)
                kept += [Piece(source, size) for source, size in parts]
                inherited += parts
            else:
                kept.append(piece)
        holding.pieces = kept
        return inherited

    def _lent(self, host: int) -> list[tuple[int, Piece]]:
        """Its guests, with the pieces that they have of it."""
        if host not in self._held:
            return []
        guests = self._held[host].guests
        return [(g, p) for g in guests for p in self._held[g].pieces if p.host == host]

    def _give(self, request: int, piece: Piece) -> None:
        holding = self._held.setdefault(request, Holding())
        holding.pieces.append(piece)
        holding.allocated += piece.size

    @staticmethod
    def _enough(slots: int, there: int) -> None:
        if not 0 < slots <= there:
            raise ValueError(f"{slots} slots of {there}")


def _sources(pieces: list[Piece], start: int, size: int) -> list[tuple[Source, int]]:
    """What the slots [start, start + size) of a sequence are made of."""
    found: list[tuple[Source, int]] = []
    at = 0
    for piece in pieces:
        inside = min(at + piece.size, start + size) - max(at, start)
        if inside > 0:
            found.append((piece.source, inside))
        at += piece.size
    return found
