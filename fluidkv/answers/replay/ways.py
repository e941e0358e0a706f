"""The ways to serve the requests of a log: as its server was set, and otherwise, for comparison."""

from typing import Any

import xarray as xr

from fluidkv.answers.replay.source import Source
from fluidkv.errors import InputError
from fluidkv.logs.settings import LoggedSettings
from fluidkv.runs.dataset import RunStatus
from fluidkv.serving.caching.run import serve_sglang
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.engine_text import CACHE, ServedEngine
from fluidkv.serving.engines import VLLM, VLLM_0_11, served_engine
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.serving.sglang_settings import SglangSettings
from fluidkv.serving.versions import in_logged_version, reserves_in_full


def engine_of_server(server: LoggedSettings, product: str = "vllm") -> ServedEngine:
    """The rules of a logged server's version, with its cache.

    Where its settings say another gate than its version has, they stand above it.

    Args:
        product: that was logged, vllm or sglang.
    """
    engine = served_engine(in_logged_version(product, product, server.version))
    if product == "sglang":  # its own scheduler; `settings_of` says whether there is a tree
        return served_engine(engine.name + CACHE)
    gates = {True: VLLM, False: VLLM_0_11, None: engine.rules}
    rules = gates[server.reserves_full_input]
    name = engine.name if rules is engine.rules else rules.name
    return served_engine(name + CACHE * (server.prefix_caching is not False))


def asked_engine(
    engine: str | EngineRules | None, server: LoggedSettings, product: str
) -> ServedEngine:
    """The engine that is asked for: without a version in that of the log; None: the log's own."""
    if engine is None:
        return engine_of_server(server, product)
    if not isinstance(engine, str):
        return served_engine(engine)
    text = in_logged_version(engine, product, server.version)
    asked = served_engine(text)
    matters = not asked.finds_prefixes or reserves_in_full(asked.version)
    if not (server.ignore_eos and asked.own_scheduler and matters) or "ignore_eos" in text:
        return asked
    return served_engine(f"{text}{',' if ':' in text else ':'}ignore_eos=true")


def ways_of(
    engine: str | EngineRules | None, server: LoggedSettings, product: str = "vllm"
) -> tuple[ServedEngine, ...]:
    """As the server was set; without a cache; by the other version of vLLM.

    Args:
        engine: that is asked for; None: as the server was set.
        product: the engine of the log.
    """
    asked = asked_engine(engine, server, product)
    rules, caching = asked.rules, engine_of_server(server, product).caching
    of_vllm = rules in (VLLM, VLLM_0_11)
    caching = asked.caching or (caching and of_vllm)
    ways = (ServedEngine(rules),)
    if caching:
        settings = asked.settings
        if asked.own_scheduler and asked.version:  # and not as the log's version has it
            settings = (("in_full", reserves_in_full(asked.version)), *settings)
        ways = (ServedEngine(rules, caching=True, settings=settings), *ways)
    if not of_vllm:
        return ways
    return (*ways, ServedEngine(VLLM_0_11 if rules is VLLM else VLLM, caching))


def own_settings(
    engine: ServedEngine, server: LoggedSettings, limits: Limits
) -> SglangSettings | None:
    """What SGLang's own scheduler is set to; None where that is not what serves.

    Settings of the engine stand above the log's.
    """
    if not engine.own_scheduler:
        return None
    return settings_of(server, limits, **dict[str, Any](engine.settings))


def settings_of(server: LoggedSettings, limits: Limits, **others: Any) -> SglangSettings:
    """The options of a logged SGLang server; others by name stand above what the log says.

    What neither says is as SGLang has it.
    """
    logged = {
        "conservativeness": server.conservativeness,
        "clip": server.clip_max_new_tokens,
        "radix": server.prefix_caching,
        "ignore_eos": server.ignore_eos,
    }
    known: dict[str, Any] = {name: value for name, value in logged.items() if value is not None}
    known["in_full"] = reserves_in_full(server.version)
    return SglangSettings.of(limits, **known | others)


def served(
    source: Source, engine: ServedEngine, limits: Limits, clock: IterationClock
) -> xr.Dataset:
    """The run; refused where it gets stuck, since requests without an end have no times."""
    requests, prompts = source.requests, source.prompts if engine.caching else None
    options = own_settings(engine, source.settings, limits)
    if options is not None:
        run = serve_sglang(requests, options, clock, prompts)
    else:
        run = serve(requests, Server(engine, limits, clock=clock, prompts=prompts))
    if run.status.item() != RunStatus.DONE.name:
        done = f"{int(run.served.item())} of {len(requests)} requests"
        said = f"memory in which {run.attrs['engine']} serves all: it gets stuck after {done}"
        raise InputError("capacity", limits.capacity, said)
    return run
