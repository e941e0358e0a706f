"""Congestion, Lemmas A.2 and A.3, Theorem A.1: from the first imbalance to the end.

Each statement is tried on every start of a small range (`boundary_states`), literally first; where
that fails, the reading that holds stands beside it.
"""

from fractions import Fraction
from itertools import pairwise

from fluidkv import exact
from fluidkv.exact.mass import memory_used
from fluidkv.exact.one_class.collapse import Cascade
from fluidkv.ledger import Finding, Origin, Outcome, Seen, equals
from fluidkv_papers.congestion.instances import boundary_states as boundary
from fluidkv_papers.congestion.instances.one_class import system_of
from fluidkv_papers.congestion.paper import statements

CLAIMS = statements()
LEMMA_A_2 = CLAIMS.section("lemma-a-2", "Lemma A.2", origin=Origin.READING)

# --- Lemma A.2: the first overflow ----------------------------------------------------------------

_UNEQUAL = boundary.STARTS.where(
    "G > 0, l1 >= 2", lambda case: case.spread > 0 and len(case.masses) > 1
)
_FULL = _UNEQUAL.where("all stages occupied", lambda case: case.positive)


@CLAIMS.claim("lemma-a-2.breakdown", "Lemma A.2, first sentence", over=_UNEQUAL)
def _breaks_down(case: boundary.Case) -> bool | Seen:
    """A start with G > 0 evicts in finite time, for l1 >= 2.

    Ours: {count} starts, the last one evicts at n={max}"""
    first = boundary.fallen(case).first_eviction
    return first is not None and Seen(first)


_LOSES = "first overflow loses support"


@CLAIMS.fails(
    "lemma-a-2.first-overflow-loses-support-full",
    "Lemma A.2, second sentence, for full support",
    "From a start with all stages occupied the first overflow loses a support.",
    over=_FULL,
    ours=lambda _: f"{_FULL.share(lambda case: not _loses(case))} starts do not",
    paper=_LOSES,
    note="A completion can release exactly what the others need to grow: then nothing is admitted "
    "and nothing evicted, and stage 0 stays empty from there on.",
    holds="lemma-a-2.loss-without-eviction, lemma-a-2.first-loss",
)
@LEMMA_A_2.fails(
    "first-overflow-loses-support",
    ", second sentence, read for starts with empty stages too",
    "From every start with G > 0 the first overflow loses a support.",
    over=_UNEQUAL,
    ours=lambda _: f"{_UNEQUAL.share(lambda case: not _loses(case))} starts do not",
    paper=_LOSES,
    note="With a stage empty at the start, an eviction may only trim the youngest batch. The "
    "hypothesis does not ask for full support; the proof says that it starts from there.",
)
def _overflow_loses(case: boundary.Case) -> bool | str:
    first, losses = boundary.fallen(case).first_eviction, _losses(case)
    return _loses(case) or f"{case}: first eviction at n={first}, losses at n={losses}"


def _losses(case: boundary.Case) -> list[int]:
    return [s.iteration for s in boundary.fallen(case).support_losses]


def _loses(case: boundary.Case) -> bool:
    """Whether the first iteration that evicts also loses a support."""
    return boundary.fallen(case).first_eviction in _losses(case)


@LEMMA_A_2.claim(
    "first-loss", ", second sentence, ties counted with overflows", over=_FULL, paper=_LOSES
)
def _first_loss(case: boundary.Case) -> bool | Seen:
    """From a start with all stages occupied the first support is lost where admission first is not
    positive, and nothing is evicted before.

    Ours: in {sum} of {count} starts memory is exactly full and nothing is evicted"""
    found = boundary.fallen(case)
    not_admitting = next(n for n, x in enumerate(found.states) if n and x[0] == 0)
    first, *_ = found.support_losses
    evicts = found.first_eviction
    right = first.iteration == not_admitting and evicts is not None and evicts >= not_admitting
    return right and Seen(not first.evicted)


@LEMMA_A_2.claim("loss-without-eviction", ", a tie that the text leaves open")
def _loss_without_eviction() -> Outcome:
    """With l0 = 1, l1 = 2, M = 9 the state (3, 1) loses a support at n = 1 and evicts nothing.

    Checked: one case"""
    (loss,) = boundary.fallen(boundary.Case(1, (3, 1))).support_losses
    return equals([loss.iteration, loss.empty_stages, int(loss.evicted)], "1, 1, 0")


def _one_level(case: boundary.Case, found: Cascade, losses: int | None) -> bool | str:
    """Whether each of the first losses empties one stage."""
    levels = [found.levels[0], *(s.empty_stages for s in found.support_losses)]
    for loss, (before, after) in zip(found.support_losses[:losses], pairwise(levels), strict=False):
        if after > before + 1:
            states = found.states[loss.iteration - 1 : loss.iteration + 1]
            way = " to ".join(boundary.shown(x) for x in states)
            return f"{case}: level {before} to {after} at n={loss.iteration}, {way}"
    return True


_NEXT = "next lower live-support level"


@CLAIMS.claim(
    "lemma-a-2.next-level-two-stages",
    "Lemma A.2, where there are two stages",
    "With l1 = 2 the first support loss empties one stage.",
    over=_FULL.where("l1 = 2", lambda case: len(case.masses) == 2),
    paper=_NEXT,
)
@CLAIMS.fails(
    "lemma-a-2.next-level",
    'Lemma A.2, "moves the trajectory to the next lower live-support level"',
    "The first support loss from full support empties one stage.",
    over=_FULL,
    ours=lambda _: (
        f"{_FULL.share(lambda case: boundary.fallen(case).support_losses[0].empty_stages > 1)} "
        "starts lose several positions at once"
    ),
    paper=_NEXT,
    note="The completing position and the youngest other one can go in one iteration: an overflow "
    "that leaves nothing to admit may exceed what the youngest batch holds.",
    holds="lemma-a-2.next-level-two-stages",
)
def _next_level(case: boundary.Case) -> bool | str:
    return _one_level(case, boundary.fallen(case), 1)


