"""WAIT, appendix C: what Nested WAIT holds, iteration by iteration, on runs of single prompts."""

from collections import Counter
from fractions import Fraction

from fluidkv import wait
from fluidkv.ledger import Evidence, Origin
from fluidkv.wait.runs.reference import WaitEngine
from fluidkv_papers.wait.instances.nested import literal_peak
from fluidkv_papers.wait.paper import statements

CLAIMS = statements()

_POLICIES = (  # ends and thresholds
    ((1, 3, 6), (8, 6, 3)),
    ((1, 3, 6), (4, 5, 3)),  # breaks (12): queues grow, and the decomposition holds still
    ((3, 6), (6, 3)),  # two outputs share a segment
    ((6,), (6,)),
)
_SEEDS, _ITERATIONS = 2, 150


def _three() -> "wait.WaitSystem":
    types = (wait.PromptType(4, 3, 1), wait.PromptType(4, 3, 3), wait.PromptType(2, 3, 6))
    return wait.WaitSystem(types, Fraction(1, 2), Fraction(1, 500))


def _excess(engine: WaitEngine, segments: "wait.Segments", n: tuple[int, ...]) -> int:
    """How far the tokens held come above M^pi + sum (l + l'_(k-1)) (n_k - 1 + Q_k), at most."""

    def before() -> list[int]:
        found = Counter(prompt.stage for prompt in engine.inside)
        return [found[start] for start in segments.starts[1:]]

    batch = literal_peak(segments, n)
    chain, seen = [0] * (len(segments) - 1), []
    for _ in range(_ITERATIONS):
        found = before()
        step = engine.step()
        if step is None:
            break
        over = step["held_tokens"] - batch
        for tokens, size, q in zip(segments.boundary_tokens, n[1:], chain, strict=True):
            over -= tokens * (size - 1 + q)
        seen.append(over)
        for k, after in enumerate(before()):
            if step["joined"] > k:  # the segment before ran and brought some here
                took = n[k + 1] if step["joined"] > k + 1 else 0
                chain[k] = max(chain[k] + after - (found[k] - took) - n[k + 1], 0)
    return max(seen)


@CLAIMS.claim(
    "theorem-2.path-by-path",
    "appendix C.4; Theorems 2 and 4",
    over=lambda: ((*policy, seed) for policy in _POLICIES for seed in range(_SEEDS)),
    checked=f"{len(_POLICIES)} policies, {_SEEDS} runs of single prompts each, {_ITERATIONS} "
    "iterations",
    origin=Origin.READING,
    refuted=Evidence.SAMPLED,
)
def _pathwise(ends: tuple[int, ...], n: tuple[int, ...], seed: int) -> bool | str:
    """In each iteration Nested WAIT holds at most the tokens of a full batch and of the queues.

    Ours: never above; at the nearest exactly as many
    Paper: held <= M^pi + sum of (l + l'_(k-1)) (n_k + the queue's tail)
    Note: Prompt by prompt, with n_k - 1 + Q_k; thresholds need not satisfy (12) for it. Who waits
    before segment 1 holds nothing, as the remark below C.1 says."""
    system = _three()
    prompts = wait.poisson_prompts(system, rng=seed, count=1500)
    engine = WaitEngine(prompts, wait.NestedWait(ends, n), system.clock)
    over = _excess(engine, wait.Segments.of(system, ends), n)
    return over <= 0 or f"ends {ends}, n = {n}, seed {seed}: {over} more"
