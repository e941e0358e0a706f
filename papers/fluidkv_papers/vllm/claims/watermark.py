"""The watermark table of vLLM's pull request 44594 against the `vllm` preset.

Everything here is one published run for each row, and one run of ours: sampled, not proved. Two
questions are asked of a number. Does our run with the requests of seed 0 give it, to within what
chance does (`watermark_draws.chance`, one rule for all)? And, in claims that end in `draws`, does
it lie among what 39 draws of the order of arrival give? Where no effect of the watermark at all
would pass the first as well, the outcome is undecided.

Nothing is fitted to preemptions. The clock has two unknowns, from two numbers of the first row; all
its other numbers and rows are predicted.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fluidkv.ledger import Evidence, Finding, Origin, Statements, Verdict
from fluidkv_papers.vllm.instances import watermark_draws as draws
from fluidkv_papers.vllm.instances import watermark_runs as bench

_ALL = f"{draws.DRAWS} draws of the order of arrival, one run of each row"
_MEAN = f"the mean of {draws.DRAWS} draws of the order of arrival"
_ONE = "one run of the requests of seed 0"
_TABLE = "pull request 44594, table of results"
_CHANCE = "to within what chance does"

CLAIMS = Statements("vllm-44594", "vLLM", origin=Origin.PREDICTION, evidence=Evidence.SAMPLED)


@CLAIMS.claim("requests", _TABLE, evidence=Evidence.FLOAT)
def _same_requests() -> Finding:
    """The benchmark's requests are those that its tool draws from seed 0.

    Checked: the mean output that the five rows imply
    Note: means of 450 such lengths scatter by 27 tokens: by chance one in a hundred agrees"""
    # Output tokens/s over requests/s is the mean output; each row says it to some 1.3 tokens.
    low = max((row.output_per_s - 0.5) / (row.requests_per_s + 0.0005) for row in bench.PUBLISHED)
    high = min((row.output_per_s + 0.5) / (row.requests_per_s - 0.0005) for row in bench.PUBLISHED)
    ours = float(bench.drawn().output_length.mean())
    return Finding(low <= ours <= high, f"{ours:.2f}", paper=f"{low:.2f} to {high:.2f}")


@CLAIMS.claim("demand", _TABLE, evidence=Evidence.FLOAT)
def _demand() -> Finding:
    """The clients ask for 1.5 times the memory, at the mean length of a request.

    Checked: the requests of seed 0
    Paper: ~1.5"""
    requests = bench.drawn()
    held = float((requests.input_length + requests.output_length / 2).mean())
    ratio = bench.CLIENTS * held / bench.CAPACITY
    return Finding(round(ratio, 1) == 1.5, f"{ratio:.3f}")


def falls() -> tuple[np.ndarray, np.ndarray]:
    """Preemptions that 0.15 leaves less than 0.10, and 0.10 less than 0.05, in each draw."""
    counts = draws.of_draws(draws.all_preemptions)
    return counts[:, 3] - counts[:, 4], counts[:, 2] - counts[:, 3]


def _interval(values: np.ndarray) -> tuple[float, float, float]:
    """A mean and its 95 % interval: 2.02 is Student's t for 38 degrees of freedom."""
    mean, half = values.mean(), 2.02 * values.std(ddof=1) / len(values) ** 0.5
    return float(mean), float(mean - half), float(mean + half)


@CLAIMS.claim("preemptions.level-off", _TABLE, checked=_MEAN)
def levels_off() -> Finding:
    """A watermark of 0.15 leaves as many preemptions as one of 0.10."""
    # As many at both: the 95 % interval of the mean difference has zero in it.
    last, _ = falls()
    mean, low, high = _interval(last)
    same = low <= 0 <= high
    shown = f"{mean:.0f} fewer (95 %: {low:.0f} to {high:.0f})"
    return Finding(
        same or shown,
        shown,
        paper=f"{bench.PUBLISHED[3].preemptions} and {bench.PUBLISHED[4].preemptions}",
        note=f"single draws: {last.min():.0f} to {last.max():.0f} fewer, so that the published "
        "pair of runs is as predicted",
    )


