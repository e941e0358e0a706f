"""What a cascade was, as values: evictions, losses of support, where it settled.

Source: Congestion, section 3.3 and Appendix A.1.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from fluidkv.exact.one_class.gaps import Gaps
from fluidkv.exact.one_class.positions import (
    Number,
    is_block_end,
    live_positions,
    live_stages,
    normalized_masses,
    predecessor_gaps,
    spread,
)
from fluidkv.keys import Key, Keyed
from fluidkv.labels import dataset
from fluidkv.record import Record
from fluidkv.workload import System

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Eviction(Keyed):
    """One iteration that evicts.

    Fields:
        iteration: n, of the state after it.
        requests: mass evicted.
        tokens: memory that this freed, at the stages reached after execution.
        stages: those stages, from the least progressed.
    """

    iteration: int
    requests: Number
    tokens: Number
    stages: tuple[int, ...]

    KEYS = (
        Key("iteration", "iterations"),
        Key("requests", "requests", of=lambda eviction: float(eviction.requests)),
        Key("tokens", "tokens", of=lambda eviction: float(eviction.tokens)),
        Key("stages[]", "stages"),
    )


@dataclass(frozen=True)
class SupportLoss(Record):
    """One iteration after which more stages are empty than before.

    Fields:
        iteration: n, of the state after it.
        empty_stages: of X^n: the eviction level reached.
        positions: labels of the relative positions that died.
        evicted: whether the iteration evicted; a completion can also release exactly what the
            others need to grow, so that nothing is admitted and nothing evicted.
    """

    iteration: int
    empty_stages: int
    positions: tuple[int, ...]
    evicted: bool


@dataclass(frozen=True)
class Settled(Keyed):
    """The balanced cycle that a trajectory has reached.

    Fields:
        attractor: its name: "fixed point", "maximal-eviction cycle", "balanced cycle (3,1)".
        iteration: the first n from which on every recorded state is on it.
        gaps: its predecessor gaps in canonical rotation.
    """

    attractor: str
    iteration: int
    gaps: Gaps

    KEYS = (Key("attractor", "text"), Key("iteration", "iterations"), Key("gaps[]", "iterations"))


@dataclass(frozen=True)
class Cascade(Keyed):
    """A trajectory of one class, analysed. Made by `cascade`.

    Fields, each tuple over states with index i for the state X^{first + i}:
        system: the class and the capacity.
        first: n of the first recorded state.
        states: mass by stage.
        evictions: in order.
        support_losses: in order.
        settled: the cycle reached; None if the trajectory is not on one at the end.
        throughput: completions an iteration over `window`.
        window: (n, n'), the transitions X^n -> ... -> X^n' averaged: one round of l1 iterations
            on the settled cycle where the record has it, otherwise the whole record.
        tolerance: relative distance from a cycle that counts as on it; 0 for exact states.

    Examples:
        >>> from fluidkv.exact import trajectory
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> found = fk.cascade(trajectory(system, [4, 3, 0], iterations=12), system)
        >>> found.levels, [loss.iteration for loss in found.support_losses]
        ((1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2), [6])
    """

    system: System
    first: int
    states: tuple[tuple[Number, ...], ...]
    evictions: tuple[Eviction, ...]
    support_losses: tuple[SupportLoss, ...]
    settled: Settled | None
    throughput: Number
    window: tuple[int, int]
    tolerance: float

    KEYS = (
        Key("first_eviction", "iterations"),
        Key(
            "support_losses[][]",
            "count",
            what="[iteration, empty stages] after it",
            of=lambda answer: [[s.iteration, s.empty_stages] for s in answer.support_losses],
        ),
        Key("settled", below=Settled),
        Key("throughput", "per iteration", of=lambda answer: float(answer.throughput)),
        Key("throughput_exact", of=lambda a: str(a.throughput) if a.is_exact else None),
        Key("throughput_window[]", "iterations", of="window"),
        Key("evictions[]", of="evictions_to_the_end_of_a_round", below=Eviction),
        Key("level", "count"),
        Key(
            "iterations[]",
            "iterations",
            what="[first, last] that was followed",
            of=lambda answer: [answer.iterations[0], answer.iterations[-1]],
        ),
        Key("exact", "yes/no", of="is_exact"),
        Key("tolerance", "number"),
    )

    @property
    def iterations(self) -> range:
        """n of each state."""
        return range(self.first, self.first + len(self.states))

    @property
    def first_eviction(self) -> int | None:
        """n of the first iteration that evicted; None if none did."""
        return self.evictions[0].iteration if self.evictions else None

    @property
    def is_exact(self) -> bool:
        """Whether masses are rationals."""
        return isinstance(self.throughput, Fraction)

    @property
    def evictions_to_the_end_of_a_round(self) -> tuple[Eviction, ...]:
        """Those until the end of the first whole round of the settled cycle, which then repeats."""
        last = self.iterations[-1] if self.settled is None else self.window[1]
        return tuple(each for each in self.evictions if each.iteration <= last)

    @property
    def level(self) -> int:
        """Empty stages at the end."""
        return self.levels[-1]

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """Empty stages of each state: the eviction level (section 3.2)."""
        return tuple(sum(not x for x in state) for state in self.states)

    @cached_property
    def live(self) -> tuple[tuple[int, ...], ...]:
        """Labels of the live positions of each state (equation (14))."""
        return tuple(
            live_positions(x, n) for n, x in zip(self.iterations, self.states, strict=True)
        )

    @cached_property
    def gaps(self) -> tuple[Gaps, ...]:
        """Predecessor gaps of each state, youngest position first."""
        return tuple(map(predecessor_gaps, self.states))

    @cached_property
    def normalized(self) -> tuple[tuple[Number, ...], ...]:
        """u_h of each state, youngest first (equation (17); meant for block-ends)."""
        return tuple(map(normalized_masses, self.states))

    @cached_property
    def spreads(self) -> tuple[Number, ...]:
        """G of each state: largest minus smallest stage (equation (5))."""
        return tuple(map(spread, self.states))

    @cached_property
    def block_ends(self) -> tuple[int, ...]:
        """n of the states with a live position in the last stage, about to complete."""
        return tuple(
            n for n, x in zip(self.iterations, self.states, strict=True) if is_block_end(x)
        )

    @cached_property
    def block_spreads(self) -> dict[int, Number]:
        """G^sc at each block-end: largest minus smallest normalized mass (equation (19))."""
        return {n: spread(self.normalized[n - self.first]) for n in self.block_ends}

    @cached_property
    def eviction_blocks(self) -> tuple[tuple[int, int], ...]:
        """(n, n') of each maximal run of iterations n ... n' that evict and complete nothing."""
        quiet = [e.iteration for e in self.evictions if not self._completed(e.iteration)]
        starts = [n for i, n in enumerate(quiet) if i == 0 or quiet[i - 1] != n - 1]
        ends = [n for i, n in enumerate(quiet) if i + 1 == len(quiet) or quiet[i + 1] != n + 1]
        return tuple(zip(starts, ends, strict=True))

    def to_xarray(self) -> "xr.Dataset":
        """Float arrays with named dimensions.

        Dimensions and coordinates: `iteration`, n of the state; `position`, label r.
        Variables: `mass` (iteration, position), requests carried by each relative position;
        `stage` (iteration, position), where it is; `normalized` (iteration, position), u, NaN where
        dead; `spread`, `empty_stages` (iteration); `block_spread` (iteration), NaN between
        block-ends; `evicted_requests`, `evicted_tokens`, `completed` (iteration), by the iteration
        that leads to n (`completed` is NaN at the first).
        """
        import numpy as np

        l1, count = len(self.states[0]), len(self.states)
        n = np.array(self.iterations)
        stage = (np.arange(l1) + n[:, None]) % l1
        by_stage = np.array([[float(x) for x in state] for state in self.states])
        by_stage_u = np.full((count, l1), np.nan)
        for i, state in enumerate(self.states):
            by_stage_u[i, list(live_stages(state))] = [float(u) for u in self.normalized[i]]
        flows = np.zeros((2, count))
        for e in self.evictions:
            flows[:, e.iteration - self.first] = float(e.requests), float(e.tokens)
        block_spread = np.full(count, np.nan)
        for at, value in self.block_spreads.items():
            block_spread[at - self.first] = float(value)
        both, one = ("iteration", "position"), "iteration"
        mass = np.take_along_axis(by_stage, stage, axis=1)
        normalized = np.take_along_axis(by_stage_u, stage, axis=1)
        spreads = np.array([float(g) for g in self.spreads])
        completed = np.concatenate([[np.nan], by_stage[:-1, -1]])
        return dataset(
            {
                "mass": (both, mass, "request", "carried by each relative position"),
                "stage": (both, stage, "1", "where the position is"),
                "normalized": (both, normalized, "1", "u; NaN where dead"),
                "spread": (one, spreads, "1", "largest u less the smallest"),
                "block_spread": (one, block_spread, "1", "at block-ends; NaN between"),
                "empty_stages": (one, np.array(self.levels), "1", "stages without mass"),
                "evicted_requests": (one, flows[0], "request", "evicted on the way to n"),
                "evicted_tokens": (one, flows[1], "token", "evicted on the way to n"),
                "completed": (one, completed, "request", "completed on the way to n"),
            },
            {"iteration": (one, n, "iteration", "n of the state X^n")},
            system=self.system,
        )

    def _completed(self, iteration: int) -> Number:
        """Requests that left in the iteration that leads to X^n."""
        return self.states[iteration - self.first - 1][-1]
