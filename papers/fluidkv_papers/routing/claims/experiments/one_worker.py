"""Routing, Table 3 in simulation: one worker, round-robin order."""

from fluidkv.ledger import Evidence, Finding, Origin, span
from fluidkv_papers.routing.instances import one_worker, printed
from fluidkv_papers.routing.instances.setting import measured
from fluidkv_papers.routing.paper import statements

CLAIMS = statements(origin=Origin.REPRODUCTION, evidence=Evidence.SAMPLED)

_RATIO_NEAR = 0.05
"""Of the printed ratios: the hit rates differ from those printed by up to 2 points."""


@CLAIMS.claim(
    "table-3.simulated.latencies",
    "Table 3, in simulation",
    checked=f"{one_worker.THERE:,} tokens, 12 Poisson arrivals a second, one draw",
)
def _latencies() -> Finding:
    """Where L-LRU has the printed hit rate, RLT over L-LRU is as printed in P50 and P95 latency,
    and L-LRU over RLT in throughput, within 0.05."""
    setting = one_worker.setting(one_worker.THERE)
    lru, rlt = (measured(setting, name, 0) for name in ("round-robin+lru", "round-robin+rlt"))
    found = (
        rlt["latency_p50"] / lru["latency_p50"],
        rlt["latency_p95"] / lru["latency_p95"],
        lru["throughput"] / rlt["throughput"],
    )
    row = printed.TABLE_3["rlt"]
    wanted = (row.latency, row.latency_p95, printed.TABLE_3["lru"].throughput)
    bad = (
        f"{value:.3f} where {text} is printed"
        for value, text in zip(found, wanted, strict=True)
        if not float(span(text)[0]) - _RATIO_NEAR < value < float(span(text)[1]) + _RATIO_NEAR
    )
    return Finding(
        bad,
        ", ".join(f"{value:.3f}" for value in found),
        paper=", ".join(wanted),
        note=f"L-LRU: median {lru['latency_p50']:.0f} s, as the queue grows until all requests "
        "have come: far more is asked for than one worker computes.",
    )
