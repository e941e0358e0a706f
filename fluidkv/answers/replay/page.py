"""What `fluidkv replay` prints."""

from collections.abc import Sequence

from fluidkv.answers.replay.errors import RelativeError, SeriesError
from fluidkv.answers.replay.result import Errors, Replay
from fluidkv.report.blocks import Cells
from fluidkv.report.numbers import counted, seconds, short
from fluidkv.report.page import Page, Row
from fluidkv.serving.clock_fit.steps import StepFit
from fluidkv.serving.engines import SGLANG

_LEAST = (16, 10, 14)  # columns of a name, of what was measured, of each prediction
LEVEL = 0.05  # the customary one, for the wording only; p-values are printed
_SERIES = (
    ("running", "running", 1, 1),
    ("waiting", "waiting", 1, 1),
    ("kv_used", "KV in use, %", 100, 1),
    ("generated", "tokens/s", 1, 0),
)
"""Name, label, what it is multiplied by, and digits."""
_TIMES = (("latency", "latency"), ("ttft", "first token"), ("tpot", "token by token"))
_ENGINES = {"vllm": "vLLM", "sglang": "SGLang"}
_DELAY = "from the client to the scheduler and back, estimated: added to what is predicted"
_SHOWN = 2  # predictions beside the baseline: what fits into 80 columns


def say_replay(page: Page, answer: Replay) -> None:
    """How far off, errors in the predicted half, the whole run, server and clock."""
    page.verdict(_in_short(answer))
    page.title(_title(answer))
    _errors(page, answer)
    _run(page, answer)
    _swings(page, answer)
    page.line()
    for sentence in _words(answer):
        page.paragraph(sentence)
    page.heading("Server and clock")
    page.rows([*_server(answer), *_clock(answer)])


def _in_short(answer: Replay) -> str:
    """How far off the main prediction is in the half that nothing was fitted to."""
    main = answer.main
    for name, what in (("running", "requests running"), ("generated", "tokens/s")):
        error = main.errors[name]
        if isinstance(error, SeriesError):
            return (
                f"The half that was not fitted, predicted by {main.name}: {what} off by "
                f"{short(error.rmse, 2)} (root mean square) of {short(error.measured_mean, 3)}"
            )
    many = counted(main.preemptions, "preemption")
    return f"{main.name} predicts {many}; the log has no series to hold it to"


def _title(answer: Replay) -> str:
    server, log = answer.server, answer.log
    made = f"{_ENGINES[answer.engine]} {server.version or ''}".rstrip()
    made += f" on {server.device}" * bool(server.device)
    dropped = f", {log.report.dropped:,} more dropped" if log.report.dropped else ""
    length = f"{log.tick_ends_s[-1]:,.0f} s" + " logged" * answer.counts_steps
    return f"{made[:50]}: {log.report.kept:,} requests{dropped}, {length}"


def _server(answer: Replay) -> list[Row]:
    limits = answer.limits
    caps = [f"{limits.blocks:,} blocks of {limits.block_size}"]
    if limits.block_size == 1:
        caps = [f"{limits.capacity:,} KV tokens"]
    if limits.max_num_seqs:
        caps.append(f"max_num_seqs {limits.max_num_seqs:,}")
    if limits.max_num_batched_tokens:
        caps.append(f"at most {limits.max_num_batched_tokens:,} tokens per step")
    caching = {True: "on", False: "off", None: "not said"}[answer.server.prefix_caching]
    return [
        ("server", ", ".join(caps)),
        ("", f"prefix caching {caching}"),
        ("rules", f"{answer.main.rules.label}, {_of_rules(answer)}"),
        *([("", answer.note)] if answer.note else []),
    ]


def _of_rules(answer: Replay) -> str:
    if answer.options is not None:
        return f"schedule conservativeness {answer.options.conservativeness:g}"
    return f"watermark {answer.limits.watermark:g}"


