"""Congestion, Lemma 9: from any state the classes come to their proportions, and keep them."""

from fractions import Fraction
from functools import cache
from itertools import islice, pairwise
from random import Random

from fluidkv.exact.mass import Masses, iterates, memory_used
from fluidkv.ledger import Seen
from fluidkv.workload import RequestClass, System, Workload
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()

_TRIALS, _SEED = 150, 9


@cache
def _any_states() -> tuple[tuple[System, Masses], ...]:
    """Systems of a few classes, each with masses by class and stage at or below capacity."""
    draw = Random(_SEED)
    return tuple(_any_state(draw) for _ in range(_TRIALS))


def _any_state(draw: Random) -> tuple[System, Masses]:
    parts = [draw.randint(1, 5) for _ in range(draw.randint(2, 4))]
    classes = [
        RequestClass(draw.randint(1, 9), draw.randint(1, 6), Fraction(k, sum(parts))) for k in parts
    ]
    workload = Workload(tuple(classes))
    system = System(workload, workload.largest_footprint + draw.randint(1, 20))
    state = [[Fraction(draw.choice([0, 1, 2, 5])) for _ in range(c.decode_length)] for c in classes]
    state[0][0] += 1
    fill = Fraction(draw.randint(1, 4), 4) * system.capacity / memory_used(system, state)
    return system, [[x * fill for x in row] for row in state]


def _second_longest(system: System) -> int:
    return sorted(c.decode_length for c in system.workload.classes)[-2]


def _proportional(system: System, state: Masses) -> bool:
    """x_kj = p_k y_j at all stages."""
    rows = list(zip(system.workload.classes, state, strict=True))
    return all(
        len({row[j] / c.share for c, row in rows if j < len(row)}) == 1
        for j in range(system.workload.longest_decode)
    )


def _on_manifold(system: System, state: Masses) -> list[bool]:
    """Whether X^0, X^1, ... are proportional, some iterations beyond the longest decode length."""
    states = islice(iterates(system, state), system.workload.longest_decode + 4)
    return [_proportional(system, x) for x in states]


@CLAIMS.claim(
    "lemma-9.entry",
    "Lemma 9",
    over=_any_states,
    checked=f"{_TRIALS} random states, 2 to 4 classes, decode lengths up to 6; exact",
    ours=lambda seen: (
        "{count} states of 2 to 4 classes, full memory or not: entered by the decode length of the "
        f"second class from the top at the latest (met exactly: {any(seen)}), and kept"
    ),
)
def _enters_manifold(system: System, state: Masses) -> bool | Seen:
    """From any feasible state the proportions of the classes hold at every stage after at most d
    iterations, and from then on.

    Paper: after at most d = max l1 iterations
    Note: A mass off the proportions shows only at stages that two classes have, so d is never
    needed unless two classes share it."""
    # Seen: whether it is entered no earlier than after the second longest decode length.
    on, second = _on_manifold(system, state), _second_longest(system)
    kept = all(later for now, later in pairwise(on) if now)
    return kept and on[second] and Seen(not any(on[:second]))
