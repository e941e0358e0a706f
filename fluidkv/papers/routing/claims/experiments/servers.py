"""Routing, Figures 12 and 13 in simulation with whole servers: outputs, requests at once."""

from collections.abc import Sequence

from fluidkv.ledger.claim import Origin, Outcome
from fluidkv.ledger.outcomes import reproduced
from fluidkv.papers.routing.instances.setting import SERVER_REQUESTS, Setting, half, measured
from fluidkv.papers.routing.paper import statements
from fluidkv.verdict import Evidence, Verdict

CLAIMS = statements(origin=Origin.REPRODUCTION, evidence=Evidence.SAMPLED)

_HALF = "SGLang 0.5.23's scheduler and tree, 64 groups, 100,000 tokens a worker; one draw"
_OUTPUTS = (
    half(server=SERVER_REQUESTS),  # 4 tokens
    half(server=SERVER_REQUESTS, output_length=128),
)
_LIMITS = (half(server=1), half(server=16))


@CLAIMS.claim(
    "figure-13.simulated.lead",
    "Figure 13, in simulation",
    "With a limit of 1 and of 16 requests at once LBGR + RLT has less median latency and a higher "
    "hit rate than Cache-Aware + LRU.",
    checked=_HALF,
    given=(_LIMITS, "ahead at all limits"),
)
@CLAIMS.claim(
    "figure-12.simulated.lead",
    "Figure 12, in simulation",
    "With outputs of 4 and of 128 tokens LBGR + RLT has less median latency and a higher hit "
    "rate than Cache-Aware + LRU.",
    checked=_HALF,
    given=(_OUTPUTS, "ahead in all metrics at all lengths"),
)
def _lead(settings: Sequence[Setting], paper: str) -> Outcome:
    bad, factors = None, []
    for place, of in enumerate(settings):
        aware, lbgr = (measured(of, name, 0) for name in ("cache-aware+lru", "lbgr+rlt"))
        factors.append(aware["latency_p50"] / lbgr["latency_p50"])
        if not (factors[-1] > 1 and lbgr["hit_rate"] > aware["hit_rate"]):
            bad = bad or f"setting {place + 1}"
    shown = ", ".join(f"{factor:.1f}" for factor in factors)
    return reproduced(
        bad,
        ours=f"{shown} times less median latency",
        paper=paper,
        note="In the whole experiment not so in P95 with one at once, nor with 128 tokens "
        "(figures `routing_figure_12`, `routing_figure_13`).",
    )


@CLAIMS.claim(
    "figure-12.simulated.throughput",
    "Figure 12, in simulation",
    "With outputs of 128 tokens LBGR + RLT has more throughput than Cache-Aware + LRU.",
    expected=Verdict.UNDECIDED,
    checked=_HALF,
)
def _throughput() -> Outcome:
    aware, lbgr = (
        measured(_OUTPUTS[1], name, 0)["throughput"] for name in ("cache-aware+lru", "lbgr+rlt")
    )
    return reproduced(
        None if lbgr > aware else f"{lbgr:.2f} and {aware:.2f} requests a second",
        ours=f"{lbgr:.2f} and {aware:.2f} requests a second",
        paper="ahead in all metrics at all lengths",
        note="LBGR knows of prompts only; where decodes cost as much, it balances the lesser part.",
    )


@CLAIMS.claim(
    "figure-13.simulated.rlt",
    "Figure 13, in simulation",
    "With a limit of 1 and of 16 requests at once Cache-Aware + RLT has less median latency than "
    "Cache-Aware + LRU.",
    expected=Verdict.UNDECIDED,
    checked=f"{_HALF}; RLT draws whole nodes",
)
def _rlt() -> Outcome:
    rows = [
        [measured(of, name, 0)["latency_p50"] for name in ("cache-aware+lru", "cache-aware+rlt")]
        for of in _LIMITS
    ]
    bad = [f"{lru:.1f} s and {rlt:.1f} s" for lru, rlt in rows if not rlt < lru]
    return reproduced(
        bad[0] if bad else None,
        ours="; ".join(f"{lru:.1f} s with LRU, {rlt:.1f} s with RLT" for lru, rlt in rows),
        paper="Cache-Aware + RLT is consistently better in all settings",
        note="Where single tokens go, RLT is worth more (routing.table-2.simulated.order).",
    )
