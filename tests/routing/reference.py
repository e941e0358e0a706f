"""A plain cluster written out literally: the meaning of `cluster` with workers of `plain`.

Everything is found again for each request: who is done by now, what each worker was sent, what its
cache has. Text is a list of tokens. Source: Routing, (1) to (3) and appendix E.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from fluidkv.prefix.pieces import tokens
from fluidkv.prefix.prompts import Prompts
from fluidkv.routing.plain import Cache, Service
from fluidkv.routing.router import Router, View
from fluidkv.runs.requests import Requests


class Literal(NamedTuple):
    """What became of one request."""

    worker: int
    began: float
    first_token: float
    last_token: float
    hits: int
    believed: int


def route_literally(
    requests: Requests,
    prompts: Prompts,
    caches: Sequence[Cache],
    service: Service,
    router: Router,
    *,
    seed: int = 0,
    true_caches: bool = False,
) -> list[Literal]:
    """As `run_cluster`, where nothing is forgotten of what was sent."""
    text = [tuple(tokens(prompt)) for prompt in prompts.prompts]
    draws = np.random.default_rng(seed).random((len(requests), 2)).tolist()
    workers, state = range(len(caches)), router.start(len(caches))
    done: list[Literal] = []
    tickets, told = [], set()
    for j, (now, length, outputs) in enumerate(
        zip(
            requests.arrival.tolist(),
            requests.input_length.tolist(),
            requests.output_length.tolist(),
            strict=True,
        )
    ):
        for k in sorted(range(j), key=lambda k: (done[k].last_token, k)):
            if done[k].last_token <= now and k not in told:
                told.add(k)
                latency = done[k].last_token - requests.arrival[k]
                state = router.finished(
                    state, tickets[k], now=done[k].last_token, latency=float(latency)
                )
        sent = [{text[k][:n] for k in _of(done, i) for n in _ends(text[k])} for i in workers]
        if true_caches:
            hits = [cache.found(j) for cache in caches]
        else:
            hits = [sum(text[j][:n] in sent[i] for n in _ends(text[j])) for i in workers]
        if not router.looks_at_caches:
            hits, sent = [0 for _ in workers], [() for _ in workers]
        left = [[k for k in _of(done, i) if done[k].last_token > now] for i in workers]
        unread = [[k for k in _of(done, i) if done[k].first_token > now] for i in workers]
        view = View(
            now,
            length,
            np.array(hits),
            np.array([len(each) for each in sent]),
            np.array([len(each) for each in left]),
            np.array([sum(len(text[k]) - max(0, done[k].believed) for k in e) for e in unread]),
            np.array([sum(len(text[k]) for k in each) for each in left]),
            (draws[j][0], draws[j][1]),
        )
        choice = router.route(state, view)
        state, i = choice.state, choice.worker
        tickets.append(choice.ticket)
        found = caches[i].request(j)
        others = sorted((done[k].last_token for k in _of(done, i)), reverse=True)
        # With at_once places, one is free when all but at_once - 1 of those before are done.
        free = others[service.at_once - 1] if len(others) >= service.at_once else 0.0
        began = max(now, free)
        first = began + service.prefill(found, length) + service.output
        last = began + service.cost(found, length, outputs)
        believed = hits[i] if router.looks_at_caches else -1
        done.append(Literal(i, began, first, last, found, believed))
    return done


def _of(done: Sequence[Literal], worker: int) -> list[int]:
    return [k for k, each in enumerate(done) if each.worker == worker]


def _ends(text: Sequence[Hashable]) -> range:
    return range(1, len(text) + 1)
