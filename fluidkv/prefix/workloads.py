"""Generated workloads whose prompts begin alike, each as (requests, prompts).

Structure is stated, content is not there: a segment stands for a text. Times are seconds and come
from a Poisson process that does not look at the engine, also where a real client would wait for an
answer before asking on.

Source: Routing, section 5 and appendix A, for `shared_prefixes`, `chats` and `long_documents`. What
the paper leaves open is said with each and has an argument.
"""

from collections.abc import Callable, Sequence
from itertools import count as numbers
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from fluidkv.errors import InputError
from fluidkv.prefix.pieces import Content, Piece, joined
from fluidkv.prefix.pieces import length as tokens_of
from fluidkv.prefix.prompts import Prompts
from fluidkv.runs.checks import MOST_TOKENS, above_0, count, real
from fluidkv.runs.requests import Requests

ORDERS = ("random", "round-robin")
"""Whose turn it is: drawn, or one of each group, document or client after the other.

>>> from fluidkv.prefix import shared_prefixes
>>> from fluidkv.prefix.workloads import ORDERS
>>> for order in ORDERS:
...     print(shared_prefixes(0, groups=3, queries=2, order=order)[0].class_index.tolist())
[0, 2, 2, 1, 0, 1]
[0, 1, 2, 0, 1, 2]
"""

Generated = tuple[Requests, Prompts]

MOST_REQUESTS = 1_000_000
"""Of a generated workload, and of its shared texts: about a gigabyte of memory."""


class _Asked(NamedTuple):
    group: int
    prompt: Content
    output: Content


def shared_prefixes(
    rng: Generator | int,
    *,
    groups: int = 128,
    queries: int = 32,
    lengths: int | Sequence[int] = (512, 1024, 2048, 4096, 8192),
    ratio: float = 0.5,
    output_length: int = 4,
    rate: float = 12.0,
    order: str = "random",
) -> Generated:
    """Groups of prompts of one length that share a first part and differ in the rest (GSP).

    Args:
        rng: draws the order, then the times; a seed or a numpy Generator.
        groups, queries: groups, and prompts of each.
        lengths: tokens of a prompt, taken cyclically by the groups.
        ratio: the share of a prompt that its group has in common, from 0 to 1, rounded to whole
            tokens (halves to even: ours; 0.5 of the default lengths is whole).
        output_length: tokens of each answer; nobody shares them.
        rate: requests per second.
        order: "random": all prompts in one random order. "round-robin": one of each group in turn,
            the groups in the same order each time.

    Returns:
        `class_index` of the requests is the group.

    Raises:
        InputError: a count or length below 1, a ratio outside 0 to 1, a rate not above 0, an
            unknown order.

    Examples:
        >>> from fluidkv.prefix import shared_prefixes, trie_of
        >>> from fluidkv.prefix.on_trie.curves import ceiling
        >>> requests, prompts = shared_prefixes(0, groups=2, queries=4, lengths=1000)
        >>> len(requests), ceiling(trie_of(prompts))  # half of 3 prompts of 4
        (8, 0.375)
    """
    groups, queries = _counts(groups=groups, queries=queries)
    sizes, share = _sizes("lengths", lengths), _ratio(ratio)
    of_group = [sizes[group % len(sizes)] for group in range(groups)]
    answer = _length("output_length", output_length)
    own, rows = numbers(groups), []
    for _, (group, size) in product(range(queries), enumerate(of_group)):
        begin = round(share * size)
        prompt = _texts((group, begin), (next(own), size - begin))
        rows.append(_Asked(group, prompt, _texts((next(own), answer))))
    return _sent(rows, rng, rate, order)


def chats(
    rng: Generator | int,
    *,
    clients: int = 128,
    rounds: int | Sequence[int] = (2, 4, 6, 8),
    user_length: int = 1024,
    output_length: int = 4,
    rate: float = 12.0,
    order: str = "random",
) -> Generated:
    """Conversations: each prompt is all that was said before, and what the user says now.

    Like those that the paper takes from ShareGPT and UltraChat in structure; nothing is taken from
    them. The next round of a client comes after the one before, but does not wait for its answer.

    Args:
        rng: draws the order, then the times; a seed or a numpy Generator.
        clients: conversations, independent of each other.
        rounds: of a conversation, taken cyclically by the clients (which has how many: ours).
        user_length: tokens that each round adds before the answer.
        output_length: tokens of each answer, part of the prompts that follow.
        rate: requests per second, all clients together.
        order: "random": every next prompt is of a client drawn with its rounds left as weight (all
            interleavings alike). "round-robin": one of each client that has rounds left.

    Returns:
        `class_index` of the requests is the client.

    Raises:
        InputError: a count or length below 1, a rate not above 0, an unknown order.

    Examples:
        >>> from fluidkv.prefix import chats
        >>> requests, _ = chats(0, clients=1, rounds=3, user_length=100, output_length=10)
        >>> requests.input_length.tolist()  # each prompt has all that was said before
        [100, 210, 320]
    """
    sizes = _sizes("rounds", rounds)
    clients, _ = _counts(clients=clients, rounds=max(sizes))
    said, answer = _length("user_length", user_length), _length("output_length", output_length)
    of_client = [sizes[c % len(sizes)] for c in range(clients)]
    before: dict[int, Content] = dict.fromkeys(range(clients), ())
    text, rows = numbers(), []
    for turn in range(max(of_client)):
        for client, last in enumerate(of_client):
            if turn < last:
                prompt = joined((*before[client], *_texts((next(text), said))))
                output = _texts((next(text), answer))
                before[client] = joined((*prompt, *output))
                rows.append(_Asked(client, prompt, output))
    return _sent(rows, rng, rate, order, keep=True)


