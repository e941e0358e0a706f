"""The recompute tax of vLLM's RFC 54644: what its numbers say, and which lengths can give them.

Lengths and caps of the runs are not printed. First what follows from the printed numbers, exactly;
then which families of lengths, under which settings, agree with all of them, and which none can.
Nothing is fitted but the sum of the tokens, which the numbers say.
"""

from collections.abc import Iterator
from fractions import Fraction
from math import ceil

from fluidkv.ledger import Evidence, Finding, Instance, Origin, Statements, span
from fluidkv_papers.theory.best import least_skew
from fluidkv_papers.vllm.instances import recompute_tax_families as families
from fluidkv_papers.vllm.instances import recompute_tax_printed as printed

_NUMBERS = "the printed numbers, each with all that round to it"
CLAIMS = Statements(
    "vllm-54644", "vLLM", origin=Origin.READING, evidence=Evidence.EXACT, checked=_NUMBERS
)
PREDICTED = CLAIMS.section(origin=Origin.PREDICTION, evidence=Evidence.SAMPLED)

_TABLE = "RFC 54644, Evaluation"
_GRID = "14 pairs of shapes, 3 shares of the prompts, 5 settings; eight draws of each"


@CLAIMS.claim("waste", _TABLE, origin=Origin.PRINTED)
def _waste_falls() -> Finding:
    """At 400 blocks least computed first wastes 43 % fewer tokens.

    Checked: the two printed sums
    Paper: 43 percent"""
    low, high = span(printed.ROWS[-1].saved)
    saved = 1 - Fraction(printed.LEAST_WASTED, printed.WASTED)
    bad = None if low <= saved <= high else f"{float(saved):.4f}"
    return Finding(bad, f"{float(saved):.2%}")


@CLAIMS.claim("preemptions", _TABLE)
def _preempts_more_often_online() -> Finding:
    """Least computed first preempts more rarely in the offline run, and more often online.

    Paper: 415 to 261 tokens a preemption; 35 to 41 percent fewer"""
    # Online: total waste falls by 24 to 30 %, waste a preemption by 35 to 41 %.
    last = printed.preemptions(printed.WASTED, printed.A_PREEMPTION)
    least = printed.preemptions(printed.LEAST_WASTED, printed.LEAST_A_PREEMPTION)
    rarest, often = Fraction(70, 65), Fraction(76, 59)
    bad = None if least[1] < last[0] and rarest > 1 else f"{last}, {least}, {rarest}"
    return Finding(
        bad,
        f"offline {least[0]:,} to {least[1]:,} for {last[0]:,} to {last[1]:,}; online "
        f"{float(rarest - 1):.0%} to {float(often - 1):.0%} more",
    )


@CLAIMS.claim("useful", _TABLE)
def _useful_tokens() -> Finding:
    """A request of the offline run computes some 560 tokens, were nothing computed twice.

    Paper: not printed"""
    low, high = (Fraction(tokens, printed.REQUESTS) for tokens in printed.useful())
    bad = None if low > 555 and high < 565 else f"{float(low):.1f} to {float(high):.1f}"
    return Finding(bad, f"{float(low):.1f} to {float(high):.1f}")


@CLAIMS.claim("tax-left", _TABLE)
def _tax_falls_less() -> Iterator[Instance]:
    """Of the tax, least computed first takes less than a quarter away at 800 and 400 blocks: it is
    a share, and falls less than the waste.

    Ours: of the tax, {all}
    Paper: about 51 percent of the tax"""
    for row in printed.ROWS:
        (low, high), (least, most) = printed.tax_left(row), span(row.tax)
        gone = 1 - high / most, 1 - low / least
        shown = f"{row.blocks}: {float(min(gone)):.0%} to {float(max(gone)):.0%}"
        small = row.blocks >= 1600 or max(gone) < Fraction(1, 4)
        yield Instance(max(gone) < Fraction(row.saved) and small, shown)


@CLAIMS.claim("pool", _TABLE, checked=f"{_NUMBERS}; blocks of 16 tokens")
def _not_the_peak() -> Finding:
    """The 4,200 blocks of the machine are fewer than half of what all 300 requests hold at their
    longest."""
    blocks = ceil(Fraction(printed.useful()[0], printed.BLOCK_SIZE))
    bad = None if blocks > 2 * printed.POOL else f"{blocks} blocks"
    return Finding(bad, f"{blocks:,} or more", paper=f"{printed.POOL:,}")


