"""The waste decomposition: where the memory-time of a trajectory goes.

A request at stage j has held w_0 + ... + w_{j-1} tokens, each for one iteration: its age in
memory-time. Execution adds w_j to it; completion ends it at W = w_0 + ... + w_{l1-1}; eviction from
stage j throws w_0 + ... + w_{j-1} away. So in every iteration, whatever the state,

    memory of X^n = W completed + wasted + ages after - ages before

and the sum over any stretch of a trajectory adds up exactly. Over a cycle the ages cancel, which
is equation (27): p M = p T W + E.

The tokens of an evicted request during the iteration that overflows are not counted: eviction
comes before memory is read, as in the paper.

Source: Congestion, section A.4, equation (27).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from fluidkv.exact.one_class.cycles import only_class
from fluidkv.exact.one_class.positions import Number, State
from fluidkv.record import Record
from fluidkv.workload import System


@dataclass(frozen=True)
class Waste(Record):
    """Memory-time over one iteration or many, token-iterations.

    Fields:
        used: memory of the states in which the iterations start, summed.
        completed: W for each request that completed.
        evicted: what evicted requests had used.
        in_flight_before: ages of the requests in flight at the start.
        in_flight_after: ages of those in flight at the end.
        completed_requests: how many completed.
        evicted_requests: how many were evicted.
    """

    used: Number
    completed: Number
    evicted: Number
    in_flight_before: Number
    in_flight_after: Number
    completed_requests: Number
    evicted_requests: Number

    @property
    def balance(self) -> Number:
        """used - completed - evicted - growth in flight: exactly 0 for exact states."""
        grown = self.in_flight_after - self.in_flight_before
        return self.used - self.completed - self.evicted - grown

    @property
    def wasted_share(self) -> Number:
        """E over all memory-time used."""
        return self.evicted / self.used


def waste_by_iteration(states: Sequence[State], system: System) -> list[Waste]:
    """The account of each iteration X^n -> X^{n+1}.

    Args:
        states: consecutive states of one class, mass by stage.
        system: the class.

    Examples:
        >>> from fluidkv.exact.one_class.cycles import maximal_eviction_cycle
        >>> from fluidkv.exact.one_class.waste import waste_by_iteration
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> states = maximal_eviction_cycle(system).states
        >>> [str(each.evicted) for each in waste_by_iteration([*states, states[0]], system)]
        ['6', '42/5', '0']
    """
    only = only_class(system)
    weights = [only.input_length + 1 + j for j in range(only.decode_length)]
    *ages, lifetime = accumulate(weights, initial=0)
    return [_account(before, after, weights, ages, lifetime) for before, after in pairwise(states)]


def waste(states: Sequence[State], system: System) -> Waste:
    """The account of all iterations between the first state and the last.

    Arguments as `waste_by_iteration`; at least two states.

    Examples:
        >>> from fluidkv.exact.one_class.cycles import maximal_eviction_cycle
        >>> system = fk.System(fk.Workload.from_lengths([(2, 3)]), capacity=24)
        >>> states = maximal_eviction_cycle(system).states
        >>> found = fk.waste([*states, states[0]], system)
        >>> str(found.used), str(found.completed), str(found.evicted), str(found.balance)
        ('72', '288/5', '72/5', '0')
    """
    rows = waste_by_iteration(states, system)
    return Waste(
        used=sum(r.used for r in rows),
        completed=sum(r.completed for r in rows),
        evicted=sum(r.evicted for r in rows),
        in_flight_before=rows[0].in_flight_before,
        in_flight_after=rows[-1].in_flight_after,
        completed_requests=sum(r.completed_requests for r in rows),
        evicted_requests=sum(r.evicted_requests for r in rows),
    )


def evicted_masses(before: State, after: State) -> list[Number]:
    """What eviction removed in one iteration, by the stage after execution."""
    kept = zip(before[:-1], after[1:], strict=True)
    return [before[0] * 0, *(executed - left for executed, left in kept)]


def _account(
    before: State, after: State, weights: list[int], ages: list[int], lifetime: int
) -> Waste:
    evicted = evicted_masses(before, after)
    return Waste(
        used=_dot(weights, before),
        completed=lifetime * before[-1],
        evicted=_dot(ages, evicted),
        in_flight_before=_dot(ages, before),
        in_flight_after=_dot(ages, after),
        completed_requests=before[-1],
        evicted_requests=sum(evicted),
    )


def _dot(weights: list[int], masses: Sequence[Number]) -> Number:
    return sum(w * x for w, x in zip(weights, masses, strict=True))