@CLAIMS.claim("preemptions.level-off.less", _TABLE, checked=_MEAN)
def _falls_less() -> Finding:
    """From 0.10 to 0.15 a watermark takes away fewer preemptions than from 0.05 to 0.10.

    Paper: 187, 168 and 168"""
    last, before = falls()
    (a, *_), (b, *_), (_, low, high) = map(_interval, (last, before, before - last))
    return Finding(
        low > 0,
        f"{b:.0f} fewer at 0.10 than at 0.05, and {a:.0f} fewer at 0.15 than at 0.10 "
        f"(95 % of the difference: {low:.0f} to {high:.0f})",
    )


@CLAIMS.claim("throughput.best", _TABLE, checked=_ONE)
def _best() -> Finding:
    """Tokens/s are highest at watermarks 0.02 and 0.05."""
    # The best row, and the two best rows, as they come out.
    ours, printed = (
        sorted(rows, key=lambda row: -row.output_per_s)[:2]
        for rows in (bench.predicted(bench.fitted_clock()), bench.PUBLISHED)
    )
    found, wanted = ({row.watermark for row in rows} for rows in (ours, printed))
    so = sum(set(np.argsort(values)[-2:]) == {0, 1} for values in draws.of_draws(draws.gains))
    return Finding(
        found == wanted,
        _marks(ours),
        paper=_marks(printed),
        note=f"so in {so} of {draws.DRAWS} draws; of ten pairs one would be met by chance",
    )


def _marks(rows: Sequence[bench.Row]) -> str:
    return " and ".join(f"{row.watermark:g}" for row in sorted(rows, key=lambda r: r.watermark))


@CLAIMS.claim("throughput.free-prefill", _TABLE, checked=_ONE)
def _free_prefill() -> Finding:
    """What the watermark gains is recomputing saved: were prefill free, tokens/s would fall.

    Paper: a gain, from recomputing saved
    Note: with prefill free, a watermark only keeps memory empty"""
    # By a clock on which prefill costs nothing, so that recomputing does not either.
    ours = [row.output_per_s for row in bench.predicted(bench.clock_of_one_number())]
    return Finding(max(ours[1:]) < ours[0], ", ".join(f"{value:,.0f}" for value in ours))


@CLAIMS.fails("recompute.tokens", _TABLE, checked=_ONE)
def _tokens_of_a_resumption() -> Finding:
    """A preempted request computes about 3,500 tokens again when it comes back.

    Paper: ~3500
    Note: 3,500 is the mean length of a running request; the last admitted, who goes, is short"""
    run = bench.published_runs().isel(run=0)
    ours = float(run.recomputed_tokens.sum() / run.preempt.sum())
    return Finding(
        abs(ours / 3500 - 1) <= 0.1 or f"{ours:,.0f} tokens a preemption without a watermark",
        f"{ours:,.0f}",
    )


def as_predicted(statistic: draws.Statistic, form: str, none_too: bool = True) -> Finding:
    """Whether the run of seed 0 gives the published numbers, to within what chance does.

    Args:
        statistic, form: the numbers, and how one is shown.
        none_too: ask also whether a watermark without any effect would pass. Not for the first row,
            which has none.
    """
    rows = bench.predicted(bench.fitted_clock())
    ours, printed, allowed = (
        np.array(values)
        for values in (statistic(rows), statistic(bench.PUBLISHED), draws.chance(statistic))
    )
    off = abs(ours - printed) > allowed
    holds, note = True, ""
    if off.any():
        k = int(off.argmax())
        holds = f"{form.format(ours[k])} for {form.format(printed[k])}"
    elif none_too:
        none = [replace(rows[0], watermark=row.watermark) for row in rows]
        if (abs(np.array(statistic(none)) - printed) <= allowed).all():
            holds, note = Verdict.UNDECIDED, "; no effect at all would pass as well"
    return Finding(
        holds,
        *(_shown(values, form) for values in (ours, printed)),
        note=f"two draws of the order of arrival differ by up to {_shown(allowed, form)}{note}",
    )


