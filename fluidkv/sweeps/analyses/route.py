"""A router in front of workers with prefix caches, at many points, on generated prompts."""

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from fluidkv.errors import InputError
from fluidkv.questions.kinds import Number, Whole, Word
from fluidkv.sweeps.analysis import SEED, Analysis, Row, Setting, Variable, one_by_one

if TYPE_CHECKING:
    from fluidkv.answers.prompted import Prompted
    from fluidkv.routing import Fleet, Router

_GENERATORS = ("gsp", "chats", "documents", "zipf", "loop")
_OF_GENERATORS = {
    "groups": ("shared prefixes (gsp)", Whole()),
    "queries": ("requests of a prefix (gsp)", Whole()),
    "clients": ("who talk (chats)", Whole()),
    "rounds": ("of a chat (chats)", Whole()),
    "user_length": ("tokens of a user (chats, zipf)", Whole()),
    "documents": ("long ones (documents)", Whole()),
    "questions": ("about a document (documents)", Whole()),
    "question_length": ("tokens of a question (documents)", Whole()),
    "requests": ("in all (zipf)", Whole()),
    "prompts": ("that begin alike (zipf)", Whole()),
    "exponent": ("of Zipf's law (zipf)", Number(least=0)),
    "lengths": ("tokens of a shared part (gsp, documents, zipf)", Whole()),
    "output_length": ("tokens of an answer", Whole()),
    "turns": ("of the loop (loop)", Whole()),
}
PARAMETERS = tuple(
    Setting(name, kind, f"{title}; none: as the generator has it", default=None, optional=True)
    for name, (title, kind) in _OF_GENERATORS.items()
)
GENERATOR = Setting("generator", Word(_GENERATORS), "generator of prompts that begin alike")


def prompted_of(row: Row) -> Any:
    """Requests and prompts of a point's generator, drawn from its seed."""
    given = tuple((name, row[name]) for name in _OF_GENERATORS if row.get(name) is not None)
    return _prompted(row["generator"], row["seed"], given)


@lru_cache(maxsize=8)
def _prompted(name: str, seed: int, given: tuple[tuple[str, Any], ...]) -> Any:
    from fluidkv.answers.prompted import prompted_generator

    return prompted_generator(name, seed=seed, parameters=dict(given))


VARIABLES = (
    Variable("hit_rate", "share of prompt tokens found in the cache of the worker"),
    Variable("throughput", "requests served", "request / s"),
    Variable("latency_mean", "from arrival to last token, mean", "s"),
    Variable("latency_p99", "from arrival to last token, p99", "s"),
    Variable("ttft_mean", "from arrival to first token, mean", "s"),
    Variable("ttft_p99", "from arrival to first token, p99", "s"),
    Variable("makespan", "seconds of service on the worker with the most", "s"),
    Variable("most_to_mean", "service on the worker with the most, over the mean"),
)


def _router(text: str) -> "Router":
    from fluidkv.answers.route.rules import router_of

    return router_of(text)


class _Asked(NamedTuple):
    prompted: "Prompted"
    fleet: "Fleet"
    router: str
    rate: float | None
    seed: int


def _asked(row: Row) -> _Asked:
    from fluidkv.routing.fleet import Fleet
    from fluidkv.routing.plain import Service

    prompted = prompted_of(row)
    longest = int((prompted.requests.input_length + prompted.requests.output_length).max())
    if row["capacity"] < longest:
        raise InputError("capacity", row["capacity"], f"at least {longest}: the longest request")
    service = Service(row["cached_ms"] / 1000, row["missed_ms"] / 1000)
    fleet = Fleet(row["workers"], row["capacity"], service=service)
    return _Asked(prompted, fleet, row["router"], row["rate"], row["seed"])


def _find(asked: _Asked) -> dict[str, Any]:
    from fluidkv.answers.route.study import route_study

    found = route_study(
        asked.prompted,
        asked.fleet,
        {asked.router: _router(asked.router)},
        rate=asked.rate,
        seeds=1,
        first_seed=asked.seed,
    ).routers[0]
    return {each.name: found.mean(each.name) for each in VARIABLES}


ROUTE = Analysis(
    name="route",
    title="What does a router make of workers with caches?",
    call="fluidkv.route_study",
    settings=(
        GENERATOR,
        Setting(
            "router", Word(check=cache(_router), what="a router"), "which worker gets a request"
        ),
        Setting("workers", Whole(1, 10**5), "how many", default=4),
        Setting("capacity", Whole(), "KV tokens of each worker's prefix cache", "token"),
        Setting(
            "rate",
            Number(above=0),
            "Poisson arrivals; none: as the generator has them",
            "request / s",
            default=None,
            optional=True,
        ),
        Setting("cached_ms", Number(least=0), "for 1,000 cached tokens", "ms", default=0.0),
        Setting("missed_ms", Number(least=0), "for 1,000 other tokens", "ms", default=150.0),
        *PARAMETERS,
        SEED,
    ),
    variables=VARIABLES,
    admit=_asked,
    compute=one_by_one(VARIABLES, _asked, _find),
    answer=lambda row: _find(_asked(row)),
    chunk=32,
)
