"""Routing of classes to nodes, and the search for the best partition."""

import dataclasses
import re
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fluidkv.exact.routing.partition as partition_module
from fluidkv.errors import InputError
from fluidkv.exact.linear_stability import stability
from fluidkv.exact.roots.spectrum import certify_spectrum
from fluidkv.exact.routing.mixing import all_mixed, partitioned, segregated
from fluidkv.exact.routing.partition import best_partition
from fluidkv.exact.survival import eviction_free_equilibrium, survival_weights
from fluidkv.verdict import Evidence, Stability
from fluidkv.workload import RequestClass, System, Workload
from tests.small_systems import equal_shares
from tests.strategies import workloads

FOUR = equal_shares(300, 5, 10, 6, 12)


def test_segregated_takes_neighbours_in_the_order_given():
    routing = segregated(FOUR, 2)
    assert routing.groups == ((0, 1), (2, 3))
    assert [node.decode_gcd for node in routing.nodes] == [5, 6]
    assert segregated(FOUR, 4).groups == ((0,), (1,), (2,), (3,))
    assert segregated(FOUR, 3).groups == ((0,), (1,), (2, 3))


@given(workloads(max_classes=5), st.data())
def test_nodes_carry_all_requests_and_have_exact_shares(workload, data):
    nodes = data.draw(st.integers(1, len(workload.classes)))
    whole = survival_weights(workload).lifetime_memory
    for routing in (segregated(workload, nodes), all_mixed(workload, nodes)):
        assert sum(node.load_share for node in routing.nodes) == 1
        assert sum(node.memory_time for node in routing.nodes) == whole
        assert routing.imbalance >= 1
        for column in zip(*routing.fractions, strict=True):
            assert sum(column) == 1
        for node, row in zip(routing.nodes, routing.fractions, strict=True):
            for mine, k in zip(node.workload.classes, node.classes, strict=True):
                sent = workload.classes[k].share * row[k]
                assert mine.share * node.load_share == sent


def test_one_mixed_node_is_the_workload_itself():
    routing = all_mixed(FOUR, 1)
    assert routing.nodes[0].workload.classes == FOUR.classes
    assert partitioned(FOUR, [range(4)]).fractions == routing.fractions == ((1, 1, 1, 1),)


def test_mixing_leaves_the_mix_as_it_is_and_balances():
    routing = all_mixed(FOUR, 3)
    assert {node.workload.classes for node in routing.nodes} == {FOUR.classes}
    assert routing.imbalance == 1
    assert all(node.load_share == Fraction(1, 3) for node in routing.nodes)


@settings(max_examples=25)
@given(workloads(max_classes=3))
def test_a_node_is_as_stable_as_its_system(workload):
    capacity = 7 * workload.largest_footprint
    for node in segregated(workload, len(workload.classes), capacity=capacity).nodes:
        system = System(node.workload, capacity)
        assert node.stability is stability(system).verdict
        assert node.rate == eviction_free_equilibrium(system).rate


def test_utilisation_says_which_node_is_overloaded():
    """Requests of 10 + 40 and 10 + 10 tokens, as many of each, one class a node."""
    routing = segregated(equal_shares(10, 40, 10), 2, capacity=2000)
    assert [node.rate for node in routing.nodes] == [Fraction(2000, 1220), Fraction(2000, 155)]
    assert [node.utilisation for node in routing.nodes] == [
        Fraction(1220, 4000),
        Fraction(155, 4000),
    ]
    assert routing.rate == Fraction(4000, 1220)
    assert routing.imbalance == Fraction(1220 * 2, 1220 + 155)
    balanced = all_mixed(equal_shares(10, 40, 10), 2, capacity=2000)
    assert balanced.rate == Fraction(4000, 1220) * routing.imbalance


def test_without_a_capacity_there_is_no_rate():
    routing = all_mixed(FOUR, 2)
    assert (routing.rate, routing.capacity) == (None, None)
    assert all(node.rate is node.utilisation is None for node in routing.nodes)


def test_only_pooling_makes_four_tiers_stable_on_two_nodes():
    """Congestion, Table 2: lengths 5, 6, 10, 12, inputs of 300."""
    found = best_partition(FOUR, 2)
    assert found.exhaustive
    assert found.examined == 7  # Stirling number of the second kind S(4, 2)
    assert found.is_mixed
    assert found.mixed.stability is Stability.STABLE
    assert found.best_partition is not None
    assert found.best_partition.stability is Stability.UNSTABLE
    assert found.evidence is Evidence.EXACT


def test_best_partition_agrees_with_scoring_every_partition_by_hand():
    workload = equal_shares(40, 3, 4, 6, 8, 9)
    found = best_partition(workload, 2)
    scored = []
    for mask in range(1, 2**4):  # class 0 always on node 0, so each partition once
        second = [k for k in range(1, 5) if mask >> (k - 1) & 1]
        first = [k for k in range(5) if k not in second]
        routing = partitioned(workload, [first, second])
        scored.append((routing.unstable_modes, routing.spectral_radius, routing.groups))
    scored.sort()
    assert found.examined == len(scored) == 15
    assert found.best_partition is not None
    assert found.best_partition.groups == scored[0][2]
    assert found.ties == ()
    assert scored[0][:2] < scored[1][:2]


