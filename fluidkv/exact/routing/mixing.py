"""Which node serves which request class, and how stable that makes each node.

A node has its own KV cache and admits in proportion to the requests that are routed to it. Its
stability is that of its own mix, so routing is a choice of mixes. `partition` searches for a good
one.

Source: Congestion, sections 5.2 and 6.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from fluidkv.errors import InputError
from fluidkv.exact.roots.spectrum import SpectralCertificate, certify_spectrum
from fluidkv.exact.survival import survival_weights
from fluidkv.keys import Key, Keyed
from fluidkv.verdict import Evidence, Stability
from fluidkv.workload import RequestClass, System, Workload

_EVIDENCE = tuple(Evidence)  # strongest first


@dataclass(frozen=True)
class RoutedNode(Keyed):
    """One node: the requests that it gets, and what is proved about them.

    Fields:
        classes: indices of its classes in the workload that was routed, ascending.
        workload: those classes, with shares renormalised to sum to one.
        load_share: fraction of all requests that it gets.
        certificate: for its eviction-free equilibrium.
        rate: x*, requests an iteration that its memory sustains (Congestion, equation (8)); None
            without a capacity.

    Examples:
        >>> from fluidkv.exact.routing.mixing import segregated
        >>> workload = fk.Workload.from_lengths([(20, 2), (20, 3)])
        >>> node = segregated(workload, nodes=2, capacity=1000).nodes[1]
        >>> node.classes, str(node.stability), str(node.load_share), str(node.rate)
        ((1,), 'unstable', '1/2', '500/33')
    """

    classes: tuple[int, ...]
    workload: Workload
    load_share: Fraction
    certificate: SpectralCertificate
    rate: Fraction | None = None

    KEYS = (
        Key("classes[]", "from 0"),
        Key(
            "shares[]",
            "share",
            what="of these classes on this node",
            of=lambda node: [each.share for each in node.workload.classes],
            exact=True,
        ),
        Key("load_share", "share", exact=True),
        Key("common_divisor", "count", of="decode_gcd"),
        Key("stability", "text", "of this node"),
        Key("growing_modes", "count", "null: undecided", "certificate.outside"),
        Key("neutral_modes", "count", "null: undecided", "certificate.on_circle"),
        Key("spectral_radius[]", "number", "[low, high]", "certificate.radius"),
        Key("rate", "per iteration", exact=True),
        Key("utilisation", "share", exact=True),
    )

    @property
    def stability(self) -> Stability:
        """Stable, unstable, or undecided (which includes modes exactly on the unit circle)."""
        outside, on_circle = self.certificate.outside, self.certificate.on_circle
        if (outside or 0) > 0 or self.certificate.radius[0] > 1:
            return Stability.UNSTABLE
        return Stability.STABLE if outside == on_circle == 0 else Stability.UNDECIDED

    @property
    def decode_gcd(self) -> int:
        """Greatest common divisor of its decode lengths."""
        return self.workload.decode_gcd

    @property
    def memory_time(self) -> Fraction:
        """Token-iterations on this node for one request of the whole workload, any class."""
        return self.load_share * survival_weights(self.workload).lifetime_memory

    @property
    def utilisation(self) -> Fraction | None:
        """Requests that it gets over x*, when one request an iteration arrives in all.

        Times the total arrival rate, the utilisation at that rate; None without a capacity.
        """
        return None if self.rate is None else self.load_share / self.rate


@dataclass(frozen=True)
class Routing(Keyed):
    """A routing of request classes to nodes of equal capacity.

    Fields:
        workload: what is routed.
        fractions: indexed [node][class], the part of a class that goes to a node; each class sums
            to one over nodes.
        nodes: in the order of `fractions`.
        capacity: M of each node, tokens; None if none was given. Stability does not turn on it.

    Examples:
        >>> from fluidkv.exact.routing.mixing import segregated
        >>> found = segregated(fk.Workload.from_lengths([(20, 2), (20, 3)]), nodes=2)
        >>> found.groups, str(found.stability), found.unstable_modes, str(found.imbalance)
        (((0,), (1,)), 'unstable', 3, '132/109')
    """

    workload: Workload
    fractions: tuple[tuple[Fraction, ...], ...]
    nodes: tuple[RoutedNode, ...]
    capacity: Fraction | None

    KEYS = (
        Key("stability", "text"),
        Key("growing_modes", "count", of="unstable_modes"),
        Key("spectral_radius[]", "number"),
        Key("evidence", "text"),
        Key("imbalance", "number", exact=True),
        Key("rate", "per iteration", exact=True),
        Key(
            "on_nodes[]",
            of="nodes",
            what="each node, with the classes that it gets",
            below=RoutedNode,
        ),
    )

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Indices of the classes of each node."""
        return tuple(node.classes for node in self.nodes)

    @property
    def stability(self) -> Stability:
        """Stable if every node is, unstable if one is."""
        found = {node.stability for node in self.nodes}
        for verdict in (Stability.UNSTABLE, Stability.UNDECIDED):
            if verdict in found:
                return verdict
        return Stability.STABLE

    @property
    def unstable_modes(self) -> int | None:
        """Growing modes, summed over nodes; None if a node is undecided."""
        counts = [node.certificate.outside for node in self.nodes]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def spectral_radius(self) -> tuple[float, float]:
        """(low, high) around the largest over nodes, growth of the leading mode an iteration."""
        radii = [node.certificate.radius for node in self.nodes]
        return max(low for low, _ in radii), max(high for _, high in radii)

    @property
    def evidence(self) -> Evidence:
        """The weakest over nodes."""
        return max((node.certificate.evidence for node in self.nodes), key=_EVIDENCE.index)

    @property
    def imbalance(self) -> Fraction:
        """Utilisation of the fullest node over the mean of all; 1 is perfect balance.

        At one capacity it does not depend on which. Arrivals that the same nodes would sustain in
        balance have to be fewer by this factor.
        """
        loads = [node.memory_time for node in self.nodes]
        return max(loads) * len(loads) / sum(loads, Fraction(0))

    @property
    def rate(self) -> Fraction | None:
        """Arrivals an iteration, in all, at which the fullest node reaches its x*.

        None without a capacity.
        """
        loads = [node.utilisation for node in self.nodes]
        known = [load for load in loads if load is not None]
        return 1 / max(known) if len(known) == len(loads) else None


