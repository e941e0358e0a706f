"""What becomes of the loss of the theory in an engine that keeps what an evicted request has done.

The paper's model restarts an evicted request (section 2.2); vLLM, and Vidur in the paper's own
experiments, keep its tokens and compute their cache again. Runs and settings: `_keeps`. vLLM runs
without a watermark, in blocks of one token and with no prefill budget, so that the rule is all that
differs.
"""

from fluidkv.claims.claim import Outcome
from fluidkv.claims.congestion.experiments._keeps import (
    INPUTS,
    ONE,
    OUTPUT,
    PAIR,
    PER_PREFILL_TOKEN_S,
    runs,
    share_in_seconds,
    synchronized,
)
from fluidkv.claims.congestion.paper import congestion
from fluidkv.claims.outcomes import sampled
from fluidkv.verdict import Evidence, Verdict

_MIXES = {"{64}": ONE, "{32, 64}": PAIR}
_CHECKED = (
    f"inputs of {INPUTS[0]} to {INPUTS[-1]}, outputs of 64, and of 32 and 64; memory for 300 "
    "requests; 12 lifetimes after 12"
)
_NEAR = 0.025
"""Memory holds 300 whole requests on average and completes them in one pulse of 160 or more."""


def _restart_has_the_cycle() -> Outcome:
    bad, widest, shown = None, 0.0, []
    for name, lengths in _MIXES.items():
        for l0, kept in zip(INPUTS, runs("restart", lengths), strict=True):
            off = kept.rate - float(synchronized(lengths, l0))
            widest = max(widest, abs(off))
            if abs(off) > _NEAR:
                bad = bad or f"{name}, inputs of {l0}: {kept.rate:.4f}"
            if l0 in (INPUTS[0], INPUTS[-1]):
                shown.append(f"{name} l0 = {l0}: {kept.rate:.3f} x*")
    return sampled(
        bad,
        f"{'; '.join(shown)}; at most {widest:.3f} from the cycle",
        "the synchronized cycle",
        refuted=Evidence.SAMPLED,
    )


def _resume_loses_no_iterations() -> Outcome:
    bad, least = None, 1.0
    for name, lengths in _MIXES.items():
        for engine in ("vllm", "vidur-sarathi"):
            for l0, kept in zip(INPUTS, runs(engine, lengths), strict=True):
                least = min(least, kept.rate)
                if kept.rate < 1 - _NEAR:
                    bad = bad or f"{engine}, {name}, inputs of {l0}: {kept.rate:.4f}"
    return sampled(
        bad,
        f"at least {least:.3f} of the output tokens an iteration of x*",
        "up to half is lost",
        "Memory is full and everything in it gets on: an eviction costs memory-time only where "
        "what it did is done again by decoding.",
        refuted=Evidence.SAMPLED,
    )


def _oscillation_stays() -> Outcome:
    bad, swings, periods = None, [], []
    for l0, lost, kept in zip(INPUTS, runs("restart", ONE), runs("vllm", ONE), strict=True):
        swings.append(kept.swing / lost.swing)
        periods.append(kept.period)
        calm = kept.swing < lost.swing / 2
        if calm or not 0.75 * OUTPUT <= kept.period <= 1.01 * OUTPUT or lost.period != OUTPUT:
            bad = bad or f"inputs of {l0}: swing {kept.swing:.2f} against {lost.swing:.2f}"
    return sampled(
        bad,
        f"swing of the running requests {min(swings):.2f} to {max(swings):.2f} times that of "
        f"restart; period {min(periods):.1f} to {max(periods):.1f} iterations, {OUTPUT} under "
        "restart",
        f"period l1 = {OUTPUT}",
        "One class. At least half the swing, and a period of three quarters of a lifetime or more.",
        refuted=Evidence.SAMPLED,
    )


def _recomputed_instead() -> Outcome:
    bad, shown = None, []
    for l0, kept in zip(INPUTS, runs("vllm", ONE), strict=True):
        more = kept.prefill - l0 / OUTPUT
        shown.append(f"{more:.2f}")
        if not 0.4 <= more <= 0.6:
            bad = bad or f"inputs of {l0}: {more:.3f}"
    return sampled(
        bad,
        f"{', '.join(shown)} prefill tokens for each output token, beyond the prompts",
        "half of the throughput",
        "One class. 0.4 to 0.6 would do. Restart prefills about one, and decodes again besides.",
        refuted=Evidence.SAMPLED,
    )


def _half_in_seconds() -> Outcome:
    """The ratio (1/2, 1) of the theory, read in seconds of a server."""
    kept, lost = runs("vllm", ONE)[0], runs("restart", ONE)[0]
    ratio = INPUTS[0] / OUTPUT
    found = {
        (name, output): share_in_seconds(run, ratio, output, per_prefill_s=PER_PREFILL_TOKEN_S)
        for name, run in (("vllm", kept), ("restart", lost))
        for output in (256, 1024)
    }
    least = min(found.values())
    return sampled(
        None if least > 0.5 else f"{found['vllm', 256]:.2f} for vllm, 256 outputs, 16 inputs",
        "; ".join(
            f"{name}, {output} outputs: {value:.2f}" for (name, output), value in found.items()
        ),
        "above 1/2",
        "Output tokens a second over those without eviction; Llama-3-8B on an A100, decode by "
        f"Vidur's line, {1e6 * PER_PREFILL_TOKEN_S:.0f} us a prefill token (half of the GPU's "
        "peak), inputs a sixteenth of the outputs. The paper speaks of iterations.",
        refuted=Evidence.SAMPLED,
    )


CLAIMS = (
    congestion(
        "restart-resume.restart",
        "Whole requests that restart, from an empty server, end at the synchronized cycle's rate.",
        "Lemma 1 and section 4.2, in whole requests",
        _restart_has_the_cycle,
        kind="remark",
        checked=_CHECKED,
    ),
    congestion(
        "restart-resume.resume",
        "Where the evicted keep their tokens, no output token an iteration is lost to evictions.",
        "section 2.2; not stated there",
        _resume_loses_no_iterations,
        kind="remark",
        checked=f"{_CHECKED}; vllm and vidur-sarathi",
    ),
    congestion(
        "restart-resume.oscillation",
        "The oscillation stays where the evicted keep their tokens.",
        "section 6: 'consistent with the synchronization mechanism'",
        _oscillation_stays,
        kind="remark",
        checked=_CHECKED,
    ),
    congestion(
        "restart-resume.recomputed",
        "The lost half comes back as half a recomputed token for each output token.",
        "section 2.2; not stated there",
        _recomputed_instead,
        kind="remark",
        checked=_CHECKED,
    ),
    congestion(
        "restart-resume.half-in-seconds",
        "The loss stays below one half in seconds too.",
        "Corollary on the worst-case ratio, read in seconds",
        _half_in_seconds,
        kind="remark",
        expected=Verdict.FAILS,
        checked="one class, inputs a sixteenth of the outputs",
    ),
)