@CLAIMS.claim(
    "longest", _TABLE, checked=f"{_NUMBERS}; the bound of `fluidkv_papers.theory.best.most_lost`"
)
def _needs_a_long_one() -> Finding:
    """Where prompts are computed whole, the tax of 78.8 % needs a request more than two and a half
    times as long as the mean: fixed lengths, range ratios and uniform lengths cannot give it.

    Paper: not printed"""
    # A uniform length is at most twice its mean, and so is a sum of two.
    mean = Fraction(printed.useful()[1], printed.REQUESTS)
    ratio = printed.longest_evicted() / mean
    bad = None if ratio > Fraction(5, 2) else f"{float(ratio):.2f} times"
    return Finding(
        bad,
        f"somebody who was evicted held {printed.longest_evicted():,} tokens, {float(ratio):.2f} "
        f"times the mean ({float(least_skew(Fraction(printed.ROWS[-1].tax))):.2f} without blocks)",
    )


def _of(*, whole: bool) -> list[families.Point]:
    return [point for point in families.recorded() if point.setting.whole is whole]


@PREDICTED.claim("families.whole-prompt", _TABLE, checked=f"{_GRID}; on record")
def _whole_prompts_do_not() -> Finding:
    """None of the families tried comes near the taxes at 800 and 400 blocks where a prompt is
    admitted only if all of it fits, as in vLLM today.

    Paper: 57.9 and 78.8 %"""
    points = _of(whole=True)
    most = {
        name: max(float(families.recorded()[point][name].max()) for point in points)
        for name in ("tax_800", "tax_400")
    }
    bad = [point for point in points if not {"tax_800", "tax_400"} <= set(families.missed(point))]
    return Finding(
        not bad or str(bad[0]),
        f"{most['tax_800']:.1%} and {most['tax_400']:.1%} at most, in {len(points)} families",
    )


@PREDICTED.claim("families.first-chunk", _TABLE, checked=f"{_GRID}; on record")
def _skewed_chunks_do() -> Finding:
    """Of the families and settings tried, which are ours, all printed numbers and the order of the
    rules agree, to within what chance does, only where a prompt is admitted by its first chunk and
    outputs are log-normal, prompts unequal too."""
    found = families.agreeing()
    skewed = ("exponential", "log-normal", "one in ten")
    as_said = all(
        not p.setting.whole and p.outputs == "log-normal" and p.prompts in skewed for p in found
    )
    shown = "; ".join(
        f"prompts {p.prompts} ({p.share:.0%}), {p.setting.budget} tokens" for p in found
    )
    bad = None if found and as_said else shown or "none agrees"
    return Finding(
        bad,
        f"{len(found)} of {len(families.recorded())} points: {shown}",
        paper=f"{len(families.PRINTED)} numbers and the order",
    )


@CLAIMS.claim("order.spared", _TABLE, evidence=Evidence.SAMPLED)
def _may_waste_more() -> Finding:
    """Where prompts are cut, least computed first that spares who asks may waste more than last
    come first: two long prompts then drive each other out.

    Checked: 400 blocks, means of the draws, admission by the first chunk; pull request 53723 as of
    31 August 2026
    Paper: LCF better than LIFO"""
    points = _of(whole=False)
    more = {p: 1 - float(families.recorded()[p]["saved_400"].mean()) for p in points}
    worse = [point for point, waste in more.items() if waste > 1.1]
    bad = None if worse else "in no family"
    return Finding(
        bad,
        f"by a tenth and more in {len(worse)} of {len(points)}; {max(more.values()):.1f} times as "
        "much at most",
    )


@CLAIMS.claim("caps", _TABLE, origin=Origin.PREDICTION, evidence=Evidence.SAMPLED)
def _default_cap_preempts() -> Finding:
    """With 256 requests at once, vLLM's default, somebody is preempted at 2,800 blocks in every
    family tried, where nobody was.

    Checked: 42 families of lengths, eight draws of each
    Paper: 0, no preemption"""
    default = families.Setting(True, 8192, 256)
    least = {
        point: float(draws[f"tax_{printed.NO_PREEMPTION}"].min())
        for point, draws in families.recorded().items()
        if point.setting == default
    }
    bad = (str(point) for point, tax in least.items() if tax <= 0)
    return Finding(bad, f"taxes of {min(least.values()):.1%} or more")
