"""One class of requests in brief: its best and its worst equilibrium, and how many there are.

`equilibria` lists them state by state; this needs closed forms only, at any decode length.

Source: Congestion, Lemma 1, Theorem 2 and Proposition 8.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from fluidkv.exact.one_class.cycles import cycle_name, throughput
from fluidkv.exact.one_class.gaps import count_gap_vectors
from fluidkv.plain import with_exact
from fluidkv.record import Record
from fluidkv.workload import RequestClass, System, Workload

# Up to here the number of equilibria, below 2^l1 / l1 + l1, is an integer that float64 holds.
_LONGEST_COUNTED = 56


@dataclass(frozen=True)
class Homogeneous(Record):
    """What requests of one length can settle into.

    Fields:
        input_length: l0, tokens.
        decode_length: l1, tokens.
        best: x*, completions an iteration without eviction, equation (4).
        worst: of the maximal-eviction cycle, M / (l1 (l0 + l1)), Lemma 1.

    Examples:
        >>> from fluidkv.exact.one_class.homogeneous import homogeneous
        >>> found = homogeneous(fk.System(fk.Workload.from_lengths([(500, 200)]), capacity=70_000))
        >>> found.attractor, round(float(found.worst_case_ratio), 3)
        ('maximal-eviction cycle', 0.858)
    """

    input_length: int
    decode_length: int
    best: Fraction
    worst: Fraction

    @property
    def worst_case_ratio(self) -> Fraction:
        """Worst over best, (2 l0 + l1 + 1) / (2 (l0 + l1))."""
        return self.worst / self.best

    @property
    def attractor(self) -> str:
        """Where every start ends, but for a set of measure zero (Theorem 2)."""
        return cycle_name((self.decode_length,))

    @property
    def equilibria(self) -> int | None:
        """Fixed point, balanced cycles and maximal-eviction cycle; None above 2^53 or so."""
        if self.decode_length > _LONGEST_COUNTED:
            return None
        return count_gap_vectors(self.decode_length)

    @property
    def equilibria_magnitude(self) -> int:
        """Their number is some ten to the power of this: 2^l1 / l1 patterns."""
        return int(self.decode_length * math.log10(2) - math.log10(self.decode_length))

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "input_length": self.input_length,
            "decode_length": self.decode_length,
            "attractor": self.attractor,
            "equilibria": self.equilibria,
            **with_exact("best", self.best),
            **with_exact("worst", self.worst),
            **with_exact("worst_case_ratio", self.worst_case_ratio),
        }


def homogeneous(system: System) -> Homogeneous | None:
    """The brief of a system whose requests all have the same lengths; None for any other.

    Examples:
        >>> from fluidkv.exact.one_class.homogeneous import homogeneous
        >>> found = homogeneous(fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24))
        >>> str(found.best), str(found.worst), found.equilibria
        ('2', '8/5', 3)
    """
    lengths = {(c.input_length, c.decode_length) for c in system.workload.classes}
    if len(lengths) > 1:
        return None
    ((l0, l1),) = lengths
    only = System(Workload((RequestClass(l0, l1),)), system.capacity)
    return Homogeneous(l0, l1, throughput(only, (1,) * l1), throughput(only, (l1,)))
