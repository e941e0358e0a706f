"""A server whose requests hold random footprints, written out literally, request by request.

Iterations are the four verbs of the model. Requests are whole: who does not fit waits, first come
first admitted, and leaves some memory free; who came last is evicted first, and waits in front.
"""

from dataclasses import dataclass

import numpy as np

from fluidkv.footprints.simulation.tables import Rules, Tables


@dataclass
class _Request:
    """A request of a growth, at a place along what it holds."""

    growth: int
    place: int = 0


def simulated_literally(
    tables: Tables, rules: Rules, warm: int, rng: np.random.Generator, record: np.ndarray
) -> None:
    """Fill `record` [iteration, column] as `kernel.simulated` does, from the same random numbers.

    Iterations before the first recorded one admit the rate of the equilibrium, whatever fits.
    """
    running: list[_Request] = []
    waiting: list[
        int
    ] = []  # growths of who was evicted, or drawn and not admitted; first come last

    def held(request: _Request) -> int:
        return int(tables.tokens[tables.first[request.growth] + request.place])

    def drawn(cumulative: np.ndarray) -> int:
        uniform = rng.random()
        return next(n for n, chance in enumerate(cumulative) if chance > uniform)

    for iteration in range(-warm, len(record)):
        # execute
        for request in running:
            walks = request.place >= tables.walk[request.growth]
            request.place += 1 + (drawn(tables.steps[request.growth]) if walks else 0)
        running = [r for r in running if r.place < tables.places[r.growth]]
        # arrive
        count = None
        if iteration < 0:
            count = _whole_part(rules.rate, iteration + warm)
        elif rules.arrivals >= 0:
            count = int(rng.poisson(rules.arrivals / rules.batch)) * rules.batch
        # evict
        bounded = iteration >= 0 and rules.capacity >= 0
        free, evicted = rules.capacity - sum(map(held, running)), 0
        while bounded and sum(map(held, running)) > rules.capacity:
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
                waiting.append(drawn(tables.shares))
            first = _Request(waiting[-1])
            used = sum(map(held, running))
            if bounded and used + held(first) > rules.capacity - rules.watermark:
                break
            running.append(first)
            waiting.pop()
            admitted += 1
        if iteration >= 0:
            used = sum(map(held, running))
            record[iteration] = len(running), admitted, evicted, used, free


def _whole_part(rate: float, k: int) -> int:
    return int(np.floor(rate * (k + 1)) - np.floor(rate * k))