def test_equal_classes_tie_and_the_tie_is_said():
    """Two classes alike and a third: it makes no difference which of the two goes with it."""
    workload = Workload(
        (
            RequestClass(200, 2, Fraction(1, 4)),
            RequestClass(200, 2, Fraction(1, 4)),
            RequestClass(200, 3, Fraction(1, 2)),
        )
    )
    found = best_partition(workload, 2)
    assert found.best_partition is not None
    assert {found.best_partition.groups, *found.ties} == {((0,), (1, 2)), ((0, 2), (1,))}


def test_a_bound_on_the_imbalance_leaves_partitions_out():
    workload = equal_shares(10, 40, 10, 11)
    free = best_partition(workload, 2)
    bound = Fraction(11, 10)
    held = best_partition(workload, 2, max_imbalance=bound)
    assert free.over_imbalance == 0
    assert held.over_imbalance == held.examined == 3
    assert held.best_partition is None
    assert held.best is held.mixed


@pytest.mark.parametrize("bound", [Fraction(6, 5), 2])
def test_what_is_left_is_within_the_bound(bound):
    found = best_partition(FOUR, 2, max_imbalance=bound)
    assert found.best_partition is not None
    assert found.best_partition.imbalance <= bound


def test_more_nodes_than_classes_leaves_mixing():
    found = best_partition(equal_shares(300, 5, 6), 3)
    assert (found.best_partition, found.examined, found.is_mixed) == (None, 0, True)


def test_one_node_has_one_routing():
    found = best_partition(FOUR, 1)
    assert found.is_mixed
    assert found.best_partition is None


def test_a_search_beyond_the_limit_is_called_sampled(monkeypatch):
    """Four classes, but only local steps: the same answer here, with the weaker word for it."""
    monkeypatch.setattr(partition_module, "EXHAUSTIVE_CLASSES", 3)
    whole = best_partition(FOUR, 2)
    assert not whole.exhaustive
    assert whole.evidence is Evidence.SAMPLED
    monkeypatch.undo()
    exact = best_partition(FOUR, 2)
    assert whole.best_partition is not None
    assert exact.best_partition is not None
    assert whole.best_partition.groups == exact.best_partition.groups


def test_local_steps_never_end_above_their_starts():
    workload = equal_shares(100, *range(5, 17))
    found = best_partition(workload, 3)
    assert not found.exhaustive
    assert found.best_partition is not None
    start = segregated(workload, 3)
    assert start.unstable_modes is not None
    assert found.best_partition.unstable_modes is not None
    assert found.best_partition.unstable_modes <= start.unstable_modes


def test_a_mix_whose_certificate_does_not_close_is_never_the_best(monkeypatch):
    """The pair (5, 6) is left undecided: a partition with it is listed, not ranked."""

    def certify(weights):
        found = certify_spectrum(weights)
        if weights == survival_weights(equal_shares(300, 5, 6)):
            return dataclasses.replace(found, outside=None, on_circle=None, radius=(0.99, 1.01))
        return found

    closed = best_partition(FOUR, 2)
    assert closed.best_partition is not None
    assert closed.best_partition.groups == ((0, 2), (1, 3))
    monkeypatch.setattr(partition_module, "certify_spectrum", certify)
    found = best_partition(FOUR, 2)
    assert found.undecided == (((0, 2), (1, 3)),)
    assert found.best_partition is not None
    assert found.best_partition.groups == ((0, 3), (1, 2))
    assert found.evidence is Evidence.SAMPLED


def test_partitions_are_counted_once_each():
    """Stirling numbers of the second kind, by their recurrence."""
    stirling = {(0, 0): 1}
    for n in range(1, 8):
        for k in range(n + 1):
            stirling[n, k] = k * stirling.get((n - 1, k), 0) + stirling.get((n - 1, k - 1), 0)
    for (n, k), count in stirling.items():
        if 1 <= k <= n:
            found = list(partition_module._set_partitions(n, k))
            assert len(set(found)) == len(found) == count
            assert all(a < b for groups in found for a, b in pairwise(g[0] for g in groups))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: all_mixed(FOUR, 0), "nodes: got 0; allowed: an integer of at least 1"),
        (lambda: segregated(FOUR, True), "nodes: got True"),
        (lambda: segregated(FOUR, 5), "nodes: got 5; allowed: at most 4, one for each class"),
        (lambda: partitioned(FOUR, [[0, 1], [2]]), "groups: got"),
        (lambda: partitioned(FOUR, [[0, 1], [1, 2, 3]]), "groups: got"),
        (lambda: partitioned(FOUR, [[0, 1, 2, 3], []]), "groups: got"),
        (
            lambda: all_mixed(FOUR, 2, capacity=312),
            "capacity: got 312; allowed: more than 312",
        ),
        (lambda: best_partition(FOUR, 2, max_imbalance=Fraction(9, 10)), "max_imbalance: got"),
        (
            lambda: best_partition(FOUR, 2, max_imbalance=1.5),  # pyright: ignore[reportArgumentType]
            "max_imbalance: got 1.5; allowed: an integer or a Fraction of at least 1",
        ),
    ],
)
def test_bad_input_gets_one_line(call, message):
    with pytest.raises(InputError, match="^" + re.escape(message)):
        call()
