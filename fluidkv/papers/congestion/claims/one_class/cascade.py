"""Congestion, section 3.3 and Lemmas A.1 to A.3, Theorem A.1: from the first imbalance to the end.

Each statement is tried on every start of a small range (`_boundary_states`), literally first; where
that fails, the reading that holds stands beside it.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise

from fluidkv.ledger.claim import Outcome
from fluidkv.ledger.outcomes import equals, holds_for, sampled
from fluidkv.papers.congestion.claims.one_class._boundary_states import (
    HORIZON,
    RANGE,
    Case,
    cases,
    fallen,
    shown,
)
from fluidkv.papers.congestion.paper import congestion
from fluidkv.verdict import Evidence, Verdict

# --- one iteration without eviction -------------------------------------------------------------


def _quiet() -> "Iterable[tuple[Case, list[Fraction], list[Fraction]]]":
    """Each start that evicts nothing, as fractions, and the state after one literal iteration."""
    for case in cases():
        step = case.step()
        if not any(step.evicted[0]):
            yield case, [Fraction(x) for x in case.masses], step.state[0]


def _first(violated: Iterable[str]) -> str | None:
    return next(iter(violated), None)


def _spread(state: Iterable[Fraction]) -> Fraction:
    values = list(state)
    return max(values) - min(values)


def _spread_does_not_fall() -> Outcome:
    tried = list(_quiet())
    bad = _first(f"{c} to {shown(y)}" for c, x, y in tried if _spread(y) < _spread(x))
    return sampled(bad, f"{len(tried)} iterations without eviction", "G^{n+1} >= G^n")


def _equation_6() -> Outcome:
    tried = list(_quiet())
    bad = _first(
        f"{c} to {shown(y)}"
        for c, x, y in tried
        if y[0] != x[-1] + sum(x[-1] - value for value in x) / (c.l0 + 1)
    )
    return sampled(bad, f"equal in {len(tried)} iterations", "equation (6)")


def _equation_6_sign() -> Outcome:
    tried = list(_quiet())
    bad = _first(
        f"{c} to {shown(y)}" for c, x, y in tried if (y[0] > x[-1]) != (x[-1] > sum(x) / len(x))
    )
    paper = "x_0 grows past the last stage exactly if that is above average"
    return sampled(bad, f"{len(tried)} iterations", paper)


def _extremal_growth() -> Outcome:
    tried = [(c, x, y) for c, x, y in _quiet() if x[-1] in (min(x), max(x))]
    bad = _first(
        f"{c} to {shown(y)}"
        for c, x, y in tried
        if _spread(y) < _spread(x) + _spread(x) / (c.l0 + 1)
    )
    return sampled(bad, f"{len(tried)} iterations", "grows by at least G/(l0+1)")


def _equation_38() -> Outcome:
    def right(case: Case, x: list[Fraction]) -> Fraction:
        top = max(x)
        below = sum(top - value for value in x)
        return (below - (case.l0 + len(x) + 1) * (top - x[-1])) / (case.l0 + 1)

    tried = list(_quiet())
    bad = _first(f"{c} to {shown(y)}" for c, x, y in tried if y[0] - max(x) != right(c, x))
    return sampled(bad, f"equal in {len(tried)} iterations", "equation (38)")


# --- Lemma A.2: the first overflow --------------------------------------------------------------


def _unequal(*, positive: bool) -> list[Case]:
    return [c for c in cases() if c.spread > 0 and len(c.masses) > 1 and c.positive >= positive]


def _breakdown() -> Outcome:
    tried = _unequal(positive=False)
    bad = _first(str(c) for c in tried if fallen(c).first_eviction is None)
    latest = max(fallen(c).first_eviction or 0 for c in tried)
    ours = f"{len(tried)} starts, the last one evicts at n={latest}"
    return sampled(bad, ours, "eviction in finite time")


def _overflow_loses(starts: list[Case], note: str) -> Outcome:
    """The first iteration that evicts also loses a support."""

    def loses(case: Case) -> bool:
        found = fallen(case)
        return found.first_eviction in {s.iteration for s in found.support_losses}

    bad = next((c for c in starts if not loses(c)), None)
    witness = None
    if bad is not None:
        found = fallen(bad)
        losses = [s.iteration for s in found.support_losses]
        witness = f"{bad}: first eviction at n={found.first_eviction}, losses at n={losses}"
    count = sum(not loses(c) for c in starts)
    return sampled(
        witness, f"{count} of {len(starts)} starts do not", "first overflow loses support", note
    )


def _overflow_loses_literally() -> Outcome:
    return _overflow_loses(
        _unequal(positive=False),
        "With a stage empty at the start, an eviction may only trim the youngest batch.",
    )


def _overflow_loses_full() -> Outcome:
    return _overflow_loses(
        _unequal(positive=True),
        "A completion can release exactly what the others need to grow: then nothing is admitted "
        "and nothing evicted, and stage 0 stays empty from there on.",
    )


def _overflow_loses_generic() -> Outcome:
    """From full support: the first loss is where admission first is not positive."""

    def first_not_admitting(case: Case) -> int | None:
        states = fallen(case).states
        return next((n for n, x in enumerate(states) if n and x[0] == 0), None)

    tried = _unequal(positive=True)
    bad = _first(
        str(c)
        for c in tried
        if not fallen(c).support_losses
        or fallen(c).support_losses[0].iteration != first_not_admitting(c)
        or (fallen(c).first_eviction or 0) < fallen(c).support_losses[0].iteration
    )
    ties = sum(not fallen(c).support_losses[0].evicted for c in tried)
    return sampled(
        bad,
        f"{len(tried)} starts; in {ties} of them memory is exactly full and nothing is evicted",
        "first overflow loses support",
    )


def _one_level(starts: list[Case], *, first_only: bool) -> str | None:
    for case in starts:
        found = fallen(case)
        levels = [found.levels[0], *(s.empty_stages for s in found.support_losses)]
        jumps = list(zip(found.support_losses, pairwise(levels), strict=True))
        for loss, (before, after) in jumps[:1] if first_only else jumps:
            if after > before + 1:
                states = found.states[loss.iteration - 1 : loss.iteration + 1]
                way = " to ".join(shown(x) for x in states)
                return f"{case}: level {before} to {after} at n={loss.iteration}, {way}"
    return None


def _next_level() -> Outcome:
    tried = _unequal(positive=True)
    several = sum(fallen(c).support_losses[0].empty_stages > 1 for c in tried)
    return sampled(
        _one_level(tried, first_only=True),
        f"{several} of {len(tried)} starts lose several positions at once",
        "next lower live-support level",
        "The completing position and the youngest other one can go in one iteration: an overflow "
        "that leaves nothing to admit may exceed what the youngest batch holds.",
    )


def _next_level_l1_2() -> Outcome:
    tried = [c for c in _unequal(positive=True) if len(c.masses) == 2]
    bad = _one_level(tried, first_only=True)
    return sampled(bad, f"{len(tried)} starts", "next lower live-support level")


def _next_level_near() -> Outcome:
    """Not only far away: one and a half per cent from the fixed point (1, 1, 1), M = 9."""
    from fluidkv.exact.one_class.cascade import cascade
    from fluidkv.exact.one_class.trajectory import trajectory
    from fluidkv.workload import RequestClass, System, Workload

    system = System(Workload((RequestClass(1, 3),)), Fraction(9))
    start = (Fraction(1), Fraction(51, 50), Fraction(197, 200))
    found = cascade(trajectory(system, start, iterations=HORIZON, after_settling=3), system)
    first = found.support_losses[0]
    bad = None
    if first.empty_stages > 1:
        bad = (
            f"l0=1, l1=3, M=9, from {shown(start)}: level 0 to {first.empty_stages} "
            f"at n={first.iteration}"
        )
    return holds_for(
        bad,
        ours=f"first loss at n={first.iteration} leaves {first.empty_stages} stages empty",
        paper="next lower live-support level",
        evidence=Evidence.EXACT,
    )


def _instability() -> Outcome:
    """Starts ever nearer to the fixed point all evict, so none of them stays near it."""
    from fluidkv.exact.one_class.cascade import cascade
    from fluidkv.exact.one_class.trajectory import trajectory
    from fluidkv.workload import RequestClass, System, Workload

    latest, bad = 0, None
    for l1 in range(2, 6):
        for l0 in range(1, 5):
            x = Fraction(3)
            capacity = sum((l0 + 1 + j) * x for j in range(l1))
            system = System(Workload((RequestClass(l0, l1),)), capacity)
            for digits in (3, 6, 9):
                e = Fraction(1, 10**digits)
                start = [x + e, *[x] * (l1 - 2), x - e * Fraction(l0 + 1, l0 + l1)]
                states = trajectory(system, start, iterations=1000, after_settling=l1)
                found = cascade(states, system).first_eviction
                if found is None:
                    bad = bad or f"l0={l0}, l1={l1}, off by {e}"
                else:
                    latest = max(latest, found)
    return sampled(
        bad,
        f"starts off by 1e-3, 1e-6, 1e-9 all evict, by n={latest}",
        "the fixed point is unstable",
    )


# --- Lemma A.3: dead positions ------------------------------------------------------------------


def _no_revival() -> Outcome:
    """One iteration is enough: a position that is dead at n is dead at n + 1."""
    tried = [(c, c.step()) for c in cases() if not c.positive]
    bad = _first(
        f"{c} to {shown(step.state[0])}"
        for c, step in tried
        for j, x in enumerate(step.state[0])
        if c.masses[j - 1] == 0 and x > 0
    )
    lengths = sorted({len(c.masses) for c, _ in tried})
    ours = f"{len(tried)} states with an empty stage, l1 = {lengths[0]} ... {lengths[-1]}"
    return sampled(
        bad, ours, "z = 0 stays 0", "With l1 = 1 no state on the boundary has an empty stage."
    )


def _dead_overflow() -> Outcome:
    """The proof's step: when a dead position completes, memory exceeds M by all that is there."""
    from fluidkv.exact.mass import memory_used

    tried = [(c, c.step()) for c in cases() if c.masses[-1] == 0]
    bad = _first(
        str(c)
        for c, step in tried
        if memory_used(c.system(), step.executed) != c.capacity + sum(c.masses)
    )
    return sampled(bad, f"{len(tried)} states", "M + sum of masses, above M")