def long_documents(
    rng: Generator | int,
    *,
    documents: int = 512,
    questions: int = 8,
    lengths: int | Sequence[int] = (1024, 2048, 4096, 8192),
    question_length: int = 32,
    output_length: int = 4,
    rate: float = 12.0,
    order: str = "random",
) -> Generated:
    """Questions about long documents: each prompt is a document, truncated, and a question.

    Like the paper's task on Loogle in structure; nothing is taken from it. How many questions a
    document has and how long they are is not stated there: 8 of 32 tokens are ours.

    Args:
        rng: draws the order, then the times; a seed or a numpy Generator.
        documents: how many.
        questions: of each document.
        lengths: tokens that a document is truncated to, taken cyclically.
        question_length: tokens of a question.
        output_length: tokens of each answer; nobody shares them.
        rate: requests per second.
        order: as in `shared_prefixes`.

    Returns:
        `class_index` of the requests is the document.

    Raises:
        InputError: a count or length below 1, a rate not above 0, an unknown order.

    Examples:
        >>> from fluidkv.prefix import trie_of
        >>> from fluidkv.prefix.on_trie.curves import ceiling
        >>> from fluidkv.prefix.workloads import long_documents
        >>> requests, prompts = long_documents(0, documents=2, questions=4, lengths=1000)
        >>> len(requests), ceiling(trie_of(prompts)) == 6 * 1000 / (8 * 1032)
        (8, True)
    """
    documents, questions = _counts(documents=documents, questions=questions)
    asked, answer = (
        _length("question_length", question_length),
        _length("output_length", output_length),
    )
    sizes = _sizes("lengths", lengths)
    own, rows = numbers(documents), []
    for _, document in product(range(questions), range(documents)):
        text = (document, sizes[document % len(sizes)])
        prompt = _texts(text, (next(own), asked))
        rows.append(_Asked(document, prompt, _texts((next(own), answer))))
    return _sent(rows, rng, rate, order)


def zipf_prompts(
    rng: Generator | int,
    *,
    requests: int = 4096,
    prompts: int = 128,
    exponent: float = 1.0,
    lengths: int | Sequence[int] = (512, 1024, 2048, 4096),
    user_length: int = 256,
    output_length: int = 4,
    rate: float = 12.0,
) -> Generated:
    """System prompts of which few are popular: the k-th is asked for in proportion to k^-exponent.

    Args:
        rng: draws the prompts, then the times; a seed or a numpy Generator.
        requests: how many; each draws its system prompt independently.
        prompts: system prompts.
        exponent: at least 0; 0 makes all alike.
        lengths: tokens of a system prompt, taken cyclically, the most popular first.
        user_length: tokens behind it, of each request alone.
        output_length: tokens of each answer; nobody shares them.
        rate: requests per second.

    Returns:
        `class_index` of the requests is the system prompt.

    Raises:
        InputError: a count or length below 1, an exponent below 0, a rate not above 0.

    Examples:
        >>> from fluidkv.prefix.workloads import zipf_prompts
        >>> requests, _ = zipf_prompts(0, requests=1100, prompts=3)
        >>> np.bincount(requests.class_index).tolist()  # as 6 to 3 to 2
        [572, 316, 212]
    """
    requests = count("requests", requests, most=MOST_REQUESTS)
    prompts = count("prompts", prompts, most=MOST_REQUESTS)
    sizes, user = _sizes("lengths", lengths), _length("user_length", user_length)
    answer = _length("output_length", output_length)
    if not 0 <= real(exponent) <= 100:
        raise InputError("exponent", exponent, "a number from 0 to 100")
    weights = np.arange(1, prompts + 1) ** -float(exponent)
    generator = np.random.default_rng(rng)
    drawn = generator.choice(prompts, size=requests, p=weights / weights.sum())
    own, rows = numbers(prompts), []
    for rank in drawn.tolist():
        prompt = _texts((rank, sizes[rank % len(sizes)]), (next(own), user))
        rows.append(_Asked(rank, prompt, _texts((next(own), answer))))
    return _timed(rows, generator, rate)