def _clock(answer: Replay) -> list[Row]:
    fit = answer.fit
    clock, span = fit.clock, _span(answer, answer.fitted)
    prefill = f"{1e6 * clock.per_prefill_token:.1f} us"
    if "per_prefill_token" in fit.unseen:
        prefill = "nothing"
    rows: list[Row] = [
        (
            "clock",
            f"{1e3 * clock.base:.1f} ms, {1e9 * clock.per_kv_token:.0f} ns more for each KV "
            f"token, {prefill} for each of prefill",
        ),
        ("", _left_over(answer, span)),
    ]
    if "per_kv_token" in fit.unseen:
        rows.append(("", "they do not tell what KV tokens cost: it is in the constant"))
    if "per_prefill_token" in fit.unseen:
        rows.append(("", "they do not tell what prefill costs: to compute again is free here"))
    if answer.log.delay_s:
        rows.append(("delay", f"{answer.log.delay_s:.2f} s {_DELAY}"))
    return rows


def _left_over(answer: Replay, span: str) -> str:
    """What the clock was fitted to, and what it leaves over."""
    fit, half = answer.fit, f"{answer.fitted} half, {span}"
    if isinstance(fit, StepFit):
        return f"from {len(fit)} rows of the {half}; their times off by {fit.rms_s:.2f} s rms"
    text = f"from {len(fit.residuals)} ticks of the {half}; off by {fit.residuals.rms:.1%} rms"
    return text + "; a request that came back is taken to compute a mean prompt again" * fit.reckons


def _span(answer: Replay, half: str) -> str:
    middle, last = answer.middle_s, answer.log.tick_ends_s[-1]
    return f"0 to {middle:.0f} s" if half == "first" else f"{middle:.0f} to {last:.0f} s"


def _errors(page: Page, answer: Replay) -> None:
    columns = [*(way.errors for way in answer.predictions[:_SHOWN]), answer.baseline_errors]
    page.heading(
        f"{answer.predicted.capitalize()} half, {_span(answer, answer.predicted)}: "
        "predicted against measured"
    )
    rows: list[Cells] = ["root mean square error, and (bias)"]
    for name, label, scale, digits in _SERIES:
        errors = [column[name] for column in columns]
        if isinstance(errors[0], SeriesError):
            mean = f"{scale * errors[0].measured_mean:,.{digits}f}"
            cells = [
                f"{scale * error.rmse:,.{digits}f} ({scale * error.bias:+,.{digits}f})"
                for error in errors
                if isinstance(error, SeriesError)
            ]
            rows.append([label, mean, *cells])
    _table(page, answer, [*rows, *_of_requests(answer, columns)], "constant rates")


def _of_requests(answer: Replay, columns: Sequence[Errors]) -> list[Cells]:
    """Against the part of each time that was predicted; then, if that is not all, against all."""
    parts: list[Cells] = []
    whole: list[Cells] = []
    for name, label in _TIMES:
        errors = [error for column in columns if isinstance(error := column[name], RelativeError)]
        if not errors:
            continue
        if errors[0].seconds_in_half is not None:
            # of a time for each token, that part is no time that anybody knows
            mean = "" if name == "tpot" else _seconds(errors[0].seconds_in_half)
            parts.append([label, mean, *(f"{error.median_in_half:.1%}" for error in errors)])
        cells = [f"{error.median_relative:.1%} ({error.bias:+.1%})" for error in errors]
        whole.append([label, _seconds(errors[0].measured_mean), *cells])
    if not whole:
        return []
    if answer.predicted == "first":  # where a run begins, and so do its requests
        return ["median relative error per request, and (bias of the mean)", *whole]
    return [
        f"median error per request, as a share of its time after {answer.middle_s:.0f} s",
        *parts,
        "the same as a share of all of its time, fitted half included, and (bias)",
        *whole,
    ]


def _run(page: Page, answer: Replay) -> None:
    shown, lasted = answer.predictions[:_SHOWN], answer.duration_s
    preempted = f"{'' if answer.preemptions_counted else '>= '}{answer.preemptions_seen:,}"
    if not answer.preemptions_counted and not answer.preemptions_seen:
        preempted = "none seen"
    again = "-" if answer.recompute_seen is None else f"~{answer.recompute_seen.tokens:,.0f}"
    if answer.recomputed_logged is not None:
        again = f"{answer.recomputed_logged:,.0f}"
    rows: list[Cells] = [
        ["preemptions", preempted, *(f"{way.preemptions:,}" for way in shown)],
        ["computed again", again, *(f"{way.recomputed_tokens:,}" for way in shown)],
        ["found in cache", "not logged", *(f"{way.reused_tokens:,}" for way in shown)],
        [
            "duration",
            "-" if lasted is None else f"{lasted:.1f} s",
            *(f"{way.duration_s:.1f} s" for way in shown),
        ],
    ]
    if answer.counts_steps:
        accounts = [answer.measured, *(way.account for way in shown)]
        rows.insert(0, ["most running", *(f"{account.running.max():.0f}" for account in accounts)])
    page.heading("Whole run")
    _table(page, answer, rows)
    page.paragraph(_repeats(answer))


