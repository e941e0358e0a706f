"""`fluidkv route`: which router, and how much affinity to caches."""

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fluidkv.cli import arguments as read
from fluidkv.cli.memory import WHOLE, GivenMemory
from fluidkv.cli.options import RUN, SERVER, Html, Json, flag, option, out, seed
from fluidkv.cli.output import give
from fluidkv.cli.progress import progress
from fluidkv.cli.prompted import Format, Generator, Order, Set, Source, prompted_of
from fluidkv.cli.source import UNSCALED, Scales
from fluidkv.errors import InputError
from fluidkv.processes import cores
from fluidkv.text import nearest

if TYPE_CHECKING:
    from fluidkv.answers.route.result import RouteAnswer
    from fluidkv.figures.figure import Figure
    from fluidkv.routing import Belief, Engine, Fleet, Router, Service

_ROUTER, _PLAIN = "The router", "Plain service"
_MOST_WORKERS, _MOST_TOKENS, _MOST_SEEDS, _MOST_SEED = 1000, 10**12, 1000, 2**31
_MOST_RUNNING, _MOST_JOBS = 10**6, 1024
_ENGINES = ("plain", "vllm", "sglang")
_OPTIONS = {  # of the functions -> of the command line
    "at_once": "--at-once",
    "block_size": "--block-size",
    "cached": "--cached-ms",
    "capacity": "--capacity",
    "missed": "--prefill-ms",
    "most": "--belief",
    "output": "--output-ms",
    "policy": "--policy",
    "processes": "--jobs",
    "rate": "--rate",
    "seeds": "--seeds",
    "workers": "--workers",
}
_WORKERS = "Number of servers behind the router, all alike."
_Workers = Annotated[
    int, option("--workers M", read.whole_number, _WORKERS, SERVER, most=_MOST_WORKERS)
]
_ENGINE_HELP = "What a worker is: plain (one request after the other), vllm or sglang."
_Engine = Annotated[str, option("--engine NAME", str, _ENGINE_HELP, SERVER)]
_POLICY_HELP = (
    "What a full cache evicts: lru, rlt, lfu, fifo, slru, mru, filo, random, released. "
    r"\[default: the engine's own, lru of plain]"
)
_Policy = Annotated[str | None, option("--policy NAME", str, _POLICY_HELP, SERVER)]
_BLOCK = r"Tokens of a block, of an engine. \[default: 16 of vllm, 1 of sglang]"
_Block = Annotated[
    int | None, option("--block-size N", read.whole_number, _BLOCK, SERVER, most=10**6)
]
_PREFILL = "Milliseconds for 1,000 prompt tokens that are not in the cache."
_MS = "milliseconds, such as 150 or 0.5"
_ABOVE = f"{_MS}, above 0"
_Prefill = Annotated[
    Fraction, option("--prefill-ms MS", read.positive_number, _PREFILL, SERVER, allowed=_ABOVE)
]
_CACHED = "Milliseconds for 1,000 prompt tokens that are in the cache."


def _ms(argument: str, text: str) -> Fraction:
    value = read.exact_number(argument, text, f"{_MS}, at least 0")
    if value < 0:
        raise InputError(argument, text, f"{_MS}, at least 0")
    return value


_Cached = Annotated[Fraction | None, option("--cached-ms MS", _ms, _CACHED, _PLAIN)]
_OUTPUT_MS = Fraction(1)  # about a decode of 20 ms that 20 requests share
_OUTPUT = r"Milliseconds for an output token. \[default: 1]"
_Output = Annotated[Fraction | None, option("--output-ms MS", _ms, _OUTPUT, _PLAIN)]
_AT_ONCE = r"Requests that a worker serves at once, each as fast as alone. \[default: 1]"
_AtOnce = Annotated[
    int | None, option("--at-once N", read.whole_number, _AT_ONCE, _PLAIN, most=_MOST_RUNNING)
]
_ROUTER_HELP = (
    "NAME or NAME:PARAMETER=VALUE,...: random, round-robin, least-loaded, two-choices, "
    "cache-aware, cache-aware-0.4.6, linear-score, load-aware, linear-cost, lbgr; repeatable. "
    r"\[default: all]"
)
_Router = Annotated[list[str] | None, option("--router NAME", str, _ROUTER_HELP, _ROUTER)]
_BELIEF = (
    "What the router knows of the caches: sent (all that it sent there), sent:TOKENS (the latest "
    "of that), cache (the truth)."
)
_Belief = Annotated[str, option("--belief WHAT", str, _BELIEF, _ROUTER)]
_AFFINITY = "Also the linear score, with weights of affinity from 0 to 64 (load has 1)."
_Affinity = Annotated[bool, flag("--affinity", _AFFINITY, _ROUTER)]
_RATE = r"Poisson arrivals, requests per second, in the same order. \[default: as they come]"
_Rate = Annotated[Fraction | None, option("--rate --qps R", read.positive_number, _RATE, RUN)]
_SEEDS = "Number of runs of each router, where chance has a part."
_Seeds = Annotated[int, option("--seeds N", read.whole_number, _SEEDS, RUN, most=_MOST_SEEDS)]
_JOBS = r"Number of processes. \[default: all cores]"
_Jobs = Annotated[int | None, option("--jobs N", read.whole_number, _JOBS, RUN, most=_MOST_JOBS)]


