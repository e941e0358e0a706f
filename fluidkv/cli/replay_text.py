"""What `fluidkv replay` prints, in 80 columns."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from fluidkv.replay import Prediction, RelativeError, Replay, SeriesError
    from fluidkv.replay.replay import Errors

_NAME, _MEASURED, _COLUMN = 17, 11, 16
_SHOWN = 2  # predictions beside the baseline: what fits into 80 columns


def print_replay(found: "Replay", console: Console) -> None:
    """Server, clock, errors in the predicted half, and the whole run."""
    for line in (*_server(found), *_clock(found), *_errors(found), *_run(found), *_words(found)):
        console.print(line, soft_wrap=True)


def _server(found: "Replay") -> list[str]:
    server, limits, log = found.server, found.limits, found.log
    made = " ".join(
        part
        for part in (
            f"vLLM {server.version}" if server.version else "vLLM",
            f"on {server.device}" if server.device else "",
        )
        if part
    )
    kept = log.report.kept
    dropped = f", {log.report.dropped:,} more dropped" if log.report.dropped else ""
    caching = {True: "on", False: "off", None: "not said"}[server.prefix_caching]
    caps = [
        f"{limits.blocks:,} blocks of {limits.block_size}",
        *([f"max_num_seqs {limits.max_num_seqs:,}"] if limits.max_num_seqs else []),
        *(
            [f"at most {limits.max_num_batched_tokens:,} tokens a step"]
            if limits.max_num_batched_tokens
            else []
        ),
    ]
    return [
        f"[bold]{made[:50]}: {kept:,} requests{dropped}, {log.tick_ends_s[-1]:,.0f} s[/bold]",
        f"{'server':<13}{', '.join(caps)}",
        f"{'':<13}prefix caching {caching}",
        f"{'rules':<13}{found.main.rules.label}, watermark {limits.watermark:g}",
    ]


def _clock(found: "Replay") -> list[str]:
    fit = found.fit
    clock, span = fit.clock, _span(found, found.fitted)
    lines = [
        f"{'clock':<13}{1e3 * clock.base:.1f} ms, {1e9 * clock.per_kv_token:.0f} ns more for a KV "
        f"token, {1e6 * clock.per_prefill_token:.1f} us for one of prefill",
        f"{'':<13}from {len(fit.residuals)} ticks of the {found.fitted} half, {span}; "
        f"off by {fit.residuals.rms:.1%} rms",
    ]
    if "per_kv_token" in fit.unseen:
        lines.append(f"{'':<13}they do not tell what KV tokens cost: it is in the constant")
    return lines


def _span(found: "Replay", half: str) -> str:
    middle, last = found.middle_s, found.log.tick_ends_s[-1]
    return f"0 to {middle:.0f} s" if half == "first" else f"{middle:.0f} to {last:.0f} s"


def _errors(found: "Replay") -> list[str]:
    shown = found.predictions[:_SHOWN]
    columns: Sequence[Errors] = [*(p.errors for p in shown), found.baseline_errors]
    names = [*(p.name for p in shown), "constant rates"]
    lines = [
        "",
        f"[bold]{found.predicted.capitalize()} half, {_span(found, found.predicted)}: "
        "predicted against measured[/bold]",
        _row("", "measured", names),
        "root mean square error, and (bias)",
    ]
    for name, label, scale, digits in (
        ("running", "running", 1, 1),
        ("waiting", "waiting", 1, 1),
        ("kv_used", "KV in use, %", 100, 1),
        ("generated", "tokens/s", 1, 0),
    ):
        measured: SeriesError = columns[0][name]  # pyright: ignore[reportAssignmentType]
        cells = [_series(errors[name], scale, digits) for errors in columns]  # pyright: ignore[reportArgumentType]
        lines.append(_row(label, f"{scale * measured.measured_mean:,.{digits}f}", cells))
    lines.append("median relative error of a request, and (bias of the mean)")
    for name, label in (
        ("latency", "latency"),
        ("ttft", "first token"),
        ("tpot", "token by token"),
    ):
        first: RelativeError | None = columns[0][name]  # pyright: ignore[reportAssignmentType]
        if first is None:
            continue
        cells = [_relative(errors[name]) for errors in columns]  # pyright: ignore[reportArgumentType]
        lines.append(_row(label, _seconds(first.measured_mean), cells))
    return lines


def _series(error: "SeriesError", scale: float, digits: int) -> str:
    return f"{scale * error.rmse:,.{digits}f} ({scale * error.bias:+,.{digits}f})"


def _relative(error: "RelativeError") -> str:
    return f"{error.median_relative:.1%} ({error.bias:+.1%})"


def _run(found: "Replay") -> list[str]:
    shown = found.predictions[:_SHOWN]
    seen = found.recompute_seen
    measured_s = float(found.log.last_token_s.max() - found.log.arrival_s[0])

    def row(label: str, measured: str, values: Sequence[str]) -> str:
        return _row(label, measured, values)

    return [
        "",
        "[bold]Whole run[/bold]",
        row("preemptions", f">= {found.preemptions_seen:,}", [f"{p.preemptions:,}" for p in shown]),
        row(
            "computed again",
            "-" if seen is None else f"~{seen.tokens:,.0f}",
            [f"{p.recomputed_tokens:,}" for p in shown],
        ),
        row("found in cache", "not logged", [f"{p.reused_tokens:,}" for p in shown]),
        row("duration", f"{measured_s:.1f} s", [f"{p.duration_s:.1f} s" for p in shown]),
        row("batch swings by", f"{found.swing.deviation:.1f}", [_swing(p) for p in shown]),
        row(
            "with period", _period(found.swing.period_s), [_period(p.swing.period_s) for p in shown]
        ),
    ]


def _swing(prediction: "Prediction") -> str:
    return f"{prediction.swing.deviation:.1f}"


def _period(period_s: float | None) -> str:
    return "none" if period_s is None else f"{period_s:.1f} s"


def _words(found: "Replay") -> list[str]:
    lines = [""]
    if any(p.caching for p in found.predictions):
        lines += [
            "+cache: a preempted request that comes back finds the blocks of its own",
            "beginning that nobody took; without, it computes all of them again.",
        ]
    if len(found.predictions) > _SHOWN:
        other, main = found.predictions[-1], found.main
        ours: SeriesError = main.errors["running"]  # pyright: ignore[reportAssignmentType]
        theirs: SeriesError = other.errors["running"]  # pyright: ignore[reportAssignmentType]
        lines.append(
            f"By the rules of {other.name}, running is off by {theirs.rmse:.1f} "
            f"({main.name}: {ours.rmse:.1f})."
        )
    lines.append("Constant rates: requests finish in order at the mean token rate of the fitted")
    lines.append("half, each after the mean stay there.")
    return lines


def _row(label: str, measured: str, cells: Sequence[str]) -> str:
    return f"{label:<{_NAME}}{measured:>{_MEASURED}}" + "".join(
        f"{cell:>{_COLUMN}}" for cell in cells
    )


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 1 else f"{1e3 * value:.1f} ms"
