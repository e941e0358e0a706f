"""Whole requests of one class with a queue, one iteration, for Example 1 of Congestion.

The example moves whole requests: it evicts one request where the mass model of section 2.3 would
evict a quarter of one.
"""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Server:
    input_length: int
    decode_length: int
    capacity: int

    def weights(self) -> tuple[int, ...]:
        """w_j = l0 + 1 + j, tokens."""
        return tuple(self.input_length + 1 + j for j in range(self.decode_length))

    def memory(self, state: tuple[int, ...]) -> int:
        return sum(w * x for w, x in zip(self.weights(), state, strict=True))


class Iteration(NamedTuple):
    completed: int
    executed: tuple[int, ...]
    queue_arrived: int
    evicted: int
    kept: tuple[int, ...]
    queue_evicted: int
    admitted: int
    state: tuple[int, ...]
    queue: int


def iterate(server: Server, state: tuple[int, ...], queue: int, arrivals: int) -> Iteration:
    """Execute, arrive, evict (least progressed first, whole requests), admit."""
    executed = (0, *state[:-1])
    queue_arrived = queue + arrivals
    kept = list(executed)
    for j in range(server.decode_length):
        while kept[j] > 0 and server.memory(tuple(kept)) > server.capacity:
            kept[j] -= 1
    evicted = sum(executed) - sum(kept)
    queue_evicted = queue_arrived + evicted
    free = server.capacity - server.memory(tuple(kept))
    admitted = min(queue_evicted, free // server.weights()[0])
    return Iteration(
        completed=state[-1],
        executed=executed,
        queue_arrived=queue_arrived,
        evicted=evicted,
        kept=tuple(kept),
        queue_evicted=queue_evicted,
        admitted=admitted,
        state=(kept[0] + admitted, *kept[1:]),
        queue=queue_evicted - admitted,
    )
