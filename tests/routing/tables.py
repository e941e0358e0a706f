"""Small tables of requests that share beginnings, and a cache that any reader understands."""

from collections import OrderedDict

import numpy as np

from fluidkv.prefix.pieces import Piece, tokens
from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.requests import Requests


def drawn(rng: np.random.Generator, count: int, *, longest: int = 12, rate: float = 1.0):
    """Requests and prompts: some go on where another one's prompt or answer ends."""
    wholes, prompts, outputs = [()], [], []
    for index in range(count):
        base = wholes[rng.integers(len(wholes))]
        kept = tuple(base[: rng.integers(min(len(base), 2) + 1)])
        own = Piece(index, 0, int(rng.integers(1, longest)))
        prompts.append((*kept, own) if rng.random() < 0.8 or not kept else kept)
        outputs.append((Piece(1000 + index, 0, int(rng.integers(1, 4))),))
        wholes.append((*prompts[-1], *outputs[-1]))
    table = Prompts(prompts, outputs)
    arrival = np.cumsum(rng.exponential(1 / rate, count)).round(2)  # some come together
    return Requests(table.input_length, table.output_length, arrival=arrival), table


class TokenLRU:
    """Prefixes one by one, in the order in which they were used; what is used least lately goes."""

    def __init__(self, prompts: Prompts, capacity: int) -> None:
        self.prompts = [tuple(tokens(each)) for each in prompts.prompts]
        self.wholes = [tuple(tokens(each)) for each in prompts.paths]
        self.capacity = capacity
        self.held: OrderedDict[tuple, None] = OrderedDict()

    def found(self, request: int) -> int:
        text = self.prompts[request]
        return sum(text[:n] in self.held for n in range(1, len(text) + 1))

    def request(self, request: int) -> int:
        hits, text = self.found(request), self.wholes[request]
        assert len(text) <= self.capacity
        for n in range(len(text), 0, -1):  # longer ones are older: leaves go before their parents
            self.held[text[:n]] = None
            self.held.move_to_end(text[:n])
        while len(self.held) > self.capacity:
            self.held.popitem(last=False)
        return hits
