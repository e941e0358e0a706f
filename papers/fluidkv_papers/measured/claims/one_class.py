"""One class of 32 requests on vLLM, SGLang and TensorRT-LLM: who is preempted, and how long it is.

Nothing is fitted to counts. Those of vLLM and TensorRT-LLM come out by any clock; those of SGLang
by clocks of 10 to 30 ms a step, where requests come in the prefill passes of its log. The durations
are by the clock of the first of the runs.
"""

from collections.abc import Iterator, Sequence

from fluidkv.ledger import Evidence, Finding, Instance, Origin, Statements
from fluidkv.serving.clock import IterationClock
from fluidkv_papers.measured.instances import one_class_runs as engines

CLAIMS = Statements(
    "measured.one-class", "inferlint", origin=Origin.PREDICTION, evidence=Evidence.SAMPLED
)

_TABLE = "docs/engines.md, one model on three engines, table"
COUNTS = CLAIMS.section(place=_TABLE, checked="one run of each, by three clocks")
DURATIONS = CLAIMS.section(place=_TABLE, checked="one run of each", ours="{list}", paper="{list}")

# The one of vLLM's first start; twice as fast, with dear prefill; half as fast, with cheap prefill.
_CLOCKS = (IterationClock(0.01, 1e-8, 5e-4), IterationClock(0.03, 5e-7, 3e-5))


def _counted(row: engines.Row, by: IterationClock) -> tuple[int, int]:
    ours = engines.served(row, by)
    return ours.preemptions, ours.running


@COUNTS.claim(
    "trtllm",
    "",
    "TensorRT-LLM pauses 13 requests under MAX_UTILIZATION with 20,960 tokens, and none under "
    "GUARANTEED_NO_EVICT with 37,760.",
    given=((engines.TRTLLM, engines.TRTLLM_NO_EVICT),),
)
@COUNTS.claim(
    "sglang.conservativeness",
    "",
    "With a conservativeness of 0.3, SGLang runs 30, and retracts 1.",
    given=((engines.SGLANG_LESS,),),
)
@COUNTS.claim(
    "sglang.five-passes",
    "",
    "Where they come in five passes, SGLang runs all 32, and retracts 3.",
    given=((engines.SGLANG_OWN,),),
)
@COUNTS.claim(
    "sglang.one-pass",
    "",
    "Where all but the first request come in one prefill pass, SGLang runs 29 of the 32, and "
    "retracts none.",
    given=((engines.SGLANG,),),
)
@COUNTS.claim(
    "vllm",
    "",
    "vLLM preempts 3 of the 32 requests with 2,020 blocks, and none with 2,992.",
    given=((engines.VLLM_1, engines.VLLM_2),),
)
def counts(rows: Sequence[engines.Row]) -> Finding:
    """Preemptions, and the most that run at once, where that was measured."""
    bad, shown = None, []
    for row in rows:
        found = {_counted(row, by) for by in (engines.clock(), *_CLOCKS)}
        for preemptions, running in found:
            if preemptions != row.preemptions or row.running not in (None, running):
                bad = bad or f"{row.name}: {preemptions}, {running} running"
        shown.append(" or ".join(f"{one} of {running} running" for one, running in sorted(found)))
    measured = [
        f"{row.preemptions}" + (f" of {row.running} running" if row.running else "") for row in rows
    ]
    return Finding(bad, "; ".join(shown), paper="; ".join(measured))


@CLAIMS.claim(
    "sglang.ratios", "tests/fixtures/sglang-0.5/qwen3-8b-own-client/boot.log", kind="remark"
)
def _ratios() -> Finding:
    """Before and after each of the three retractions SGLang's new-token ratio is the logged one, to
    within what one pass takes away from it.

    Checked: one run, by the clock of vLLM's first start"""
    a_pass = 0.7 * (1 - 0.14) / 600 + 1e-4  # and the last of four digits
    ours = engines.served(engines.SGLANG_OWN, engines.clock()).ratios
    off = [
        abs(a - b)
        for one, other in zip(ours, engines.RATIOS, strict=False)
        for a, b in zip(one, other, strict=True)
    ]
    fine = len(ours) == len(engines.RATIOS) and max(off) <= a_pass
    shown = ", ".join(f"{before:.4f} to {after:.4f}" for before, after in ours)
    printed = ", ".join(f"{before:.4f} to {after:.4f}" for before, after in engines.RATIOS)
    return Finding(None if fine else shown, shown, paper=printed)


@CLAIMS.fails("sglang.reserves-all", _TABLE)
def _reserves_all() -> Iterator[Instance]:
    """SGLang 0.5.20 reserves all that is asked for, where clients ignore the end of text, as 0.5.23
    does.

    Checked: one run of each of three
    Holds: sglang.one-pass, sglang.five-passes, sglang.conservativeness"""
    # All three clients send `ignore_eos`; by that rule 29 run in each, and none is retracted.
    for row in (engines.SGLANG, engines.SGLANG_OWN, engines.SGLANG_LESS):
        ours = engines.served(row, engines.clock(), known=True)
        shown, measured = (f"{of.preemptions} of {of.running} running" for of in (ours, row))
        yield Instance(shown == measured, shown, f"{row.name}: {shown}", measured)


@DURATIONS.fails(
    "duration.sglang",
    "",
    "By the same clock SGLang's three runs last as long as measured, to within 5 %.",
    given=((engines.SGLANG, engines.SGLANG_OWN, engines.SGLANG_LESS),),
    note="SGLang's steps are shorter than vLLM's, whose clock it is.",
)
@DURATIONS.claim(
    "duration",
    "",
    "By the clock of vLLM's first start, its second and both of TensorRT-LLM's runs last as long "
    "as measured, to within 5 %.",
    given=((engines.VLLM_2, engines.TRTLLM_NO_EVICT, engines.TRTLLM),),
)
def durations(rows: Sequence[engines.Row]) -> Iterator[Instance]:
    """To within 5 %, by the clock of vLLM's first start."""
    for row in rows:
        assert row.duration_s is not None
        ours = engines.served(row, engines.clock()).duration_s
        off = ours / row.duration_s - 1
        shown = f"{ours:.2f} s ({off:+.1%})"
        yield Instance(abs(off) <= 0.05, shown, f"{row.name}: {shown}", f"{row.duration_s:.2f} s")
