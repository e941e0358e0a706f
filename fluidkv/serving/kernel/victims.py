"""Which request is evicted first: a name, a sentence of help, a function of a request's numbers.

The function gives a key of two numbers, the second of which decides between equals of the first;
whoever has the largest key goes. A new rule is a member of `Victim` and the function of its name.
"""

from typing import NamedTuple

from fluidkv.runs.inlined import inlined, numbered
from fluidkv.serving.kernel.lots import lot
from fluidkv.serving.kernel.open_rules import OpenRule


class Candidate(NamedTuple):
    """What a rule may look at of a running request, as it is before the iteration."""

    index: int  # place in order of arrival  # pyright: ignore[reportIncompatibleMethodOverride]
    input: int  # tokens of its prompt
    max_output: int
    predicted: int  # outputs that a predictor says
    outputs: int  # tokens emitted and kept
    computed: int  # tokens in the cache
    blocks: int  # held
    own_blocks: int  # of these, held by nobody else
    rank: int  # by priority, then arrival: 0 is the most urgent
    looseness: int  # of its TBT objective: the range in which it is, 0 for the tightest
    range_tokens: int  # width of ranges of tokens
    evictions: int
    seed: int
    iteration: int


class Victim(OpenRule):
    """Who is evicted first; of equals the one admitted last, but see `first_of_equals`.

    Tokens computed are those in the cache before the iteration, as vLLM counts them while it
    schedules. Outputs predicted that have come already leave 0, not fewer. `RANDOM` draws a lot for
    each request anew in each iteration, and the lowest goes: whoever goes next is then anyone of
    those who are left.

    A function that is added is of a `fluidkv.serving.kernel.victims.Candidate`, and gives one
    number; the request with the largest goes.

    Sources: vLLM's pull requests 53723 (`LEAST_COMPUTED`) and 56897 (`COST_AWARE`), its priority
    scheduling (`LEAST_URGENT`); CacheOPT, sections 2.4 (SRTF, LKVO) and 3.4 (`LOOSEST_OBJECTIVE`).

    Examples:
        >>> from dataclasses import replace
        >>> from fluidkv.serving import Victim
        >>> for victim in (Victim.LAST_ADMITTED, Victim.MOST_BLOCKS):
        ...     rules = replace(fk.engine("vllm"), victim=victim)
        ...     run = fk.serve(fk.Requests([6, 4], [6, 6]), fk.Server(rules, fk.Limits(16)))
        ...     print(run.evictions.values.tolist())
        ...
        [[0, 1]]
        [[1, 0]]
    """

    LAST_ADMITTED = "the last of the running list"
    FEWEST_OUTPUTS = "fewest outputs; of these the longest prompt"
    LEAST_PROGRESSED = "fewest outputs (LPF)"
    MOST_OUTPUTS = "most outputs"
    MOST_BLOCKS = "most blocks held"
    LEAST_COMPUTED = "fewest tokens computed"
    MOST_COMPUTED = "most tokens computed"
    LONGEST_REMAINING = "most outputs still predicted (SRTF)"
    FEWEST_BLOCKS = "fewest blocks held (LKVO)"
    LEAST_URGENT = "highest priority number; of these the latest to come"
    COST_AWARE = "most blocks for a token lost, times the share of outputs still to come"
    LOOSEST_OBJECTIVE = "TBT objective, then remaining outputs, then least memory, in ranges"
    RANDOM = "anyone, drawn anew each time"

    @property
    def first_of_equals(self) -> bool:
        """Whether a tie goes to the one admitted first: what `min` and `max` of a list find."""
        return self in (Victim.LEAST_COMPUTED, Victim.MOST_COMPUTED, Victim.COST_AWARE)

    @property
    def may_take_the_furthest(self) -> bool:
        """Whether whoever is nearest to its end may go first, so that a run need not end."""
        furthest = (Victim.MOST_OUTPUTS, Victim.MOST_BLOCKS, Victim.MOST_COMPUTED)
        return self in (*furthest, Victim.COST_AWARE) or self.own is not None

    def key(self, request: Candidate) -> "Key":
        """The candidate with the largest goes."""
        if self.own is not None:
            return float(self.own(request)), 0
        return key_of(self.number, request)


Key = tuple[float, int]


@inlined
def last_admitted(request: Candidate) -> Key:
    """All are equal."""
    return 0, 0


@inlined
def fewest_outputs(request: Candidate) -> Key:
    return -request.outputs, request.input


@inlined
def least_progressed(request: Candidate) -> Key:
    return -request.outputs, 0


@inlined
def most_outputs(request: Candidate) -> Key:
    return request.outputs, 0


@inlined
def most_blocks(request: Candidate) -> Key:
    return request.blocks, 0


@inlined
def least_computed(request: Candidate) -> Key:
    return -request.computed, 0


@inlined
def most_computed(request: Candidate) -> Key:
    return request.computed, 0


@inlined
def longest_remaining(request: Candidate) -> Key:
    return 0, max(0, request.predicted - request.outputs)


@inlined
def fewest_blocks(request: Candidate) -> Key:
    return -request.blocks, 0


@inlined
def least_urgent(request: Candidate) -> Key:
    return 0, request.rank


@inlined
def cost_aware(request: Candidate) -> Key:
    """In floats, rounded where vLLM's Python rounds (56897)."""
    share = 1 - request.outputs / max(1, request.max_output)
    return request.own_blocks / max(1, request.input + request.outputs) * share, 0


@inlined
def loosest_objective(request: Candidate) -> Key:
    """CacheOPT's order: loosest objective, then most remaining, then least in the cache.

    What is in the cache is below 2^30 (`UNLIMITED`), and lengths below 2^29 in 64 bits.
    """
    left = max(0, request.predicted - request.outputs) // request.range_tokens
    return request.looseness, (left << 30) - request.computed // request.range_tokens


@inlined
def random(request: Candidate) -> Key:
    return 0, -int(lot(request.seed, request.iteration, request.index))


key_of = numbered([victim.function for victim in Victim])
"""The key of a candidate under the rule of a number."""