def _live_set_shrinks() -> Outcome:
    bad = _first(
        f"{c}, n={n}"
        for c in cases()
        for n, (before, after) in enumerate(pairwise(fallen(c).live))
        if not set(after) <= set(before)
    )
    return sampled(bad, f"{len(cases())} starts, whole way", "the live set can only shrink")


# --- Theorem A.1 --------------------------------------------------------------------------------


def _finite_time() -> Outcome:
    bad = _first(str(c) for c in cases() if fallen(c).settled is None)
    when = [s.iteration for c in cases() if (s := fallen(c).settled)]
    captured = sum(
        s.attractor != "maximal-eviction cycle" for c in cases() if (s := fallen(c).settled)
    )
    return sampled(
        bad,
        f"{len(when)} starts are exactly on a balanced cycle by n={max(when)}, "
        f"{captured} of them not on the maximal-eviction cycle",
        "every trajectory, in finite time",
        "Finite, but without a common bound: the nearer to a balanced cycle, the later.",
    )


def _one_level_at_a_time() -> Outcome:
    tried = [c for c in cases() if len(c.masses) > 1]
    return sampled(
        _one_level(tried, first_only=False),
        "support losses of several positions at once",
        "each loss moves to the next lower live-support level",
        "Harmless for the theorem, which needs that the support shrinks, not by how much.",
    )


