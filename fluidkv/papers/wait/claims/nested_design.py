"""WAIT, Theorem 4 and section 7.2: the memory bound (17) by number of segments.

The paper's distribution of outputs, clock and rates are not given; a synthetic distribution stands
in, at several loads. How the thresholds were chosen is not said either: the least whole ones that
satisfy (16), or those that keep a prompt to spare in each line.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Claim, Outcome
from fluidkv.ledger.outcomes import holds_for
from fluidkv.papers.wait.claims.nested_instances import LENGTHS, SYNTHETIC, synthetic
from fluidkv.papers.wait.paper import as_read, wait
from fluidkv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    from fluidkv.wait.model import WaitSystem
    from fluidkv.wait.theory.design import SegmentDesign

LOADS = tuple(Fraction(k, 10) for k in (1, 5, 8))
COUNTS = (*range(1, 41), 50, 75, 100, 150, 200, 300, 400, LENGTHS)
_LIGHT = Fraction(1, 100)
_HORIZON, _DELTA = 1000, Fraction(1, 100)
_RANGE = f"{SYNTHETIC}; loads {', '.join(str(float(load)) for load in LOADS)}"


def swept(
    system: "WaitSystem",
    *,
    spare: int,
    horizon: int = _HORIZON,
    delta: Fraction = _DELTA,
    counts: Sequence[int] = COUNTS,
) -> "tuple[SegmentDesign, ...]":
    """Designs by number of segments, ends at equal distances; those that can be served.

    Args:
        system: types of one input length.
        spare: prompts that each line of (16) keeps to spare, above the least thresholds.
        horizon, delta: of the bound.
        counts: numbers of segments; those above the number of outputs are left out.
    """
    from fluidkv.wait.theory.design import SegmentProblem

    problem = SegmentProblem(system, horizon, delta)
    found = {}
    for number in counts:
        if number <= len(problem.outputs):
            ends = problem.ends(number)
            found[len(ends)] = problem.design(ends, (spare,) * len(ends))
    return tuple(design for _, design in sorted(found.items()) if design is not None)


def best(designs: "Sequence[SegmentDesign]") -> "SegmentDesign":
    """The least bound."""
    return min(designs, key=lambda design: design.total)


def dominated(design: "SegmentDesign") -> bool:
    """Whether term 1 is above term 2 and above term 3."""
    return design.batch > design.queue and float(design.batch) > design.tail


@cache
def _sweep(load: Fraction, spare: int) -> "tuple[SegmentDesign, ...]":
    return swept(synthetic(load), spare=spare)


def _terms(design: "SegmentDesign") -> str:
    return f"{float(design.batch):,.0f} + {design.queue:,} + {design.tail:,.0f}"


def _merged() -> Outcome:
    """(17) written out, beside (14) on the merged segments."""
    from flint import arb

    from fluidkv.wait.theory.boundary_queue import eta, to_ball
    from fluidkv.wait.theory.bounds import theorem_2_memory

    system, bad, tried = synthetic(LOADS[1]), None, 0
    outputs = [each.output_length for each in system.types]
    rates = [each.arrival_rate for each in system.types]
    for design in swept(system, spare=1, counts=(5, 10, 20)):
        ends, n = design.segments.ends, design.thresholds
        alive = [
            sum(r for r, out in zip(rates, outputs, strict=True) if out > before)
            for before in (0, *ends[:-1])
        ]
        batch, start = 0, 0
        for size, end in zip(n, ends, strict=True):
            batch += size * sum(62 + stage for stage in range(start, end + 1))
            start = end + 1
        batches = int(_HORIZON / system.base)
        folds = to_ball((len(n) - 1) * batches / _DELTA).log()
        total = arb(batch)
        for k in range(1, len(n)):
            root = eta(n[k - 1], Fraction(alive[k], alive[k - 1]), n[k]).ball
            tail = folds / root if root is not None else arb(0)
            total += (62 + ends[k - 1]) * (n[k] + tail)
        ours = theorem_2_memory(design.segments, n, system.base, _HORIZON, _DELTA).total
        tried += 1
        if not (total.overlaps(ours) and abs(total - ours) < 1e-6):
            bad = bad or f"{len(n)} segments"
    return holds_for(
        bad,
        ours=f"{tried} numbers of segments: the same, in balls",
        paper="(17) is (14) with merged types",
        evidence=Evidence.SAMPLED,
        refuted=Evidence.BALL,
    )


def _dominates(spare: int) -> Outcome:
    """In the paper's figures thresholds, rates and outputs are not given: these are readings."""
    bad, tried, least = None, 0, []
    for load in LOADS:
        for design in _sweep(load, spare):
            tried += 1
            if not dominated(design):
                least.append((design.total, load, design))
    if least:
        _, load, design = min(least, key=lambda row: row[0])
        bad = f"load {load}, {design.count} segments: {_terms(design)}"
    return holds_for(
        bad,
        ours=f"not in {len(least)} of {tried} designs" if least else f"in {tried} designs",
        paper="term 1 dominates terms 2 and 3 across all settings",
        note=f"T = {_HORIZON} s, delta = {_DELTA}; "
        + ("the least whole thresholds." if not spare else "one prompt to spare in each line."),
        evidence=Evidence.SAMPLED,
        refuted=Evidence.FLOAT,
    )


