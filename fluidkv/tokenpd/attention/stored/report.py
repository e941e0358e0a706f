"""What was read, and what was changed on the way: nothing is repaired in silence."""

from dataclasses import dataclass
from typing import Any

from fluidkv.record import Record
from fluidkv.text import printable


@dataclass(frozen=True)
class Rescaled(Record):
    """Rows that were divided by their sums.

    Fields:
        why: what was wrong with them. rows: how many. off: the most that a sum lay from one.
        first: where the first of them stands.
    """

    why: str
    rows: int
    off: float
    first: str

    def __str__(self) -> str:
        return (
            f"{self.rows:,} × {self.why}, by at most {self.off:.2g}; divided by their sums "
            f"(first: {self.first})"
        )


@dataclass(frozen=True)
class AttentionReport(Record):
    """How attention weights were read.

    Fields:
        source: name of the file. format: "npy", "npz" or "safetensors". dtype: of the numbers, or
            several, with commas between.
        tensors: how many arrays of weights.
        requests, layers, heads: what they hold; layers and heads of the first request.
        over: how layers and heads became streams. streams: how many there are.
        rows: of queries read, over all layers and heads; padding is not counted.
        off: the most that the sum of a row lay from one, as it stands in the file.
        rescaled: rows that were changed; all others are as they stand.

    Examples:
        >>> from fluidkv.tokenpd import read_attention
        >>> np.save("weights.npy", [[[1, 0], [0.25, 0.5]]])
        >>> options = {"axes": "head,query,key", "prompt": 1, "renormalise": True}
        >>> attention, report = read_attention("weights.npy", **options)
        >>> report.rescaled[0].rows, report.off  # the row that sums to 3/4
        (1, 0.25)
    """

    source: str
    format: str
    dtype: str
    tensors: int
    requests: int
    layers: int
    heads: int
    over: str
    streams: int
    rows: int
    off: float
    rescaled: tuple[Rescaled, ...] = ()

    def summary(self) -> str:
        """One line of counts, then one line for each reason of a change."""
        changed = sum(group.rows for group in self.rescaled)
        held = (_of(self.requests, "request"), _of(self.layers, "layer"), _of(self.heads, "head"))
        lines = [
            f"{printable(self.source)} ({self.format}, {self.dtype}): {', '.join(held)}; "
            f"{_of(self.streams, 'stream')} over {self.over}; {_of(self.rows, 'row')} read, "
            f"{changed:,} changed"
        ]
        return "\n".join([*lines, *(f"  changed: {group}" for group in self.rescaled)])

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values, fit for JSON."""
        return {
            **{name: value for name, value in vars(self).items() if name != "rescaled"},
            "rescaled": [dict(vars(group)) for group in self.rescaled],
        }


def _of(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"
