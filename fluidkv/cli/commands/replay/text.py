"""What `fluidkv replay` prints."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fluidkv.report.blocks import Cells
from fluidkv.report.numbers import counted, seconds, short
from fluidkv.report.page import Page, Row
from fluidkv.serving.engines import SGLANG

if TYPE_CHECKING:
    from fluidkv.answers.replay import Prediction, RelativeError, Replay, SeriesError
    from fluidkv.answers.replay.result import Errors

ASSUMES = (
    "Requests come when the log says and have the lengths that it says; who runs, who waits and "
    "who is preempted follows from the engine's rules.",
    "How long an iteration lasts stands beside 'clock'. That is fitted to one half of the log; the "
    "other half is predicted.",
    "The baseline knows all lengths and the mean token rate of the fitted half.",
)
"""What the answer takes for granted, for the report."""

_LEAST = (16, 10, 14)  # columns of a name, of what was measured, of each prediction
LEVEL = 0.05  # the customary one, for the wording only; p-values are printed
_TIMES = (("latency", "latency"), ("ttft", "first token"), ("tpot", "token by token"))
_ENGINES = {"vllm": "vLLM", "sglang": "SGLang"}
_DELAY = "from the client to the scheduler and back, estimated: added to what is predicted"
_SHOWN = 2  # predictions beside the baseline: what fits into 80 columns


def say_replay(page: Page, found: "Replay") -> None:
    """How far off, errors in the predicted half, the whole run, server and clock."""
    page.verdict(_in_short(found))
    page.title(_title(found))
    header = ["", "measured", *(p.name for p in found.predictions[:_SHOWN])]
    _errors(page, found, [*header, "constant rates"])
    _run(page, found, header)
    _swings(page, found, header)
    page.line()
    for said in _words(found):
        page.paragraph(said)
    page.heading("Server and clock")
    page.rows([*_server(found), *_clock(found)])


def _in_short(found: "Replay") -> str:
    """How far off the main prediction is in the half that nothing was fitted to."""
    main = found.main
    for name, what in (("running", "requests running"), ("generated", "tokens/s")):
        error: SeriesError | None = main.errors[name]  # pyright: ignore[reportAssignmentType]
        if error is not None:
            return (
                f"The half that was not fitted, predicted by {main.name}: {what} off by "
                f"{short(error.rmse, 2)} (root mean square) of {short(error.measured_mean, 3)}"
            )
    many = counted(main.preemptions, "preemption")
    return f"{main.name} predicts {many}; the log has no series to hold it to"


def _title(found: "Replay") -> str:
    server, log = found.server, found.log
    made = f"{_ENGINES[found.engine]} {server.version or ''}".rstrip()
    made += f" on {server.device}" * bool(server.device)
    dropped = f", {log.report.dropped:,} more dropped" if log.report.dropped else ""
    length = f"{log.tick_ends_s[-1]:,.0f} s" + " logged" * _counts_steps(found)
    return f"{made[:50]}: {log.report.kept:,} requests{dropped}, {length}"


def _counts_steps(found: "Replay") -> bool:
    """Whether the log counts decode steps, and has no times of single requests."""
    from fluidkv.serving.clock_fit.steps import StepFit

    return isinstance(found.fit, StepFit)


def _server(found: "Replay") -> list[Row]:
    limits = found.limits
    caps = [f"{limits.blocks:,} blocks of {limits.block_size}"]
    if limits.block_size == 1:
        caps = [f"{limits.capacity:,} KV tokens"]
    if limits.max_num_seqs:
        caps.append(f"max_num_seqs {limits.max_num_seqs:,}")
    if limits.max_num_batched_tokens:
        caps.append(f"at most {limits.max_num_batched_tokens:,} tokens per step")
    caching = {True: "on", False: "off", None: "not said"}[found.server.prefix_caching]
    return [
        ("server", ", ".join(caps)),
        ("", f"prefix caching {caching}"),
        ("rules", f"{found.main.rules.label}, {_of_rules(found)}"),
        *([("", found.note)] if found.note else []),
    ]


def _of_rules(found: "Replay") -> str:
    if found.options is not None:
        return f"schedule conservativeness {found.options.conservativeness:g}"
    return f"watermark {found.limits.watermark:g}"


def _clock(found: "Replay") -> list[Row]:
    fit = found.fit
    clock, span = fit.clock, _span(found, found.fitted)
    prefill = f"{1e6 * clock.per_prefill_token:.1f} us"
    if "per_prefill_token" in fit.unseen:
        prefill = "nothing"
    rows: list[Row] = [
        (
            "clock",
            f"{1e3 * clock.base:.1f} ms, {1e9 * clock.per_kv_token:.0f} ns more for each KV "
            f"token, {prefill} for each of prefill",
        ),
        ("", _left_over(found, span)),
    ]
    if "per_kv_token" in fit.unseen:
        rows.append(("", "they do not tell what KV tokens cost: it is in the constant"))
    if "per_prefill_token" in fit.unseen:
        rows.append(("", "they do not tell what prefill costs: to compute again is free here"))
    if found.log.delay_s:
        rows.append(("delay", f"{found.log.delay_s:.2f} s {_DELAY}"))
    return rows


def _left_over(found: "Replay", span: str) -> str:
    """What the clock was fitted to, and what it leaves over."""
    from fluidkv.serving.clock_fit.steps import StepFit

    fit, half = found.fit, f"{found.fitted} half, {span}"
    if isinstance(fit, StepFit):
        return f"from {len(fit)} rows of the {half}; their times off by {fit.rms_s:.2f} s rms"
    text = f"from {len(fit.residuals)} ticks of the {half}; off by {fit.residuals.rms:.1%} rms"
    return text + "; who came back is taken to compute a mean prompt again" * fit.reckons


def _span(found: "Replay", half: str) -> str:
    middle, last = found.middle_s, found.log.tick_ends_s[-1]
    return f"0 to {middle:.0f} s" if half == "first" else f"{middle:.0f} to {last:.0f} s"


def _errors(page: Page, found: "Replay", header: list[str]) -> None:
    shown = found.predictions[:_SHOWN]
    columns: Sequence[Errors] = [*(p.errors for p in shown), found.baseline_errors]
    page.heading(
        f"{found.predicted.capitalize()} half, {_span(found, found.predicted)}: "
        "predicted against measured"
    )
    rows: list[Cells] = ["root mean square error, and (bias)"]
    for name, label, scale, digits in (
        ("running", "running", 1, 1),
        ("waiting", "waiting", 1, 1),
        ("kv_used", "KV in use, %", 100, 1),
        ("generated", "tokens/s", 1, 0),
    ):
        measured: SeriesError | None = columns[0][name]  # pyright: ignore[reportAssignmentType]
        if measured is None:
            continue
        cells = [_series(errors[name], scale, digits) for errors in columns]  # pyright: ignore[reportArgumentType]
        rows.append([label, f"{scale * measured.measured_mean:,.{digits}f}", *cells])
    _table(page, header, [*rows, *_of_requests(found, columns)])


def _of_requests(found: "Replay", columns: "Sequence[Errors]") -> list[Cells]:
    """Against the part of each time that was predicted; then, if that is not all, against all."""
    times: list[tuple[str, str, list[RelativeError]]] = [
        (name, label, [errors[name] for errors in columns])  # pyright: ignore[reportAssignmentType]
        for name, label in _TIMES
        if columns[0][name] is not None
    ]
    if not times:
        return []
    whole = [
        [label, _seconds(row[0].measured_mean), *map(_relative, row)] for _, label, row in times
    ]
    if found.predicted == "first":  # where a run begins, and so do its requests
        return ["median relative error per request, and (bias of the mean)", *whole]
    rows: list[Cells] = [
        f"median error per request, as a share of its time after {found.middle_s:.0f} s"
    ]
    for name, label, row in times:
        first = row[0]
        if first.seconds_in_half is None:
            continue
        # of a time for each token, that part is no time that anybody knows
        mean = "" if name == "tpot" else _seconds(first.seconds_in_half)
        rows.append([label, mean, *(f"{error.median_in_half:.1%}" for error in row)])
    rows.append("the same as a share of all of its time, fitted half included, and (bias)")
    return [*rows, *whole]


def _series(error: "SeriesError", scale: float, digits: int) -> str:
    return f"{scale * error.rmse:,.{digits}f} ({scale * error.bias:+,.{digits}f})"


def _relative(error: "RelativeError") -> str:
    return f"{error.median_relative:.1%} ({error.bias:+.1%})"


def _run(page: Page, found: "Replay", header: Sequence[str]) -> None:
    shown = found.predictions[:_SHOWN]
    least = "" if found.preemptions_counted else ">= "
    seen = f"{least}{found.preemptions_seen:,}"
    if not found.preemptions_counted and not found.preemptions_seen:
        seen = "none seen"
    again, lasted = _computed_again(found), found.duration_s
    rows = [
        ["preemptions", seen, *(f"{p.preemptions:,}" for p in shown)],
        ["computed again", again, *(f"{p.recomputed_tokens:,}" for p in shown)],
        ["found in cache", "not logged", *(f"{p.reused_tokens:,}" for p in shown)],
        ["duration", "-" if lasted is None else f"{lasted:.1f} s", *_durations(shown)],
    ]
    if _counts_steps(found):
        most = [f"{p.account.running.max():.0f}" for p in shown]
        rows.insert(0, ["most running", f"{found.measured.running.max():.0f}", *most])
    page.heading("Whole run")
    _table(page, header, rows, goes_on=True)
    page.paragraph(_repeats(found))


def _computed_again(found: "Replay") -> str:
    logged, seen = found.recomputed_logged, found.recompute_seen
    if logged is not None:
        return f"{logged:,.0f}"
    return "-" if seen is None else f"~{seen.tokens:,.0f}"


def _durations(shown: "Sequence[Prediction]") -> list[str]:
    return [f"{p.duration_s:.1f} s" for p in shown]


def _repeats(found: "Replay") -> str:
    """Between repeats of the same run counts differ: no prediction can be nearer than that."""
    if found.repeats is None:
        return ""
    of, parts = found.repeats, []
    for values, form, unit in (
        (of.preemptions, ",.0f", "preemptions"),
        (of.recomputed_tokens, ",.0f", "computed again"),
        (of.duration_s, ".1f", "s"),
        (of.output_per_s, ",.0f", "tokens/s"),
    ):
        if values:
            low, high = format(min(values), form), format(max(values), form)
            parts.append(f"{low} {unit}" if low == high else f"{low} to {high} {unit}")
    runs = max(map(len, (of.preemptions, of.recomputed_tokens, of.duration_s, of.output_per_s)))
    return f"{runs} such runs: {'; '.join(parts)}."


def _swings(page: Page, found: "Replay", header: Sequence[str]) -> None:
    """Over the log's window, which lies in both halves, and over the predicted half alone."""
    shown = found.predictions[:_SHOWN]
    for measured, ours in (
        (found.swing, [p.swing for p in shown]),
        (found.swing_predicted, [p.swing_predicted for p in shown]),
    ):
        first, last = measured.window_s
        fitted = _fitted_seconds(found, measured.window_s)
        where = f"{fitted:.0f} of {last - first:.0f} s are in the fitted half"
        if not fitted:
            where = "none of it fitted"
        page.heading(f"Swing of the batch, {first:.0f} to {last:.0f} s", f" ({where})")
        rows = [
            ["deviation", f"{measured.deviation:.1f}", *(f"{s.deviation:.1f}" for s in ours)],
            ["period", seconds(measured.period_s), *(seconds(s.period_s) for s in ours)],
            ["p-value", _p_value(measured.p_value), *(_p_value(s.p_value) for s in ours)],
        ]
        _table(page, header, rows, goes_on=True)
    p_value = found.swing_predicted.p_value
    if p_value is None or p_value > LEVEL:
        page.paragraph(f"So the {found.predicted} half alone does not establish a swing.")