def among_draws(statistic: draws.Statistic, form: str) -> Finding:
    """Whether each published number lies in the range of the draws, at its watermark."""
    values, printed = draws.of_draws(statistic), np.array(statistic(bench.PUBLISHED))
    low, high = values.min(axis=0), values.max(axis=0)
    outside = (printed < low) | (printed > high)
    spans = [f"{form.format(a)} to {form.format(b)}" for a, b in zip(low, high, strict=True)]
    k = int(outside.argmax())
    return Finding(
        (not outside.any()) or f"{form.format(printed[k])} outside {spans[k]}",
        ", ".join(spans),
        paper=_shown(printed, form),
    )


def _shown(values: Sequence[float] | np.ndarray, form: str) -> str:
    return ", ".join(form.format(value) for value in values)


for _k, _word in enumerate(("two", "five", "ten", "fifteen"), start=1):
    CLAIMS.claim(
        f"preemptions.{_word}-per-cent",
        _TABLE,
        f"At watermark {bench.PUBLISHED[_k].watermark:.2f} there are "
        f"{bench.PUBLISHED[_k].preemptions} preemptions, {_CHANCE} there.",
        expected=Verdict.FAILS if _word == "five" else Verdict.HOLDS,
        checked=_ONE,
        given=(draws.preemptions(_k), "{:,.0f}"),
        holds="preemptions.draws" if _word == "five" else "",
    )(as_predicted)

# What is read off one table, ours and the published one: id, statement, numbers, their form.
for _id, _says, _expected, _statistic, _form in (
    (
        "preemptions.most",
        f"A watermark of 0.02 takes away 62 % of the preemptions, {_CHANCE}.",
        Verdict.HOLDS,
        draws.gone,
        "{:.1%}",
    ),
    (
        "throughput",
        f"Watermarks 0.02 to 0.15 give 4.8, 5.1, 2.2 and 0.5 % more tokens/s than none, {_CHANCE}.",
        Verdict.HOLDS,
        draws.gains,
        "{:.1%}",
    ),
    (
        "throughput.gain",
        f"The best watermark gives 5.1 % more tokens/s than none, {_CHANCE}.",
        Verdict.HOLDS,
        draws.best_gain,
        "{:.1%}",
    ),
    (
        "latency.median",
        f"Watermarks take 3.2, 3.7 and 3.0 s off the median latency, {_CHANCE}.",
        Verdict.FAILS,
        draws.changes("latency_p50"),
        "{:.1f}",
    ),
    (
        "ttft.p99",
        "Watermarks add 1.0, 3.4 and 5.5 s to the 99th percentile of the time to the first token, "
        f"{_CHANCE}.",
        Verdict.HOLDS,
        draws.changes("ttft_p99"),
        "{:.1f}",
    ),
    (
        "ttft.median",
        f"Watermarks add 5.2, 4.6 and 2.4 s to the median time to the first token, {_CHANCE}.",
        Verdict.UNDECIDED,
        draws.changes("ttft_p50"),
        "{:.1f}",
    ),
    (
        "itl.p99",
        "Watermarks take 21.8, 22.9 and 23.1 ms off the 99th percentile of gaps between tokens, "
        f"{_CHANCE}.",
        Verdict.FAILS,
        draws.changes("itl_p99", scale=1e3),
        "{:.1f}",
    ),
):
    CLAIMS.claim(
        _id,
        _TABLE,
        _says,
        expected=_expected,
        missed=Verdict.FAILS,
        checked=_ONE,
        given=(_statistic, _form),
    )(as_predicted)

CLAIMS.claim(
    "preemptions.off",
    _TABLE,
    f"Without a watermark there are 1,065 preemptions, {_CHANCE}.",
    checked=_ONE,
    given=(draws.preemptions(0), "{:,.0f}", False),
)(as_predicted)
CLAIMS.claim(
    "preemptions.draws",
    _TABLE,
    "All five published counts of preemptions lie among those of 39 draws of the order of arrival.",
    checked=_ALL,
    given=(draws.all_preemptions, "{:,.0f}"),
)(among_draws)
CLAIMS.claim(
    "throughput.draws",
    _TABLE,
    "All four published gains lie among those of 39 draws of the order of arrival.",
    checked=_ALL,
    given=(draws.gains, "{:.1%}"),
)(among_draws)
