"""Congestion, Appendix A.1: the block-end map and what follows from it.

The map is tried against the literal model, from every block-end that the starts of a small range
(`boundary_states`) meet on their way, and on gap vectors with whole normalized masses.
"""

from fractions import Fraction
from functools import cache
from itertools import accumulate, product

from fluidkv import exact
from fluidkv.exact.mass import Step
from fluidkv.exact.one_class.blocks import BlockEnd, block_end, block_step, new_batch
from fluidkv.ledger import Origin, Range, Seen
from fluidkv_papers.congestion.instances.boundary_states import STARTS, cases, fallen, shown
from fluidkv_papers.congestion.instances.one_class import compositions, system_of
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()
READING = CLAIMS.section(origin=Origin.READING)

# --- block-ends that trajectories meet ------------------------------------------------------------


def _at(l0: int, end: BlockEnd) -> str:
    return f"l0={l0}, gaps {end.gaps}, masses {shown(end.masses)}"


@cache
def _met() -> tuple[tuple[int, Fraction, BlockEnd], ...]:
    """(l0, M, block-end) for every different block-end of the range's trajectories, m >= 2."""
    found = {}
    for case in cases():
        way = fallen(case)
        for n in way.block_ends:
            end = block_end([Fraction(x) for x in way.states[n - way.first]], 0)
            if len(end.gaps) > 1:
                found.setdefault((case.l0, Fraction(case.capacity), end.gaps, end.masses), end)
    return tuple((l0, capacity, end) for (l0, capacity, *_), end in found.items())


@cache
def _walked() -> tuple[tuple[int, BlockEnd, list[Step]], ...]:
    """Each block-end, and the literal steps of the g_{m-1} iterations that follow it."""
    walks = []
    for l0, capacity, end in _met():
        system = system_of(l0, sum(end.gaps), capacity)
        steps, state = [], list(end.state)
        for _ in range(end.gaps[-1]):
            steps.append(exact.iterate(system, [state]))
            state = steps[-1].state[0]
        walks.append((l0, end, steps))
    return tuple(walks)


def _lasts(l0: int, end: BlockEnd, steps: list[Step]) -> bool:
    """Whether as many positions are live after the block as before."""
    return sum(x > 0 for x in steps[-1].state[0]) == len(end.gaps)


_MET = Range(STARTS.words, _met, name=lambda l0, capacity, end: _at(l0, end))
_BLOCKS = Range(STARTS.words, _walked, name=lambda l0, end, steps: _at(l0, end))
_FIXED = _BLOCKS.where("where the support lasts", _lasts)


@CLAIMS.claim("equation-15.boundary", "equation (15)", over=_MET)
def _boundary(l0: int, capacity: Fraction, end: BlockEnd) -> bool:
    """At a block-end memory is the sum of (l0 + S_h) y_h."""
    held = ((l0 + s) * y for s, y in zip(accumulate(end.gaps), end.masses, strict=True))
    return sum(held) == capacity


@CLAIMS.claim("proposition-a-4.map", "Proposition A.4", over=_FIXED)
def _map(l0: int, end: BlockEnd, steps: list[Step]) -> bool:
    """As long as the support lasts, the next block-end is that of equation (16), old masses
    copied."""
    g, l1 = end.gaps[-1], sum(end.gaps)
    *old, oldest = end.masses
    new = ((l0 + l1) * oldest - g * sum(old)) / (l0 + g)
    printed = BlockEnd(0, (g, *end.gaps[:-1]), (new, *old))
    ours = block_step(l0, end)
    return ours is not None and ours.state == printed.state == tuple(steps[-1].state[0])


