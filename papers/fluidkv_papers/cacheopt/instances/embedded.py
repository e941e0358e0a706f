"""A guest and its host, iteration by iteration, with the users of every slot on record."""

from collections.abc import Iterator
from typing import NamedTuple


class Case(NamedTuple):
    """One host and one guest, in tokens (CacheOPT, 3.3.1)."""

    allocated: int
    used: int
    prompt: int
    outputs: int
    buffer: int

    def __str__(self) -> str:
        a, u, p, o, b = self
        return f"a = {a}, u = {u}, p = {p}, o = {o}, b = {b}"

    @property
    def fits(self) -> bool:
        """The paper's condition, as printed."""
        a, u, p, o, b = self
        return a - (u + o) - (p + o) >= b

    @property
    def s0(self) -> int:
        """The paper's red line, as printed."""
        return self.allocated - (self.used + self.outputs) - self.buffer


def cases(most: int = 10, *, fitting: bool = True) -> Iterator[Case]:
    """All with an allocation of at most so many tokens, smallest first.

    Args:
        most: tokens.
        fitting: only where the condition holds; else also where it misses by up to 3 tokens.
    """
    for a in range(2, most + 1):
        for u in range(1, a):
            for o in range(1, a):
                for p in range(1, a):
                    for b in range(a):
                        case = Case(a, u, p, o, b)
                        if case.fits or (not fitting and a + 3 - u - 2 * o - p >= b):
                            yield case


def conflict(
    case: Case, start: int, *, late: int = 0, last_token: bool = True, guest_first: bool = True
) -> str | None:
    """What goes wrong when the guest starts at this slot of the host's allocation; None: nothing.

    Each iteration both write: the guest its prompt in the first one and a token more in each, the
    host a token. After its last iteration the guest's slots are free.

    Args:
        case, start: where the guest's first token is written, counted from the front.
        late: iterations that the guest needs beyond its estimate.
        last_token: the guest stores its last token's cache, too: p + o slots in all.
        guest_first: who of the two writes first in an iteration.
    """
    users = dict.fromkeys(range(case.used), "host")
    for iteration in range(1, case.outputs + late + 1):
        tokens = case.prompt + iteration - (not last_token)
        guest = [("guest", start + place) for place in range(tokens)]
        host = [("host", case.used + iteration - 1)]
        for name, slot in guest + host if guest_first else host + guest:
            if name == "guest" and not 0 <= slot < case.allocated:
                return f"slot {slot} of {case.allocated} in iteration {iteration}"
            if users.setdefault(slot, name) != name:
                return f"both use slot {slot} in iteration {iteration}"
    return None


def distance(case: Case, start: int) -> int:
    """Tokens from the host's tip to the guest when that is done."""
    return start - (case.used + case.outputs)
