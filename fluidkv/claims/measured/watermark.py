"""The watermark table of vLLM's pull request 44594 against the `vllm` preset.

Everything here is one published run for each row, and one run of ours: sampled, not proved. How
far chance alone goes is known from eight draws of the requests: with the watermark off they give
993 to 1,230 preemptions, 11 % to either side. Nothing is fitted to preemptions. The clock has two
unknowns, from two numbers of the first row; all its other numbers and rows are predicted.
"""

from collections.abc import Callable, Sequence

from fluidkv.claims.claim import Claim, Outcome
from fluidkv.claims.measured.watermark_runs import (
    CAPACITY,
    CLIENTS,
    PUBLISHED,
    Row,
    clock_of_one_number,
    drawn,
    fitted_clock,
    predicted,
    published_runs,
)
from fluidkv.claims.outcomes import verdict
from fluidkv.verdict import Evidence, Verdict

_CHANCE = 0.12  # see above; for preemptions of one run against those of another
_THROUGHPUT = 0.025  # half of the gain that the table is about, 5 %
_LATENCY = 0.1  # tenths of seconds of clients that we do not model, of waits of 6 to 30 s


def _claim(
    id: str,
    statement: str,
    check: Callable[[], Outcome],
    *,
    expected: Verdict = Verdict.HOLDS,
    checked: str = "one run of the requests of seed 0",
) -> Claim:
    return Claim(
        id=f"vllm-44594.{id}",
        kind="table",
        statement=statement,
        source="vLLM, pull request 44594, table of results",
        checked=checked,
        check=check,
        expected=expected,
    )


def _same_requests() -> Outcome:
    """Output tokens/s over requests/s is the mean output; each row says it to some 1.3 tokens."""
    low = max((row.output_per_s - 0.5) / (row.requests_per_s + 0.0005) for row in PUBLISHED)
    high = min((row.output_per_s + 0.5) / (row.requests_per_s - 0.0005) for row in PUBLISHED)
    ours = float(drawn().output_length.mean())
    return Outcome(
        verdict(low <= ours <= high),
        Evidence.FLOAT,
        ours=f"{ours:.2f}",
        paper=f"{low:.2f} to {high:.2f}",
        note="means of 450 such lengths scatter by 27 tokens: by chance one in a hundred agrees",
    )


def _demand() -> Outcome:
    requests = drawn()
    held = float((requests.input_length + requests.output_length / 2).mean())
    ratio = CLIENTS * held / CAPACITY
    return Outcome(verdict(round(ratio, 1) == 1.5), Evidence.FLOAT, f"{ratio:.3f}", "~1.5")


def _preemptions(index: int) -> Callable[[], Outcome]:
    def check() -> Outcome:
        ours = predicted(fitted_clock())[index].preemptions
        return _near([ours], [PUBLISHED[index].preemptions], _CHANCE, "{:,.0f}")

    return check


def _most_of_them() -> Outcome:
    ours = predicted(fitted_clock())
    gone, printed = (1 - rows[1].preemptions / rows[0].preemptions for rows in (ours, PUBLISHED))
    return Outcome(
        # two counts, each 11 % off by chance, move their ratio of 0.37 by 0.05 or so
        verdict(abs(gone - printed) <= 0.05),
        Evidence.SAMPLED,
        f"{gone:.0%}",
        f"{printed:.0%}",
    )


def _levels_off() -> Outcome:
    """From 0.10 to 0.15 next to nothing is gained, and preemptions remain."""
    ours = [row.preemptions for row in predicted(fitted_clock())[3:]]
    return Outcome(
        verdict(ours[1] >= (1 - _CHANCE) * ours[0]),
        Evidence.SAMPLED,
        f"{ours[0]} and {ours[1]}",
        f"{PUBLISHED[3].preemptions} and {PUBLISHED[4].preemptions}",
    )


def _throughput() -> Outcome:
    ours = [row.output_per_s for row in predicted(fitted_clock())[1:]]
    return _near(ours, [row.output_per_s for row in PUBLISHED[1:]], _THROUGHPUT, "{:,.0f}")


def _gain() -> Outcome:
    ours, printed = (
        max(row.output_per_s for row in rows) / rows[0].output_per_s - 1
        for rows in (predicted(fitted_clock()), PUBLISHED)
    )
    return Outcome(
        verdict(abs(ours - printed) <= 0.005), Evidence.SAMPLED, f"{ours:.1%}", f"{printed:.1%}"
    )


def _best() -> Outcome:
    """The best row, and the two best rows, as they come out."""
    ours, printed = (
        sorted(rows, key=lambda row: -row.output_per_s)[:2]
        for rows in (predicted(fitted_clock()), PUBLISHED)
    )
    found, wanted = ({row.watermark for row in rows} for rows in (ours, printed))
    return Outcome(verdict(found == wanted), Evidence.SAMPLED, _marks(ours), _marks(printed))


def _marks(rows: Sequence[Row]) -> str:
    return " and ".join(f"{row.watermark:g}" for row in sorted(rows, key=lambda r: r.watermark))


def _free_prefill() -> Outcome:
    """By a clock on which prefill costs nothing, so that recomputing does not either."""
    ours = [row.output_per_s for row in predicted(clock_of_one_number())]
    return Outcome(
        verdict(max(ours[1:]) < ours[0]),
        Evidence.SAMPLED,
        ", ".join(f"{value:,.0f}" for value in ours),
        "a gain, from recomputing saved",
        note="with prefill free, a watermark only keeps memory empty",
    )


