"""Every equilibrium of one class of requests, the envelope of their throughput, and the worst case.

Source: Congestion, sections 2.3 and 3.2, Propositions 5 to 8.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fluidkv.errors import InputError
from fluidkv.exact.one_class.cycles import (
    Cycle,
    as_evenly_spaced_gaps,
    balanced_cycle,
    checked_level,
    contiguous_gaps,
    only_class,
    throughput,
)
from fluidkv.exact.one_class.cycles_verified import verify_cycle
from fluidkv.exact.one_class.gaps import checked_gaps, count_gap_vectors, gap_vectors, whole_number
from fluidkv.exact.one_class.return_map import CycleStability, cycle_stability
from fluidkv.keys import Key, Keyed, json_rows
from fluidkv.labels import dataset
from fluidkv.plain import with_exact
from fluidkv.workload import RequestClass, System

if TYPE_CHECKING:
    import xarray as xr

MOST_CYCLES = 20_000
"""What `equilibria` lists unless told otherwise: all levels up to l1 = 18."""

_MOST_MASSES = 10_000_000  # cycles times l1 iterations times l1 stages: some 80 MB of references


@dataclass(frozen=True)
class EnvelopePoint(Keyed):
    """Least and most throughput of the balanced cycles of one eviction level.

    Fields:
        level: i, empty stages.
        live: l1 - i, occupied stages.
        lowest: of the contiguous cycle (Proposition 6).
        highest: of the as-evenly-spaced cycles (Proposition 8).

    Examples:
        >>> from fluidkv.exact.one_class.equilibria import envelope
        >>> point = envelope(fk.System(fk.Workload.from_lengths([(2, 4)]), capacity=24))[2]
        >>> point.level, point.live, str(point.lowest), str(point.highest)
        (2, 2, '8/7', '6/5')
    """

    level: int
    live: int
    lowest: Fraction
    highest: Fraction

    KEYS = (
        Key("level", "count"),
        Key("live", "count"),
        Key("lowest", "per iteration"),
        Key("highest", "per iteration"),
    )


@dataclass(frozen=True)
class Equilibria(Keyed):
    """Balanced cycles of a system, with what they are compared with.

    Fields:
        system: one class of requests.
        cycles: by eviction level, within a level from the most throughput to the least.
        envelope: of every level, whichever cycles are listed.

    Examples:
        >>> found = fk.equilibria(fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24))
        >>> str(found.best), str(found.worst), str(found.worst_case_ratio)
        ('2', '8/5', '4/5')
        >>> [str(each.verdict) for each in found.stability], found.starts().shape
        (['unstable', 'unstable', 'stable'], (3, 1, 3))
    """

    system: System
    cycles: tuple[Cycle, ...]
    envelope: tuple[EnvelopePoint, ...]

    KEYS = (
        Key("class.input_length", "tokens", "of the requests", "only.input_length"),
        Key("class.decode_length", "tokens", "of the requests", "only.decode_length"),
        Key("capacity", "tokens", "KV memory", "system.capacity", exact=True),
        Key("best", "per iteration", exact=True),
        Key("worst", "per iteration", exact=True),
        Key("worst_case_ratio", "share", exact=True),
        Key("envelope[]", below=EnvelopePoint),
        Key(
            "cycles[]",
            of=lambda answer: [
                _cycle_dict(*each) for each in zip(answer.cycles, answer.stability, strict=True)
            ],
            below=(
                ("gaps[]", "iterations", "from each occupied stage to the next"),
                ("name", "text", "of the cycle"),
                ("level", "count", "empty stages"),
                ("period", "iterations", "until it is the same again"),
                ("throughput", "per iteration", "requests completed"),
                ("share_of_best", "share", "the same, over x*"),
                ("verified", "yes/no", "whether the model goes once round it, exactly"),
                *json_rows(CycleStability, "stability."),
            ),
        ),
    )

    @property
    def only(self) -> RequestClass:
        """The class of its requests."""
        return only_class(self.system)

    @property
    def best(self) -> Fraction:
        """x*, throughput of the fixed point (equation (4))."""
        return self.envelope[0].highest

    @property
    def worst(self) -> Fraction:
        """Throughput of the maximal-eviction cycle, M / (l1 (l0 + l1)) (Lemma 1)."""
        return self.envelope[-1].lowest

    @property
    def worst_case_ratio(self) -> Fraction:
        """(2 l0 + l1 + 1) / (2 (l0 + l1)), worst over best."""
        return self.worst / self.best

    @cached_property
    def stability(self) -> tuple[CycleStability, ...]:
        """The certified linear stability of each cycle, in their order."""
        return tuple(cycle_stability(self.system, cycle.gaps) for cycle in self.cycles)

    def starts(self) -> NDArray[np.float64]:
        """One state of each cycle, shape (batch, class, stage), as `simulate` takes it.

        The state is the first of `Cycle.states`, each mass rounded once.
        """
        first = np.array([cycle.states[0] for cycle in self.cycles], dtype=np.float64)
        return first[:, None, :]

    def to_xarray(self) -> "xr.Dataset":
        """All states in float64, each mass rounded once.

        Returns:
            Dimensions cycle, iteration (0 ... l1 - 1, on through shorter periods), stage.
            Variables: state (cycle, iteration, stage), requests; throughput, period, level, each
            (cycle). Coordinate of `cycle`: its gaps as text, "4,1,3,1".
        """
        l1 = only_class(self.system).decode_length
        states = np.empty((len(self.cycles), l1, l1))
        for states_of, cycle in zip(states, self.cycles, strict=True):
            once = np.array(cycle.states, dtype=np.float64)
            states_of[:] = np.tile(once, (l1 // cycle.period, 1))
        rates = [float(cycle.throughput) for cycle in self.cycles]
        periods = np.array([c.period for c in self.cycles], dtype=np.int64)
        levels = np.array([c.level for c in self.cycles], dtype=np.int64)
        gaps = [",".join(map(str, cycle.gaps)) for cycle in self.cycles]
        return dataset(
            {
                "state": (("cycle", "iteration", "stage"), states, "request", "mass by stage"),
                "throughput": ("cycle", rates, "request / iteration", "requests completed"),
                "period": ("cycle", periods, "iteration", "period"),
                "level": ("cycle", levels, "1", "empty stages"),
            },
            {"cycle": ("cycle", gaps, "1", "gaps of the cycle")},
            system=self.system,
        )


def equilibria(
    system: System,
    *,
    level: int | None = None,
    gaps: Sequence[int] | None = None,
    limit: int = MOST_CYCLES,
) -> Equilibria:
    """The fixed point and every balanced cycle, each once up to rotation.

    Every equilibrium of the saturated mass model is one of them: an empty position stays empty, so
    a periodic orbit keeps its gaps, and the only one with given gaps is the balanced one.

    Args:
        system: one class of requests.
        level: only cycles with this many empty stages, 0 ... l1 - 1; None for all levels.
        gaps: only the cycle with these predecessor gaps, in any rotation.
        limit: refuse to list more cycles than this.

    Raises:
        InputError: more than one class; a level out of range; gaps that are not positive integers
            with sum l1, or of another level; more cycles than `limit`.

    Source: Congestion, Proposition 8.

    Examples:
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> for cycle in fk.equilibria(system).cycles:
        ...     print(cycle.name, cycle.throughput)
        fixed point 2
        balanced cycle (2,1) 24/13
        maximal-eviction cycle 8/5
    """
    l1 = only_class(system).decode_length
    if level is not None:
        level = checked_level(level, l1)
    most = whole_number(limit)
    if most is None or most < 1:
        raise InputError("limit", limit, "an integer of at least 1")
    chosen = None
    if gaps is not None:
        chosen = checked_gaps(gaps, l1)
        if level is not None and l1 - len(chosen) != level:
            raise InputError("gaps", chosen, f"{l1 - level} gaps, for eviction level {level}")
    _check_size(l1, level, 1 if chosen else None, most)
    if chosen is not None:
        cycles = [balanced_cycle(system, chosen)]
    else:
        vectors = gap_vectors(l1, None if level is None else l1 - level)
        cycles = [balanced_cycle(system, vector) for vector in vectors]
        # Within a level the throughput falls with the sum of squares, equation (25).
        cycles.sort(key=lambda cycle: (cycle.level, sum(g * g for g in cycle.gaps), cycle.gaps))
    return Equilibria(system, tuple(cycles), envelope(system))


def envelope(system: System) -> tuple[EnvelopePoint, ...]:
    """Least and most throughput at each eviction level, 0 ... l1 - 1.

    Raises:
        InputError: more than one class.

    Source: Congestion, Propositions 6 and 8, equations (22) and (25).

    Examples:
        >>> from fluidkv.exact.one_class.equilibria import envelope
        >>> system = fk.System(fk.Workload.from_lengths([(2, 4)]), capacity=36)
        >>> [(p.live, str(p.lowest), str(p.highest)) for p in envelope(system)]
        [(4, '2', '2'), (3, '36/19', '36/19'), (2, '12/7', '9/5'), (1, '3/2', '3/2')]
    """
    l1 = only_class(system).decode_length
    return tuple(
        EnvelopePoint(
            level=l1 - m,
            live=m,
            lowest=throughput(system, contiguous_gaps(l1, m)),
            highest=throughput(system, as_evenly_spaced_gaps(l1, m)),
        )
        for m in range(l1, 0, -1)
    )


def _check_size(l1: int, level: int | None, count: int | None, limit: int) -> None:
    """Refuse before anything is listed."""
    if l1 * l1 > _MOST_MASSES:
        allowed = f"at most {int(_MOST_MASSES**0.5):,}, to list the states of a cycle"
        raise InputError("decode_length", l1, allowed)
    if count is None:
        count = count_gap_vectors(l1, None if level is None else l1 - level)
    where = f"decode length {l1}" + ("" if level is None else f" at level {level}")
    if count > limit:
        allowed = f"at most {limit:,} cycles; ask for one level or one gap vector"
        raise InputError("equilibria", f"{_shown(count)} cycles of {where}", allowed)
    if count * l1 * l1 > _MOST_MASSES:
        allowed = f"at most {_MOST_MASSES // l1**2:,} cycles, for their states to fit in memory"
        raise InputError("equilibria", f"{_shown(count)} cycles of {where}", allowed)


def _shown(count: int) -> str:
    return f"{count:,}" if count < 10**12 else f"some 10^{len(str(count)) - 1}"


def _cycle_dict(cycle: Cycle, found: CycleStability) -> dict[str, Any]:
    return {
        "gaps": list(cycle.gaps),
        "name": cycle.name,
        "level": cycle.level,
        "period": cycle.period,
        **with_exact("throughput", cycle.throughput),
        "share_of_best": float(cycle.share_of_best),
        "verified": verify_cycle(cycle.system, cycle),
        "stability": found.to_dict(),
    }
