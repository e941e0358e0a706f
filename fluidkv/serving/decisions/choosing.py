"""Who goes first, literally: one key for each rule, and the one with the largest key goes."""

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Protocol, TypeVar

from fluidkv.serving.rules import EngineRules, Ranges, Victim


class Candidate(Protocol):
    """What the rules look at of a running request, as `serving.progress.Request`."""

    @property
    def index(self) -> int: ...
    @property
    def input_length(self) -> int: ...
    @property
    def max_output(self) -> int: ...
    @property
    def priority(self) -> int: ...
    @property
    def predicted(self) -> int: ...
    @property
    def tbt_slo(self) -> float: ...
    @property
    def outputs(self) -> int: ...
    @property
    def computed(self) -> int: ...
    @property
    def length(self) -> int: ...
    @property
    def blocks(self) -> int: ...


_Candidate = TypeVar("_Candidate", bound=Candidate)
_all_blocks: Callable[[Candidate], int] = attrgetter("blocks")


def first_to_go(
    rules: EngineRules,
    running: Sequence[_Candidate],
    seed: int,
    iteration: int,
    *,
    asker: _Candidate | None = None,
    own_blocks: Callable[[_Candidate], int] = _all_blocks,
) -> _Candidate:
    """The victim among running requests, which stand in order of admission.

    Args:
        asker: who asks for room in its turn; None: all ask at once.
        own_blocks: how many blocks of a request nobody else holds, where requests share some.
    """
    if rules.asker_stays:
        running = [request for request in running if request is not asker] or running
    if rules.victim is Victim.LAST_ADMITTED:
        return running[-1]
    # `max` keeps the first of equals.
    as_listed = rules.victim.first_of_equals and not rules.asker_stays
    read: Iterable[_Candidate] = running if as_listed else reversed(running)
    if rules.victim is Victim.COST_AWARE:
        return max(read, key=lambda request: score(request, own_blocks(request)))
    return max(read, key=lambda request: _key(rules, request, seed, iteration))


def _key(rules: EngineRules, request: Candidate, seed: int, iteration: int) -> tuple[float, ...]:
    """The largest goes."""
    match rules.victim:
        case Victim.FEWEST_OUTPUTS:
            return -request.outputs, request.input_length
        case Victim.LEAST_PROGRESSED:
            return (-request.outputs,)
        case Victim.MOST_OUTPUTS:
            return (request.outputs,)
        case Victim.MOST_BLOCKS:
            return (request.blocks,)
        case Victim.FEWEST_BLOCKS:
            return (-request.blocks,)
        case Victim.LEAST_COMPUTED:
            return (-request.computed,)
        case Victim.MOST_COMPUTED:
            return (request.computed,)
        case Victim.LONGEST_REMAINING:
            return (remaining(request),)
        case Victim.LEAST_URGENT:
            return urgency(request)
        case Victim.LOOSEST_OBJECTIVE:
            return looseness(rules.ranges, request)
        case Victim.RANDOM:
            return (-lot(seed, iteration, request.index),)
        case Victim.COST_AWARE | Victim.LAST_ADMITTED:
            raise ValueError(f"{rules.victim.name} has no key of this request alone")


def urgency(request: Candidate) -> tuple[int, int]:
    """The lowest is the most urgent. Requests are numbered in order of arrival."""
    return request.priority, request.index


def remaining(request: Candidate) -> int:
    """Outputs that are predicted to come; none once as many have come."""
    return max(0, request.predicted - request.outputs)


def score(request: Candidate, own_blocks: int) -> float:
    """Blocks for a token lost, times the share of the outputs still to come (vLLM, 56897).

    In floats, rounded where vLLM's Python rounds.

    Args:
        own_blocks: that come free when it goes: it holds them alone.
    """
    share = 1 - request.outputs / max(1, request.max_output)
    return own_blocks / max(1, request.length) * share


def looseness(ranges: Ranges, request: Candidate) -> tuple[int, int, int]:
    """CacheOPT's order: loosest objective, then most remaining, then least in the cache."""
    return (
        ranges.looseness(request.tbt_slo),
        remaining(request) // ranges.tokens,
        -(request.computed // ranges.tokens),
    )


_WORD = 2**64


def lot(seed: int, iteration: int, index: int) -> int:
    """A number below 2^61 that looks random: three rounds of the SplitMix64 generator's mixing.

    Source: Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014.
    """
    return _mixed(_mixed(_mixed(seed) ^ iteration) ^ index) >> 3


def _mixed(number: int) -> int:
    number = (number + 0x9E3779B97F4A7C15) % _WORD
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9 % _WORD
    number = (number ^ (number >> 27)) * 0x94D049BB133111EB % _WORD
    return number ^ (number >> 31)