def _fitted_seconds(found: "Replay", window_s: tuple[float, float]) -> float:
    first, last = window_s
    if found.fitted == "first":
        return max(0.0, min(last, found.middle_s) - first)
    return max(0.0, last - max(first, found.middle_s))


def _p_value(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _words(found: "Replay") -> list[str]:
    said = []
    if found.main.rules == SGLANG and found.main.caching:
        said.append(
            f"{found.main.name}: SGLang's own scheduler with its prefix tree; {SGLANG.name} is a "
            "short form of it, without the tree."
        )
    elif any(p.caching for p in found.predictions):
        said.append(
            "+cache: a preempted request that comes back finds the blocks of its own "
            "beginning that nobody took; without, it computes all of them again."
        )
    if len(found.predictions) > _SHOWN:
        other, main = found.predictions[-1], found.main
        ours: SeriesError = main.errors["running"]  # pyright: ignore[reportAssignmentType]
        theirs: SeriesError = other.errors["running"]  # pyright: ignore[reportAssignmentType]
        said.append(
            f"By the rules of {other.name}, running is off by {theirs.rmse:.1f} "
            f"({main.name}: {ours.rmse:.1f})."
        )
    said.append(
        "Constant rates: requests finish in order at the mean token rate of the fitted half, each "
        "after the mean stay there."
    )
    return said


def _table(page: Page, header: Sequence[str], rows: Sequence[Cells], goes_on: bool = False) -> None:
    least = [*_LEAST, *_LEAST[-1:] * len(header)][: len(header)]
    page.table(header, rows, least=least, goes_on=goes_on)


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 1 else f"{1e3 * value:.1f} ms"
