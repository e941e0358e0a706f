"""WAIT, Theorem 4 and section 7.2: the memory bound (17) by number of segments.

The paper's distribution of outputs, clock and rates are not given; a synthetic distribution stands
in, at several loads. How the thresholds were chosen is not said either: the least whole ones that
satisfy (16), or those that keep a prompt to spare in each line.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from fluidkv import exact, wait
from fluidkv.ledger import Evidence, Finding, Instance, Origin, flint
from fluidkv.wait import theory
from fluidkv.wait.theory.nested import segment_load
from fluidkv_papers.wait.instances.designs import (
    DELTA,
    HORIZON,
    LOADS,
    best,
    dominated,
    swept,
    synthetic_designs,
)
from fluidkv_papers.wait.instances.nested import LENGTHS, SYNTHETIC, literal_peak, synthetic
from fluidkv_papers.wait.paper import statements

CLAIMS = statements(origin=Origin.REPRODUCTION, evidence=Evidence.SAMPLED)
SECTION_7_2 = CLAIMS.section(
    "section-7-2", "section 7.2 (our own)", origin=Origin.READING, kind="remark"
)

_LIGHT = Fraction(1, 100)
_WORDS = f"{SYNTHETIC}; loads {', '.join(str(float(load)) for load in LOADS)}"
FIGURES = CLAIMS.section(kind="figure", checked=_WORDS)
_SPARE = "One prompt to spare in each line."


def _written_out(design: "theory.design.SegmentDesign") -> "flint.arb":
    """(17) from the rates of the types, at load 1/2."""
    system, n, ends = synthetic(LOADS[1]), design.thresholds, design.segments.ends
    alive = [
        sum(t.arrival_rate for t in system.types if t.output_length > before)
        for before in (0, *ends[:-1])
    ]
    batches = int(HORIZON / system.base)
    folds = exact.to_ball((len(n) - 1) * batches / DELTA).log()
    total = flint.arb(literal_peak(design.segments, n))
    for k in range(1, len(n)):
        root = theory.boundary_queue.eta(n[k - 1], Fraction(alive[k], alive[k - 1]), n[k]).ball
        tail = folds / root if root is not None else flint.arb(0)
        total += (62 + ends[k - 1]) * (n[k] + tail)
    return total


@CLAIMS.claim(
    "theorem-4.merged",
    "Theorem 4, equation (17)",
    over=lambda: swept(synthetic(LOADS[1]), spare=1, counts=(5, 10, 20)),
    checked=f"{SYNTHETIC}; load 1/2; 5, 10 and 20 segments",
    origin=Origin.READING,
    refuted=Evidence.BALL,
)
def _merged(design: "theory.design.SegmentDesign") -> bool | str:
    """The memory (17) of merged types is (14) on their segments.

    Paper: (17) is (14) with merged types"""
    base = synthetic(LOADS[1]).base
    ours = wait.theorem_2_memory(design.segments, design.thresholds, base, HORIZON, DELTA).total
    total = _written_out(design)
    same = total.overlaps(ours) and abs(total - ours) < 1e-6
    return bool(same) or f"{design.count} segments: {total}, {ours}"


# --- (i) term 1 ---------------------------------------------------------------------------------


def _terms(design: "theory.design.SegmentDesign") -> str:
    return f"{float(design.batch):,.0f} + {design.queue:,} + {design.tail:,.0f}"


@FIGURES.claim(
    "section-7-2.term-1-dominates.one-to-spare",
    "section 7.2, (i)",
    "In (17) term 1 dominates terms 2 and 3, with one prompt to spare in each line of (16).",
    given=(1,),
)
@FIGURES.undecided(
    "section-7-2.term-1-dominates",
    "section 7.2, (i)",
    "In (17) term 1 dominates terms 2 and 3, with the least whole thresholds.",
    given=(0,),
    evidence=Evidence.FLOAT,
)
def dominates(spare: int) -> Finding:
    """Term 1 above terms 2 and 3 in each design.

    In the paper's figures thresholds, rates and outputs are not given: these are readings.
    """
    tried = [(load, design) for load in LOADS for design in synthetic_designs(load, spare)]
    least = [(design.total, load, design) for load, design in tried if not dominated(design)]
    bad = None
    if least:
        _, load, design = min(least, key=lambda row: row[0])
        bad = f"load {load}, {design.count} segments: {_terms(design)}"
    return Finding(
        bad,
        f"not in {len(least)} of {len(tried)} designs" if least else f"in {len(tried)} designs",
        paper="term 1 dominates terms 2 and 3 across all settings",
        note=f"T = {HORIZON} s, delta = {DELTA}; "
        + ("the least whole thresholds." if not spare else "one prompt to spare in each line."),
    )


# --- (ii) the curve -----------------------------------------------------------------------------


@CLAIMS.claim(
    "section-7-2.u-shape",
    "section 7.2, (ii)",
    checked=_WORDS,
    kind="figure",
    note="Tokens, and in brackets the number of segments: the fewest that can be served, the best, "
    f"one for each output. {_SPARE}",
)
def _u_shape() -> Iterator[Instance]:
    """At loads 0.1, 0.5 and 0.8 the total memory (17) is U-shaped in the number of segments.

    Paper: a U-shaped curve: high term 1 at few segments, queues at many"""
    # The bound is above its least at both ends, and so is term 1 at the first that is served.
    for load in LOADS:
        designs = synthetic_designs(load, 1)
        low, first, last = best(designs), designs[0], designs[-1]
        inside = first.count < low.count < last.count
        shown = (f"{each.total:.3g} ({each.count})" for each in (first, low, last))
        yield Instance(
            inside and first.batch > low.batch and last.queue > low.queue,
            f"load {float(load)}: {', '.join(shown)}",
        )


@CLAIMS.claim(
    "section-7-2.minimum.half-load",
    "section 7.2, (ii)",
    "At load 1/2 the least total is between 5 and 20 segments, near the 10 that section 6 uses.",
    given=(LOADS[1:2],),
    checked=f"{SYNTHETIC}; load 1/2",
    kind="figure",
)
@FIGURES.undecided(
    "section-7-2.minimum",
    "section 7.2, (ii)",
    "At loads 0.1, 0.5 and 0.8 the least total is between 5 and 20 segments, near the 10 that "
    "section 6 uses.",
    given=(LOADS,),
    evidence=Evidence.FLOAT,
)
def _near_ten(loads: Sequence[Fraction]) -> Finding:
    """The paper's digits are lost; section 6 has 10 bins. Near: within a factor of 2."""
    found = {float(load): best(synthetic_designs(load, 1)).count for load in loads}
    least = [best(synthetic_designs(load, 0)).count for load in loads]
    far = (f"{count} at load {load}" for load, count in found.items() if not 5 <= count <= 20)
    shown = ", ".join(f"{count} at load {load}" for load, count in found.items())
    return Finding(
        next(far, None),
        f"{shown}; with the least thresholds {', '.join(map(str, least))}",
        paper="around a range and a choice whose numbers are lost; section 6 has 10 bins",
        note="It moves with the load, and the paper's distribution, clock and rates are not given: "
        "nothing here contradicts 10, and nothing makes it a rule.",
    )