def _evicts_or_completes() -> Outcome:
    """While the live set (of at least two) lasts, an iteration completes or evicts, never both."""
    bad, tried = None, 0
    for case in cases():
        found = fallen(case)
        evicting = {e.iteration for e in found.evictions}
        losing = {s.iteration for s in found.support_losses}
        for n, live in zip(found.iterations[1:], found.live[1:], strict=True):
            if len(live) < 2 or n in losing:
                continue
            tried += 1
            if (n in evicting) == (found.states[n - 1][-1] > 0):
                bad = bad or f"{case}, n={n}"
    return sampled(bad, f"{tried} iterations", "pure-evict iterations between completions")


def _block_or_admission() -> Outcome:
    """Example 3, n = 7, its first eviction: requests complete, and nothing is admitted."""
    from fluidkv.exact.one_class.trajectory import trajectory
    from fluidkv.workload import RequestClass, System, Workload

    system = System(Workload((RequestClass(2, 3),)), Fraction(24))
    states = trajectory(system, (Fraction(5, 2), Fraction(2), Fraction(17, 10)), iterations=7)
    completed, admitted = states[6][-1], states[7][0]
    return holds_for(
        None if completed == 0 or admitted > 0 else "Example 3, n=7",
        ours=f"at n=7 {completed} requests complete, {admitted} are admitted, some are evicted",
        paper="two phases: evictions without completions, completions with admissions",
        note="The two phases are those of a fixed support; a support loss is mostly in neither.",
    )


def _loss_without_eviction() -> Outcome:
    case = Case(1, (3, 1))
    (loss,) = fallen(case).support_losses
    return equals([loss.iteration, loss.empty_stages, int(loss.evicted)], "1, 1, 0")


def _claim(
    id: str,
    statement: str,
    place: str,
    check: Callable[[], Outcome],
    kind,
    expected: Verdict = Verdict.HOLDS,
    checked: str = RANGE,
):
    return congestion(id, statement, place, check, kind=kind, expected=expected, checked=checked)