@READING.claim(
    "proposition-a-4.condition",
    "Proposition A.4, its condition made explicit",
    over=_BLOCKS,
    ours=lambda seen: f"{{count}} blocks, {len(seen) - sum(seen)} of them lose support",
)
def _condition(l0: int, end: BlockEnd, steps: list[Step]) -> bool | Seen:
    """The support lasts a block exactly if equation (16) gives a positive mass.

    Paper: conditional on the same support pattern
    Note: The condition can be read off the formula: the support lasts exactly if y'_0 > 0."""
    lasts = _lasts(l0, end, steps)
    return (new_batch(l0, end) > 0) == lasts and Seen(lasts)


@CLAIMS.claim("proposition-a-4.block-length", "proof of Proposition A.4", over=_FIXED)
def _block_length(l0: int, end: BlockEnd, steps: list[Step]) -> bool:
    """On a fixed support the next live position completes after exactly g_{m-1} iterations."""
    # No live position completes between, and the next one does right after.
    between = any(step.completed[0] for step in steps[1:])
    return not between and steps[-1].state[0][-1] > 0


@CLAIMS.claim("proposition-a-4.pure-evictions", "proof of Proposition A.4", over=_FIXED)
def _pure_evictions(l0: int, end: BlockEnd, steps: list[Step]) -> bool:
    """On a fixed support a block is one iteration that admits and g_{m-1} - 1 that evict."""
    evicting = [any(step.evicted[0]) for step in steps]
    return evicting == [False] + [True] * (end.gaps[-1] - 1)


@CLAIMS.claim("proposition-a-4.only-the-batch", "proof of Proposition A.4", over=_FIXED)
def _only_the_batch(l0: int, end: BlockEnd, steps: list[Step]) -> bool:
    """On a fixed support eviction trims the newly admitted batch and nothing else."""
    return not any(
        e for t, step in enumerate(steps) for j, e in enumerate(step.evicted[0]) if j != t
    )


@CLAIMS.claim("lemma-a-8.bounded", "proof of Lemma A.8", over=_MET)
def _batch_bound(l0: int, capacity: Fraction, end: BlockEnd) -> bool:
    """Normalized masses at block-ends are at most M/(l0+1)."""
    return all(0 <= u <= capacity / (l0 + 1) for u in end.normalized)


# --- the normalized map, on gap vectors with whole normalized masses ------------------------------

_LENGTHS, _LARGEST, _INPUTS = range(2, 6), 3, (1, 3)


@cache
def _whole() -> tuple[tuple[int, BlockEnd], ...]:
    return tuple(
        (l0, BlockEnd(0, gaps, tuple(Fraction(g * u) for g, u in zip(gaps, us, strict=True))))
        for l1 in _LENGTHS
        for gaps in compositions(l1)
        if len(gaps) > 1
        for l0 in _INPUTS
        for us in product(range(1, _LARGEST + 1), repeat=len(gaps))
    )


def _after(l0: int, end: BlockEnd, blocks: int) -> BlockEnd | None:
    """The block-end so many blocks later; None if the support does not last."""
    current: BlockEnd | None = end
    for _ in range(blocks):
        current = None if current is None else block_step(l0, current)
    return current


_NORMALIZED = Range(
    f"all gap vectors, l1 = 2 ... {_LENGTHS[-1]}, normalized masses 1 ... {_LARGEST}, "
    f"l0 in {_INPUTS}",
    _whole,
    name=_at,
)
_LASTING = _NORMALIZED.where("where the support lasts", lambda l0, end: bool(_after(l0, end, 1)))
_UNBALANCED = _NORMALIZED.where("G^sc > 0", lambda l0, end: end.spread > 0)


@CLAIMS.claim("corollary-a-5.map", "Corollary A.5, equations (17) and (18)", over=_NORMALIZED)
def _normalized_map(l0: int, end: BlockEnd) -> bool:
    """Equation (18) is equation (16) in normalized masses."""
    u, gaps = end.normalized, end.gaps
    change = sum(g * (u[-1] - x) for g, x in zip(gaps[:-1], u[:-1], strict=True))
    return new_batch(l0, end) / gaps[-1] == u[-1] + change / (l0 + gaps[-1])