def _u_shape() -> Outcome:
    """The bound is above its least at both ends, and so is term 1 at the first that is served."""
    bad, parts = None, []
    for load in LOADS:
        designs = _sweep(load, 1)
        low, first, last = best(designs), designs[0], designs[-1]
        parts.append(
            f"load {float(load)}: {first.total:.3g} ({first.count}), {low.total:.3g} "
            f"({low.count}), {last.total:.3g} ({last.count})"
        )
        inside = first.count < low.count < last.count
        if not (inside and first.batch > low.batch and last.queue > low.queue):
            bad = bad or parts[-1]
    return holds_for(
        bad,
        ours="; ".join(parts),
        paper="a U-shaped curve: high term 1 at few segments, queues at many",
        note="Tokens, and in brackets the number of segments: the fewest that can be served, the "
        "best, one for each output. One prompt to spare in each line.",
        evidence=Evidence.SAMPLED,
        refuted=Evidence.FLOAT,
    )


def _minimum() -> Outcome:
    """The digits are lost; section 6 has 10 bins. Near: within a factor of 2."""
    found = {float(load): best(_sweep(load, 1)).count for load in LOADS}
    least = {float(load): best(_sweep(load, 0)).count for load in LOADS}
    shown = ", ".join(f"{count} at load {load}" for load, count in found.items())
    near = all(5 <= count <= 20 for count in found.values())
    return Outcome(
        Verdict.HOLDS if near else Verdict.UNDECIDED,
        Evidence.FLOAT,
        ours=f"{shown}; with the least thresholds {', '.join(map(str, least.values()))}",
        paper="around a range and a choice whose numbers are lost; section 6 has 10 bins",
        note="It moves with the load, and the paper's distribution, clock and rates are not given: "
        "nothing here contradicts 10, and nothing makes it a rule.",
    )


def _rises() -> Outcome:
    found = [best(_sweep(load, 1)).count for load in LOADS]
    return holds_for(
        None if found == sorted(set(found)) else str(found),
        ours=f"{', '.join(map(str, found))} segments",
        paper="not given",
        note="Our own statement. One prompt to spare in each line.",
        evidence=Evidence.SAMPLED,
        refuted=Evidence.FLOAT,
    )


def _few() -> Outcome:
    """Loads of the segments; no whole or real thresholds satisfy (16) where they are 1 or more."""
    from fluidkv.wait.theory.design import SegmentProblem
    from fluidkv.wait.theory.nested import segment_load

    parts, bad = [], None
    for load in LOADS:
        system = synthetic(load)
        problem = SegmentProblem(system, _HORIZON, _DELTA)
        loads = {
            number: segment_load(problem.segments(problem.ends(number)), system.per_kv_token)
            for number in range(1, 41)
        }
        most = max((number for number, each in loads.items() if each >= 1), default=0)
        parts.append(f"up to {most} at load {float(load)} (one: {float(loads[1]):.2f})")
        if not most:
            bad = bad or f"load {load}"
    return holds_for(
        bad,
        ours=f"no thresholds for segments {', '.join(parts)}",
        paper="any fixed number of segments, at no asymptotic cost",
        note="Our own statement: (16) counts n_k prompts at stages that most have left. Theorem 4 "
        "assumes thresholds that satisfy it; where there are none it says nothing.",
    )


