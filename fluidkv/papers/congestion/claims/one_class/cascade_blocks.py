"""Congestion, Appendix A.1: block-ends, the block-end map and what follows from it.

The map is tried against the literal model, from every block-end that the starts of a small range
(`_boundary_states`) meet on their way, and on gap vectors with whole normalized masses.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import accumulate, pairwise, product
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Claim, Outcome
from fluidkv.ledger.outcomes import equals, holds_for, sampled
from fluidkv.papers.congestion.claims.one_class._boundary_states import RANGE, cases, fallen, shown
from fluidkv.papers.congestion.paper import congestion
from fluidkv.verdict import Verdict

if TYPE_CHECKING:
    from fluidkv.exact.mass import Step
    from fluidkv.exact.one_class.blocks import BlockEnd
    from fluidkv.exact.one_class.cascade import Cascade
    from fluidkv.workload import System


def _system(l0: int, l1: int, capacity: Fraction | int) -> "System":
    from fluidkv.workload import RequestClass, System, Workload

    return System(Workload((RequestClass(l0, l1),)), Fraction(capacity))


# --- Proposition A.4 against the literal model --------------------------------------------------


@cache
def _met() -> "tuple[tuple[int, Fraction, BlockEnd], ...]":
    """(l0, M, block-end) for every different block-end of the range's trajectories, m >= 2."""
    from fluidkv.exact.one_class.blocks import block_end

    found = {}
    for case in cases():
        way = fallen(case)
        for n in way.block_ends:
            end = block_end([Fraction(x) for x in way.states[n - way.first]], 0)
            if len(end.gaps) > 1:
                found.setdefault((case.l0, Fraction(case.capacity), end.gaps, end.masses), end)
    return tuple((key[0], key[1], end) for key, end in found.items())


@cache
def _walked() -> "tuple[tuple[int, BlockEnd, list[Step]], ...]":
    """Each block-end, and the literal steps of the g_{m-1} iterations that follow it."""
    from fluidkv.exact.mass import iterate

    walks = []
    for l0, capacity, end in _met():
        system = _system(l0, sum(end.gaps), capacity)
        steps, state = [], list(end.state)
        for _ in range(end.gaps[-1]):
            steps.append(iterate(system, [state]))
            state = steps[-1].state[0]
        walks.append((l0, end, steps))
    return tuple(walks)


def _at(l0: int, end: "BlockEnd") -> str:
    return f"l0={l0}, gaps {end.gaps}, masses {shown(end.masses)}"


def _live(state: list[Fraction]) -> int:
    return sum(x > 0 for x in state)


def _kept(end: "BlockEnd", steps: "list[Step]") -> bool:
    return _live(steps[-1].state[0]) == len(end.gaps)


def _map() -> Outcome:
    from fluidkv.exact.one_class.blocks import block_step

    bad, kept = None, 0
    for l0, end, steps in _walked():
        if not _kept(end, steps):
            continue
        kept += 1
        predicted = block_step(l0, end)
        if predicted is None or list(predicted.state) != steps[-1].state[0]:
            bad = bad or _at(l0, end)
    return sampled(bad, f"equal after {kept} blocks", "equation (16), old masses copied")


def _loss_sign() -> Outcome:
    """The support lasts the block exactly if (16) gives a positive mass."""
    from fluidkv.exact.one_class.blocks import new_batch

    walks = _walked()
    bad = next(
        (_at(l0, end) for l0, end, steps in walks if (new_batch(l0, end) > 0) != _kept(end, steps)),
        None,
    )
    lost = sum(not _kept(end, steps) for _, end, steps in walks)
    return sampled(
        bad,
        f"{len(walks)} blocks, {lost} of them lose support",
        "conditional on the same support pattern",
        "The condition can be read off the formula: the support lasts exactly if y'_0 > 0.",
    )


def _block_length() -> Outcome:
    """No live position completes between, and the next one does right after."""
    bad, tried = None, 0
    for l0, end, steps in _walked():
        if not _kept(end, steps):
            continue
        tried += 1
        between = any(step.completed[0] for step in steps[1:])
        if between or steps[-1].state[0][-1] == 0:
            bad = bad or _at(l0, end)
    return sampled(bad, f"{tried} blocks", "exactly g_{m-1} iterations")