@CLAIMS.claim("lemma-a-6.monotone", "Lemma A.6, equation (19)", over=_LASTING)
def _spread_monotone(l0: int, end: BlockEnd) -> bool:
    """The block-end spread does not fall while the support lasts."""
    after = _after(l0, end, 1)
    return after is not None and after.spread >= end.spread


@CLAIMS.claim(
    "lemma-a-6.strict",
    "Lemma A.6",
    over=_LASTING.where(
        "G^sc > 0, the oldest an extremum",
        lambda l0, end: (
            end.spread > 0 and end.normalized[-1] in (min(end.normalized), max(end.normalized))
        ),
    ),
)
def _spread_strict(l0: int, end: BlockEnd) -> bool:
    """It grows strictly when the oldest normalized mass is an extremum and the spread is not 0."""
    after = _after(l0, end, 1)
    return after is not None and after.spread > end.spread


def _lasts_for(fewer: int) -> Range:
    return _UNBALANCED.where(
        f"where it lasts for m{f' - {fewer}' if fewer else ''} blocks",
        lambda l0, end: _after(l0, end, len(end.gaps) - fewer) is not None,
    )


def _grows_within(l0: int, end: BlockEnd, blocks: int) -> bool:
    after = _after(l0, end, blocks)
    return after is not None and after.spread > end.spread


@CLAIMS.claim("corollary-a-7.within-m-steps", "Corollary A.7", over=_lasts_for(0))
def _within_m(l0: int, end: BlockEnd) -> bool:
    """While the support lasts, a positive spread grows at least once every m blocks."""
    return _grows_within(l0, end, len(end.gaps))


@READING.claim("corollary-a-7.within-m-1-steps", "Corollary A.7, sharpened", over=_lasts_for(1))
def _within_fewer(l0: int, end: BlockEnd) -> bool:
    """It even grows at least once every m - 1 blocks.

    Paper: at least once every m sampled steps
    Note: Maximum and minimum are at different positions, so the older of them is not the youngest
    position and comes to the oldest slot one block earlier than the corollary counts."""
    return _grows_within(l0, end, len(end.gaps) - 1)


@CLAIMS.claim(
    "theorem-a-1.balance-stays",
    "Theorem A.1, proof",
    over=_NORMALIZED.where("G^sc = 0", lambda l0, end: end.spread == 0),
)
def _balance_stays(l0: int, end: BlockEnd) -> bool:
    """A balanced block-end is back after m blocks, gaps and masses."""
    after = _after(l0, end, len(end.gaps))
    return after is not None and (after.gaps, after.masses) == (end.gaps, end.masses)


_MOST_BLOCKS = 200


@CLAIMS.claim("lemma-a-8.finite-loss", "Lemma A.8", over=_UNBALANCED)
def _finite_loss(l0: int, end: BlockEnd) -> bool | Seen:
    """From every unbalanced block-end the support shrinks within finitely many blocks.

    Ours: {count} unbalanced block-ends lose support within {max} blocks
    Note: No bound holds for all: the smaller the spread, the more blocks."""
    current: BlockEnd | None = end
    for blocks in range(1, _MOST_BLOCKS + 1):
        current = None if current is None else block_step(l0, current)
        if current is None:
            return Seen(blocks)
    return False


@CLAIMS.claim("equation-39", "equation (39), proof of Lemma A.8", over=_NORMALIZED)
def _equation_39(l0: int, end: BlockEnd) -> bool:
    """The new normalized mass exceeds the maximum by equation (39)."""
    u, gaps, top = end.normalized, end.gaps, max(end.normalized)
    below = sum(g * (top - x) for g, x in zip(gaps[:-1], u[:-1], strict=True))
    printed = (below - (l0 + sum(gaps)) * (top - u[-1])) / (l0 + gaps[-1])
    return new_batch(l0, end) / gaps[-1] - top == printed
