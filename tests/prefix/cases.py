"""Drawn traces: prompts that share beginnings, ask for each other again, and end inside others."""

from dataclasses import dataclass

import numpy as np

from fluidkv.prefix.on_trie.trie import Trie, trie_of
from fluidkv.prefix.pieces import Content, Piece, cut, joined, length
from fluidkv.prefix.policies import Granularity
from fluidkv.prefix.prompts import Prompts


@dataclass(frozen=True)
class Case:
    """A trace, a cache that it does not fit into, and in which order it is asked."""

    trie: Trie
    capacity: int
    order: list[int]
    priorities: list[int]
    answers: bool


def prompts(random: np.random.Generator, requests: int, longest: int) -> Prompts:
    """Prompts that go on where beginnings of earlier ones end; answers that some go on from."""
    said: list[Content] = []
    found: list[tuple[Content, Content]] = []
    for request in range(requests):
        base = said[random.integers(len(said))] if said and random.random() < 0.8 else ()
        kept = cut(base, 0, int(random.integers(0, min(length(base), longest - 2) + 1)))
        new = Piece(request % 5 if random.random() < 0.7 else 100 + request, 0, longest)
        more = int(random.integers(0, longest - 1 - length(kept) + 1))
        prompt = joined((*kept, *cut((new,), 0, more))) or (Piece(0, 0, 1),)
        room = longest - length(prompt)
        answer = (Piece(request % 3 + 50, 0, int(random.integers(1, max(room, 1) + 1))),)
        said += [prompt, joined(prompt + answer)]
        found.append((prompt, answer))
    return Prompts(*zip(*found, strict=True))


def case(seed: int, *, requests: int = 25, longest: int = 8, nodes: bool = False) -> Case:
    """One of them, by number."""
    random = np.random.default_rng(seed)
    answers = bool(random.random() < 0.3)
    page = int(random.choice([1, 1, 2, 3]))
    last = "counted" if page > 1 and random.random() < 0.5 and not nodes else "left out"
    granularity = Granularity(page, last, nodes)
    size = int(random.integers(2, requests + 1))
    trie = trie_of(prompts(random, size, longest), granularity, answers=answers)
    least = max(trie.longest, 1)
    most = trie.total + 1 if random.random() < 0.3 else min(trie.total, 2 * least)
    units = int(random.integers(least, max(least, most) + 1))
    order = random.integers(0, size, requests).tolist()
    priorities = random.integers(0, 3, size).tolist()
    capacity = units * page + int(random.integers(0, page))
    return Case(trie, capacity, order, priorities, answers)
