"""Who goes first, literally: one key for each rule, and the one with the largest key goes."""

from collections.abc import Iterable

from fluidkv.serving.progress import Request
from fluidkv.serving.rules import EngineRules, Ranges, Victim


def first_to_go(rules: EngineRules, running: list[Request], seed: int, iteration: int) -> Request:
    """The victim among running requests, which stand in order of admission."""
    if rules.victim is Victim.LAST_ADMITTED:
        return running[-1]
    # `max` keeps the first of equals.
    read: Iterable[Request] = running if rules.victim.first_of_equals else reversed(running)
    return max(read, key=lambda request: _key(rules, request, seed, iteration))


def _key(rules: EngineRules, request: Request, seed: int, iteration: int) -> tuple[float, ...]:
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
        case Victim.COST_AWARE:
            return (score(request),)
        case Victim.LOOSEST_OBJECTIVE:
            return looseness(rules.ranges, request)
        case Victim.RANDOM:
            return (-lot(seed, iteration, request.index),)
        case Victim.LAST_ADMITTED:
            raise ValueError("the last of the list has no key of its own")


def urgency(request: Request) -> tuple[int, int]:
    """The lowest is the most urgent. Requests are numbered in order of arrival."""
    return request.priority, request.index


def remaining(request: Request) -> int:
    """Outputs that are predicted to come; none once as many have come."""
    return max(0, request.predicted - request.outputs)


def score(request: Request) -> float:
    """Blocks for a token lost, times the share of the outputs still to come (vLLM, 56897).

    In floats, rounded where vLLM's Python rounds.
    """
    share = 1 - request.outputs / max(1, request.max_output)
    return request.blocks / max(1, request.length) * share


def looseness(ranges: Ranges, request: Request) -> tuple[int, int, int]:
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
