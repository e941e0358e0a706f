"""What no router can do better, with all requests known before: bounds on makespan and on the end.

A prompt finds at most what an earlier one, or its answer, begins with: whatever the caches and
whoever is sent where. So a request costs at least what it costs with that in the cache, and the
rest is scheduling of jobs with known lengths on machines that are alike.

Source: Routing, section 3.1 (the objective); R. L. Graham, "Bounds on multiprocessing timing
anomalies" (1969), for LPT.
"""

import heapq
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fluidkv.errors import InputError
from fluidkv.prefix.cache import run_cache
from fluidkv.prefix.policies import Policy
from fluidkv.prefix.trie import Trie
from fluidkv.runs.requests import Requests


def most_shared(trie: Trie) -> Int[np.ndarray, " request"]:
    """Of each prompt, the tokens with which an earlier one and its answer begin.

    Args:
        trie: of prompts with their answers.
    """
    everything = trie.total * trie.granularity.page
    return run_cache(trie, everything, Policy.LRU).hit_tokens


class Offline(NamedTuple):
    """Bounds, and a schedule of the least costs.

    Fields:
        makespan: no assignment has less on its fullest worker. The larger of the mean and the
            largest request: the linear program in which requests may be split says the same.
        end: nobody is done with all requests before this time.
        hit_rate: no prompt tokens beyond this share are found in a cache.
        lpt: makespan of the least costs, longest first, each to the worker with the least; at most
            4/3 of what is possible with them. With caches that forget, or where a prefix is needed
            on several workers, it may be out of reach.
        workers: of each request, in that schedule.
    """

    makespan: float
    end: float
    hit_rate: float
    lpt: float
    workers: Int[np.ndarray, " request"]


def offline_bounds(
    requests: Requests,
    shared: Int[np.ndarray, " request"],
    costs: Float[np.ndarray, " request"],
    workers: int,
    *,
    at_once: int = 1,
) -> Offline:
    """Bounds for requests whose least costs are known.

    Args:
        requests: with their times.
        shared: most prompt tokens that each may find (`most_shared`).
        costs: seconds of service, with that in the cache.
        workers: how many, at least 1.
        at_once: requests that a worker serves at the same time, each as fast as alone.

    Raises:
        InputError: no workers.
    """
    if workers < 1:
        raise InputError("workers", workers, "at least 1")
    schedule = lpt(costs, workers)
    load = np.bincount(schedule, weights=costs, minlength=workers)
    later = np.cumsum(costs[::-1])[::-1]  # of who comes then or later
    ends = requests.arrival + np.maximum(later / (workers * at_once), costs)
    return Offline(
        makespan=float(max(costs.sum() / workers, costs.max())),
        end=float(ends.max()),
        hit_rate=float(shared.sum() / requests.input_length.sum()),
        lpt=float(load.max()),
        workers=schedule,
    )


def lpt(costs: Float[np.ndarray, " request"], workers: int) -> Int[np.ndarray, " request"]:
    """The longest first, each to the worker with the least so far (of several the first)."""
    chosen = np.zeros(costs.size, np.int64)
    loads = [(0.0, worker) for worker in range(workers)]
    for request in np.argsort(-costs, kind="stable"):
        load, worker = heapq.heappop(loads)
        chosen[request] = worker
        heapq.heappush(loads, (load + float(costs[request]), worker))
    return chosen