def _pure_evictions() -> Outcome:
    bad, tried = None, 0
    for l0, end, steps in _walked():
        if not _kept(end, steps):
            continue
        tried += 1
        evicting = [any(step.evicted[0]) for step in steps]
        if evicting != [False] + [True] * (end.gaps[-1] - 1):
            bad = bad or _at(l0, end)
    return sampled(bad, f"{tried} blocks", "one admission, then g_{m-1} - 1 pure-evict iterations")


def _only_the_batch() -> Outcome:
    bad, tried = None, 0
    for l0, end, steps in _walked():
        if not _kept(end, steps):
            continue
        tried += 1
        for t, step in enumerate(steps):
            if any(e for j, e in enumerate(step.evicted[0]) if j != t):
                bad = bad or _at(l0, end)
    return sampled(bad, f"{tried} blocks", "LPF trims the new batch and no old live mass")


def _boundary() -> Outcome:
    bad = next(
        (
            _at(l0, end)
            for l0, capacity, end in _met()
            if sum((l0 + s) * y for s, y in zip(accumulate(end.gaps), end.masses, strict=True))
            != capacity
        ),
        None,
    )
    return sampled(bad, f"{len(_met())} block-ends", "equation (15)")


def _batch_bound() -> Outcome:
    bad = next(
        (
            _at(l0, e)
            for l0, m, e in _met()
            if not all(0 <= u <= m / (l0 + 1) for u in e.normalized)
        ),
        None,
    )
    return sampled(bad, f"{len(_met())} block-ends", "0 <= u <= M/(l0+1)")


# --- the normalized map, on gap vectors with whole normalized masses ----------------------------

_LENGTHS, _LARGEST, _INPUTS = range(2, 6), 3, (1, 3)
_NORMALIZED = (
    f"all gap vectors, l1 = 2 ... {_LENGTHS[-1]}, normalized masses 1 ... {_LARGEST}, "
    f"l0 in {_INPUTS}"
)


@cache
def _balanced_or_not() -> "tuple[tuple[int, BlockEnd], ...]":
    from fluidkv.exact.one_class.blocks import BlockEnd

    return tuple(
        (l0, BlockEnd(0, gaps, tuple(Fraction(g * u) for g, u in zip(gaps, us, strict=True))))
        for total in _LENGTHS
        for gaps in _compositions(total)
        if len(gaps) > 1
        for l0 in _INPUTS
        for us in product(range(1, _LARGEST + 1), repeat=len(gaps))
    )


def _compositions(total: int) -> Iterator[tuple[int, ...]]:
    for cuts in product((False, True), repeat=total - 1):
        ends = [0, *(i for i, cut in enumerate(cuts, start=1) if cut), total]
        yield tuple(b - a for a, b in pairwise(ends))


def _normalized_map() -> Outcome:
    from fluidkv.exact.one_class.blocks import new_batch

    bad = None
    for l0, end in _balanced_or_not():
        u, gaps = end.normalized, end.gaps
        change = sum(g * (u[-1] - x) for g, x in zip(gaps[:-1], u[:-1], strict=True))
        if new_batch(l0, end) / gaps[-1] != u[-1] + change / (l0 + gaps[-1]):
            bad = bad or _at(l0, end)
    return sampled(bad, f"equal to (16) on {len(_balanced_or_not())} block-ends", "equation (18)")


def _spread_monotone() -> Outcome:
    from fluidkv.exact.one_class.blocks import block_step

    bad, tried = None, 0
    for l0, end in _balanced_or_not():
        after = block_step(l0, end)
        if after is not None:
            tried += 1
            if after.spread < end.spread:
                bad = bad or _at(l0, end)
    return sampled(bad, f"{tried} blocks", "G^sc does not fall")


def _spread_strict() -> Outcome:
    from fluidkv.exact.one_class.blocks import block_step

    bad, tried = None, 0
    for l0, end in _balanced_or_not():
        u, after = end.normalized, block_step(l0, end)
        if after is not None and end.spread > 0 and u[-1] in (min(u), max(u)):
            tried += 1
            if after.spread <= end.spread:
                bad = bad or _at(l0, end)
    return sampled(bad, f"{tried} blocks, ties for the extremum included", "strict")


def _growth_within_m() -> Outcome:
    return _growth_within(lambda m: m, "at least once every m sampled steps")


