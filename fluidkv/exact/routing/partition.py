"""The partition of request classes onto nodes with the best certified stability.

Fewer growing modes come first, summed over nodes; among equals, a smaller spectral radius of the
worst node. Counts are certified, and of two radii one is called smaller only where their enclosures
do not touch: no float decides.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from numbers import Rational

from fluidkv.errors import InputError
from fluidkv.exact.roots.spectrum import SpectralCertificate, certify_spectrum
from fluidkv.exact.routing.mixing import (
    Routing,
    all_mixed,
    checked_nodes,
    node_workload,
    partitioned,
)
from fluidkv.exact.survival import survival_weights
from fluidkv.record import Record
from fluidkv.verdict import Evidence
from fluidkv.workload import Workload

EXHAUSTIVE_CLASSES = 10
"""Up to here every partition is looked at: at most 1,023 mixes and 42,525 partitions."""

_MOST_CERTIFIED = 2000  # mixes, in a search that is not exhaustive: milliseconds to seconds each
_EVIDENCE = tuple(Evidence)  # strongest first

Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class BestPartition(Record):
    """The best routing found, and what that is worth.

    Fields:
        best: over partitions and the routing that mixes all; None if nothing was decided.
        best_partition: over partitions alone, each class on one node; None where there are fewer
            classes than nodes, one node, or none within the bound.
        mixed: every class on every node.
        ties: partitions that could not be told from `best_partition`: as many growing modes, and
            radii whose enclosures touch.
        examined: partitions looked at.
        over_imbalance: those of them that were left out for their imbalance.
        undecided: those left out because the certificate of a node did not close, and that are not
            certainly worse than `best_partition`.
        exhaustive: every partition was looked at. If not, `best_partition` is the best met in
            moving and swapping single classes, from two starts.
        evidence: that nothing examined is better than `best`: the weakest certificate behind it;
            sampled if not exhaustive or if something is undecided.

    Examples:
        >>> workload = fk.Workload.from_lengths([(20, 2), (20, 3), (20, 4), (20, 5)])
        >>> found = fk.best_partition(workload, nodes=2)
        >>> found.is_mixed, found.best_partition.groups, found.examined, str(found.evidence)
        (True, ((0, 3), (1, 2)), 7, 'exact')
    """

    best: Routing | None
    best_partition: Routing | None
    mixed: Routing
    ties: tuple[Groups, ...]
    examined: int
    over_imbalance: int
    undecided: tuple[Groups, ...]
    exhaustive: bool
    evidence: Evidence

    @property
    def is_mixed(self) -> bool:
        """Whether mixing all is better than every partition."""
        return self.best is self.mixed


def best_partition(
    workload: Workload,
    nodes: int,
    *,
    capacity: Fraction | int | None = None,
    max_imbalance: Fraction | int | None = None,
) -> BestPartition:
    """Which node should get which classes.

    Nodes are alike, so only the grouping counts, and every node gets a class. Up to
    `EXHAUSTIVE_CLASSES` classes every partition is looked at; beyond, single classes are moved and
    pairs swapped as long as that improves, from consecutive groups and from groups of even load.
    Where two are equally good, mixing all is preferred to a partition: it balances by itself.

    Args:
        workload: its shares are those of all requests.
        nodes: how many, each with its own memory.
        capacity: M of each node, tokens; sets rates and utilisations, not the order.
        max_imbalance: bound on `Routing.imbalance`, at least 1. A stable partition that overloads
            one node is a bad answer.

    Raises:
        InputError: `nodes` below 1, `max_imbalance` below 1 or a float, or a capacity that does not
            hold the largest request.

    Source: Congestion, section 5.2, which proposes mixing and names no search.

    Examples:
        >>> workload = fk.Workload.from_lengths([(20, 2), (20, 3), (20, 4), (20, 5)])
        >>> found = fk.best_partition(workload, nodes=2)
        >>> found.best_partition.groups, str(found.best.stability)
        (((0, 3), (1, 2)), 'stable')
    """
    everywhere = all_mixed(workload, checked_nodes(nodes), capacity=capacity)
    search = _Search(workload, nodes, _bound(max_imbalance))
    classes = len(workload.classes)
    exhaustive = classes <= EXHAUSTIVE_CLASSES
    if 1 < nodes <= classes:
        if exhaustive:
            for groups in _set_partitions(classes, nodes):
                search.score(groups)
        else:
            search.descend(_consecutive(classes, nodes))
            search.descend(search.even_load())
    groups, ties = search.winner()
    split = None if groups is None else partitioned(workload, groups, capacity=capacity)
    undecided = search.undecided(groups)
    best = _better_routing(everywhere, split)
    if undecided or not exhaustive or best is None:
        evidence = Evidence.SAMPLED
    else:
        evidence = max((everywhere.evidence, *search.evidences), key=_EVIDENCE.index)
    return BestPartition(
        best=best,
        best_partition=split,
        mixed=everywhere,
        ties=ties,
        examined=len(search.scores) + search.over_imbalance,
        over_imbalance=search.over_imbalance,
        undecided=undecided,
        exhaustive=exhaustive,
        evidence=evidence,
    )


@dataclass(frozen=True)
class _Score:
    """Growing modes over all nodes, None if undecided, and (low, high) around the worst radius."""

    unstable: int | None
    low: float
    high: float

    @property
    def key(self) -> tuple[float, float]:
        return (math.inf if self.unstable is None else self.unstable, self.high)

    def certainly_worse(self, other: "_Score") -> bool:
        """Than `other`, whose count is known."""
        if self.unstable is None or other.unstable is None:
            return other.unstable == 0 and self.low > 1
        return self.unstable > other.unstable or (
            self.unstable == other.unstable and self.low > other.high
        )


class _Search:
    """Scores of partitions; each mix is certified once."""

    def __init__(self, workload: Workload, nodes: int, bound: Fraction | None) -> None:
        self.workload, self.nodes, self.bound = workload, nodes, bound
        self.scores: dict[Groups, _Score] = {}
        self.over: set[Groups] = set()
        self._certificates: dict[tuple[int, ...], SpectralCertificate] = {}

    @property
    def over_imbalance(self) -> int:
        return len(self.over)

    @property
    def evidences(self) -> set[Evidence]:
        return {certificate.evidence for certificate in self._certificates.values()}

    def score(self, groups: Groups) -> _Score | None:
        """None beyond the bound on the imbalance."""
        if groups in self.over:
            return None
        if groups not in self.scores:
            if self.bound is not None and self._imbalance(groups) > self.bound:
                self.over.add(groups)
                return None
            self.scores[groups] = self._score(groups)
        return self.scores[groups]

    def winner(self) -> tuple[Groups | None, tuple[Groups, ...]]:
        """The smallest upper bound, and all that it does not certainly beat."""
        decided = {g: s for g, s in self.scores.items() if s.unstable is not None}
        if not decided:
            return None, ()
        best = min(decided, key=lambda groups: decided[groups].key)
        ties = (g for g, s in decided.items() if g != best and not s.certainly_worse(decided[best]))
        return best, tuple(ties)

    def undecided(self, best: Groups | None) -> tuple[Groups, ...]:
        return tuple(
            g
            for g, s in self.scores.items()
            if s.unstable is None and not (best and s.certainly_worse(self.scores[best]))
        )

    def descend(self, groups: Groups) -> None:
        """Take the best neighbour as long as it is certainly better, or the first that fits."""
        here = self.score(groups)
        while len(self._certificates) < _MOST_CERTIFIED:
            scored = []
            for neighbour in _neighbours(groups):
                found = self.score(neighbour)
                if found is not None:
                    scored.append((neighbour, found))
                if len(self._certificates) >= _MOST_CERTIFIED:
                    break
            if not scored:
                return
            to, score = min(scored, key=lambda item: item[1].key)
            if here is not None and not here.certainly_worse(score):
                return
            groups, here = to, score

    def even_load(self) -> Groups:
        """The heaviest class first, each to the node with the least load so far."""
        loads = [Fraction(0)] * self.nodes
        groups: list[list[int]] = [[] for _ in loads]
        order = sorted(range(len(self._loads)), key=lambda k: -self._loads[k])
        for place, k in enumerate(order):
            node = place if place < self.nodes else loads.index(min(loads))
            groups[node].append(k)
            loads[node] += self._loads[k]
        return _canonical(groups)

    @cached_property
    def _loads(self) -> list[Fraction]:
        """Token-iterations of each class, for one request of the whole workload."""
        return [
            c.share * (c.decode_length * (c.input_length + Fraction(c.decode_length + 1, 2)))
            for c in self.workload.classes
        ]

    def _imbalance(self, groups: Groups) -> Fraction:
        loads = [sum((self._loads[k] for k in group), Fraction(0)) for group in groups]
        return max(loads) * len(loads) / sum(loads, Fraction(0))

    def _score(self, groups: Groups) -> _Score:
        found = [self._certificate(group) for group in groups]
        counts = [c.outside for c in found]
        return _Score(
            unstable=None if None in counts else sum(count or 0 for count in counts),
            low=max(c.radius[0] for c in found),
            high=max(c.radius[1] for c in found),
        )

    def _certificate(self, group: tuple[int, ...]) -> SpectralCertificate:
        if group not in self._certificates:
            row = [int(k in group) for k in range(len(self.workload.classes))]
            weights = survival_weights(node_workload(self.workload, row))
            self._certificates[group] = certify_spectrum(weights)
        return self._certificates[group]


def _better_routing(everywhere: Routing, split: Routing | None) -> Routing | None:
    if split is None or split.unstable_modes is None:
        return everywhere if everywhere.unstable_modes is not None else None
    if everywhere.unstable_modes is None:
        return split
    whole, parts = (_Score(r.unstable_modes, *r.spectral_radius) for r in (everywhere, split))
    return split if whole.certainly_worse(parts) else everywhere


def _bound(value: Fraction | int | None) -> Fraction | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Rational) or value < 1:
        raise InputError("max_imbalance", value, "an integer or a Fraction of at least 1")
    return Fraction(value)


def _set_partitions(items: int, blocks: int) -> Iterator[Groups]:
    """All partitions of 0 ... items - 1 into so many blocks, each once, blocks by first element."""

    def extend(k: int, groups: list[list[int]]) -> Iterator[Groups]:
        if k == items:
            yield tuple(tuple(group) for group in groups)
            return
        if items - k > blocks - len(groups):  # enough are left to open the others
            for group in groups:
                group.append(k)
                yield from extend(k + 1, groups)
                group.pop()
        if len(groups) < blocks:
            groups.append([k])
            yield from extend(k + 1, groups)
            groups.pop()

    return extend(0, [])


def _consecutive(items: int, blocks: int) -> Groups:
    ends = [items * i // blocks for i in range(blocks + 1)]
    return tuple(tuple(range(a, b)) for a, b in pairwise(ends))


def _neighbours(groups: Groups) -> Iterator[Groups]:
    """One class moved, or two swapped; no group left empty."""
    for i, source in enumerate(groups):
        for j, target in enumerate(groups):
            if i == j:
                continue
            for k in source:
                if len(source) > 1:
                    yield _changed(groups, {i: _without(source, k), j: (*target, k)})
                if i < j:
                    for m in target:
                        into = {i: (*_without(source, k), m), j: (*_without(target, m), k)}
                        yield _changed(groups, into)


def _without(group: tuple[int, ...], k: int) -> tuple[int, ...]:
    return tuple(m for m in group if m != k)


def _changed(groups: Groups, into: dict[int, tuple[int, ...]]) -> Groups:
    return _canonical([into.get(i, group) for i, group in enumerate(groups)])


def _canonical(groups: list[list[int]] | list[tuple[int, ...]]) -> Groups:
    """Nodes are alike: one name for each partition."""
    return tuple(sorted(tuple(sorted(group)) for group in groups))
