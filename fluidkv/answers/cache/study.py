"""Hit rate by cache size, for every eviction policy beside OPT, on one workload.

Requests come one after the other; each finds the longest cached beginning of its prompt, and then
all of it is cached. No engine runs and nothing is locked but the path of the request itself: what
an engine's own cache makes of the same prompts is `fluidkv route --workers 1`.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, cast
from weakref import WeakKeyDictionary

from fluidkv.answers.memory import token_counts
from fluidkv.answers.prompt_options import (
    EVICTION,
    PROMPTED,
    PromptedAnswer,
    facts_of,
)
from fluidkv.errors import InputError
from fluidkv.questions.answer import Answer, Described
from fluidkv.questions.kinds import Whole, Written
from fluidkv.questions.options import Made, Option, as_options, checked

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Float

    from fluidkv.answers.prompted import Prompted
    from fluidkv.prefix.on_trie.trie import Trie
    from fluidkv.prefix.policies import Granularity, Policy
    from fluidkv.prefix.prompts import Prompts

_cache_option = partial(Option, panel="The cache")
SIZES = 10
"""Sizes at most, where nobody names any."""


@dataclass(frozen=True, eq=False)
class Curve(Answer):
    """What one policy finds, by cache size.

    Fields:
        hit_rate, hit_rate_units, evicted: means over seeds.
        margin: 0 of a policy that draws nothing; NaN of one seed of a policy that draws.

    Examples:
        >>> from fluidkv.prefix import Policy
        >>> loop = fk.prompted_generator("loop", parameters={"capacity": 6})
        >>> opt, lru = fk.cache_study(loop, [6, 7], policies=["lru", "opt"], answers=False).curves
        >>> opt.hit_rate.round(2), lru.hit_rate.round(2), lru.margin
        (array([0.91, 0.99]), array([0.66, 0.99]), array([0., 0.]))
    """

    policy: Annotated[
        "Policy", Described("what goes when the cache is full", key="name", kind="text")
    ]
    seeds: Annotated[int, Described("runs; 1 of a policy that draws nothing")]
    hit_rate: Annotated[
        "Float[np.ndarray, ' capacity']",
        Described("share of prompt tokens found, mean over seeds", dims="capacity", kind="share"),
    ]
    margin: Annotated[
        "Float[np.ndarray, ' capacity']",
        Described("half of the interval around hit_rate, 95 %", dims="capacity", kind="share"),
    ]
    hit_rate_units: Annotated[
        "Float[np.ndarray, ' capacity']",
        Described(
            "share of whole units of prompts found, mean over seeds", dims="capacity", kind="share"
        ),
    ]
    evicted: Annotated[
        "Float[np.ndarray, ' capacity']",
        Described("tokens that went", "token", dims="capacity", key="", whole=True),
    ]


@dataclass(frozen=True, eq=False)
class CacheAnswer(PromptedAnswer):
    """What `fluidkv cache` reports.

    OPT evicts single units also where others evict nodes. It loads the fewest units, prompts and
    answers. So none finds more units of prompts, but where an answer comes again behind the same
    prompt: OPT keeps it, and no prompt has it.

    Examples:
        >>> blocks = {"prefix_blocks": ((0,), (0, 1), (0, 2), (0,)), "prefix_block_size": 4}
        >>> trace = fk.Trace((4, 8, 8, 4), (1, 1, 1, 1), (0.0, 1.0, 2.0, 3.0), **blocks)
        >>> answer = fk.cache_study(fk.prompted_trace(trace))
        >>> answer.longest, answer.whole, answer.ceiling  # an infinite cache finds 12 of 24 tokens
        (8, 12, 0.5)
        >>> answer.capacities, dict(answer.to_xarray().hit_rate.sizes)
        ((8, 9, 10, 11, 12), {'policy': 9, 'capacity': 5})
    """

    page: Annotated[int, Described("tokens that go at once", "token", attribute=True)]
    nodes: Annotated[bool, Described("whether whole nodes of a radix tree go")]
    answers: Annotated[bool, Described("whether answers are cached", key="answers_cached")]
    ceiling: Annotated[
        float, Described("hit rate of an infinite cache", attribute=True, kind="share")
    ]
    ceiling_units: Annotated[float, Described("its hit rate of whole units", kind="share")]
    longest: Annotated[int, Described("of the longest request", "token", key="longest_request")]
    whole: Annotated[int, Described("of a cache that never evicts", "token", key="never_evicts")]
    capacities: Annotated[tuple[int, ...], Described("size of the cache", "token", dims="capacity")]
    confidence: Annotated[float, Described("of margins", kind="share")]
    curves: Annotated[tuple[Curve, ...], Described("OPT first", dims="policy", key="policies")]

    def curve(self, policy: "Policy | str") -> Curve | None:
        """That of a policy, or of its name; None if it was not asked for."""
        both = ((curve, curve.policy) for curve in self.curves)
        return next((curve for curve, its in both if policy in (its, its.value)), None)


def usual_policies() -> "tuple[Policy, ...]":
    """Those that differ where requests come one by one and all have one priority."""
    from fluidkv.prefix.policies import Policy

    return tuple(each for each in Policy if each not in (Policy.PRIORITY, Policy.RELEASED))


def _units(argument: str, text: str) -> "Granularity | str":
    """tokens, nodes or blocks:N; "blocks" alone are those that the prompts are known by."""
    from fluidkv.prefix.policies import Granularity

    if re.fullmatch(r"tokens|nodes|blocks(?::[0-9]{1,9})?", text) is None:
        raise InputError(argument, text, "tokens, nodes, blocks or blocks:N")
    size = text.partition(":")[2]
    if text == "blocks":
        return text
    with as_options({"page": argument}):
        return Granularity(int(size)) if size else Granularity(nodes=text == "nodes")


_POLICY = _cache_option(
    "--policy NAME",
    EVICTION,
    "What goes when the cache is full: opt, lru, rlt, lfu, fifo, slru, mru, filo, random, "
    r"released, priority; repeatable. \[default: all that differ here]",
    many=True,
    title="what goes when it is full",
)
_GRANULARITY = _cache_option(
    "--granularity UNITS",
    Written(_units),
    "What goes at once: tokens, blocks (blocks:16 for those of 16 tokens), or nodes as in SGLang. "
    r"\[default: the trace's blocks, or tokens]",
    means=("page",),
)
_ANSWERS = _cache_option(
    "--answers/--no-answers",
    None,
    r"Cache answers behind their prompts. \[default: unless blocks hide them]",
)
_SEEDS = Option("--seeds N", Whole(1, 1000), "Number of runs of a policy that draws.")


@checked
def cache_study(
    prompted: Annotated["Prompted", PROMPTED],
    capacities: Annotated[Sequence[int] | None, Made(token_counts)] = None,
    *,
    policies: Annotated["Iterable[Policy | str] | None", _POLICY] = None,
    granularity: Annotated["Granularity | str | None", _GRANULARITY] = None,
    answers: Annotated[bool | None, _ANSWERS] = None,
    seeds: Annotated[int, _SEEDS] = 5,
    first_seed: int = 0,
    on_progress: Callable[[int, int, str], None] | None = None,
) -> CacheAnswer:
    """What does a prefix cache of this size find, and how much more could it?

    Plays the prompts through every eviction policy at every cache size, beside
    the optimum, which knows what will be asked for, and an infinite cache.

    Args:
        prompted: requests that say what their prompts share.
        capacities: tokens; None: ten sizes from the longest request to a cache that never evicts.
        first_seed: of a policy that draws; the others follow.
        on_progress: told before each policy how many are done, of how many, and its name.

    Raises:
        InputError: a request longer than a cache, fewer than 1 seed, no capacity or policy, answers
            where blocks are counted, pages that no prompt fills, values of other types.

    Examples:
        >>> parameters = {"groups": 6, "queries": 8, "lengths": (10, 20)}
        >>> requests = fk.prompted_generator("gsp", parameters=parameters)
        >>> answer = fk.cache_study(requests, [40, 90, 200], policies=["lru"])
        >>> answer.curves[0].hit_rate.round(2), round(answer.ceiling, 2)
        (array([0.16, 0.29, 0.44]), 0.44)
    """
    from fluidkv.answers.intervals import CONFIDENCE
    from fluidkv.prefix.on_trie.run import run_cache
    from fluidkv.prefix.policies import Policy

    first = Whole(0, 2**31).read("first_seed", first_seed)
    units = _granularity(prompted, granularity)
    counted_blocks = units.last == "counted"
    if answers and counted_blocks:
        raise InputError("answers", answers, "False: blocks of prompts say nothing of answers")
    cached = not counted_blocks and prompted.block is None if answers is None else answers
    trie = _trie(prompted.prompts, units, cached)
    single = replace(trie, granularity=replace(units, nodes=False))
    longest, whole = trie.longest * units.page, trie.total * units.page
    if not any(trie.asked_units):
        raise InputError("page", units.page, "at most the longest prompt: none fills a page")
    sizes = _sizes(capacities, longest, whole)
    members = cast("Iterable[Policy] | None", policies)  # names have been read
    order = tuple(dict.fromkeys(usual_policies() if members is None else members))
    if not order:
        raise InputError("policies", order, "at least one")
    ceiling = run_cache(single, whole, Policy.LRU)
    curves: list[Curve] = []
    for policy in sorted(order, key=lambda each: each is not Policy.OPT):
        if on_progress is not None:
            on_progress(len(curves), len(order), f"policies; now {policy.value}")
        played = single if policy is Policy.OPT else trie
        curves.append(_curve(played, sizes, policy, range(first, first + seeds)))
    return CacheAnswer(
        **facts_of(prompted),
        page=units.page,
        nodes=units.nodes,
        answers=cached,
        ceiling=ceiling.hit_rate(),
        ceiling_units=ceiling.hit_rate("units"),
        longest=longest,
        whole=whole,
        capacities=sizes,
        confidence=CONFIDENCE,
        curves=tuple(curves),
    )


def _curve(trie: "Trie", sizes: Sequence[int], policy: "Policy", seeds: range) -> Curve:
    import numpy as np

    from fluidkv.answers.intervals import half_width
    from fluidkv.prefix.on_trie.run import run_cache

    drawn = seeds if policy.draws else seeds[:1]
    runs = [[run_cache(trie, size, policy, seed=seed) for seed in drawn] for size in sizes]
    tokens, units = (
        np.array([[run.hit_rate(of) for run in row] for row in runs]) for of in ("tokens", "units")
    )
    return Curve(
        policy=policy,
        seeds=len(drawn),
        hit_rate=tokens.mean(axis=1),
        margin=half_width(tokens) if policy.draws else np.zeros(len(sizes)),
        hit_rate_units=units.mean(axis=1),
        evicted=np.array([np.mean([run.evicted.sum() for run in row]) for row in runs]),
    )


_TRIES: "WeakKeyDictionary[Prompts, tuple[Granularity, bool, Trie]]" = WeakKeyDictionary()


def _trie(prompts: "Prompts", units: "Granularity", answers: bool) -> "Trie":
    """The last one of these prompts is at hand as long as they are: points of a sweep ask again."""
    from fluidkv.prefix.on_trie.trie import trie_of

    last = _TRIES.get(prompts)
    if last is None or last[:2] != (units, answers):
        last = units, answers, trie_of(prompts, units, answers=answers)
        _TRIES[prompts] = last
    return last[2]


def _granularity(prompted: "Prompted", given: "Granularity | str | None") -> "Granularity":
    from fluidkv.prefix.policies import Granularity

    if isinstance(given, Granularity):
        return given
    if given not in (None, "blocks"):
        raise InputError("granularity", given, "a fluidkv.prefix.Granularity")
    if prompted.block is not None:
        return Granularity(prompted.block, "counted")
    if given is None:
        return Granularity()
    needs = "blocks:N, where the requests name no blocks of their own"
    raise InputError("granularity", given, f"tokens, nodes, blocks or blocks:N ({needs})")


def _sizes(given: Sequence[int] | None, longest: int, whole: int) -> tuple[int, ...]:
    if given is None:
        return sizes_between(longest, whole)
    sizes = sorted({Whole().read("capacity", size) for size in given})
    if not sizes:
        raise InputError("capacities", given, "at least one size in tokens")
    if sizes[0] < longest:
        raise InputError("capacity", sizes[0], f"at least {longest} tokens: the longest request")
    return tuple(sizes)


def sizes_between(longest: int, whole: int, number: int = SIZES) -> tuple[int, ...]:
    """Sizes at equal ratios, from a cache that holds any request to one that never evicts.

    Args:
        longest: tokens of the longest request.
        whole: tokens of all that is ever asked for, at least `longest`.
        number: sizes, at least 2; those between the two ends are rounded to two digits, up.

    Returns:
        Ascending; fewer where two are the same.
    """

    def rounded_up(value: float) -> int:
        unit = 10 ** max(0, math.floor(math.log10(value)) - 1)
        return math.ceil(value / unit) * unit

    ratio = (whole / longest) ** (1 / (number - 1))
    between = (rounded_up(longest * ratio**step) for step in range(1, number - 1))
    return tuple(sorted({longest, whole, *(size for size in between if longest < size < whole)}))