def _repeats(answer: Replay) -> str:
    """Between repeats of the same run counts differ: no prediction can be nearer than that."""
    if answer.repeats is None:
        return ""
    values, parts = vars(answer.repeats), []
    for name, form, unit in (
        ("preemptions", ",.0f", "preemptions"),
        ("recomputed_tokens", ",.0f", "computed again"),
        ("duration_s", ".1f", "s"),
        ("output_per_s", ",.0f", "tokens/s"),
    ):
        if values[name]:
            ends = dict.fromkeys(format(end(values[name]), form) for end in (min, max))
            parts.append(f"{' to '.join(ends)} {unit}")
    return f"{max(map(len, values.values()))} such runs: {'; '.join(parts)}."


def _swings(page: Page, answer: Replay) -> None:
    """Over the log's window, which lies in both halves, and over the predicted half alone."""
    shown = answer.predictions[:_SHOWN]
    for swings in (
        [answer.swing, *(way.swing for way in shown)],
        [answer.swing_predicted, *(way.swing_predicted for way in shown)],
    ):
        first, last = swings[0].window_s
        fitted = _fitted_seconds(answer, swings[0].window_s)
        where = f"{fitted:.0f} of {last - first:.0f} s are in the fitted half"
        if not fitted:
            where = "none of it fitted"
        page.heading(f"Swing of the batch, {first:.0f} to {last:.0f} s", f" ({where})")
        rows: list[Cells] = [
            ["deviation", *(f"{swing.deviation:.1f}" for swing in swings)],
            ["period", *(seconds(swing.period_s) for swing in swings)],
            ["p-value", *("-" if p is None else f"{p:.3f}" for p in (s.p_value for s in swings))],
        ]
        _table(page, answer, rows)
    p_value = answer.swing_predicted.p_value
    if p_value is None or p_value > LEVEL:
        page.paragraph(f"So the {answer.predicted} half alone does not establish a swing.")


def _fitted_seconds(answer: Replay, window_s: tuple[float, float]) -> float:
    first, last = window_s
    if answer.fitted == "first":
        return max(0.0, min(last, answer.middle_s) - first)
    return max(0.0, last - max(first, answer.middle_s))


def _words(answer: Replay) -> list[str]:
    sentences = []
    if answer.main.rules == SGLANG and answer.main.caching:
        sentences.append(
            f"{answer.main.name}: SGLang's own scheduler with its prefix tree; {SGLANG.name} is a "
            "short form of it, without the tree."
        )
    elif any(p.caching for p in answer.predictions):
        sentences.append(
            "+cache: a preempted request that comes back finds the blocks of its own "
            "beginning that nobody took; without, it computes all of them again."
        )
    if len(answer.predictions) > _SHOWN:
        other, main = answer.predictions[-1], answer.main
        theirs, ours = (way.errors["running"] for way in (other, main))
        if isinstance(theirs, SeriesError) and isinstance(ours, SeriesError):
            sentences.append(
                f"By the rules of {other.name}, running is off by {theirs.rmse:.1f} "
                f"({main.name}: {ours.rmse:.1f})."
            )
    sentences.append(
        "Constant rates: requests finish in order at the mean token rate of the fitted half, each "
        "after the mean stay there."
    )
    return sentences


def _table(page: Page, answer: Replay, rows: Sequence[Cells], *more: str) -> None:
    """A column for what was measured, and for each prediction; one more has another first row."""
    header = ["", "measured", *(way.name for way in answer.predictions[:_SHOWN]), *more]
    least = [*_LEAST, *_LEAST[-1:] * len(header)][: len(header)]
    page.table(header, rows, least=least, goes_on=not more)


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 1 else f"{1e3 * value:.1f} ms"
