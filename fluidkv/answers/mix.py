"""Request classes apart, mixed, or in the best partition: side by side for one set of nodes."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fluidkv.exact.routing.mixing import Routing, segregated
from fluidkv.exact.routing.partition import BestPartition, best_partition
from fluidkv.plain import with_exact
from fluidkv.record import Record
from fluidkv.workload import Workload


@dataclass(frozen=True)
class MixAnswer(Record):
    """What `fluidkv mix` reports.

    Fields:
        found: mixed, and the best of the partitions.
        apart: neighbouring classes together; None where there are fewer classes than nodes.
        max_imbalance: the fullest node over the mean load, above which partitions were left out.

    Examples:
        >>> from fluidkv.answers import mix_answer
        >>> chats = fk.Workload.from_lengths([(1, 2), (1, 2), (1, 3), (1, 5)])
        >>> answer = mix_answer(chats, nodes=2)
        >>> answer.found.examined, answer.found.is_mixed, answer.found.exhaustive
        (3, False, True)
        >>> answer.apart.groups, answer.found.best_partition.groups
        (((0,), (1, 2)), ((0,), (1, 2)))
    """

    found: BestPartition
    apart: Routing | None
    max_imbalance: Fraction | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: None for what is not known or was not asked."""
        found, apart = self.found, self.apart
        workload, capacity = found.mixed.workload, found.mixed.capacity
        best = None
        if found.best is not None:
            best = "mixed" if found.is_mixed else "partition"
        return {
            "classes": [
                {
                    "input_length": c.input_length,
                    "decode_length": c.decode_length,
                    **with_exact("share", c.share),
                }
                for c in workload.classes
            ],
            "nodes": len(found.mixed.nodes),
            **with_exact("capacity", capacity),
            **with_exact("max_imbalance", self.max_imbalance),
            "best": best,
            "segregated": apart and apart.to_dict(),
            "mixed": found.mixed.to_dict(),
            "partition": found.best_partition and found.best_partition.to_dict(),
            "search": {
                "examined": found.examined,
                "over_imbalance": found.over_imbalance,
                "undecided": len(found.undecided),
                "ties": len(found.ties),
                "exhaustive": found.exhaustive,
                "evidence": found.evidence,
            },
        }


def mix_answer(
    workload: Workload,
    nodes: int,
    *,
    capacity: Fraction | int | None = None,
    max_imbalance: Fraction | int | None = None,
) -> MixAnswer:
    """As `best_partition`, and beside it the classes apart.

    Raises:
        InputError: as `best_partition` does.

    Examples:
        >>> from fluidkv.answers import mix_answer
        >>> answer = mix_answer(fk.Workload.from_lengths([(8, 3), (8, 4)]), nodes=2)
        >>> answer.to_dict()["best"], answer.found.mixed.stability.value
        ('mixed', 'stable')
        >>> answer.apart.stability.value  # one length alone: requests bunch together
        'unstable'
    """
    found = best_partition(workload, nodes, capacity=capacity, max_imbalance=max_imbalance)
    apart = None
    if nodes <= len(workload.classes):
        apart = segregated(workload, nodes, capacity=capacity)
    bound = None if max_imbalance is None else Fraction(max_imbalance)
    return MixAnswer(found, apart, bound)