@SECTION_7_2.claim("minimum.rises", checked=_WORDS)
def _rises() -> Finding:
    """From load 0.1 to 0.5 to 0.8 the number of segments with the least memory (17) rises.

    Paper: not given"""
    found = [best(synthetic_designs(load, 1)).count for load in LOADS]
    return Finding(
        found == sorted(set(found)) or str(found),
        f"{', '.join(map(str, found))} segments",
        note=f"Our own statement. {_SPARE}",
    )


# --- (iii) term 3 -------------------------------------------------------------------------------


@CLAIMS.claim(
    "section-7-2.third-term",
    "section 7.2, (iii)",
    checked=f"{SYNTHETIC}; load 1/2; T = 1e3 to 1e5 s, delta = 1e-2 to 1e-4",
    kind="figure",
)
def _third_term() -> Finding:
    """Term 3 of (17) grows logarithmically in the horizon and in 1 / delta.

    Paper: term 3 grows smoothly, logarithmically in T and 1 / delta
    Note: 25 segments. N is T / d0 rounded down, here exactly."""
    # Of one design: delta and T move term 3 alone, by equal steps for equal factors.
    settings = ((3, 2), (4, 2), (5, 2), (3, 3), (3, 4))  # T = 10^a, delta = 10^-b
    designs = [
        swept(synthetic(LOADS[1]), spare=1, horizon=10**a, delta=Fraction(1, 10**b), counts=(25,))[
            0
        ]
        for a, b in settings
    ]
    tails = [design.tail for design in designs]
    steps = [tails[1] - tails[0], tails[2] - tails[1], tails[3] - tails[0], tails[4] - tails[3]]
    same = len({(design.batch, design.queue) for design in designs}) == 1
    # tails are floats, good to ten digits
    equal = all(abs(step - steps[0]) < 1e-9 * tails[2] for step in steps)
    return Finding(
        None if same and equal and steps[0] > 0 else f"{tails}",
        f"{tails[0]:,.0f} tokens, and {steps[0]:,.0f} for each factor 10 of T or 1 / delta",
    )


# --- our own ------------------------------------------------------------------------------------


@SECTION_7_2.claim("few-segments", checked=f"{_WORDS}; 1 to 40 segments", evidence=Evidence.EXACT)
def _few() -> Iterator[Instance]:
    """At loads 0.1, 0.5 and 0.8 too few segments have no thresholds that satisfy (16).

    Ours: no thresholds for segments {list}
    Paper: any fixed number of segments, at no asymptotic cost
    Note: Our own statement: (16) counts n_k prompts at stages that most have left. Theorem 4
    assumes thresholds that satisfy it; where there are none it says nothing."""
    # Loads of the segments; no whole or real thresholds satisfy (16) where they are 1 or more.
    for load in LOADS:
        system = synthetic(load)
        problem = theory.design.SegmentProblem(system, HORIZON, DELTA)
        loads = {
            number: segment_load(problem.segments(problem.ends(number)), system.per_kv_token)
            for number in range(1, 41)
        }
        most = max((number for number, each in loads.items() if each >= 1), default=0)
        shown = f"up to {most} at load {float(load)} (one: {float(loads[1]):.2f})"
        yield Instance(most, shown, f"load {load}")


@SECTION_7_2.claim("floor", checked=f"{SYNTHETIC}; load 0.01 and {_WORDS.split(';')[1].strip()}")
def _floor() -> Finding:
    """Whole thresholds of Nested WAIT hold (d + 1)(l + d/2) tokens at least, at any rate.

    Paper: not given
    Note: Our own statement: (d + 1)(l + d/2) tokens for outputs of up to d, by whole thresholds. At
    such rates the curve is no U."""
    # n_k >= 1 at every stage, whatever comes.
    floor = (LENGTHS + 1) * (62 + LENGTHS // 2)
    designs = synthetic_designs(_LIGHT, 0)
    lowest = min(d.batch for load in (_LIGHT, *LOADS) for d in synthetic_designs(load, 0))
    fluid = float(wait.fluid_equilibrium(synthetic(_LIGHT)).memory)
    rising = best(designs).count == 1
    return Finding(
        None if lowest == floor and rising else f"{lowest} tokens, {best(designs).count} segments",
        f"M^pi = {floor:,} at least, also where M* = {fluid:.0f}; one segment is best there",
    )