def route(
    workers: _Workers,
    memory: GivenMemory,
    source: Source = None,
    generator: Generator = None,
    set_: Set = None,
    order: Order = None,
    format_: Format = None,
    scales: Scales = UNSCALED,
    engine: _Engine = "plain",
    policy: _Policy = None,
    block_size: _Block = None,
    prefill_ms: _Prefill = Fraction(150),
    cached_ms: _Cached = None,
    output_ms: _Output = None,
    at_once: _AtOnce = None,
    router: _Router = None,
    belief: _Belief = "sent",
    affinity: _Affinity = False,
    rate: _Rate = None,
    seeds: _Seeds = 3,
    seed: Annotated[int, seed("the first run", most=_MOST_SEED)] = 0,
    jobs: _Jobs = None,
    out: Annotated[Path | None, out("route.json and figures")] = None,
    html: Html = None,
    json_: Json = False,
) -> None:
    """Which worker gets a request: the one that has its prefix, or the idle one?

    Runs every router on the same requests: latency, hit rate and balance,
    beside what no router can do better. Workers are plain servers, or vLLM's or
    SGLang's scheduler with its own prefix cache.

    [bold]fluidkv route --generator gsp --workers 4 --capacity 200000[/bold]
    [bold]fluidkv route trace.jsonl --workers 8 --capacity 3000000[/bold]
    """
    scales.check(source, rate=rate)
    plain = engine == "plain" or None
    alone = {"--cached-ms": cached_ms, "--output-ms": output_ms, "--at-once": at_once}
    for name, value in alone.items():
        read.only_with(name, value, "--engine plain", plain)
    read.only_with("--block-size", block_size, "--engine vllm or sglang", engine != "plain")
    with read.as_options(_OPTIONS | {"router": "--router"}):
        routers = _routers(router)
        service = _service(engine, prefill_ms, cached_ms, output_ms, at_once, block_size)
        blocks = getattr(service, "block_size", None)
        capacity = int(memory.tokens(blocks, whole=WHOLE))
        fleet = _fleet(workers, capacity, policy, service, _belief(belief))
    prompted = prompted_of(source, generator, set_, order, format_, seed, scales.scaling)
    from fluidkv.answers.route.study import route_study
    from fluidkv.cli.commands.route.text import ASSUMES, say_route
    from fluidkv.routing.affinity import WEIGHTS

    with progress("routing") as line, read.as_options(_OPTIONS):
        answer = route_study(
            prompted,
            fleet,
            routers,
            rate=None if rate is None else float(rate),
            seeds=seeds,
            first_seed=seed,
            affinity=WEIGHTS if affinity else None,
            processes=jobs or cores(),
            on_progress=line.count,
        )

    give(
        answer.to_dict,
        lambda page: say_route(page, answer),
        as_json=json_,
        out=out,
        html=html,
        assumes=ASSUMES,
        name="route.json",
        time="s",
        beside=lambda: _beside(answer),
        notes=memory.notes(blocks),
    )


def _beside(answer: "RouteAnswer") -> "tuple[dict[str, bytes], tuple[Figure, ...]]":
    from fluidkv.answers.figures.route import route_figures

    return {}, route_figures(answer)


def _routers(names: list[str] | None) -> "dict[str, Router] | None":
    from fluidkv.answers.route.rules import router_of

    if not names:
        return None
    found = {}
    for name in names:
        try:
            found[name] = router_of(name)
        except InputError as error:
            if error.argument == "router":
                raise
            given = f"--router {name.partition(':')[0]}:{error.argument}"
            raise InputError(given, error.value, error.allowed) from None
    return found


def _service(
    engine: str,
    prefill: Fraction,
    cached: Fraction | None,
    output: Fraction | None,
    at_once: int | None,
    block_size: int | None,
) -> "Service | Engine":
    from dataclasses import replace

    from fluidkv.routing import Engine, Service

    if engine not in _ENGINES:
        raise InputError("--engine", engine, nearest(engine, _ENGINES))
    missed = float(prefill / 1000)
    if engine == "plain":
        return Service(
            cached=float((cached or 0) / 1000),
            missed=missed,
            output=float((_OUTPUT_MS if output is None else output) / 1000),
            at_once=at_once or 1,
        )
    found = Engine("vllm" if engine == "vllm" else "sglang", block_size)
    return replace(found, clock=replace(found.clock, per_prefill_token=missed / 1000))


def _fleet(
    workers: int, capacity: int, policy: str | None, service: "Service | Engine", belief: "Belief"
) -> "Fleet":
    from fluidkv.prefix.policies import Policy
    from fluidkv.routing import Fleet

    if policy is None:
        return Fleet(workers, capacity, None, service, belief)
    try:
        named = Policy(policy)
    except ValueError:
        known = (each.value for each in Policy if each is not Policy.OPT)
        raise InputError("--policy", policy, nearest(policy, known)) from None
    return Fleet(workers, capacity, named, service, belief)


def _belief(text: str) -> "Belief":
    from fluidkv.routing import Belief

    kind, colon, most = text.partition(":")
    if kind not in ("sent", "cache") or (colon and kind == "cache"):
        raise InputError("--belief", text, "sent, sent:TOKENS or cache")
    if not colon:
        return Belief("cache" if kind == "cache" else "sent")
    return Belief("sent", read.whole_number("--belief", most, most=_MOST_TOKENS), 0.0)