def _floor() -> Outcome:
    """n_k >= 1 at every stage, whatever comes."""
    from fluidkv.wait.theory.fluid import fluid_equilibrium

    floor = (LENGTHS + 1) * (62 + LENGTHS // 2)
    designs = _sweep(_LIGHT, 0)
    lowest = min(design.batch for load in (_LIGHT, *LOADS) for design in _sweep(load, 0))
    fluid = float(fluid_equilibrium(synthetic(_LIGHT)).memory)
    rising = best(designs).count == 1
    return holds_for(
        None if lowest == floor and rising else f"{lowest} tokens, {best(designs).count} segments",
        ours=f"M^pi = {floor:,} at least, also where M* = {fluid:.0f}; one segment is best there",
        paper="not given",
        note="Our own statement: (d + 1)(l + d/2) tokens for outputs of up to d, by whole "
        "thresholds. At such rates the curve is no U.",
        evidence=Evidence.SAMPLED,
    )


def _third_term() -> Outcome:
    """Of one design: delta and T move term 3 alone, by equal steps for equal factors."""
    system, load = synthetic(LOADS[1]), LOADS[1]
    settings = ((3, 2), (4, 2), (5, 2), (3, 3), (3, 4))  # T = 10^a, delta = 10^-b
    designs = [
        swept(system, spare=1, horizon=10**a, delta=Fraction(1, 10**b), counts=(25,))[0]
        for a, b in settings
    ]
    tails = [design.tail for design in designs]
    steps = [tails[1] - tails[0], tails[2] - tails[1], tails[3] - tails[0], tails[4] - tails[3]]
    same = len({(design.batch, design.queue) for design in designs}) == 1
    # tails are floats, good to ten digits
    equal = all(abs(step - steps[0]) < 1e-9 * tails[2] for step in steps)
    return holds_for(
        None if same and equal else f"load {load}: {tails}",
        ours=f"{tails[0]:,.0f} tokens, and {steps[0]:,.0f} for each factor 10 of T or 1 / delta",
        paper="term 3 grows smoothly, logarithmically in T and 1 / delta",
        note="25 segments. N is T / d0 rounded down, here exactly.",
        evidence=Evidence.SAMPLED,
        refuted=Evidence.FLOAT,
    )


CLAIMS: tuple[Claim, ...] = (
    wait(
        "theorem-4.merged",
        "The memory (17) of merged types is (14) on their segments.",
        "Theorem 4, equation (17)",
        _merged,
        kind="theorem",
        checked=f"{SYNTHETIC}; load 1/2; 5, 10 and 20 segments",
    ),
    wait(
        "section-7-2.term-1-dominates",
        "In (17) term 1 dominates terms 2 and 3, with the least whole thresholds.",
        "section 7.2, (i)",
        lambda: as_read(_dominates(0)),
        kind="figure",
        expected=Verdict.UNDECIDED,
        checked=_RANGE,
    ),
    wait(
        "section-7-2.term-1-dominates.one-to-spare",
        "In (17) term 1 dominates terms 2 and 3, with one prompt to spare in each line of (16).",
        "section 7.2, (i)",
        lambda: _dominates(1),
        kind="figure",
        checked=_RANGE,
    ),
    wait(
        "section-7-2.u-shape",
        "At loads 0.1, 0.5 and 0.8 the total memory (17) is U-shaped in the number of segments.",
        "section 7.2, (ii)",
        _u_shape,
        kind="figure",
        checked=_RANGE,
    ),
    wait(
        "section-7-2.minimum",
        "The least total is near the 10 segments that section 6 uses.",
        "section 7.2, (ii)",
        _minimum,
        kind="figure",
        expected=Verdict.UNDECIDED,
        checked=_RANGE,
    ),
    wait(
        "section-7-2.minimum.rises",
        "From load 0.1 to 0.5 to 0.8 the number of segments with the least memory (17) rises.",
        "section 7.2 (our own)",
        _rises,
        kind="remark",
        checked=_RANGE,
    ),
    wait(
        "section-7-2.third-term",
        "Term 3 of (17) grows logarithmically in the horizon and in 1 / delta.",
        "section 7.2, (iii)",
        _third_term,
        kind="figure",
        checked=f"{SYNTHETIC}; load 1/2; T = 1e3 to 1e5 s, delta = 1e-2 to 1e-4",
    ),
    wait(
        "section-7-2.few-segments",
        "At loads 0.1, 0.5 and 0.8 too few segments have no thresholds that satisfy (16).",
        "section 7.2 (our own)",
        _few,
        kind="remark",
        checked=f"{_RANGE}; 1 to 40 segments",
    ),
    wait(
        "section-7-2.floor",
        "Whole thresholds of Nested WAIT hold (d + 1)(l + d/2) tokens at least, at any rate.",
        "section 7.2 (our own)",
        _floor,
        kind="remark",
        checked=f"{SYNTHETIC}; load 0.01 and {_RANGE.split(';')[1].strip()}",
    ),
)
