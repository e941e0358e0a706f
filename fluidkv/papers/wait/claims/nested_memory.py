"""WAIT, equations (13), (14) and (17): what Nested WAIT holds, term by term, and path by path."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import log
from typing import TYPE_CHECKING

from fluidkv.ledger.claim import Claim, Outcome
from fluidkv.ledger.outcomes import holds_for, sampled
from fluidkv.papers.wait.claims._systems import RANDOM, random_systems
from fluidkv.papers.wait.claims.nested_instances import (
    INSTANCE,
    NESTED,
    SYNTHETIC,
    instance,
    synthetic,
)
from fluidkv.papers.wait.paper import as_read, wait
from fluidkv.verdict import Evidence, Verdict

if TYPE_CHECKING:
    from fluidkv.wait.model import WaitSystem
    from fluidkv.wait.runs.reference import WaitEngine
    from fluidkv.wait.segments import Segments
    from fluidkv.wait.theory.bounds import MemoryBound

_BATCHES, _DELTA = 1000, Fraction(1, 100)


def _one_input() -> "Iterator[WaitSystem]":
    """The random systems, all inputs set to 3, outputs that then agree put together."""
    from fluidkv.wait.model import PromptType, WaitSystem

    for system in random_systems():
        rates: dict[int, Fraction] = {}
        for each in system.types:
            before = rates.get(each.output_length, Fraction(0))
            rates[each.output_length] = before + each.arrival_rate
        types = [PromptType(rate, 3, output) for output, rate in sorted(rates.items())]
        merged = WaitSystem(types, system.base, system.per_kv_token)
        yield merged.scaled(Fraction(1, 2) / merged.load)


# --- arithmetic ---------------------------------------------------------------------------------


def _printed(segments: "Segments", thresholds: tuple[int, ...]) -> Fraction:
    """n (l'_k - l'_(k-1)) (l + (l'_k + l'_(k-1) + 1) / 2), summed, with l'_0 = -1."""
    total, before = Fraction(0), -1
    for n, end in zip(thresholds, segments.ends, strict=True):
        total += n * (end - before) * (segments.input_length + Fraction(end + before + 1, 2))
        before = end
    return total


def _literal(segments: "Segments", thresholds: tuple[int, ...]) -> int:
    """Prompt by prompt: n_k of them at every stage from the one after the end before."""
    return sum(
        n * (segments.input_length + stage)
        for n, start, end in zip(thresholds, segments.starts, segments.ends, strict=True)
        for stage in range(start, end + 1)
    )


def _peak() -> Outcome:
    from fluidkv.wait.segments import Segments
    from fluidkv.wait.theory.nested import peak_memory

    bad, tried = None, 0
    for system in _one_input():
        outputs = [each.output_length for each in system.types]
        for ends in (outputs, outputs[::-2][::-1]):
            cut = Segments.of(system, ends)
            n = tuple(range(len(cut) + 1, 1, -1))
            tried += 1
            if not _literal(cut, n) == _printed(cut, n) == peak_memory(cut, n):
                bad = bad or f"ends {cut.ends}, n = {n}"
    return sampled(
        bad,
        f"{tried} sets of segments, stage by stage",
        "sum of n_k (l'_k - l'_(k-1)) (l + (l'_k + l'_(k-1) + 1) / 2)",
        "With l'_0 = -1, so that segment 1 has stage 0; also for outputs that share a segment.",
    )


def _concurrent() -> Outcome:
    """One segment of stages 0, 1, 2 with n = 1; three prompts come at once."""
    import numpy as np

    from fluidkv.runs.requests import Requests
    from fluidkv.serving.clock import IterationClock
    from fluidkv.wait.policy import NestedWait
    from fluidkv.wait.runs.reference import WaitEngine

    prompts = Requests(1, np.full(3, 2), arrival=np.zeros(3), class_index=np.zeros(3, int))
    engine = WaitEngine(prompts, NestedWait((2,), (1,)), IterationClock(1.0, 0.0))
    steps = [engine.step() for _ in range(3)]
    decoding = max(step["running"] - step["admit_new"] for step in steps if step)
    return holds_for(
        f"n_1 = 1, one segment with outputs of 2: {decoding} decode" if decoding > 1 else None,
        ours="n_k at each of its stages",
        paper="n_k is the maximum of prompts concurrently decoding in segment k",
        note="The next words, and (13), count n_k at each stage.",
    )


