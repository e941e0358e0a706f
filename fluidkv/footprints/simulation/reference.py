"""A server whose requests hold random footprints, written out literally, request by request.

Iterations are the four verbs of the model. Requests are whole: who does not fit waits, first come
first admitted, and leaves some memory free; who came last is evicted first, and waits in front.
"""

from dataclasses import dataclass

import numpy as np

from fluidkv.footprints.simulation.tables import Rules, Tables


@dataclass
class _Request:
    """A request of a growth, what it will hold in each iteration, and how old it is."""

    growth: int
    path: list[int]
    age: int = 0

    @property
    def held(self) -> int:
        return self.path[self.age]


def simulated_literally(
    tables: Tables, rules: Rules, warm: int, rng: np.random.Generator, record: np.ndarray
) -> None:
    """Fill `record` [iteration, column] as `kernel.simulated` does, from the same random numbers.

    Iterations before the first recorded one admit the rate of the equilibrium, whatever fits.
    """
    running: list[_Request] = []
    # growths of the evicted, or drawn and not admitted; first come last
    waiting: list[int] = []
    batch: list[int] = []  # further requests of the last growth drawn

    def drawn(cumulative: np.ndarray) -> int:
        uniform = rng.random()
        return next(n for n, chance in enumerate(cumulative) if chance > uniform)

    def walked(growth: int) -> list[int]:
        path, place = list[int](), 0
        while place < tables.places[growth]:
            path.append(int(tables.tokens[tables.first[growth] + place]))
            walks = place + 1 > tables.walk[growth]
            place += 1 + (drawn(tables.steps[growth]) if walks else 0)
        return path

    for iteration in range(-warm, len(record)):
        # execute
        for request in running:
            request.age += 1
        running = [request for request in running if request.age < len(request.path)]
        # arrive
        count = None
        if iteration < 0:
            count = _whole_part(rules.rate, iteration + warm)
        elif rules.arrivals >= 0:
            count = int(rng.poisson(rules.arrivals / rules.batch)) * rules.batch
        # evict
        bounded = iteration >= 0 and rules.capacity >= 0
        free, evicted = rules.capacity - sum(r.held for r in running), 0
        while bounded and sum(r.held for r in running) > rules.capacity:
            waiting.append(running.pop().growth)
            evicted += 1
        # admit
        admitted = 0
        while count is None or admitted < count:
            if iteration >= 0 and (
                len(running) >= rules.most_running or admitted >= rules.most_admitted
            ):
                break
            if not waiting:
                if not batch:
                    growth = drawn(tables.shares)
                    several = drawn(rules.alike) if len(rules.alike) > 1 else 0
                    batch = [growth] * (1 + several)
                waiting.append(batch.pop())
            used = sum(r.held for r in running)
            first = int(tables.tokens[tables.first[waiting[-1]]])
            if bounded and used + first > rules.capacity - rules.watermark:
                break
            growth = waiting.pop()
            running.append(_Request(growth, walked(growth)))
            admitted += 1
        if iteration >= 0:
            used = sum(r.held for r in running)
            record[iteration] = len(running), admitted, evicted, used, free


def _whole_part(rate: float, k: int) -> int:
    return int(np.floor(rate * (k + 1)) - np.floor(rate * k))