def _growth_within_fewer() -> Outcome:
    return _growth_within(
        lambda m: m - 1,
        "at least once every m sampled steps",
        "Maximum and minimum are at different positions, so the older of them is not the youngest "
        "position and comes to the oldest slot one block earlier than the corollary counts.",
    )


def _growth_within(blocks_of: Callable[[int], int], paper: str, note: str = "") -> Outcome:
    from fluidkv.exact.one_class.blocks import block_step

    bad, tried = None, 0
    for l0, end in _balanced_or_not():
        current: BlockEnd | None = end
        for _ in range(blocks_of(len(end.gaps))):
            current = None if current is None else block_step(l0, current)
        if end.spread > 0 and current is not None:
            tried += 1
            if current.spread <= end.spread:
                bad = bad or _at(l0, end)
    return sampled(bad, f"{tried} runs that keep their support", paper, note)


def _balance_stays() -> Outcome:
    from fluidkv.exact.one_class.blocks import block_step

    bad, tried = None, 0
    for l0, end in _balanced_or_not():
        if end.spread == 0:
            tried += 1
            current: BlockEnd | None = end
            for _ in range(len(end.gaps)):
                current = None if current is None else block_step(l0, current)
            if current is None or (current.gaps, current.masses) != (end.gaps, end.masses):
                bad = bad or _at(l0, end)
    return sampled(bad, f"{tried} balanced block-ends come back after m blocks", "one full circuit")


def _finite_loss() -> Outcome:
    from fluidkv.exact.one_class.blocks import block_step

    bad, tried, longest = None, 0, 0
    for l0, end in _balanced_or_not():
        if end.spread == 0:
            continue
        tried += 1
        current, blocks = block_step(l0, end), 1
        while current is not None and blocks < 200:
            current, blocks = block_step(l0, current), blocks + 1
        longest = max(longest, blocks)
        if current is not None:
            bad = bad or _at(l0, end)
    return sampled(
        bad,
        f"{tried} unbalanced block-ends lose support within {longest} blocks",
        "within finitely many sampled steps",
        "No bound holds for all: the smaller the spread, the more blocks.",
    )


def _equation_39() -> Outcome:
    from fluidkv.exact.one_class.blocks import new_batch

    bad = None
    for l0, end in _balanced_or_not():
        u, gaps = end.normalized, end.gaps
        below = sum(g * (max(u) - x) for g, x in zip(gaps[:-1], u[:-1], strict=True))
        right = (below - (l0 + sum(gaps)) * (max(u) - u[-1])) / (l0 + gaps[-1])
        if new_batch(l0, end) / gaps[-1] - max(u) != right:
            bad = bad or _at(l0, end)
    return sampled(bad, f"equal on {len(_balanced_or_not())} block-ends", "equation (39)")


# --- Example 6 and Figure 7 ---------------------------------------------------------------------

_ORBIT = ("17, 3, 0, 0", "0, 12, 3, 0", "0, 0, 9, 3", "3, 0, 0, 9")
_PLACE_6 = "Example 6"


def _vector(printed: str) -> list[Fraction]:
    return [Fraction(p) for p in printed.split(",")]


@cache
def _example_6() -> "tuple[list[Step], Cascade]":
    """The literal steps of one round, and the analysis of two."""
    from fluidkv.exact.mass import iterate
    from fluidkv.exact.one_class.cascade import cascade

    system, state = _system(2, 4, 63), _vector(_ORBIT[0])
    steps = []
    for _ in range(8):
        steps.append(iterate(system, [state]))
        state = steps[-1].state[0]
    states = [_vector(_ORBIT[0]), *(step.state[0] for step in steps)]
    return steps[:4], cascade(states, system)


def _state(n: int) -> list[Fraction]:
    return [Fraction(x) for x in _example_6()[1].states[n]]


def _evicted(n: int) -> list[Fraction]:
    """By stage, in the transition n -> n + 1."""
    return _example_6()[0][n].evicted[0]


def _at_end(n: int) -> list[Fraction]:
    """Gaps, masses, normalized masses and spread at a block-end."""
    found = _example_6()[1]
    masses = [x for x in found.states[n] if x]
    values = [*found.gaps[n], *masses, *found.normalized[n], found.block_spreads[n]]
    return [Fraction(x) for x in values]


def _live_stages(n: int) -> list[int]:
    return [j for j, x in enumerate(_state(n)) if x]