def _equilibrium() -> Outcome:
    """Least whole thresholds: M^pi against M*."""
    from fluidkv.wait.segments import Segments
    from fluidkv.wait.theory.fluid import fluid_equilibrium
    from fluidkv.wait.theory.nested import integer_nested_thresholds

    tried, above = 0, 0
    for system in _one_input():
        tried += 1
        found = integer_nested_thresholds(
            Segments.of(system), system.base, system.per_kv_token
        ).memory
        above += found > fluid_equilibrium(system).memory
    least = _literal(instance(), NESTED)
    return holds_for(
        f"the instance of Proposition 3: M^pi = {least}, M* = 9" if above == tried else None,
        ours=f"M^pi > M* in {above} of {tried} random systems",
        paper="M^pi is the equilibrium memory from the fluid model",
        note="Always: n_k > r_k Delta T(n) for every k, so M^pi > (sum r S)(d0 + d1 M^pi), which "
        "only M > M* satisfies. It tends to M* as thresholds come near equality.",
    )


def _bound(horizon: int, delta: Fraction) -> "MemoryBound":
    from fluidkv.wait.theory.bounds import theorem_2_memory

    return theorem_2_memory(instance(), NESTED, 1, horizon, delta, per_kv_token=0)


def _logarithmic() -> Outcome:
    """Terms 1 and 2 stay; equal factors of N / delta add equal tokens."""
    bounds = [
        _bound(10**a, Fraction(1, 10**b)) for a, b in ((2, 1), (3, 1), (4, 1), (2, 2), (2, 3))
    ]
    steps = [
        after.tail - before.tail
        for before, after in zip(
            (bounds[0], bounds[1], bounds[0], bounds[3]),
            (bounds[1], bounds[2], bounds[3], bounds[4]),
            strict=True,
        )
    ]
    same = all(step.overlaps(steps[0]) for step in steps)
    fixed = len({(bound.batch, bound.queue) for bound in bounds}) == 1
    return holds_for(
        None if same and fixed else ", ".join(map(str, steps)),
        ours=f"{steps[0].str(5, radius=False)} tokens for each factor 10 of T or 1 / delta",
        paper="the safety buffer grows logarithmically in T and 1 / delta",
        evidence=Evidence.SAMPLED,
        refuted=Evidence.BALL,
    )


def _modest() -> Outcome:
    """Whether term 1 is above terms 2 and 3 together: in all cases, in none, or in some."""
    from fluidkv.papers.wait.claims.nested_design import LOADS, best, swept

    least = _bound(_BATCHES, _DELTA)
    cases = {f"n = {NESTED}": (least.batch, float(least.queue) + float(least.tail.mid()))}
    for load in LOADS:
        system = synthetic(load)
        for spare in (0, 1):
            design = best(swept(system, spare=spare, counts=(5, 10, 25, 50)))
            name = f"load {float(load)}, {spare} to spare"
            cases[name] = (Fraction(design.batch), design.total - float(design.batch))
    small = [name for name, (base, buffer) in cases.items() if buffer < base]
    every = len(small) == len(cases)
    worst = max(cases, key=lambda name: cases[name][1] / cases[name][0])
    mixed = Verdict.UNDECIDED if small else Verdict.FAILS
    return Outcome(
        Verdict.HOLDS if every else mixed,
        Evidence.SAMPLED,
        ours=f"in {len(small)} of {len(cases)} cases; {worst}: a buffer of {cases[worst][1]:,.0f} "
        f"tokens beside {float(cases[worst][0]):,.0f}",
        paper="typically dominated by the base term; modest in practice",
        note=f"{INSTANCE}; {SYNTHETIC}, at loads 0.1, 0.5 and 0.8 with the best of 5, 10, 25 and "
        "50 segments. Typically and in practice are the paper's words, which single cases do not "
        "refute.",
    )


