"""CacheOPT: one quantity printed twice, as spans, factors or defaults, beside itself."""

from fractions import Fraction

from fluidkv.ledger import Finding, Origin
from fluidkv_papers.cacheopt.instances import table_1
from fluidkv_papers.cacheopt.paper import statements

_NUMBERS = "the printed numbers"
CLAIMS = statements(origin=Origin.READING, checked=_NUMBERS)

_HALF = Fraction(1, 200)
"""Half a unit of a percentage's last digit."""

PREEMPTION = {"RLP": ("0.29", "0.49"), "S3": ("0.26", "0.45")}
"""Section 2.2: how much lower than vLLM's, of vLLM's."""

WAITING = {"RLP": ("0.43", "0.72"), "S3": ("0.27", "0.65")}
"""The same: how much higher."""


@CLAIMS.fails(
    "section-2-2.spans.preemption", "section 2.2", checked=f"{_NUMBERS}, to within rounding"
)
def _preemption() -> Finding:
    """At one end at least of their spans against vLLM, S3 has less preemption time than RLP.

    Paper: S3 has 7% lower preemption time
    Note: The averages may be lower where the traces with the ends are not the same. Were it 7 %
    higher, it would agree with both spans, and with less memory given by S3.
    Holds: section-2-2.spans.waiting"""
    # Rounding is taken at its kindest: S3's as low, and RLP's as high, as it may be printed.
    ends = list(zip(*(map(Fraction, PREEMPTION[name]) for name in ("S3", "RLP")), strict=True))
    least = [(1 - s3 - _HALF) / (1 - rlp + _HALF) for s3, rlp in ends]
    shown = " and ".join(f"{float((1 - s3) / (1 - rlp) - 1):.0%}" for s3, rlp in ends)
    return Finding(min(least) < 1 or f"{float(min(least) - 1):.1%} more at least", f"{shown} more")


@CLAIMS.claim("section-2-2.spans.waiting", "section 2.2")
def _waiting() -> Finding:
    """By their spans against vLLM S3 waits 4 to 11 % shorter than RLP, and so 5 % as printed.

    Paper: 5% lower waiting time"""
    ends = list(zip(*(map(Fraction, WAITING[name]) for name in ("S3", "RLP")), strict=True))
    less = sorted(1 - (1 + s3) / (1 + rlp) for s3, rlp in ends)
    return Finding(
        less[0] <= Fraction(5, 100) <= less[1],
        f"{float(less[0]):.0%} and {float(less[1]):.0%} lower",
    )


FEWER_UNDER = {"RLP": "0.72", "S3": "0.57"}
"""Section 5.4: by how much CacheOPT has fewer underpredictions."""


@CLAIMS.fails("figure-17.h.rlp-and-s3", "section 5.4, Figure 17h, with section 2.1")
def _rlp_and_s3() -> bool | str:
    """RLP, which adds 100 tokens to what S3 rounds up to a multiple of 50, underpredicts no more
    often than S3.

    Ours: more often: 3.6 and 2.3 times as often as CacheOPT
    Paper: 72% and 57% of lower underpredictions, compared to RLP and S3
    Note: Both take the word of one model (section 2.1). If predictions are counted without padding,
    they would be level; if S3's model says buckets, it is another one."""
    # Rounding up adds less than the 100 tokens: whoever is short with RLP is short with S3.
    pads_more = table_1.PADDING["rlp"] >= table_1.BUCKET["s3"]
    # CacheOPT's number is the same: (1 - share) of each.
    rlp, s3 = (1 / (1 - Fraction(FEWER_UNDER[name])) for name in ("RLP", "S3"))
    return not (pads_more and s3 < rlp) or f"S3 has {float(s3 / rlp):.2f} times as many as RLP"


@CLAIMS.fails("figure-17.c.default", "section 5.4, Figure 17c, with sections 5 and 5.1")
def _default() -> Finding:
    """At m = 2, the default, Figure 17c has attainments in the spans of section 5.1.

    Paper: 0.94-0.97 and 0.94-0.98
    Note: Holds if 1.0 is rounded from 0.95 to 0.98, or if it is of a rate at which section 5.1 is
    not."""
    most = {"TTFT": Fraction("0.97"), "TBT": Fraction("0.98")}
    peak = Fraction("1.0")  # printed with one digit
    kindest = peak - Fraction(1, 20)
    bad = "1.0 is above both spans" if peak > max(most.values()) else None
    return Finding(bad, f"1.0, or {float(kindest):g} and more if it is rounded")