def segregated(
    workload: Workload, nodes: int, *, capacity: Fraction | int | None = None
) -> Routing:
    """Neighbouring classes together: consecutive groups in the order given, sizes within one.

    With as many nodes as classes, one class a node.

    Raises:
        InputError: `nodes` below 1 or above the number of classes, or a capacity that does not
            hold the largest request.

    Examples:
        >>> from fluidkv.exact.routing.mixing import segregated
        >>> workload = fk.Workload.from_lengths([(20, 2), (20, 3), (20, 4), (20, 5)])
        >>> segregated(workload, nodes=2).groups
        ((0, 1), (2, 3))
    """
    count = len(workload.classes)
    if checked_nodes(nodes) > count:
        raise InputError("nodes", nodes, f"at most {count}, one for each class")
    ends = [count * (i + 1) // nodes for i in range(nodes)]
    starts = [0, *ends[:-1]]
    groups = [range(a, b) for a, b in zip(starts, ends, strict=True)]
    return partitioned(workload, groups, capacity=capacity)


def all_mixed(workload: Workload, nodes: int, *, capacity: Fraction | int | None = None) -> Routing:
    """Every node gets every class, an equal part of it.

    Raises:
        InputError: `nodes` below 1, or a capacity that does not hold the largest request.

    Examples:
        >>> from fluidkv.exact.routing.mixing import all_mixed
        >>> found = all_mixed(fk.Workload.from_lengths([(20, 2), (20, 3)]), nodes=2)
        >>> found.groups, str(found.stability), str(found.imbalance)
        (((0, 1), (0, 1)), 'stable', '1')
    """
    row = (Fraction(1, checked_nodes(nodes)),) * len(workload.classes)
    return _routing(workload, (row,) * nodes, capacity)


def partitioned(
    workload: Workload,
    groups: Sequence[Sequence[int]],
    *,
    capacity: Fraction | int | None = None,
) -> Routing:
    """Each class goes to one node.

    Args:
        groups: for each node, indices into `workload.classes`.
        capacity: M of each node, tokens.

    Raises:
        InputError: a group without classes, a class that is missing or stands twice, or a capacity
            that does not hold the largest request.

    Examples:
        >>> from fluidkv.exact.routing.mixing import partitioned
        >>> workload = fk.Workload.from_lengths([(20, 2), (20, 3), (20, 4)])
        >>> found = partitioned(workload, [[0, 1], [2]])
        >>> [str(node.stability) for node in found.nodes]
        ['stable', 'unstable']
    """
    count = len(workload.classes)
    given = sorted(k for group in groups for k in group)
    if given != list(range(count)) or not all(len(group) for group in groups):
        allowed = f"each of the classes 0 to {count - 1} once, no group empty"
        raise InputError("groups", [list(group) for group in groups], allowed)
    rows = tuple(tuple(Fraction(int(k in set(group))) for k in range(count)) for group in groups)
    return _routing(workload, rows, capacity)


def checked_nodes(nodes: int) -> int:
    if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 1:
        raise InputError("nodes", nodes, "an integer of at least 1")
    return nodes


def _routing(
    workload: Workload,
    fractions: tuple[tuple[Fraction, ...], ...],
    capacity: Fraction | int | None,
) -> Routing:
    tokens = None if capacity is None else System(workload, capacity).capacity
    built: dict[tuple[Fraction, ...], RoutedNode] = {}  # nodes that get the same are the same
    for row in fractions:
        if row not in built:
            built[row] = _node(workload, row, tokens)
    return Routing(workload, fractions, tuple(built[row] for row in fractions), tokens)


def _node(workload: Workload, row: tuple[Fraction, ...], capacity: Fraction | None) -> RoutedNode:
    chosen = tuple(k for k, part in enumerate(row) if part)
    mine = node_workload(workload, row)
    weights = survival_weights(mine)
    return RoutedNode(
        classes=chosen,
        workload=mine,
        load_share=sum((workload.classes[k].share * row[k] for k in chosen), Fraction(0)),
        certificate=certify_spectrum(weights),
        rate=None if capacity is None else capacity / weights.lifetime_memory,
    )


def node_workload(workload: Workload, row: Sequence[Fraction | int]) -> Workload:
    """What a node serves that gets the part `row[k]` of class k: exact shares that sum to one."""
    parts = [(c, c.share * part) for c, part in zip(workload.classes, row, strict=True) if part]
    total = sum((part for _, part in parts), Fraction(0))
    return Workload(
        tuple(RequestClass(c.input_length, c.decode_length, part / total) for c, part in parts)
    )