@LEMMA_A_2.fails(
    "next-level-near", ', "next lower live-support level", close to the fixed point', paper=_NEXT
)
def _next_level_near() -> Finding:
    """The first support loss from a start near the fixed point empties one stage.

    Checked: l0 = 1, l1 = 3, M = 9, one start within 2 % of the fixed point"""
    # Not only far away: one and a half per cent from the fixed point (1, 1, 1).
    start = (Fraction(1), Fraction(51, 50), Fraction(197, 200))
    system = system_of(1, 3, 9)
    states = exact.trajectory(system, start, iterations=boundary.HORIZON, after_settling=3)
    first = exact.cascade(states, system).support_losses[0]
    left, when = first.empty_stages, first.iteration
    found = f"l0=1, l1=3, M=9, from {boundary.shown(start)}: level 0 to {left} at n={when}"
    return Finding(not (left > 1) or found, f"first loss at n={when} leaves {left} stages empty")


_OFF = tuple(Fraction(1, 10**digits) for digits in (3, 6, 9))


@CLAIMS.claim(
    "lemma-a-2.fixed-point-unstable",
    "Lemma A.2, last sentence",
    over=lambda: ((l0, l1, off) for l1 in range(2, 6) for l0 in range(1, 5) for off in _OFF),
)
def _leaves_the_fixed_point(l0: int, l1: int, off: Fraction) -> bool | Seen:
    """Starts ever closer to the fixed point leave it and evict.

    Checked: l0 = 1 ... 4, l1 = 2 ... 5, stage 0 off by 1e-3, 1e-6, 1e-9
    Ours: starts off by 1e-3, 1e-6, 1e-9 all evict, by n={max}
    Paper: the fixed point is unstable"""
    # From three requests in each stage, one more by `off` in stage 0.
    x = Fraction(3)
    system = system_of(l0, l1, sum((l0 + 1 + j) * x for j in range(l1)))
    start = [x + off, *[x] * (l1 - 2), x - off * Fraction(l0 + 1, l0 + l1)]
    states = exact.trajectory(system, start, iterations=1000, after_settling=l1)
    first = exact.cascade(states, system).first_eviction
    return first is not None and Seen(first)


# --- Lemma A.3: dead positions --------------------------------------------------------------------


@CLAIMS.claim(
    "lemma-a-3.no-revival",
    "Lemma A.3",
    over=boundary.STARTS.where("an empty stage", lambda case: not case.positive),
)
def _no_revival(case: boundary.Case) -> bool | str:
    """A relative position without mass never has mass again.

    Note: With l1 = 1 no state on the boundary has an empty stage."""
    after = case.step().state[0]
    revived = any(case.masses[j - 1] == 0 and x > 0 for j, x in enumerate(after))
    return not revived or f"{case} to {boundary.shown(after)}"


@CLAIMS.claim(
    "lemma-a-3.overflow",
    "proof of Lemma A.3",
    over=boundary.STARTS.where("the last stage empty", lambda case: case.masses[-1] == 0),
)
def _dead_overflow(case: boundary.Case) -> bool:
    """When a dead position passes the last stage, memory after execution is M plus all masses."""
    used = memory_used(case.system(), case.step().executed)
    return used == case.capacity + sum(case.masses)


@CLAIMS.claim("equation-14.live-set", "equation (14) and below", over=boundary.STARTS)
def _live_set_shrinks(case: boundary.Case) -> bool | str:
    """The live set of one iteration is part of that of the iteration before."""
    for n, (before, after) in enumerate(pairwise(boundary.fallen(case).live)):
        if not set(after) <= set(before):
            return f"{case}, n={n}"
    return True


# --- Theorem A.1 ----------------------------------------------------------------------------------


@CLAIMS.claim(
    "theorem-a-1.finite-time",
    "Theorem A.1",
    over=boundary.STARTS,
    ours=lambda seen: (
        f"{{count}} starts are exactly on a balanced cycle by n={max(n for n, _ in seen)}, "
        f"{sum(other for _, other in seen)} of them not on the maximal-eviction cycle"
    ),
)
def _finite_time(case: boundary.Case) -> bool | Seen:
    """Every start reaches a balanced cycle exactly, in finite time.

    Note: Finite, but without a common bound: the nearer to a balanced cycle, the later."""
    settled = boundary.fallen(case).settled
    if settled is None:
        return False
    return Seen((settled.iteration, settled.attractor != "maximal-eviction cycle"))


@CLAIMS.fails(
    "theorem-a-1.one-level-at-a-time",
    "Theorem A.1, proof",
    over=boundary.STARTS.where("l1 >= 2", lambda case: len(case.masses) > 1),
)
def _one_level_at_a_time(case: boundary.Case) -> bool | str:
    """Each support loss on the way empties one stage.

    Ours: support losses of several positions at once
    Paper: each loss moves to the next lower live-support level
    Note: Harmless for the theorem, which needs that the support shrinks, not by how much.
    Holds: theorem-a-1.finite-time"""
    return _one_level(case, boundary.fallen(case), None)