# Place, statement, printed numbers, ours.
_EXAMPLE_6: tuple[tuple[str, str, str, Callable[[], list]], ...] = (
    *(
        (f"n-{n}.state", f"X^{n} of the orbit is ({printed}).", printed, lambda n=n: _state(n))
        for n, printed in enumerate(_ORBIT)
    ),
    ("closes", "After four iterations the orbit is back.", _ORBIT[0], lambda: _state(4)),
    (
        "n-0.evicts",
        "From n = 0 to 1, 5 requests are evicted, from the most recent stage alone.",
        "0, 5, 0, 0",
        lambda: _evicted(0),
    ),
    (
        "n-1.evicts",
        "From n = 1 to 2, 3 requests are evicted, from the most recent stage alone.",
        "0, 0, 3, 0",
        lambda: _evicted(1),
    ),
    (
        "n-0.completes",
        "No completions occur from n = 0 to 2.",
        "0, 0",
        lambda: [step.completed[0] for step in _example_6()[0][:2]],
    ),
    (
        "eviction-block",
        "The iterations from n = 0 to 2 are the eviction block, those from 2 to 4 are not.",
        "1, 2",
        lambda: list(_example_6()[1].eviction_blocks[0]),
    ),
    (
        "block-ends",
        "The block-ends of a round are n = 2 and n = 3.",
        "2, 3",
        lambda: [n for n in _example_6()[1].block_ends if n < 4],
    ),
    ("n-2.stages", "At n = 2 stages 2 and 3 are live.", "2, 3", lambda: _live_stages(2)),
    (
        "n-2.block-end",
        "At n = 2 gaps are (3, 1), masses (9, 3), normalized (3, 3), spread 0.",
        "3, 1, 9, 3, 3, 3, 0",
        lambda: _at_end(2),
    ),
    ("n-3.stages", "At n = 3 stages 0 and 3 are live.", "0, 3", lambda: _live_stages(3)),
    (
        "n-3.block-end",
        "At n = 3 gaps are (1, 3), masses (3, 9), normalized (3, 3), spread 0.",
        "1, 3, 3, 9, 3, 3, 0",
        lambda: _at_end(3),
    ),
)


def _same_pattern() -> Outcome:
    """Live stages at consecutive block-ends of Example 6."""
    patterns = [_live_stages(n) for n in (2, 3)]
    same = patterns[0] == patterns[1]
    return holds_for(
        None if same else f"Example 6: live stages {patterns[0]} at n=2, {patterns[1]} at n=3",
        ours="the pattern rotates" if not same else "the same",
        paper="returns to the same configuration it had at the previous block-end",
        note="What returns is the gap vector, rotated by one; the stages return after m blocks.",
    )


def _same_after_m_blocks() -> Outcome:
    """Along every trajectory of the range, as long as the live set lasts."""
    bad, tried = None, 0
    for case in cases():
        found = fallen(case)
        for i, n in enumerate(found.block_ends):
            m = len(found.gaps[n])
            later = found.block_ends[i + m] if i + m < len(found.block_ends) else None
            if later is not None and found.live[n] == found.live[later]:
                tried += 1
                if found.gaps[n] != found.gaps[later]:
                    bad = bad or f"{case}, n={n}"
    return sampled(bad, f"{tried} pairs of block-ends, m apart", "the same configuration")


def _first_after_block() -> Outcome:
    """Which block-ends of Example 6 follow an eviction block, as the definition asks."""
    steps, found = _example_6()
    missing = [n for n in found.block_ends if n < 4 and not any(steps[n - 1].evicted[0])]
    return holds_for(
        f"Example 6: no eviction leads to X^{missing[0]}" if missing else None,
        ours="n = 3 follows an iteration that completes and evicts nothing" if missing else "both",
        paper="the first iteration after the eviction block in which a live position completes",
        note="The reading that the rest of the appendix uses, and that holds: a block-end is every "
        "state with a live position in the last stage. Where gaps are 1 the block is empty. The "
        'same goes for Figure 7, whose caption has block-ends "immediately after the eviction '
        'block settles".',
    )


def _lemma(id: str, statement: str, place: str, check, kind, checked=RANGE) -> Claim:
    return congestion(id, statement, place, check, kind=kind, checked=checked)