def _types() -> Outcome:
    """One segment for each of m types; the load, and so M*, is the same."""
    from fluidkv.wait.segments import Segments
    from fluidkv.wait.theory.fluid import fluid_equilibrium
    from fluidkv.wait.theory.nested import integer_nested_thresholds

    counts, least, waiting, most = (10, 50, 250), [], [], 0.0
    for m in counts:
        system = synthetic(Fraction(1, 2), every=500 // m)
        segments, fluid = Segments.of(system), fluid_equilibrium(system)
        found = integer_nested_thresholds(segments, system.base, system.per_kv_token)
        least.append(found.memory)
        most = float(max(fluid.per_stage))  # of the last, in the end
        # real thresholds come down to r_k tau*: what they hold before each segment, at any rate
        alive = [rate * fluid.iteration_time for rate in segments.rates[1:]]
        waiting.append(sum(a * b for a, b in zip(segments.boundary_tokens, alive, strict=True)))
    growth = [
        [float(after / before) for before, after in pairwise(each)] for each in (least, waiting)
    ]
    logs = [log(b) / log(a) for a, b in pairwise(counts)]
    bad = all(g > most for each in growth for g, most in zip(each, logs, strict=True))
    shown = ", ".join(f"{m}: {float(memory):,.0f}" for m, memory in zip(counts, least, strict=True))
    return as_read(
        holds_for(
            f"M^pi by number of types: {shown}" if bad else None,
            ours=f"five times the types: {growth[0][0]:.1f} and {growth[0][1]:.1f} times the least "
            f"M^pi of whole thresholds, {growth[1][0]:.1f} and {growth[1][1]:.1f} times what waits "
            "before segments with real ones",
            paper="guarantees depend weakly (logarithmically) on the number of types",
            note="Read of the memory (14), a segment for each type. Whole thresholds at a low "
            f"rate, n* = {most:.2g} at most with {counts[-1]}: one prompt at each stage is one in "
            "each segment. At higher rates and with real ones term 2 is a sum over the "
            "boundaries. The tail has ln(m - 1) in each. Which guarantee is meant is not said, and "
            "section 7.2 merges types.",
            evidence=Evidence.SAMPLED,
        )
    )


# --- path by path -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Case:
    ends: tuple[int, ...]
    thresholds: tuple[int, ...]


_CASES = (
    _Case((1, 3, 6), (8, 6, 3)),
    _Case((1, 3, 6), (4, 5, 3)),  # breaks (12): queues grow, and the decomposition holds still
    _Case((3, 6), (6, 3)),  # two outputs share a segment
    _Case((6,), (6,)),
)
_SEEDS, _ITERATIONS = 2, 150


def _three() -> "WaitSystem":
    from fluidkv.wait.model import PromptType, WaitSystem

    types = (PromptType(4, 3, 1), PromptType(4, 3, 3), PromptType(2, 3, 6))
    return WaitSystem(types, Fraction(1, 2), Fraction(1, 500))


def _excess(engine: "WaitEngine", segments: "Segments", n: tuple[int, ...]) -> int | None:
    """How far the tokens held come above M^pi + sum (l + l'_(k-1)) (n_k - 1 + Q_k), at most."""
    from collections import Counter

    def before() -> list[int]:
        found = Counter(prompt.stage for prompt in engine.inside)
        return [found[start] for start in segments.starts[1:]]

    batch = _literal(segments, n)
    chain, worst = [0] * (len(segments) - 1), None
    for _ in range(_ITERATIONS):
        found = before()
        step = engine.step()
        if step is None:
            return worst
        over = step["held_tokens"] - batch
        for tokens, size, q in zip(segments.boundary_tokens, n[1:], chain, strict=True):
            over -= tokens * (size - 1 + q)
        worst = over if worst is None else max(worst, over)
        for k, after in enumerate(before()):
            if step["joined"] > k:  # the segment before ran and brought some here
                took = n[k + 1] if step["joined"] > k + 1 else 0
                chain[k] = max(chain[k] + after - (found[k] - took) - n[k + 1], 0)
    return worst


def _pathwise() -> Outcome:
    from fluidkv.wait.policy import NestedWait
    from fluidkv.wait.runs.arrivals import poisson_prompts
    from fluidkv.wait.runs.reference import WaitEngine
    from fluidkv.wait.segments import Segments

    system, bad, nearest = _three(), None, []
    for case in _CASES:
        segments = Segments.of(system, case.ends)
        for seed in range(_SEEDS):
            prompts = poisson_prompts(system, rng=seed, count=1500)
            policy = NestedWait(case.ends, case.thresholds)
            over = _excess(WaitEngine(prompts, policy, system.clock), segments, case.thresholds)
            nearest.append(over if over is not None else 0)
            if nearest[-1] > 0:
                bad = bad or f"ends {case.ends}, n = {case.thresholds}, seed {seed}: {over} more"
    return sampled(
        bad,
        f"{len(nearest)} runs of {_ITERATIONS} iterations: never above, {-max(nearest)} tokens "
        "below at the nearest",
        "held <= M^pi + sum of (l + l'_(k-1)) (n_k + the queue's tail)",
        "Prompt by prompt, with n_k - 1 + Q_k; thresholds need not satisfy (12) for it.",
    )


CLAIMS: tuple[Claim, ...] = (
    wait(
        "equation-13",
        "n_k prompts at each stage of every segment hold the tokens that (13) says.",
        "equations (13) and (17)",
        _peak,
        kind="equation",
        checked=f"{RANDOM}; one input, ends at all outputs or at some",
    ),
    wait(
        "equation-13.concurrently",
        "The threshold n_k is the most prompts that decode in segment k at once.",
        "below equation (13)",
        _concurrent,
        kind="equation",
        expected=Verdict.FAILS,
        checked="n_1 = 1, l' = 2",
    ),
    wait(
        "theorem-2.base-memory",
        "M^pi, the base memory of (14), is the equilibrium memory of the fluid model.",
        "below Theorem 2",
        _equilibrium,
        kind="remark",
        expected=Verdict.FAILS,
        checked=f"least whole thresholds; {RANDOM}, one input",
    ),
    wait(
        "theorem-2.logarithmic",
        "The safety buffer of (14) grows logarithmically in the horizon and in 1 / delta.",
        "below Theorem 2; section 7.2, (iii)",
        _logarithmic,
        kind="remark",
        checked=f"{INSTANCE}; N = 1e2 to 1e4, delta = 1e-1 to 1e-3",
    ),
    wait(
        "theorem-2.modest-buffer",
        "The safety buffer of (14) is typically modest beside its base memory.",
        "below Theorem 2",
        _modest,
        kind="remark",
        expected=Verdict.UNDECIDED,
        checked="the instance of Proposition 3, and six designs for a synthetic distribution",
    ),
    wait(
        "section-2-2.types",
        "With a segment for each type the memory (14) depends on the number of types weakly, like "
        "its logarithm.",
        "section 2.2; below Theorem 2",
        _types,
        kind="remark",
        expected=Verdict.UNDECIDED,
        checked=f"{SYNTHETIC}; only each 50th, 10th, 2nd output; load 1/2",
    ),
    wait(
        "theorem-2.path-by-path",
        "In each iteration Nested WAIT holds at most the tokens of a full batch and of the queues.",
        "appendix C.4; Theorems 2 and 4",
        _pathwise,
        kind="theorem",
        checked=f"{len(_CASES)} policies, {_SEEDS} runs of single prompts each",
    ),
)
