"""What an engine does when memory runs short: its choices, and the names of the answers.

An `EngineRules` is a value, not a class to derive from. Every engine here runs the same loop
(arrive, evict, admit, execute); what differs between vLLM, SGLang, TensorRT-LLM, Vidur and the
paper's model is which answer they give to each of the questions below. Answers are
numbers to the compiled engine, which is compiled once for all of them.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from itertools import pairwise
from typing import TypeVar

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.runs.checks import above_0, count
from fluidkv.serving.kernel.gates import Gate as Gate
from fluidkv.serving.kernel.grants import Allocation as Allocation
from fluidkv.serving.kernel.ratio import SCALE as RATIO_SCALE
from fluidkv.serving.kernel.ratio import RatioReset as RatioReset
from fluidkv.serving.kernel.requeue import Requeue as Requeue
from fluidkv.serving.kernel.restore import Restore as Restore
from fluidkv.serving.kernel.victims import Victim as Victim
from fluidkv.text import nearest

Rule = TypeVar("Rule", bound=Enum)


def name_of(rule: Enum) -> str:
    """As users write it: "least-computed"."""
    return rule.name.lower().replace("_", "-")


def rule_of(kind: type[Rule], text: str) -> Rule:
    """The rule of a name.

    Raises:
        InputError: an unknown one.
    """
    for rule in kind:
        if name_of(rule) == text:
            return rule
    raise InputError(kind.__name__.lower(), text, nearest(text, map(name_of, kind)))


class Keeps(Enum):
    """What an evicted request keeps. Its blocks are freed in any case."""

    OUTPUTS = "its output tokens; their cache is computed again"
    NOTHING = "nothing: it starts again from its prompt"


class Growth(Enum):
    """When a running request finds no room for its next token."""

    AS_NEEDED = "it needs a block and none is free"
    ONE_FREE = "no block is free, even if it needs none"


class Guard(Enum):
    """When the watermark holds on admission."""

    WHILE_RUNNING = "while something runs"
    ALWAYS = "always"


@dataclass(frozen=True)
class NewTokenRatio(Record):
    """The share of the outputs still possible that is reserved on admission (`Gate.RATIO`).

    Exact: the ratio is an integer over `SCALE`, so that engines agree to the last admission.

    Args:
        start, least: bounds of the ratio, in [0, 1].
        decay_steps: decode iterations without retraction from `start` to `least`.
        clip: tokens; remaining outputs above it count as this many.
        reset: after a retraction.
        ahead: tokens added for each survivor by `RatioReset.ESTIMATE`.
    """

    start: Fraction = Fraction(7, 10)
    least: Fraction = Fraction(98, 1000)
    decay_steps: int = 600
    clip: int = 4096
    reset: RatioReset = RatioReset.START
    ahead: int = 20

    SCALE = RATIO_SCALE

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.start <= 1:
            raise InputError("ratio", f"{self.start} to {self.least}", "0 <= least <= start <= 1")
        most = round((self.start - self.least) * self.SCALE)
        if self.decay_steps < 1 or self.decay_steps > most > 0:  # else a step would be nothing
            raise InputError("decay_steps", self.decay_steps, f"1 to {most}")
        if self.clip < 0:
            raise InputError("clip", self.clip, "at least 0 tokens")

    @property
    def scaled(self) -> tuple[int, int, int]:
        """(start, least, decay a step) as integers over `SCALE`; the decay rounded down."""
        start, least = (round(x * self.SCALE) for x in (self.start, self.least))
        return start, least, (start - least) // self.decay_steps


@dataclass(frozen=True)
class Ranges(Record):
    """What counts as equal under `Victim.LOOSEST_OBJECTIVE` (CacheOPT, section 3.4; its examples).

    Args:
        tbt_slo: where ranges of objectives begin and end, rising, on the run's clock; at most 14
            numbers. What lies below the first or from the last on is a range too. An objective on
            a bound is in the range above.
        tokens: width of the ranges of remaining outputs and of tokens in the cache.

    Raises:
        InputError: bounds that do not rise or are not above 0, or too many; a width below 1.
    """

    tbt_slo: tuple[float, ...] = (0.05, 0.2, 0.5, 2.0)
    tokens: int = 128

    MOST = 14

    def __post_init__(self) -> None:
        bounds = tuple(above_0("tbt_slo", bound) for bound in self.tbt_slo)
        rises = all(low < high for low, high in pairwise(bounds))
        if len(bounds) > self.MOST or not rises:
            allowed = f"at most {self.MOST} rising times above 0"
            raise InputError("tbt_slo", self.tbt_slo, allowed)
        object.__setattr__(self, "tbt_slo", bounds)
        object.__setattr__(self, "tokens", count("tokens", self.tokens))

    def looseness(self, tbt_slo: float) -> int:
        """Which range an objective is in, from 0 for the tightest."""
        return bisect_right(self.tbt_slo, tbt_slo)


@dataclass(frozen=True)
class EngineRules(Record):
    """One engine's answers.

    Args:
        name, version: what it is called, and what it is tied to.
        victim, keeps, requeue, growth, gate, guard: see the enumerations.
        reserved_tokens: slots held beyond the tokens computed: 1 in the paper's model, where a
            request at stage j holds l0 + 1 + j.
        admits_after_eviction: admission goes on in an iteration that evicted; who went since it had
            outgrown what it was given is no matter here, as memory is not short then.
        prefill_alone: an iteration that admits runs the prefills only; admission comes first then,
            and eviction in iterations that admit nobody.
        newcomers_first: admission comes first, and whoever ran before may be evicted for it. The
            gate sees a memory that only this iteration's newcomers hold; they take their tokens of
            the budget first, and are not evicted before the next iteration. No room is made in
            `max_num_seqs`. Such a run need not end, whatever its memory (`may_cycle`).
        ratio: of `Gate.RATIO`; not used by the others.
        ranges: of `Victim.LOOSEST_OBJECTIVE`; not used by the others.
        restore, allocation: see the enumerations.
        in_turn: running requests ask one after the other, in their order, as in vLLM. For one that
            finds no room victims go, itself maybe; then those behind it go on. A victim that was
            served already hands its tokens of the budget to those who ask later. False: what all
            ask for must fit. Both are the same with `Victim.LAST_ADMITTED`; and with rules that do
            not count blocks, where the budget is not short.
        asker_stays: who asks for room, in turn, is a victim only where nobody else runs; of equals
            the one admitted last goes, whatever the rule: what pull request 53723 does now.
        flags: what an operator sets, (limit, flag) pairs; shown by `fluidkv recommend`.

    Examples:
        >>> from dataclasses import replace
        >>> from fluidkv.serving import Victim
        >>> rules = replace(fk.engine("vllm"), name="longest-first", victim=Victim.MOST_BLOCKS)
        >>> rules.label, isinstance(rules, fk.EngineRules)
        ('longest-first 0.33.0', True)
        >>> run = fk.serve(fk.Requests([6, 4], [6, 6]), fk.Server(rules, fk.Limits(16)))
        >>> run.evictions.values.tolist()
        [[1, 0]]
    """

    name: str
    version: str
    victim: Victim
    keeps: Keeps
    requeue: Requeue
    growth: Growth = Growth.AS_NEEDED
    gate: Gate = Gate.FULL_INPUT
    guard: Guard = Guard.WHILE_RUNNING
    reserved_tokens: int = 0
    admits_after_eviction: bool = False
    prefill_alone: bool = False
    newcomers_first: bool = False
    ratio: NewTokenRatio = field(default_factory=NewTokenRatio)
    restore: Restore = Restore.RECOMPUTE
    allocation: Allocation = Allocation.BY_BLOCK
    in_turn: bool = False
    asker_stays: bool = False
    ranges: Ranges = field(default_factory=Ranges)
    flags: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.reserved_tokens < 0:
            raise InputError("reserved_tokens", self.reserved_tokens, "at least 0")
        if self.keeps is Keeps.NOTHING and self.restore is not Restore.RECOMPUTE:
            raise InputError("restore", self.restore.name, "RECOMPUTE where an eviction loses all")
        if self.prefill_alone and self.gate is Gate.FIRST_CHUNK:
            # It takes the blocks of its whole length, which this gate does not look at.
            raise InputError("gate", self.gate.name, "another one where prefills run alone")
        if self.allocation is not Allocation.BY_BLOCK and self.gate is not Gate.FULL_INPUT:
            # The gate asks for all that is given; the others look at less, or reserve it again.
            raise InputError("gate", self.gate.name, "FULL_INPUT where an estimate is given")
        if self.newcomers_first:
            self._check_newcomers_first()
        if self.asker_stays and not self.in_turn:
            raise InputError("asker_stays", True, "False where requests do not ask in turn")

    def _check_newcomers_first(self) -> None:
        if self.gate not in (Gate.FIRST_CHUNK, Gate.FULL_INPUT):
            # They set room aside for those who run, and here these may have to go.
            allowed = "FIRST_CHUNK or FULL_INPUT where newcomers come first"
            raise InputError("gate", self.gate.name, allowed)
        # Another order of the verbs; or one in which nobody may ask, though memory is short.
        for name in ("prefill_alone", "admits_after_eviction", "in_turn"):
            if getattr(self, name):
                raise InputError(name, True, "False where newcomers come first")

    @property
    def may_cycle(self) -> bool:
        """Whether requests may evict each other for ever, in a memory that holds each of them.

        Newcomers that come first do. So may those who are furthest, if they are the first to go,
        or whoever does not ask: where an eviction loses all outputs, two requests take turns at
        starting again; and where victims that were served in their turn are admitted again in the
        same iteration, they take tokens that a prompt then lacks, so that none is ever whole.
        """
        furthest = self.asker_stays or self.victim.may_take_the_furthest
        at_once = self.in_turn and self.admits_after_eviction
        return self.newcomers_first or (furthest and (self.keeps is Keeps.NOTHING or at_once))

    @property
    def label(self) -> str:
        """Name and version, as shown."""
        return f"{self.name} {self.version}".strip()

    def peak_tokens(self, input_length: int, output_length: int) -> int:
        """Most tokens that a request holds: the last token's cache is never stored."""
        return input_length + output_length - 1 + self.reserved_tokens