CLAIMS = (
    _lemma(
        "equation-15.boundary",
        "At a block-end memory is the sum of (l0 + S_h) y_h.",
        "equation (15)",
        _boundary,
        "equation",
    ),
    _lemma(
        "proposition-a-4.map",
        "As long as the support lasts, the next block-end is that of equation (16), old masses "
        "copied.",
        "Proposition A.4",
        _map,
        "proposition",
    ),
    _lemma(
        "proposition-a-4.condition",
        "The support lasts a block exactly if equation (16) gives a positive mass.",
        "Proposition A.4, its condition made explicit",
        _loss_sign,
        "proposition",
    ),
    _lemma(
        "proposition-a-4.block-length",
        "On a fixed support the next live position completes after exactly g_{m-1} iterations.",
        "proof of Proposition A.4",
        _block_length,
        "proposition",
    ),
    _lemma(
        "proposition-a-4.pure-evictions",
        "On a fixed support a block is one iteration that admits and g_{m-1} - 1 that evict.",
        "proof of Proposition A.4",
        _pure_evictions,
        "proposition",
    ),
    _lemma(
        "proposition-a-4.only-the-batch",
        "On a fixed support eviction trims the newly admitted batch and nothing else.",
        "proof of Proposition A.4",
        _only_the_batch,
        "proposition",
    ),
    _lemma(
        "corollary-a-5.map",
        "Equation (18) is equation (16) in normalized masses.",
        "Corollary A.5, equations (17) and (18)",
        _normalized_map,
        "corollary",
        _NORMALIZED,
    ),
    _lemma(
        "lemma-a-6.monotone",
        "The block-end spread does not fall while the support lasts.",
        "Lemma A.6, equation (19)",
        _spread_monotone,
        "lemma",
        _NORMALIZED,
    ),
    _lemma(
        "lemma-a-6.strict",
        "It grows strictly when the oldest normalized mass is an extremum and the spread is not 0.",
        "Lemma A.6",
        _spread_strict,
        "lemma",
        _NORMALIZED,
    ),
    _lemma(
        "corollary-a-7.within-m-steps",
        "While the support lasts, a positive spread grows at least once every m blocks.",
        "Corollary A.7",
        _growth_within_m,
        "corollary",
        _NORMALIZED,
    ),
    _lemma(
        "corollary-a-7.within-m-1-steps",
        "It even grows at least once every m - 1 blocks.",
        "Corollary A.7, sharpened",
        _growth_within_fewer,
        "corollary",
        _NORMALIZED,
    ),
    _lemma(
        "theorem-a-1.balance-stays",
        "A balanced block-end is back after m blocks, gaps and masses.",
        "Theorem A.1, proof",
        _balance_stays,
        "theorem",
        _NORMALIZED,
    ),
    _lemma(
        "lemma-a-8.finite-loss",
        "From every unbalanced block-end the support shrinks within finitely many blocks.",
        "Lemma A.8",
        _finite_loss,
        "lemma",
        _NORMALIZED,
    ),
    _lemma(
        "lemma-a-8.bounded",
        "Normalized masses at block-ends are at most M/(l0+1).",
        "proof of Lemma A.8",
        _batch_bound,
        "lemma",
    ),
    _lemma(
        "equation-39",
        "The new normalized mass exceeds the maximum by equation (39).",
        "equation (39), proof of Lemma A.8",
        _equation_39,
        "equation",
        _NORMALIZED,
    ),
    *(
        congestion(
            f"example-6.{place}",
            statement,
            _PLACE_6,
            lambda ours=ours, printed=printed: equals(ours(), printed),
        )
        for place, statement, printed, ours in _EXAMPLE_6
    ),
    congestion(
        "definition.block-end.same-pattern",
        "At a block-end the same stages are live as at the block-end before.",
        "Appendix A.1, eviction blocks and block-ends, as printed",
        _same_pattern,
        kind="definition",
        expected=Verdict.FAILS,
        checked="Example 6",
    ),
    _lemma(
        "definition.block-end.same-pattern-after-m",
        "As long as the live set lasts, the same stages are live m block-ends later.",
        "Appendix A.1, eviction blocks and block-ends, the reading that holds",
        _same_after_m_blocks,
        "definition",
    ),
    congestion(
        "definition.block-end.after-evictions",
        "Every block-end follows an iteration that evicts.",
        "Appendix A.1, block-ends, and Figure 7, caption, as printed",
        _first_after_block,
        kind="definition",
        expected=Verdict.FAILS,
        checked="Example 6",
    ),
)
