"""`fluidkv cache`: what a prefix cache finds, by size, for every eviction policy."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fluidkv.cli import arguments as read
from fluidkv.cli.memory import NO_MEMORIES, SeveralMemories
from fluidkv.cli.options import RUN, Html, Json, flag, option, out, seed
from fluidkv.cli.output import give
from fluidkv.cli.progress import progress
from fluidkv.cli.prompted import Format, Generator, Order, Set, Source, prompted_of
from fluidkv.cli.source import UNSCALED, Scales
from fluidkv.errors import InputError
from fluidkv.text import nearest

if TYPE_CHECKING:
    from fluidkv.prefix.policies import Granularity, Policy

_CACHE = "The cache"
_MOST_TOKENS, _MOST_SEEDS, _MOST_SEED = 10**12, 1000, 2**31
_UNIT = r"tokens|nodes|blocks(?::[0-9]{1,9})?"
_OPTIONS = {  # of the function -> of the command line
    "answers": "--answers",
    "capacity": "--capacity",
    "granularity": "--granularity",
    "page": "--granularity",
    "policy": "--policy",
    "seeds": "--seeds",
}
_POLICY_HELP = (
    "What goes when the cache is full: opt, lru, rlt, lfu, fifo, slru, mru, filo, random, "
    r"released, priority; repeatable. \[default: all that differ here]"
)
_Policy = Annotated[list[str] | None, option("--policy NAME", str, _POLICY_HELP, _CACHE)]
_UNITS = (
    "What goes at once: tokens, blocks (blocks:16 for those of 16 tokens), or nodes as in SGLang. "
    r"\[default: the trace's blocks, or tokens]"
)
_Granularity = Annotated[str | None, option("--granularity UNITS", str, _UNITS, _CACHE)]
_ANSWERS = r"Cache answers behind their prompts. \[default: unless blocks hide them]"
_Answers = Annotated[bool | None, flag("--answers/--no-answers", _ANSWERS, _CACHE)]
_SEEDS = "Number of runs of a policy that draws."
_Seeds = Annotated[int, option("--seeds N", read.whole_number, _SEEDS, RUN, most=_MOST_SEEDS)]


def cache(
    source: Source = None,
    generator: Generator = None,
    set_: Set = None,
    order: Order = None,
    format_: Format = None,
    scales: Scales = UNSCALED,
    memory: SeveralMemories = NO_MEMORIES,
    policy: _Policy = None,
    granularity: _Granularity = None,
    answers: _Answers = None,
    seeds: _Seeds = 5,
    seed: Annotated[int, seed("the generator", most=_MOST_SEED)] = 0,
    out: Annotated[Path | None, out("cache.json and a figure")] = None,
    html: Html = None,
    json_: Json = False,
) -> None:
    """What does a prefix cache of this size find, and how much more could it?

    Plays the prompts through every eviction policy at every cache size, beside
    the optimum, which knows what will be asked for, and an infinite cache.

    [bold]fluidkv cache trace.jsonl --capacity 2000000 --capacity 10000000[/bold]
    [bold]fluidkv cache --generator gsp --order round-robin --set groups=64[/bold]
    """
    scales.check(source)
    sizes = memory.counts()
    if granularity is not None and re.fullmatch(_UNIT, granularity) is None:
        raise InputError("--granularity", granularity, "tokens, nodes, blocks or blocks:N")
    policies = None if not policy else [_policy(name) for name in policy]
    prompted = prompted_of(source, generator, set_, order, format_, seed, scales.scaling)
    from fluidkv.answers.cache.study import cache_study
    from fluidkv.cli.commands.cache.text import ASSUMES, say_cache

    with progress("filling caches") as line, read.as_options(_OPTIONS):
        found = cache_study(
            prompted,
            sizes or None,
            policies=policies,
            granularity=_granularity(granularity, prompted.block),
            answers=answers,
            seeds=seeds,
            on_progress=line.count,
        )

    def beside():
        from fluidkv.answers.figures.cache import cache_figure

        return {}, [cache_figure(found)]

    give(
        found.to_dict,
        lambda page: say_cache(page, found),
        as_json=json_,
        out=out,
        html=html,
        assumes=ASSUMES,
        name="cache.json",
        time=None,
        beside=beside,
        notes=memory.notes(),
    )


def _policy(name: str) -> "Policy":
    from fluidkv.prefix.policies import Policy

    try:
        return Policy(name)
    except ValueError:
        raise InputError("--policy", name, nearest(name, (e.value for e in Policy))) from None


def _granularity(text: str | None, block: int | None) -> "Granularity | None":
    """What was asked for; `blocks` alone are those that the prompts are known by."""
    from fluidkv.prefix.policies import Granularity

    if text is None:
        return None
    if text in ("tokens", "nodes"):
        return Granularity(nodes=text == "nodes")
    size = text.partition(":")[2]
    if size:
        return Granularity(int(size))
    if block is None:
        needs = "blocks:N, where the requests name no blocks of their own"
        raise InputError("--granularity", text, f"tokens, nodes, blocks or blocks:N ({needs})")
    return Granularity(block, "counted")
