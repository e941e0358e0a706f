"""Routing, Table 3 and what abstract, introduction and appendix B say of it."""

from fractions import Fraction

from fluidkv.ledger import Finding, Origin, decimal, span
from fluidkv_papers.routing.claims.experiments.spans import Span, agree, less, more, ratio
from fluidkv_papers.routing.instances.printed import REQUESTS_A_GROUP, SHARED, TABLE_2, TABLE_3
from fluidkv_papers.routing.paper import statements

CLAIMS = statements()
AT_TABLE_3 = CLAIMS.section("table-3", "Table 3")
LRU, RLT = TABLE_3["lru"], TABLE_3["rlt"]


def _saved(key: str) -> Span:
    """Per cent that RLT takes off; the row of L-LRU is the unit."""
    low, high = span(getattr(RLT, key))
    return 100 * (1 - high), 100 * (1 - low)


AT_TABLE_3.claim("hit-rate", ", abstract, appendix B", "RLT has 6.92 times the hit rate of L-LRU.")(
    lambda: agree([(ratio(RLT.hit_rate, LRU.hit_rate), "6.92")], " times")
)


@AT_TABLE_3.fails("throughput", ", abstract, section 1, appendix B")
def _throughput() -> Finding:
    """RLT has 77.4 % more throughput than L-LRU.

    Paper: 77.4 %
    Holds: table-3.throughput.from-hit-rates"""
    low, high = more(LRU.throughput, RLT.throughput)
    found = agree([((low, high), "77.4")], " %")
    first, second = less(TABLE_2["cache-aware+lru"].latency, TABLE_2["lbgr+lru"].latency)
    return Finding(
        found.holds,
        f"1.0 / 0.62: {decimal(100 / Fraction(LRU.throughput) - 100, 1)} % more",
        note=f"With every rounding {decimal(low, 1)} to {decimal(high, 1)} %: even 1.05 over 0.615 "
        f"is less. {decimal((first + second) / 2, 1)} % is how much less median latency LBGR with "
        "LRU has in Table 2, another experiment; 1.0 over 0.62 is what the hit rates give "
        "(routing.table-3.throughput.from-hit-rates).",
    )


@AT_TABLE_3.claim("throughput.from-hit-rates", "; not stated there", origin=Origin.READING)
def _from_hit_rates() -> Finding:
    """The throughputs of Table 3 are to each other as the parts of prompts that are computed.

    Note: One worker that is always busy, and time only for tokens that are computed."""
    part = [1 - Fraction(row.hit_rate) / 100 for row in (RLT, LRU)]
    found = part[0] / part[1]
    low, high = span(LRU.throughput)
    return Finding(
        low <= found <= high or decimal(found, 3),
        f"(1 - 0.4193) / (1 - 0.0606) = {decimal(found, 3)}",
        paper=LRU.throughput,
    )


@AT_TABLE_3.fails("percentages", ", appendix B")
def _percentages() -> Finding:
    """RLT takes 45 % off the median latency and 47 % off the median TTFT, 45 % off the P95 latency
    and 46 % off the P95 TTFT.

    Checked: four numbers
    Holds: table-3.columns-exchanged"""
    return agree(
        [
            (_saved("latency"), "45"),
            (_saved("ttft"), "47"),
            (_saved("latency_p95"), "45"),
            (_saved("ttft_p95"), "46"),
        ],
        " %",
        note="P95 latency and P50 TTFT are exchanged, in the text or in the columns of the table: "
        "with them exchanged all four agree (routing.table-3.columns-exchanged).",
    )


@AT_TABLE_3.claim(
    "columns-exchanged", ", appendix B; with two columns exchanged", origin=Origin.READING
)
def _exchanged() -> Finding:
    """With P95 latency and P50 TTFT exchanged, text and table agree.

    Checked: four numbers"""
    return agree(
        [
            (_saved("latency"), "45"),
            (_saved("latency_p95"), "47"),
            (_saved("ttft"), "45"),
            (_saved("ttft_p95"), "46"),
        ],
        " %",
    )


@CLAIMS.claim(
    "tables-2-3.ceiling", "Tables 2 and 3, with the workload of appendix A", origin=Origin.READING
)
def _ceiling() -> Finding:
    """No hit rate exceeds what an infinite cache has: 31/32 of the shared half.

    Checked: six hit rates
    Note: On several workers each group is computed once on each worker that it meets, so that the
    ceiling there is lower."""
    most = 100 * Fraction(SHARED) * Fraction(REQUESTS_A_GROUP - 1, REQUESTS_A_GROUP)
    rates = [row.hit_rate for row in (*TABLE_2.values(), *TABLE_3.values())]
    above = (rate for rate in rates if span(rate)[0] > most)
    return Finding(
        above,
        f"at most {decimal(most, 2)} %; the largest is {max(rates, key=Fraction)} %",
        paper=", ".join(f"{rate} %" for rate in rates),
    )
