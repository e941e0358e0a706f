"""Routers that weigh a worker's cache against its load by rules with fixed numbers."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.routing.router import Choice, Router, View, one_of_best
from fluidkv.runs.checks import count, real


def at_least_0(argument: str, value: object) -> float:
    """The value as a float.

    Raises:
        InputError: not a finite number of at least 0.
    """
    number = real(value)
    if not 0 <= number < float("inf"):
        raise InputError(argument, value, "a finite number of at least 0")
    return number


@dataclass(frozen=True)
class CacheAware(Record, Router):
    """SGLang's rule: by prefix while the queues are about even, else to the shortest queue.

    Queues are uneven if the longest has more than `balance_abs` requests more than the shortest,
    and more than `balance_rel` times as many. The request then goes to the shortest (of several the
    first). Otherwise it goes to the worker with the longest match if that is more than
    `cache_threshold` of the prompt (which of several: drawn; in SGLang any), else to the worker
    whose tree is smallest, or whose queue is (of several the first).

    Args:
        cache_threshold: share of the prompt, from 0 to 1.
        balance_abs: requests, at least 0.
        balance_rel: at least 0.
        else_least: what is the smallest where there is no match: "tree" or "queue".

    Raises:
        InputError: a parameter outside of this.

    Source: SGLang, sgl-router, `policies/cache_aware.rs`. The defaults are `SGLANG_0_4_6`.

    Examples:
        >>> from fluidkv.routing import CacheAware, View
        >>> none, hits, queues = np.zeros(2, int), np.array([0, 800]), np.array([0, 9])
        >>> seen = View(0.0, 1000, hits, none, queues, none, none, (0.0, 0.0))
        >>> [CacheAware(share).route(None, seen).worker for share in (0.5, 0.9)]
        [1, 0]
    """

    cache_threshold: float = 0.5
    balance_abs: int = 32
    balance_rel: float = 1.0001
    else_least: Literal["tree", "queue"] = "tree"
    label: ClassVar[str] = "cache-aware"
    draws: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 <= real(self.cache_threshold) <= 1:
            raise InputError("cache_threshold", self.cache_threshold, "a share from 0 to 1")
        count("balance_abs", self.balance_abs, least=0)
        at_least_0("balance_rel", self.balance_rel)
        if self.else_least not in ("tree", "queue"):
            raise InputError("else_least", self.else_least, "'tree' or 'queue'")

    def route(self, state: None, view: View) -> Choice:
        most, least = int(view.pending.max()), int(view.pending.min())
        if most - least > self.balance_abs and most > least * self.balance_rel:
            return Choice(int(view.pending.argmin()), state)
        if view.hits.max() / view.length > self.cache_threshold:
            return Choice(one_of_best(view.hits, view.draws[0]), state)
        least = view.tree if self.else_least == "tree" else view.pending
        return Choice(int(least.argmin()), state)


SGLANG_0_4_6 = CacheAware(0.5, 32, 1.0001)
"""The defaults of its Python binding in the time of SGLang 0.4.6, with trees of at most 2^24
characters that are cut back every 60 s: those that Routing compares with, as far as it says.

>>> from fluidkv.routing import View
>>> from fluidkv.routing.affine import SGLANG_0_4_6
>>> queues, none = np.array([10, 43]), np.zeros(2, int)
>>> seen = View(0.0, 1000, np.array([0, 1000]), none, queues, none, none, (0.0, 0.0))
>>> SGLANG_0_4_6.route(None, seen).worker  # 33 requests more are too many
0
"""

SGLANG = CacheAware(0.3, 64, 1.5, "queue")
"""The defaults of its command line later in 2025, with 2^26 characters and 120 s; what matches
nothing goes to the shortest queue since pull request 14650 (December 2025).

