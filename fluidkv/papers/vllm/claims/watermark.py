"""The watermark table of vLLM's pull request 44594 against the `vllm` preset.

Everything here is one published run for each row, and one run of ours: sampled, not proved. Two
questions are asked of a number. Does our run with the requests of seed 0 give it, to within what
chance does (`watermark_draws.chance`, one rule for all)? And, in claims that end in `draws`, does
it lie among what 39 draws of the requests give? Where no effect of the watermark at all would pass
the first as well, the outcome is undecided.

Nothing is fitted to preemptions. The clock has two unknowns, from two numbers of the first row; all
its other numbers and rows are predicted.
"""

from collections.abc import Callable, Sequence

import numpy as np

from fluidkv.ledger.claim import Claim, Outcome
from fluidkv.ledger.outcomes import verdict
from fluidkv.papers.vllm.claims.watermark_compare import (
    all_preemptions,
    among_draws,
    as_predicted,
    best_gain,
    changes,
    gains,
    gone,
    preemptions,
)
from fluidkv.papers.vllm.claims.watermark_draws import DRAWS, of_draws
from fluidkv.papers.vllm.claims.watermark_runs import (
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
from fluidkv.verdict import Evidence, Verdict

_ALL = f"{DRAWS} draws of the requests, one run of each row"


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


def _falls() -> tuple[np.ndarray, np.ndarray]:
    """Preemptions that 0.15 leaves less than 0.10, and 0.10 less than 0.05, in each draw."""
    counts = of_draws(all_preemptions)
    return counts[:, 3] - counts[:, 4], counts[:, 2] - counts[:, 3]


def _interval(values: np.ndarray) -> tuple[float, float, float]:
    """A mean and its 95 % interval: 2.02 is Student's t for 38 degrees of freedom."""
    mean, half = values.mean(), 2.02 * values.std(ddof=1) / len(values) ** 0.5
    return float(mean), float(mean - half), float(mean + half)


def _levels_off() -> Outcome:
    """As many at both: the 95 % interval of the mean difference has zero in it."""
    last, _ = _falls()
    mean, low, high = _interval(last)
    same = low <= 0 <= high
    shown = f"{mean:.0f} fewer (95 %: {low:.0f} to {high:.0f})"
    return Outcome(
        verdict(same),
        Evidence.SAMPLED,
        shown,
        f"{PUBLISHED[3].preemptions} and {PUBLISHED[4].preemptions}",
        note=f"single draws: {last.min():.0f} to {last.max():.0f} fewer, so that the published "
        "pair of runs is as predicted",
        witness="" if same else shown,
    )


def _falls_less() -> Outcome:
    last, before = _falls()
    (a, *_), (b, *_), (_, low, high) = map(_interval, (last, before, before - last))
    return Outcome(
        verdict(low > 0),
        Evidence.SAMPLED,
        f"{b:.0f} fewer at 0.10 than at 0.05, and {a:.0f} fewer at 0.15 than at 0.10 "
        f"(95 % of the difference: {low:.0f} to {high:.0f})",
        "187, 168 and 168",
    )


def _best() -> Outcome:
    """The best row, and the two best rows, as they come out."""
    ours, printed = (
        sorted(rows, key=lambda row: -row.output_per_s)[:2]
        for rows in (predicted(fitted_clock()), PUBLISHED)
    )
    found, wanted = ({row.watermark for row in rows} for rows in (ours, printed))
    so = sum(set(np.argsort(values)[-2:]) == {0, 1} for values in of_draws(gains))
    return Outcome(
        verdict(found == wanted),
        Evidence.SAMPLED,
        _marks(ours),
        _marks(printed),
        note=f"so in {so} of {DRAWS} draws; of ten pairs one would be met by chance",
    )


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
        # "~3500" has two digits at most; draws give 1,434 to 1,879
        verdict(abs(ours / 3500 - 1) <= 0.1),
        Evidence.SAMPLED,
        f"{ours:,.0f}",
        "~3500",
        note="3,500 is the mean length of a running request; the last admitted, who goes, is short",
        witness=f"{ours:,.0f} tokens a preemption without a watermark",
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
        "Without a watermark there are 1,065 preemptions, to within what chance does.",
        as_predicted(preemptions(0), "{:,.0f}", none_too=False),
    ),
    _claim(
        "preemptions.two-per-cent",
        "At watermark 0.02 there are 400 preemptions, to within what chance does there.",
        as_predicted(preemptions(1), "{:,.0f}"),
    ),
    _claim(
        "preemptions.five-per-cent",
        "At watermark 0.05 there are 187 preemptions, to within what chance does there.",
        as_predicted(preemptions(2), "{:,.0f}"),
        expected=Verdict.FAILS,
    ),
    _claim(
        "preemptions.ten-per-cent",
        "At watermark 0.10 there are 168 preemptions, to within what chance does there.",
        as_predicted(preemptions(3), "{:,.0f}"),
    ),
    _claim(
        "preemptions.fifteen-per-cent",
        "At watermark 0.15 there are 168 preemptions, to within what chance does there.",
        as_predicted(preemptions(4), "{:,.0f}"),
    ),
    _claim(
        "preemptions.draws",
        "All five published counts of preemptions lie among those of 39 draws of the requests.",
        among_draws(all_preemptions, "{:,.0f}"),
        checked=_ALL,
    ),
    _claim(
        "preemptions.most",
        "A watermark of 0.02 takes away 62 % of the preemptions, to within what chance does.",
        as_predicted(gone, "{:.1%}"),
    ),
    _claim(
        "preemptions.level-off",
        "A watermark of 0.15 leaves as many preemptions as one of 0.10.",
        _levels_off,
        expected=Verdict.FAILS,
        checked=f"the mean of {DRAWS} draws of the requests",
    ),
    _claim(
        "preemptions.level-off.less",
        "From 0.10 to 0.15 a watermark takes away fewer preemptions than from 0.05 to 0.10.",
        _falls_less,
        checked=f"the mean of {DRAWS} draws of the requests",
    ),
    _claim(
        "throughput",
        "Watermarks 0.02 to 0.15 give 4.8, 5.1, 2.2 and 0.5 % more tokens/s than none, to within "
        "what chance does.",
        as_predicted(gains, "{:.1%}"),
        expected=Verdict.FAILS,
    ),
    _claim(
        "throughput.gain",
        "The best watermark gives 5.1 % more tokens/s than none, to within what chance does.",
        as_predicted(best_gain, "{:.1%}"),
        expected=Verdict.FAILS,
    ),
    _claim(
        "throughput.draws",
        "All four published gains lie among those of 39 draws of the requests.",
        among_draws(gains, "{:.1%}"),
        checked=_ALL,
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
        "Watermarks take 3.2, 3.7 and 3.0 s off the median latency, to within what chance does.",
        as_predicted(changes("latency_p50"), "{:.1f}"),
        expected=Verdict.FAILS,
    ),
    _claim(
        "ttft.p99",
        "Watermarks add 1.0, 3.4 and 5.5 s to the 99th percentile of the time to the first token, "
        "to within what chance does.",
        as_predicted(changes("ttft_p99"), "{:.1f}"),
        expected=Verdict.UNDECIDED,
    ),
    _claim(
        "ttft.median",
        "Watermarks add 5.2, 4.6 and 2.4 s to the median time to the first token, to within what "
        "chance does.",
        as_predicted(changes("ttft_p50"), "{:.1f}"),
        expected=Verdict.FAILS,
    ),
    _claim(
        "itl.p99",
        "Watermarks take 21.8, 22.9 and 23.1 ms off the 99th percentile of gaps between tokens, to "
        "within what chance does.",
        as_predicted(changes("itl_p99"), "{:.1f}", scale=1e3),
        expected=Verdict.FAILS,
    ),
)