CLAIMS = (
    _claim(
        "equation-6.admission",
        "Without eviction the admitted mass is that of equation (6).",
        "equation (6)",
        _equation_6,
        "equation",
    ),
    _claim(
        "equation-6.sign",
        "Without eviction more is admitted than completes exactly if the last stage is above "
        "average.",
        "section 3.3, below equation (6)",
        _equation_6_sign,
        "equation",
    ),
    _claim(
        "section-3-3.extremal-growth",
        "Without eviction the spread grows by at least G/(l0+1) when the last stage holds the "
        "minimum or the maximum.",
        "section 3.3, below equation (6)",
        _extremal_growth,
        "equation",
    ),
    _claim(
        "lemma-a-1.spread",
        "The spread G does not fall in an iteration without eviction.",
        "Lemma A.1",
        _spread_does_not_fall,
        "lemma",
    ),
    _claim(
        "equation-38",
        "Without eviction the admitted mass exceeds the maximum by equation (38).",
        "equation (38), proof of Lemma A.2",
        _equation_38,
        "equation",
    ),
    _claim(
        "lemma-a-2.breakdown",
        "A start with G > 0 evicts in finite time, for l1 >= 2.",
        "Lemma A.2, first sentence",
        _breakdown,
        "lemma",
    ),
    _claim(
        "lemma-a-2.first-overflow-loses-support",
        "From every start with G > 0 the first overflow loses a support, as the text reads.",
        "Lemma A.2, second sentence, as printed",
        _overflow_loses_literally,
        "lemma",
        Verdict.FAILS,
    ),
    _claim(
        "lemma-a-2.first-overflow-loses-support-full",
        "From a start with all stages occupied the first overflow loses a support.",
        "Lemma A.2, second sentence, for full support",
        _overflow_loses_full,
        "lemma",
        Verdict.FAILS,
    ),
    _claim(
        "lemma-a-2.first-loss",
        "From a start with all stages occupied the first support is lost where admission first is "
        "not positive, and nothing is evicted before.",
        "Lemma A.2, second sentence, ties counted with overflows",
        _overflow_loses_generic,
        "lemma",
    ),
    congestion(
        "lemma-a-2.loss-without-eviction",
        "With l0 = 1, l1 = 2, M = 9 the state (3, 1) loses a support at n = 1 and evicts nothing.",
        "Lemma A.2, a tie that the text leaves open",
        _loss_without_eviction,
        kind="lemma",
        checked="one case",
    ),
    _claim(
        "lemma-a-2.next-level",
        "The first support loss from full support empties one stage.",
        'Lemma A.2, "moves the trajectory to the next lower live-support level"',
        _next_level,
        "lemma",
        Verdict.FAILS,
    ),
    congestion(
        "lemma-a-2.next-level-near",
        "The first support loss from a start near the fixed point empties one stage.",
        'Lemma A.2, "next lower live-support level", close to the fixed point',
        _next_level_near,
        kind="lemma",
        expected=Verdict.FAILS,
        checked="l0 = 1, l1 = 3, M = 9, one start within 2 % of the fixed point",
    ),
    _claim(
        "lemma-a-2.next-level-two-stages",
        "With l1 = 2 the first support loss empties one stage.",
        "Lemma A.2, where there are two stages",
        _next_level_l1_2,
        "lemma",
    ),
    congestion(
        "lemma-a-2.fixed-point-unstable",
        "Starts ever closer to the fixed point leave it and evict.",
        "Lemma A.2, last sentence",
        _instability,
        kind="lemma",
        checked="l0 = 1 ... 4, l1 = 2 ... 5, stage 0 off by 1e-3, 1e-6, 1e-9",
    ),
    _claim(
        "lemma-a-3.no-revival",
        "A relative position without mass never has mass again.",
        "Lemma A.3",
        _no_revival,
        "lemma",
    ),
    _claim(
        "lemma-a-3.overflow",
        "When a dead position passes the last stage, memory after execution is M plus all masses.",
        "proof of Lemma A.3",
        _dead_overflow,
        "lemma",
    ),
    _claim(
        "equation-14.live-set",
        "The live set of one iteration is part of that of the iteration before.",
        "equation (14) and below",
        _live_set_shrinks,
        "equation",
    ),
    _claim(
        "theorem-a-1.finite-time",
        "Every start reaches a balanced cycle exactly, in finite time.",
        "Theorem A.1",
        _finite_time,
        "theorem",
    ),
    _claim(
        "theorem-a-1.one-level-at-a-time",
        "Each support loss on the way empties one stage.",
        "Theorem A.1, proof",
        _one_level_at_a_time,
        "theorem",
        Verdict.FAILS,
    ),
    _claim(
        "definition.eviction-block.fixed-support",
        "While the live set lasts, an iteration evicts exactly if no live position completes.",
        "Appendix A.1, eviction blocks",
        _evicts_or_completes,
        "definition",
    ),
    congestion(
        "definition.eviction-block.two-phases",
        "Every iteration either evicts and completes nothing, or completes and admits.",
        "Appendix A.1, eviction blocks, for all iterations",
        _block_or_admission,
        kind="definition",
        expected=Verdict.FAILS,
        checked="Example 3",
    ),
)
