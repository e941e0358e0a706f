"""GUARANTEED_NO_EVICT and MAX_UTILIZATION on long prompts: what is predicted, and what is not.

The pool is fitted to one number of the first policy; all else is predicted, by a clock from data
sheets.
"""

from collections.abc import Iterator

from fluidkv.ledger import Evidence, Finding, Instance, Origin, Statements
from fluidkv_papers.measured.instances import capacity_policies as policies

CLAIMS = Statements(
    "measured.capacity-policies",
    "measured servers",
    origin=Origin.PREDICTION,
    evidence=Evidence.SAMPLED,
)
_PLACE = "TensorRT-LLM issue 16827, workload W-C"
_CHECKED = "one run, in a pool fitted to the time per token"


@CLAIMS.claim("no-evict", _PLACE, checked=_CHECKED, kind="remark", ours="{list}", paper="{list}")
def _no_evict() -> Iterator[Instance]:
    """Under GUARANTEED_NO_EVICT throughput and p99 latency are as measured, to within 5 %."""
    for name, unit in (("throughput", "tok/s"), ("latency_p99", "s")):
        found, there = getattr(policies.reserving(), name), getattr(policies.NO_EVICT, name)
        off = found / there - 1
        shown = f"{found:.1f} {unit} ({off:+.1%})"
        yield Instance(abs(off) <= 0.05, shown, f"{name}: {shown}", f"{there:.1f} {unit}")


@CLAIMS.claim("first-tokens", _PLACE, checked=f"{_CHECKED}, of each policy", kind="remark")
def _first_tokens() -> Finding:
    """Under MAX_UTILIZATION the median time to first token is shorter."""
    before, after = policies.reserving().ttft_p50, policies.evicting().ttft_p50
    shown = f"{before:.1f} to {after:.1f} s"
    measured = f"{policies.NO_EVICT.ttft_p50:.1f} to {policies.MAX_UTILIZATION.ttft_p50:.1f} s"
    return Finding(after < before or shown, shown, paper=measured)


@CLAIMS.fails("loss", _PLACE, checked=f"{_CHECKED}, of each policy", kind="remark")
def _loss() -> Finding:
    """MAX_UTILIZATION loses as much throughput as measured, to within a quarter of the loss.

    Note: On long prompts, in a pool that is too small for them, by the rule as we read it.
    Holds: no-evict, first-tokens"""
    # By the rule as we read it in the source: the whole length must fit to enter.
    found = policies.evicting().throughput / policies.reserving().throughput - 1
    there = policies.MAX_UTILIZATION.throughput / policies.NO_EVICT.throughput - 1
    shown = f"{found:+.1%}"
    return Finding(not (abs(found / there - 1) > 0.25) or shown, shown, paper=f"{there:+.1%}")
