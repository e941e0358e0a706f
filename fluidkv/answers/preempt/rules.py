"""The four values of a preemption policy by name, and which engine has which."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType

from fluidkv.record import Record
from fluidkv.serving.rules import Allocation, EngineRules, Restore, Victim, name_of

PERFECT = "perfect"
"""The forecast that is the truth."""

USE_PREDICTIONS = frozenset({Victim.LONGEST_REMAINING, Victim.LOOSEST_OBJECTIVE})
"""Victim rules that look at what a predictor says."""

SEE_LENGTHS = frozenset({Victim.COST_AWARE})
"""Victim rules that see the true length whatever is predicted: as `max_tokens`."""

RELEASED: Mapping[Enum, str] = MappingProxyType(
    {
        Victim.LAST_ADMITTED: "vLLM, TensorRT-LLM, Vidur",
        Victim.LEAST_URGENT: "vLLM with --scheduling-policy priority",
        Victim.FEWEST_OUTPUTS: "SGLang",
        Restore.RECOMPUTE: "all engines here",
        Restore.SWAP: "vLLM before its version 1 (--swap-space)",
        Allocation.BY_BLOCK: "all engines here",
    }
)
"""Rules that released engines have.

>>> from fluidkv.answers.preempt.rules import RELEASED
>>> from fluidkv.serving import Victim
>>> RELEASED[Victim.FEWEST_OUTPUTS], Victim.RANDOM in RELEASED
('SGLang', False)
"""

PROPOSED: Mapping[Enum, str] = MappingProxyType(
    {
        Victim.LEAST_COMPUTED: "vLLM 53723, 38080",
        Victim.COST_AWARE: "vLLM 56897",
        Victim.LONGEST_REMAINING: "CacheOPT (SRTF); vLLM 36980 among equals",
        Victim.FEWEST_BLOCKS: "CacheOPT (LKVO)",
        Victim.LOOSEST_OBJECTIVE: "CacheOPT",
        Victim.LEAST_PROGRESSED: "Congestion (LPF)",
        Victim.RANDOM: "vLLM 54644, to compare with",
        Victim.MOST_COMPUTED: "vLLM 54644, to compare with",
        Restore.CHEAPER: "CacheOPT",
        Allocation.ESTIMATE_THEN_BLOCKS: "CacheOPT in part",
        Allocation.ESTIMATE_THEN_MORE: "RLP",
        Allocation.ESTIMATE_THEN_DOUBLE: "S3",
    }
)
"""Rules of papers and of proposals that no release has.

>>> from fluidkv.answers.preempt.rules import PROPOSED
>>> from fluidkv.serving import Restore
>>> PROPOSED[Restore.CHEAPER]
'CacheOPT'
"""


@dataclass(frozen=True)
class Combination(Record):
    """Whom to preempt, how it comes back, what memory it is given, and who predicts lengths.

    Examples:
        >>> from fluidkv.answers.preempt.rules import Combination
        >>> from fluidkv.serving import Allocation, Restore, Victim
        >>> combination = Combination(Victim.MOST_BLOCKS, Restore.SWAP, Allocation.BY_BLOCK)
        >>> combination.names["victim"], combination.names["restore"], combination.predicts
        ('most-blocks', 'swap', False)
        >>> combination.released, combination.of(fk.engine("vllm")).victim.name
        (False, 'MOST_BLOCKS')
    """

    victim: Victim
    restore: Restore
    allocation: Allocation
    predictor: str = PERFECT

    def of(self, engine: EngineRules) -> EngineRules:
        """The rules of an engine with these three."""
        chosen = {"victim": self.victim, "restore": self.restore, "allocation": self.allocation}
        return replace(engine, **chosen)

    @property
    def rules(self) -> tuple[Victim, Restore, Allocation]:
        """The three that are rules of an engine."""
        return self.victim, self.restore, self.allocation

    @property
    def names(self) -> dict[str, str]:
        """Of each value, by what it is."""
        return {
            "victim": name_of(self.victim),
            "restore": name_of(self.restore),
            "allocation": name_of(self.allocation),
            "predictor": self.predictor,
        }

    @property
    def predicts(self) -> bool:
        """Whether another predictor may be another run."""
        return self.victim in USE_PREDICTIONS or self.allocation is not Allocation.BY_BLOCK

    @property
    def released(self) -> bool:
        """Whether released engines have each of its rules, though maybe no engine all three."""
        return set(self.rules) <= set(RELEASED)


FACTORS = ("victim", "restore", "allocation", "predictor")
