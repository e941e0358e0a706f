"""A prefix cache at many points: hit rate by size and policy, on generated prompts."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from fluidkv.errors import InputError
from fluidkv.sweeps.analysis import SEED, Analysis, Row, Setting, Variable, one_by_one
from fluidkv.sweeps.kinds import Number, Whole, Word

if TYPE_CHECKING:
    from fluidkv.prefix.on_trie.trie import Trie
    from fluidkv.prefix.policies import Policy

_GENERATORS = ("gsp", "chats", "documents", "zipf", "loop")
_POLICIES = ("lru", "rlt", "lfu", "fifo", "slru", "mru", "filo", "random", "released", "opt")
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
VARIABLES = (
    Variable("hit_rate", "share of prompt tokens found in the cache"),
    Variable("ceiling", "the same without evictions"),
    Variable("evicted", "tokens that went", "token", "int"),
    Variable("asked", "tokens of all prompts", "token", "int"),
)


class _Asked(NamedTuple):
    trie: "Trie"
    capacity: int
    policy: "Policy"
    seed: int


def prompted_of(row: Row) -> Any:
    """Requests and prompts of a point's generator, drawn from its seed."""
    given = tuple((name, row[name]) for name in _OF_GENERATORS if row.get(name) is not None)
    return _prompted(row["generator"], row["seed"], given)


@lru_cache(maxsize=8)
def _prompted(name: str, seed: int, given: tuple[tuple[str, Any], ...]) -> Any:
    from fluidkv.answers.prompted import prompted_generator

    return prompted_generator(name, seed=seed, parameters=dict(given))


@lru_cache(maxsize=8)
def _trie(prompted: Any) -> "Trie":
    from fluidkv.prefix.on_trie.trie import trie_of
    from fluidkv.prefix.policies import Granularity

    return trie_of(prompted.prompts, Granularity(), answers=True)


def _asked(row: Row) -> _Asked:
    from fluidkv.prefix.policies import Policy

    trie = _trie(prompted_of(row))
    if row["capacity"] < trie.longest:
        allowed = f"at least {trie.longest} tokens: the longest request"
        raise InputError("capacity", row["capacity"], allowed)
    return _Asked(trie, row["capacity"], Policy(row["policy"]), row["seed"])


def _find(asked: _Asked) -> dict[str, Any]:
    from fluidkv.prefix.on_trie.run import run_cache
    from fluidkv.prefix.policies import Policy

    run = run_cache(asked.trie, asked.capacity, asked.policy, seed=asked.seed)
    whole = run_cache(asked.trie, asked.trie.total, Policy.LRU)
    return {
        "hit_rate": run.hit_rate(),
        "ceiling": whole.hit_rate(),
        "evicted": int(run.evicted.sum()),
        "asked": int(run.tokens.sum()),
    }


CACHE = Analysis(
    name="cache",
    title="What does a prefix cache find?",
    call="fluidkv.prefix.run_cache",
    settings=(
        GENERATOR,
        Setting("capacity", Whole(), "KV tokens of the cache", "token"),
        Setting("policy", Word(_POLICIES), "what goes when it is full", default="lru"),
        *PARAMETERS,
        SEED,
    ),
    variables=VARIABLES,
    admit=_asked,
    compute=one_by_one(VARIABLES, _asked, _find),
    chunk=32,
)
