"""`fluidkv route` as it is asked: its options, and what they make."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from fluidkv.answers.memory import CAPACITY, KV_BYTES, MODEL, Amount, converted_rows, token_count
from fluidkv.answers.prompt_options import EVICTION, PROMPTED
from fluidkv.answers.route.result import RouteAnswer
from fluidkv.errors import InputError
from fluidkv.processes import cores
from fluidkv.questions.kinds import Exact, Number, Whole, Word, Written
from fluidkv.questions.options import SERVER, Made, Option, checked, only_with, seed_of
from fluidkv.report.page import Row

if TYPE_CHECKING:
    from fluidkv.answers.prompted import Prompted
    from fluidkv.prefix.policies import Policy
    from fluidkv.routing import Fleet, Router
    from fluidkv.routing.engines import Engine
    from fluidkv.routing.estimate import Belief

_server_option = partial(Option, panel=SERVER)
_plain_option = partial(Option, panel="Plain service")
_router_option = partial(Option, panel="The router")
_MS = Exact(0, math.inf, example="150 or 0.5", included=True, what="milliseconds")
_OUTPUT_MS = Fraction(1)  # about a decode of 20 ms that 20 requests share


def _belief(argument: str, text: str) -> "Belief":
    """sent, sent:TOKENS or cache."""
    from fluidkv.routing.estimate import Belief

    kind, colon, most = text.partition(":")
    if kind not in ("sent", "cache") or (colon and kind == "cache"):
        raise InputError(argument, text, "sent, sent:TOKENS or cache")
    if not colon:
        return Belief("cache" if kind == "cache" else "sent")
    return Belief("sent", Whole(1, 10**12).read(argument, most), 0.0)


def _router(argument: str, text: str) -> "tuple[str, Router]":
    """As it is written, and what it is."""
    from fluidkv.answers.route.study import router_of

    name = text.partition(":")[0]
    try:
        return text, router_of(text)
    except InputError as error:
        given = argument if error.argument == "router" else f"{argument} {name}:{error.argument}"
        raise InputError(given, error.value, error.allowed) from None


_WORKERS = _server_option(
    "--workers M",
    Whole(1, 1000),
    "Number of servers behind the router, all alike.",
    title="how many",
    in_sweep=Whole(1, 10**5),
)
_ENGINE = _server_option(
    "--engine NAME",
    Word(("plain", "vllm", "sglang")),
    "What a worker is: plain (one request after the other), vllm or sglang.",
)
_POLICY = _server_option(
    "--policy NAME",
    EVICTION,
    "What a full cache evicts: lru, rlt, lfu, fifo, slru, mru, filo, random, released. "
    r"\[default: the engine's own, lru of plain]",
)
_BLOCK = _server_option(
    "--block-size N",
    Whole(1, 10**6),
    r"Tokens of a block, of an engine. \[default: 16 of vllm, 1 of sglang]",
)
_PREFILL = _server_option(
    "--prefill-ms MS",
    Exact(0, math.inf, example="150 or 0.5", what="milliseconds"),
    "Milliseconds for 1,000 prompt tokens that are not in the cache.",
    title="for 1,000 other tokens",
    unit="ms",
    means=("missed",),
    in_sweep=Number(least=0),
)
_CACHED = _plain_option(
    "--cached-ms MS",
    _MS,
    "Milliseconds for 1,000 prompt tokens that are in the cache.",
    title="for 1,000 cached tokens",
    unit="ms",
    means=("cached",),
    in_sweep=Number(least=0),
)
_OUTPUT = _plain_option(
    "--output-ms MS", _MS, r"Milliseconds for an output token. \[default: 1]", means=("output",)
)
_AT_ONCE = _plain_option(
    "--at-once N",
    Whole(1, 10**6),
    r"Requests that a worker serves at once, each as fast as alone. \[default: 1]",
)
_BELIEF = _router_option(
    "--belief WHAT",
    Written(_belief),
    "What the router knows of the caches: sent (all that it sent there), sent:TOKENS (the latest "
    "of that), cache (the truth).",
    means=("most",),
)
_ROUTERS = _router_option(
    "--router NAME",
    Written(_router),
    "NAME or NAME:PARAMETER=VALUE,...: random, round-robin, least-loaded, two-choices, "
    "cache-aware, cache-aware-0.4.6, linear-score, load-aware, linear-cost, lbgr; repeatable. "
    r"\[default: all]",
    many=True,
    title="which worker gets a request",
    in_sweep=Word(check=lambda text: _router("router", text), what="a router"),
)
_AFFINITY = _router_option(
    "--affinity", None, "Also the linear score, with weights of affinity from 0 to 64 (load has 1)."
)
_RATE = Option(
    "--rate --qps R",
    Exact(0, math.inf, example="0.01 or 1/100"),
    r"Poisson arrivals, requests per second, in the same order. \[default: as they come]",
    title="Poisson arrivals; none: as the generator has them",
    unit="request / s",
    in_sweep=Number(above=0),
)
_SEEDS = Option(
    "--seeds N", Whole(1, 1000), "Number of runs of each router, where chance has a part."
)
_JOBS = Option(
    "--jobs N", Whole(1, 1024), r"Number of processes. \[default: all cores]", means=("processes",)
)


def fleet_of(
    workers: Annotated[int, _WORKERS],
    capacity: Annotated[Amount | int, CAPACITY],
    kv_bytes: Annotated[int | None, KV_BYTES] = None,
    model: Annotated[str | None, MODEL] = None,
    engine: Annotated[str, _ENGINE] = "plain",
    policy: Annotated["Policy | None", _POLICY] = None,
    block_size: Annotated[int | None, _BLOCK] = None,
    prefill_ms: Annotated[Fraction, _PREFILL] = Fraction(150),
    cached_ms: Annotated[Fraction | None, _CACHED] = None,
    output_ms: Annotated[Fraction | None, _OUTPUT] = None,
    at_once: Annotated[int | None, _AT_ONCE] = None,
    belief: Annotated["Belief | str", _BELIEF] = "sent",
) -> "Fleet":
    """Who serves.

    Raises:
        InputError: options of plain workers for an engine, and the other way round; what a fleet
            refuses.
    """
    from fluidkv.routing import Fleet, Service
    from fluidkv.routing.estimate import Belief

    plain = engine == "plain" or None
    alone = {"--cached-ms": cached_ms, "--output-ms": output_ms, "--at-once": at_once}
    for name, value in alone.items():
        only_with(name, value, "--engine plain", plain)
    only_with("--block-size", block_size, "--engine vllm or sglang", engine != "plain")
    missed = float(prefill_ms / 1000)
    if engine == "plain":
        output = _OUTPUT_MS if output_ms is None else output_ms
        cached = float((cached_ms or 0) / 1000)
        service = Service(cached, missed, float(output / 1000), at_once or 1)
    else:
        served = _engine(engine, block_size)
        service = replace(served, clock=replace(served.clock, per_prefill_token=missed / 1000))
    blocks = getattr(service, "block_size", None)
    tokens = token_count(capacity, kv_bytes, model, blocks)
    known = belief if isinstance(belief, Belief) else _belief("--belief", belief)
    return Fleet(workers, tokens, policy, service, known)


def _engine(name: str, block_size: int | None) -> "Engine":
    from fluidkv.routing.engines import Engine

    return Engine("vllm" if name == "vllm" else "sglang", block_size)


def _by_name(
    router: Annotated["Sequence[tuple[str, Router] | str] | None", _ROUTERS] = None,
) -> "dict[str, Router] | None":
    if router is None:
        return None
    return dict(_router("router", each) if isinstance(each, str) else each for each in router)


def _weights(affinity: Annotated[bool, _AFFINITY] = False) -> Sequence[float] | None:
    from fluidkv.routing.affinity import WEIGHTS

    return WEIGHTS if affinity else None


def _processes(jobs: Annotated[int | None, _JOBS] = None) -> int:
    return jobs or cores()


def check(given: Mapping[str, Any]) -> None:
    """Refuse two options that say when requests come.

    Args:
        given: key -> value of every option.
    """
    if given["scale_rate"] != 1 and given["rate"] is not None:
        allowed = "no --rate beside it, which says when requests come"
        raise InputError("--scale-rate", str(given["scale_rate"]), allowed)


def notes(given: Mapping[str, Any]) -> list[Row]:
    """How the memory of a worker was read; arguments as of `check`."""
    engine, block_size = given["engine"], given["block_size"]
    blocks = None if engine == "plain" else _engine(engine, block_size).block_size
    return converted_rows(given, blocks)


@checked
def route_study(
    prompted: Annotated["Prompted", PROMPTED],
    fleet: Annotated["Fleet", Made(fleet_of)],
    routers: Annotated["Mapping[str, Router] | None", Made(_by_name)] = None,
    *,
    rate: Annotated[Fraction | float | None, _RATE] = None,
    seeds: Annotated[int, _SEEDS] = 3,
    first_seed: Annotated[int, seed_of("the first run")] = 0,
    affinity: Annotated[Sequence[float] | None, Made(_weights)] = None,
    processes: Annotated[int, Made(_processes)] = 1,
    on_progress: Callable[[int, int, str], None] | None = None,
) -> RouteAnswer:
    """Which worker gets a request: the one that has its prefix, or the idle one?

    Runs every router on the same requests: latency, hit rate and balance,
    beside what no router can do better. Workers are plain servers, or vLLM's or
    SGLang's scheduler with its own prefix cache.

    Args:
        prompted: requests that say what their prompts share. Of a generator, each seed draws others
            like them.
        fleet: who serves them; plain workers cache in the units in which prompts are known.
        routers: by the names under which they are reported; None: all of `ROUTERS` as they are.
        affinity: weights of the linear score to be tried, too; None: none.
        processes: that share the runs.
        on_progress: told how many runs are done, of how many, and that they are runs.

    Raises:
        InputError: a request that does not fit, a rate not above 0, fewer than 1 seed, no router,
            values of other types.

    Examples:
        >>> from fluidkv.answers.route.study import ROUTERS
        >>> parameters = {"groups": 4, "queries": 4, "lengths": (40, 80)}
        >>> small = fk.prompted_generator("gsp", parameters=parameters)
        >>> two = {name: ROUTERS[name] for name in ("round-robin", "cache-aware")}
        >>> answer = fk.route_study(small, fk.Fleet(2, 400), two, seeds=1)
        >>> {each.name: round(each.mean("hit_rate"), 2) for each in answer.routers}
        {'round-robin': 0.25, 'cache-aware': 0.38, 'offline': 0.38}
    """
    from fluidkv.answers.route.study import routings

    return routings(
        prompted,
        fleet,
        routers,
        rate=None if rate is None else float(rate),
        numbers=range(first_seed, first_seed + seeds),
        affinity=affinity,
        processes=processes,
        on_progress=on_progress,
    )
