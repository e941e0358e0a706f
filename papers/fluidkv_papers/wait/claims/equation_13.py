"""WAIT, equations (12), (13) and (16): what segments ask of thresholds, what their batch holds."""

from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING

from fluidkv import runs, serving, wait
from fluidkv.ledger import Origin, Range, np
from fluidkv.wait.runs.reference import WaitEngine
from fluidkv.wait.theory.nested import check_nested, nested_time, peak_memory, segment_load
from fluidkv_papers.wait.instances.nested import literal_peak
from fluidkv_papers.wait.instances.systems import RANDOM, one_input, proposition_3
from fluidkv_papers.wait.paper import LOST, statements

if TYPE_CHECKING:
    from fluidkv.wait.model import WaitSystem

CLAIMS = statements(origin=Origin.READING)

_ONE_INPUT = Range(f"{RANDOM.words}; one input, load 1/2", one_input)


def _cuts() -> "Iterator[tuple[WaitSystem, tuple[int, ...]]]":
    """Ends at all outputs, or at every second one from the last."""
    for system in one_input():
        outputs = tuple(each.output_length for each in system.types)
        yield system, outputs
        yield system, outputs[::-2][::-1]


_CUTS = Range(f"{RANDOM.words}; one input, ends at all outputs or at some", _cuts)


def _printed(segments: "wait.Segments", thresholds: tuple[int, ...]) -> Fraction:
    """n (l'_k - l'_(k-1)) (l + (l'_k + l'_(k-1) + 1) / 2), summed, with l'_0 = -1."""
    total, before = Fraction(0), -1
    for n, end in zip(thresholds, segments.ends, strict=True):
        total += n * (end - before) * (segments.input_length + Fraction(end + before + 1, 2))
        before = end
    return total


@CLAIMS.claim("equation-13", "equations (13) and (17)", over=_CUTS)
def _peak(system: "WaitSystem", ends: tuple[int, ...]) -> bool | str:
    """n_k prompts at each stage of every segment hold the tokens that (13) says.

    Paper: sum of n_k (l'_k - l'_(k-1)) (l + (l'_k + l'_(k-1) + 1) / 2)
    Note: With l'_0 = -1, so that segment 1 has stage 0; also for outputs that share a segment."""
    cut = wait.Segments.of(system, ends)
    n = tuple(range(len(cut) + 1, 1, -1))
    same = literal_peak(cut, n) == _printed(cut, n) == peak_memory(cut, n)
    return same or f"ends {cut.ends}, n = {n}"


@CLAIMS.fails("equation-13.concurrently", "below equation (13)", origin=Origin.PRINTED)
def _concurrent() -> bool | str:
    """The threshold n_k is the most prompts that decode in segment k at once.

    Checked: n_1 = 1, l' = 2
    Ours: n_k at each of its stages
    Paper: n_k is the maximum of prompts concurrently decoding in segment k
    Note: The words above (13), and (13), count n_k at each stage."""
    # One segment of stages 0, 1, 2 with n = 1; three prompts come at once.
    prompts = runs.Requests(1, np.full(3, 2), arrival=np.zeros(3), class_index=np.zeros(3, int))
    policy, clock = wait.NestedWait((2,), (1,)), serving.IterationClock(1.0, 0.0)
    engine = WaitEngine(prompts, policy, clock)
    steps = [engine.step() for _ in range(3)]
    decoding = max(step["running"] - step["admit_new"] for step in steps if step)
    return not (decoding > 1) or f"n_1 = 1, one segment with outputs of 2: {decoding} decode"


@CLAIMS.undecided(
    "theorem-2.base-memory",
    "below Theorem 2",
    over=lambda: (proposition_3(Fraction(1)), *one_input()),
    checked=f"the instance of Proposition 3, d1 = 0; {_ONE_INPUT.words}",
    kind="remark",
)
def _base_memory(system: "WaitSystem") -> bool | str:
    """M^pi, the base memory of (14), is the M* of the fluid model for the least whole thresholds
    that satisfy (12).

    Ours: M^pi > M*, always
    Paper: the equilibrium memory from the fluid model, the memory needed when exactly n_k prompts
    occupy each stage in segment k
    Note: n_k > r_k Delta T(n) for every k, so M^pi > (sum r S)(d0 + d1 M^pi), which only M > M*
    satisfies. The sentence says itself of which fluid it speaks: n_k at each stage
    (wait.equation-13). It is M* at equality (wait.theorem-2.base-memory.equality); whether (12) is
    strict is lost."""
    cut = wait.Segments.of(system)
    found = wait.integer_nested_thresholds(cut, system.base, system.per_kv_token).memory
    star = wait.fluid_equilibrium(system).memory
    return found == star or f"{system}: M^pi = {found}, M* = {star}"


@CLAIMS.claim("theorem-2.base-memory.equality", "below Theorem 2", over=_ONE_INPUT, kind="remark")
def _at_equality(system: "WaitSystem") -> bool | str:
    """With equality in (12), n_k = r_k tau*, the base memory M^pi is M*.

    Paper: the equilibrium memory from the fluid model"""
    cut, fluid = wait.Segments.of(system), wait.fluid_equilibrium(system)
    n = [rate * fluid.iteration_time for rate in cut.rates]
    time = nested_time(cut, n, system.base, system.per_kv_token)
    equal = n[0] == cut.rates[0] * time and peak_memory(cut, n) == fluid.memory
    return equal or f"{system}: M^pi = {peak_memory(cut, n)}, M* = {fluid.memory}"


@CLAIMS.claim(
    "equation-16",
    "equation (16)",
    over=lambda: ((system, ends, Random(seed)) for seed, (system, ends) in enumerate(_cuts())),
    checked=f"{_CUTS.words}; five vectors of thresholds for each",
    paper=LOST,
)
def _merged_lines(system: "WaitSystem", ends: tuple[int, ...], draw: Random) -> bool | str:
    """Merged types ask of thresholds what (12) asks, with the rates summed over the types of each
    segment and all after it.

    Ours: the same lines are broken, each written out from the rates of the types"""
    cut = wait.Segments.of(system, ends)
    least = wait.integer_nested_thresholds
    load = segment_load(cut, system.per_kv_token)
    if load < 1:
        around = least(cut, system.base, system.per_kv_token).thresholds
    else:
        around = (3,) * len(cut)
    rates = [
        sum(t.arrival_rate for t in system.types if t.output_length > before)
        for before in (0, *ends[:-1])
    ]
    for _ in range(5):
        n = tuple(max(1, size + draw.randint(-2, 2)) for size in around)
        time = system.base + system.per_kv_token * literal_peak(cut, n)
        broken = [1] if n[0] <= rates[0] * time else []
        broken += [k + 1 for k in range(1, len(n)) if n[k] * rates[k - 1] <= rates[k] * n[k - 1]]
        ours = check_nested(cut, n, system.base, system.per_kv_token)
        if [each.segment for each in ours] != broken:
            return f"{system}, ends {ends}, n = {n}: lines {broken}"
    return True