def _tokens_of_a_resumption() -> Outcome:
    run = published_runs().isel(run=0)
    ours = float(run.recomputed_tokens.sum() / run.preempt.sum())
    return Outcome(
        # "~3500" has one or two digits
        verdict(abs(ours / 3500 - 1) <= 0.1),
        Evidence.SAMPLED,
        f"{ours:,.0f}",
        "~3500",
        note="3,500 is the mean length of a running request; the last admitted, who goes, is short",
        witness=f"{ours:,.0f} tokens a preemption without a watermark",
    )


def _times(name: str, tolerance: float) -> Callable[[], Outcome]:
    def check() -> Outcome:
        rows = [row for row in PUBLISHED if getattr(row, name) is not None]
        ours = [getattr(row, name) for row in predicted(fitted_clock())[: len(rows)]]
        printed = [getattr(row, name) for row in rows]
        if name == "itl_p99":  # its first row is fitted
            ours, printed = ([1e3 * v for v in values[1:]] for values in (ours, printed))
        return _near(ours, printed, tolerance, "{:.1f}")

    return check


def _near(ours: Sequence[float], printed: Sequence[float], tolerance: float, form: str) -> Outcome:
    """Whether each is within a relative tolerance; the witness is the first that is not."""
    off = [a / b - 1 for a, b in zip(ours, printed, strict=True)]
    bad = [i for i, value in enumerate(off) if abs(value) > tolerance]
    shown = [", ".join(form.format(value) for value in values) for values in (ours, printed)]
    witness = ""
    if bad:
        i = bad[0]
        witness = f"{form.format(ours[i])} for {form.format(printed[i])}, {off[i]:+.0%}"
    return Outcome(
        verdict(not bad),
        Evidence.SAMPLED,
        *shown,
        note=f"off by {', '.join(f'{value:+.1%}' for value in off)}; {tolerance:.1%} allowed",
        witness=witness,
    )


CLAIMS = (
    _claim(
        "requests",
        "The benchmark's requests are those that its tool draws from seed 0.",
        _same_requests,
        checked="the mean output that the five rows imply",
    ),
    _claim(
        "demand",
        "The clients ask for 1.5 times the memory, at the mean length of a request.",
        _demand,
        checked="the requests of seed 0",
    ),
    _claim(
        "preemptions.off",
        "Without a watermark there are 1,065 preemptions, to within what chance does (12 %).",
        _preemptions(0),
    ),
    _claim(
        "preemptions.two-per-cent",
        "At watermark 0.02 there are 400 preemptions, to within what chance does (12 %).",
        _preemptions(1),
    ),
    _claim(
        "preemptions.five-per-cent",
        "At watermark 0.05 there are 187 preemptions, to within what chance does (12 %).",
        _preemptions(2),
        expected=Verdict.FAILS,
    ),
    _claim(
        "preemptions.ten-per-cent",
        "At watermark 0.10 there are 168 preemptions, to within what chance does (12 %).",
        _preemptions(3),
        expected=Verdict.FAILS,
    ),
    _claim(
        "preemptions.fifteen-per-cent",
        "At watermark 0.15 there are 168 preemptions, to within what chance does (12 %).",
        _preemptions(4),
    ),
    _claim(
        "preemptions.most",
        "A watermark of 0.02 takes away 62 % of the preemptions.",
        _most_of_them,
    ),
    _claim(
        "preemptions.level-off",
        "A watermark of 0.15 leaves as many preemptions as one of 0.10.",
        _levels_off,
    ),
    _claim(
        "throughput",
        "Output tokens/s at watermarks 0.02 to 0.15 are within 2.5 % of 12,134, 12,167, 11,835 and "
        "11,635.",
        _throughput,
    ),
    _claim(
        "throughput.gain",
        "The best watermark gives 5.1 % more tokens/s than none.",
        _gain,
        expected=Verdict.FAILS,
    ),
    _claim(
        "throughput.best",
        "Tokens/s are highest at watermarks 0.02 and 0.05.",
        _best,
    ),
    _claim(
        "throughput.free-prefill",
        "What the watermark gains is recomputing saved: were prefill free, tokens/s would fall.",
        _free_prefill,
    ),
    _claim(
        "recompute.tokens",
        "A preempted request computes about 3,500 tokens again when it comes back.",
        _tokens_of_a_resumption,
        expected=Verdict.FAILS,
    ),
    _claim(
        "latency.median",
        "Latencies have medians of 51.6, 48.4, 47.9 and 48.6 s, within 10 %.",
        _times("latency_p50", _LATENCY),
    ),
    _claim(
        "ttft.p99",
        "Times to the first token: 99th percentiles of 25.5, 26.5, 28.9 and 31.0 s, within 10 %.",
        _times("ttft_p99", _LATENCY),
    ),
    _claim(
        "ttft.median",
        "Times to the first token have medians of 6.6, 11.8, 11.2 and 9.0 s, within 10 %.",
        _times("ttft_p50", _LATENCY),
        expected=Verdict.FAILS,
    ),
    _claim(
        "itl.p99",
        "Gaps between tokens have 99th percentiles of 18.8, 17.7 and 17.6 ms with a watermark, "
        "within 10 %.",
        _times("itl_p99", _LATENCY),
        expected=Verdict.FAILS,
    ),
)
