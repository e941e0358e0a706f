"""The same memory with every slot by its number: who owns it, and who uses it. Slow on purpose.

`overlaps` looks at all slots, and is how an error of the counted memory, or of an embedding, would
be seen: two requests that use one slot.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

POOL, RESERVE = -1, -2
"""Owners that are no requests."""


@dataclass
class Sequence:
    """Slots of a request in the order in which it writes them; the first `used` are written.

    `lent` of a host: the place of each guest's slots in its sequence, as (start, slots).
    """

    slots: list[int] = field(default_factory=list)
    used: int = 0
    lent: dict[int, list[tuple[int, int]]] = field(default_factory=dict)


class SlotMemory:
    """As `CountedMemory`. The reservation is the first `reserve` slots."""

    def __init__(self, capacity: int, reserve: int = 0) -> None:
        self.owner = [RESERVE if slot < reserve else POOL for slot in range(capacity)]
        self._reserved = reserve
        self._held: dict[int, Sequence] = {}
        self._heirs: dict[int, dict[int, int]] = {}

    @property
    def pool(self) -> int:
        return self.owner.count(POOL)

    @property
    def reserve(self) -> int:
        return self.owner.count(RESERVE)

    @property
    def holders(self) -> Iterable[int]:
        return self._held.keys()

    def allocated(self, request: int) -> int:
        return len(self._held[request].slots) if request in self._held else 0

    def used(self, request: int) -> int:
        return self._held[request].used if request in self._held else 0

    def borrows(self, request: int) -> bool:
        held = self._held.get(request, Sequence())
        return any(self.owner[slot] != request for slot in held.slots)

    def guests(self, host: int) -> list[int]:
        return list(self._held[host].lent) if host in self._held else []

    def front(self, request: int) -> int:
        if request not in self._held:
            return 0
        held = self._held[request]
        starts = [start for lent in held.lent.values() for start, _ in lent]
        return min(starts, default=len(held.slots))

    def in_the_way(self, request: int, used: int) -> list[int]:
        lent = self._held[request].lent if request in self._held else {}
        return [guest for guest, where in lent.items() if min(where)[0] < used]

    def returns(self, request: int) -> int:
        held = self._held[request]
        own = {slot for slot in held.slots if self.owner[slot] == request}
        lent = {slot for guest in held.lent for slot in self._held[guest].slots}
        return sum(slot >= self._reserved for slot in own - lent)

    def promised(self, giver: int) -> Mapping[int, int]:
        return self._heirs.get(giver, {})

    def take(self, request: int, slots: int) -> None:
        self._move(request, slots, POOL)

    def take_reserved(self, request: int, slots: int) -> None:
        self._move(request, slots, RESERVE)

    def _move(self, request: int, slots: int, owner: int) -> None:
        if not 0 < slots <= self.owner.count(owner):
            raise ValueError(f"{slots} slots of {self.owner.count(owner)}")
        held = self._held.setdefault(request, Sequence())
        for _ in range(slots):
            slot = self.owner.index(owner)
            self.owner[slot] = request
            held.slots.append(slot)

    def embed(self, request: int, host: int, start: int, slots: int) -> None:
        if host == request or self.borrows(host) or self.guests(request):
            raise ValueError("no guests in guests")
        if not (self.used(host) <= start and start + slots <= self.front(host)):
            raise ValueError(
                f"[{start}, {start + slots}) in {self.used(host)} to {self.front(host)}"
            )
        lent = self._held[host].slots[start : start + slots]
        self._held.setdefault(request, Sequence()).slots += lent
        self._held[host].lent.setdefault(request, []).append((start, slots))

    def write(self, request: int, used: int) -> None:
        if not self.used(request) <= used <= self.front(request):
            raise ValueError(f"{used} slots of {self.front(request)}")
        self._held[request].used = used

    def promise(self, giver: int, heir: int, slots: int) -> None:
        if giver == heir or giver not in self._held:
            raise ValueError(f"{giver} cannot leave anything to {heir}")
        heirs = self._heirs.setdefault(giver, {})
        heirs[heir] = heirs.get(heir, 0) + slots

    def release(self, request: int, *, to_heirs: bool = True) -> dict[int, int]:
        held = self._held.pop(request)
        freed = 0
        for slot in held.slots:
            if self.owner[slot] != request:
                continue  # its host's
            guest = next((g for g in held.lent if slot in self._held[g].slots), None)
            if guest is None:
                self.owner[slot] = RESERVE if slot < self._reserved else POOL
                freed += slot >= self._reserved
            else:
                self.owner[slot] = guest
        for other in self._held.values():
            other.lent.pop(request, None)
        got: dict[int, int] = {}
        freed = freed if to_heirs else 0
        for heir, slots in self._heirs.pop(request, {}).items():
            given = min(slots, freed)
            if heir in self._held and given:
                self.take(heir, given)
                freed -= given
                got[heir] = given
        for heirs in self._heirs.values():
            heirs.pop(request, None)
        return got

    # ------------------------------------------------------------------------------------- checking

    def overlaps(self) -> list[int]:
        """Slots that more than one request uses."""
        users = Counter(slot for held in self._held.values() for slot in held.slots[: held.used])
        return [slot for slot, count in users.items() if count > 1]

    def lost(self) -> list[int]:
        """Slots that no request can write, and yet are nobody's to give out.

        A slot is owned once. One that a request owns is in its sequence; one in a sequence that the
        request does not own is its host's.
        """
        held = {
            slot: request
            for request, sequence in self._held.items()
            for slot in sequence.slots
            if self.owner[slot] == request
        }
        return [slot for slot, owner in enumerate(self.owner) if owner >= 0 and slot not in held]