def loop(
    rng: Generator | int,
    *,
    capacity: int = 6,
    length: int = 3,
    own: int = 1,
    turns: int = 32,
    rate: float = 12.0,
) -> Generated:
    """The least set of prompts that a cache does not hold, asked for over and over.

    All share their first length - own tokens; with own = 1 there are capacity - length + 2 prompts
    and capacity + 1 tokens in all. This is the sequence that is worst for L-LRU.

    Args:
        rng: draws the times; a seed or a numpy Generator.
        capacity: tokens of the cache that it is made for.
        length: tokens of a prompt, at most the capacity.
        own: tokens at its end that are its own, at most the length.
        turns: how often the loop goes round.
        rate: requests per second.

    Returns:
        `class_index` of the requests is the prompt. Outputs are one token, nobody's but theirs.

    Raises:
        InputError: a count below 1, prompts longer than the cache, more own tokens than tokens.

    Source: Routing, the lower bound of Theorem 4.

    Examples:
        >>> from fluidkv.prefix import loop
        >>> requests, _ = loop(0, capacity=6, length=3, turns=2)
        >>> requests.class_index.tolist()
        [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]
    """
    capacity = count("capacity", capacity, most=MOST_REQUESTS)
    length = count("length", length, most=capacity)
    own = count("own", own, most=length)
    begin = length - own
    prompts, turns = _counts(capacity=(capacity - begin) // own + 1, turns=turns)
    answers, rows = numbers(prompts + 1), []
    for _, which in product(range(turns), range(prompts)):
        prompt = _texts((0, begin), (which + 1, own))
        rows.append(_Asked(which, prompt, _texts((next(answers), 1))))
    return _timed(rows, np.random.default_rng(rng), rate)


GENERATORS: dict[str, Callable[..., Generated]] = {
    "gsp": shared_prefixes,
    "chats": chats,
    "documents": long_documents,
    "zipf": zipf_prompts,
    "loop": loop,
}
"""Name on the command line -> the function.

>>> from fluidkv.prefix.workloads import GENERATORS
>>> requests, prompts = GENERATORS["loop"](0, turns=2)
>>> len(requests), sorted(GENERATORS)
(10, ['chats', 'documents', 'gsp', 'loop', 'zipf'])
"""


def _sent(
    rows: list[_Asked], rng: Generator | int, rate: float, order: str, *, keep: bool = False
) -> Generated:
    """The rows, which stand round-robin, in the order asked for.

    `keep`: a group's own rows stay in their order.
    """
    if order not in ORDERS:
        raise InputError("order", order, " or ".join(ORDERS))
    generator = np.random.default_rng(rng)
    if order == "random":
        places = generator.permutation(len(rows))
        if keep:
            groups = np.array([row.group for row in rows])
            # A random order of the groups' names; each name takes the next row of its group.
            names = groups[places]
            places = np.empty(len(rows), np.int64)
            places[np.argsort(names, kind="stable")] = np.argsort(groups, kind="stable")
        rows = [rows[place] for place in places.tolist()]
    return _timed(rows, generator, rate)


def _timed(rows: list[_Asked], generator: Generator, rate: float) -> Generated:
    gaps = generator.standard_exponential(len(rows)) / above_0("rate", rate)
    requests = Requests(
        [tokens_of(row.prompt) for row in rows],
        [tokens_of(row.output) for row in rows],
        arrival=np.cumsum(gaps),
        class_index=[row.group for row in rows],
    )
    return requests, Prompts(tuple(r.prompt for r in rows), tuple(r.output for r in rows))


def _texts(*pairs: tuple[int, int]) -> Content:
    """The first tokens of segments, [segment, tokens]; those without tokens are left out."""
    return tuple(Piece(segment, 0, tokens) for segment, tokens in pairs if tokens)


def _counts(**numbers: int) -> list[int]:
    """Two numbers whose product is that of the requests."""
    (_, first), (name, second) = numbers.items()
    counts = [count(each, value, most=MOST_REQUESTS) for each, value in numbers.items()]
    if first * second > MOST_REQUESTS:
        allowed = f"at most {MOST_REQUESTS // first:,} with {next(iter(numbers))} {first:,}: "
        raise InputError(name, second, f"{allowed}{MOST_REQUESTS:,} requests in all")
    return counts


def _sizes(argument: str, values: Any) -> list[int]:
    if isinstance(values, str) or (isinstance(values, Sequence) and not values):
        raise InputError(argument, values, "one whole number of at least 1, or several")
    several = values if isinstance(values, Sequence) else [values]
    return [_length(argument, value) for value in several]


def _length(argument: str, value: int) -> int:
    return count(argument, value, most=MOST_TOKENS)


def _ratio(value: float) -> float:
    if not 0 <= real(value) <= 1:
        raise InputError("ratio", value, "a number from 0 to 1")
    return float(value)