>>> from fluidkv.routing import SGLANG
>>> SGLANG.cache_threshold, SGLANG.balance_abs, SGLANG.balance_rel, SGLANG.else_least
(0.3, 64, 1.5, 'queue')
"""


@dataclass(frozen=True)
class LinearScore(Record, Router):
    """The highest of affinity x (share of the prompt in the cache) - load x (place among queues).

    The place of a queue is 0 for the shortest, 1 for the longest and in proportion between them; 0
    for all where all are equal. Which of several workers with the highest score: drawn.

    Args:
        affinity, load: weights, at least 0.

    Raises:
        InputError: a weight below 0 or not finite.

    Source: the scorers of prefixes and of queues of llm-d and of the Gateway API's inference
    extension, whose weights are often 3 and 2, the defaults here; their scorer of memory is not
    modelled.

    Examples:
        >>> from fluidkv.routing import LinearScore, View
        >>> none, hits, queues = np.zeros(2, int), np.array([0, 800]), np.array([0, 9])
        >>> seen = View(0.0, 1000, hits, none, queues, none, none, (0.0, 0.0))
        >>> [LinearScore(*weights).route(None, seen).worker for weights in ((3, 2), (2, 2))]
        [1, 0]
    """

    affinity: float = 3.0
    load: float = 2.0
    label: ClassVar[str] = "linear score"
    draws: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("affinity", "load"):
            at_least_0(name, getattr(self, name))

    def route(self, state: None, view: View) -> Choice:
        shortest = view.pending.min()
        place = (view.pending - shortest) / max(1, int(view.pending.max() - shortest))
        score = self.affinity * (view.hits / view.length) - self.load * place
        return Choice(one_of_best(score, view.draws[0]), state)


@dataclass(frozen=True)
class LoadAware(Router):
    """The highest of (share of the prompt in the cache) - beta x (load above the mean, over it).

    Load is requests not finished, and the mean counts as at least 1. So with beta 1 a worker with
    twice the mean is worth a whole prompt less. Load above the mean is at most the number of
    workers less 1, when one has everything: with beta below (share in the cache) / (workers - 1)
    it is never heard. Which of several workers with the highest score: drawn.

    Args:
        beta: weight of load, at least 0.

    Raises:
        InputError: a weight below 0 or not finite.

    Source: `loadaware` of vLLM's production-stack (pull request 1035, 2026), whose default is 1.

    Examples:
        >>> from fluidkv.routing import LoadAware, View
        >>> none, hits, queues = np.zeros(2, int), np.array([0, 800]), np.array([2, 6])
        >>> seen = View(0.0, 1000, hits, none, queues, none, none, (0.0, 0.0))
        >>> [LoadAware(beta).route(None, seen).worker for beta in (0.5, 1.0)]
        [1, 0]
    """

    beta: float = 1.0
    label: ClassVar[str] = "load-aware"
    draws: ClassVar[bool] = True

    def __post_init__(self) -> None:
        at_least_0("beta", self.beta)

    def route(self, state: None, view: View) -> Choice:
        mean = view.pending.mean()
        above = (view.pending - mean) / max(1.0, float(mean))
        score = view.hits / view.length - self.beta * above
        return Choice(one_of_best(score, view.draws[0]), state)


@dataclass(frozen=True)
class LinearCost(Router):
    """The lowest of overlap x (prompt tokens to compute) + (tokens of requests not finished).

    To compute are those of the request that are not in the worker's cache, and those of the
    requests before it. Which of several workers with the lowest cost: drawn.

    Args:
        overlap: weight of what is to be computed, at least 0; 0 looks at no cache.

    Raises:
        InputError: a weight below 0 or not finite.

    Source: NVIDIA Dynamo's router, overlap_score_weight x potential prefill blocks + decode blocks,
    whose default is 1, at temperature 0. Here in tokens, and what a request will emit is not
    counted, as it is not known.

    Examples:
        >>> from fluidkv.routing import View
        >>> from fluidkv.routing.affine import LinearCost
        >>> none, hits, active = np.zeros(2, int), np.array([0, 800]), np.array([0, 500])
        >>> seen = View(0.0, 1000, hits, none, none, none, active, (0.0, 0.0))
        >>> [LinearCost(weight).route(None, seen).worker for weight in (1.0, 0.5)]
        [1, 0]
    """

    overlap: float = 1.0
    label: ClassVar[str] = "linear cost"
    draws: ClassVar[bool] = True

    def __post_init__(self) -> None:
        at_least_0("overlap", self.overlap)

    def route(self, state: None, view: View) -> Choice:
        to_compute = view.to_compute + (view.length - view.hits)
        return Choice(one_of_best(-(self.overlap * to_compute + view.active), view.draws[0]), state)
