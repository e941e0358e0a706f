"""Routing, Table 3 in simulation: one worker, round-robin order."""

from functools import cache

from fluidkv import prefix
from fluidkv.ledger.claim import Origin, Outcome
from fluidkv.ledger.outcomes import observed, reproduced, span
from fluidkv.papers.routing.instances import one_worker, printed
from fluidkv.papers.routing.instances.setting import measured
from fluidkv.papers.routing.paper import statements
from fluidkv.verdict import Evidence

CLAIMS = statements(origin=Origin.REPRODUCTION, evidence=Evidence.SAMPLED)

THERE = 191_240
"""KV tokens where L-LRU has the printed 6.06 %."""
_NEAR = 2.0
"""Points that the other hit rate may be off by: RLT has as much more with 6,000 tokens more."""
_RATIO_NEAR = 0.05


@cache
def _rate(capacity: int, policy: str) -> float:
    """Hit rate, per cent."""
    run = prefix.run_cache(one_worker.trie(), capacity, prefix.Policy(policy))
    return 100 * run.hit_rate()


@CLAIMS.claim(
    "table-3.simulated.hit-rates",
    "Table 3, in simulation",
    "One cache size has both printed hit rates, within 2 points.",
    checked=f"{THERE:,} tokens, one run of RLT",
)
def _one_size() -> Outcome:
    found = {name: _rate(THERE, name) for name in one_worker.PRINTED}
    off = [name for name, rate in found.items() if abs(rate - one_worker.PRINTED[name]) > _NEAR]
    return reproduced(
        f"{off[0]}: {found[off[0]]:.1f} %" if off else None,
        ours=f"L-LRU {found['lru']:.2f} %, RLT {found['rlt']:.1f} % at {THERE:,} tokens",
        paper="6.06 % and 41.93 % at approximately 200k tokens",
        note="Cache alone, single tokens; what runs needs some of the printed capacity.",
    )


@CLAIMS.claim(
    "table-3.simulated.latencies",
    "Table 3, in simulation",
    "Where L-LRU has the printed hit rate, RLT over L-LRU is as printed in P50 and P95 latency, "
    "and L-LRU over RLT in throughput, within 0.05.",
    checked=f"{THERE:,} tokens, 12 Poisson arrivals a second, one draw",
)
def _latencies() -> Outcome:
    setting = one_worker.setting(THERE)
    lru, rlt = (measured(setting, name, 0) for name in ("round-robin+lru", "round-robin+rlt"))
    found = (
        rlt["latency_p50"] / lru["latency_p50"],
        rlt["latency_p95"] / lru["latency_p95"],
        lru["throughput"] / rlt["throughput"],
    )
    row = printed.TABLE_3["rlt"]
    wanted = (row.latency, row.latency_p95, printed.TABLE_3["lru"].throughput)
    bad = next(
        (
            f"{value:.3f} where {text} is printed"
            for value, text in zip(found, wanted, strict=True)
            if not float(span(text)[0]) - _RATIO_NEAR < value < float(span(text)[1]) + _RATIO_NEAR
        ),
        None,
    )
    return reproduced(
        bad,
        ours=", ".join(f"{value:.3f}" for value in found),
        paper=", ".join(wanted),
        note=f"L-LRU: median {lru['latency_p50']:.0f} s, as the queue grows until all requests "
        "have come: far more is asked for than one worker computes.",
    )


@CLAIMS.claim(
    "table-3.step",
    "Table 3, beside it",
    "Between 190,000 and 198,400 tokens L-LRU goes from no hits to all that there are.",
    origin=Origin.READING,
    checked="both ends, the printed requests",
)
def _step() -> Outcome:
    whole = one_worker.round_tokens()
    low, high, most = _rate(190_000, "lru"), _rate(whole, "lru"), 100 * one_worker.ceiling()
    bad = None if low == 0 and abs(high - most) < 1e-9 else f"{low:.2f} % and {high:.2f} %"
    return observed(
        bad,
        ours=f"{low:.0f} % at 190,000, {high:.2f} % at {whole:,} tokens",
        paper="the worst-case order, approximately 200k tokens",
        note="A round of 64 prompts with answers is 198,400 tokens: the order is the worst for "
        "a cache that is a little smaller, and with the printed 200,000 the best, where RLT has "
        f"{_rate(200_000, 'rlt'):.1f} %. Not so with other numbers of groups.",
    )
