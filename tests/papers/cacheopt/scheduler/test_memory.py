"""No slot has two users, and none is lost, whatever is given, lent, handed on and released."""

import random
from collections.abc import Iterator

import pytest

from fluidkv_papers.cacheopt.scheduler import embedding
from fluidkv_papers.cacheopt.scheduler.memory import CountedMemory
from tests.papers.cacheopt.scheduler.slots import SlotMemory

Memory = CountedMemory | SlotMemory


def one_step(draw: random.Random, memory: Memory) -> tuple | None:
    """One call that may be made, drawn: its name and arguments."""
    holders = sorted(memory.holders)
    someone = draw.choice(holders) if holders else -1
    new = max(holders, default=0) + 1
    match draw.randrange(9):
        case 0 | 1 if memory.pool:  # a cut: some of what it would have, or all
            return "take", draw.choice([*holders, new]), draw.randint(1, min(memory.pool, 24))
        case 2 if memory.reserve and holders:
            return "take_reserved", someone, draw.randint(1, min(memory.reserve, 4))
        case 3 | 4 if holders:
            return _embedding(draw, memory, someone, draw.choice([new, *holders]))
        case 5 | 6 if holders:  # a host that grows first sends away who is in the way
            used = min(memory.used(someone) + draw.randint(1, 3), memory.allocated(someone))
            in_the_way = memory.in_the_way(someone, used)
            return ("release", in_the_way[0]) if in_the_way else ("write", someone, used)
        case 7 if len(holders) > 1:
            giver, heir = draw.sample(holders, 2)
            return "promise", giver, heir, draw.randint(1, 12)
        case 8 if holders and draw.random() < 0.5:
            return "release", someone
    return None


def _embedding(draw: random.Random, memory: Memory, host: int, guest: int) -> tuple | None:
    prompt, outputs, buffer = draw.randint(0, 6), draw.randint(1, 6), draw.randint(0, 3)
    front, used = memory.front(host), memory.used(host)
    refused = host == guest or memory.borrows(host) or memory.guests(guest)
    if refused or not embedding.fits(front, used, prompt, outputs, buffer):
        return None
    place = draw.choice(list(embedding.Place))
    first = embedding.start(front, used, prompt, outputs, buffer, place)
    return "embed", guest, host, first, prompt + outputs


def steps(seed: int, number: int, memory: Memory) -> Iterator[tuple[tuple, object]]:
    draw = random.Random(seed)
    while number:
        call = one_step(draw, memory)
        if call is not None:
            number -= 1
            name, *arguments = call
            yield call, getattr(memory, name)(*arguments)


def drawn(seed: int) -> tuple[int, int]:
    """Capacity and reservation."""
    draw = random.Random(seed)
    capacity = draw.randint(8, 80)
    return capacity, draw.randint(0, capacity // 4)


def conserved(memory: SlotMemory) -> bool:
    return not memory.overlaps() and not memory.lost()


@pytest.mark.parametrize("seed", range(20))
def test_no_slot_has_two_users_and_none_is_lost(seed: int) -> None:
    memory = SlotMemory(*drawn(seed))
    assert all(conserved(memory) for _ in steps(seed, 300, memory))


@pytest.mark.parametrize("seed", range(20))
def test_counted_memory_is_the_one_with_slots_call_by_call(seed: int) -> None:
    counted, slots = CountedMemory(*drawn(seed)), SlotMemory(*drawn(seed))
    for (name, *arguments), returned in steps(seed, 500, counted):
        assert getattr(slots, name)(*arguments) == returned
        assert (counted.pool, counted.reserve) == (slots.pool, slots.reserve)
        assert set(counted.holders) == set(slots.holders)
        for request in counted.holders:
            for look in ("allocated", "used", "borrows", "guests", "front", "promised", "returns"):
                assert getattr(counted, look)(request) == getattr(slots, look)(request)
            ahead = counted.used(request) + 3
            assert counted.in_the_way(request, ahead) == slots.in_the_way(request, ahead)


def test_all_kinds_of_steps_are_drawn() -> None:
    memory = SlotMemory(60, 8)
    found = list(steps(1, 3000, memory))
    names = {name for (name, *_), _ in found}
    assert names == {"take", "take_reserved", "embed", "write", "promise", "release"}
    assert any(returned for (name, *_), returned in found if name == "release")  # to heirs


class Careless(SlotMemory):
    """A host writes on over its guests."""

    def front(self, request: int) -> int:
        return self.allocated(request)

    def in_the_way(self, request: int, used: int) -> list[int]:
        return []


class Forgetful(SlotMemory):
    """What a guest lies in goes back to the pool with its host."""

    def release(self, request: int, *, to_heirs: bool = True) -> dict[int, int]:
        self._held[request].lent.clear()
        return super().release(request, to_heirs=to_heirs)


@pytest.mark.parametrize("broken", [Careless, Forgetful])
def test_a_broken_memory_is_caught(broken: type[SlotMemory]) -> None:
    def seen(seed: int) -> bool:
        memory = broken(*drawn(seed))
        return any(memory.overlaps() for _ in steps(seed, 300, memory))

    assert any(map(seen, range(20)))


@pytest.mark.thorough
def test_no_slot_has_two_users_in_a_million_steps() -> None:
    done = 0
    for seed in range(1000, 1500):
        memory = SlotMemory(*drawn(seed))
        for _ in steps(seed, 2000, memory):
            done += 1
            assert conserved(memory)
    assert done == 10**6


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("take", (1, 40)),
        ("take_reserved", (1, 5)),
        ("embed", (2, 1, 4, 4)),  # behind the end of the host's
        ("embed", (1, 1, 4, 2)),
        ("embed", (3, 2, 1, 1)),  # in a guest
        ("write", (1, 7)),  # over the guest
        ("promise", (9, 1, 1)),
        ("promise", (1, 1, 1)),
    ],
)
@pytest.mark.parametrize("kind", [CountedMemory, SlotMemory])
def test_what_is_not_there_is_not_given(
    kind: type[Memory], name: str, arguments: tuple[int, ...]
) -> None:
    memory = kind(20, 4)
    memory.take(1, 8)
    memory.write(1, 2)
    memory.embed(2, 1, 6, 2)
    with pytest.raises(ValueError, match=r"."):
        getattr(memory, name)(*arguments)
    assert memory.allocated(1) == 8
