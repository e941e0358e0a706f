"""A replay as plain values, and as a labelled dataset."""

from dataclasses import asdict
from typing import Any

import numpy as np
import xarray as xr

from fluidkv.answers.replay.account import LATENCIES, SERIES, Account
from fluidkv.answers.replay.replay import Errors, Prediction, Replay
from fluidkv.labels import Column, dataset
from fluidkv.serving.clock_fit.fit import ClockFit
from fluidkv.serving.clock_fit.steps import StepFit


def as_dict(replay: Replay) -> dict[str, Any]:
    """Plain values for JSON; `null` where there is nothing to say. Seconds, tokens, shares."""
    log, fit, limits = replay.log, replay.fit, replay.limits
    seen = replay.recompute_seen
    return {
        "engine": replay.engine,
        "server": asdict(replay.server),
        "limits": {
            "capacity": limits.capacity,
            "block_size": limits.block_size,
            "blocks": limits.blocks,
            "max_num_seqs": limits.max_num_seqs,
            "max_num_batched_tokens": limits.max_num_batched_tokens,
            "watermark": limits.watermark,
        },
        "log": log.report.to_dict(),
        "halves": {
            "fitted": replay.fitted,
            "predicted": replay.predicted,
            "middle_s": replay.middle_s,
        },
        "clock": {
            "base": fit.clock.base,
            "per_kv_token": fit.clock.per_kv_token,
            "per_prefill_token": fit.clock.per_prefill_token,
            "standard_error": list(fit.standard_error),
            "unseen": list(fit.unseen),
            **_left_over(fit),
            "dropped": [{"what": what, "ticks": ticks} for what, ticks in fit.dropped],
        },
        "measured": {
            "swing": asdict(replay.swing),
            "swing_predicted_half": asdict(replay.swing_predicted),
            "duration_s": replay.duration_s,
            "preemptions_at_least": replay.preemptions_seen,
            "preemptions_counted": replay.preemptions_counted,
            "recomputed_tokens": replay.recomputed_logged if seen is None else seen.tokens,
            "repeats": None if replay.repeats is None else asdict(replay.repeats),
        },
        "predictions": [_prediction(p) for p in replay.predictions],
        "baseline": {"errors": _errors(replay.baseline_errors)},
    }


def _left_over(fit: ClockFit | StepFit) -> dict[str, Any]:
    """How many ticks, and what a clock leaves over of them: a share, or of their times, seconds."""
    if isinstance(fit, StepFit):
        return {"ticks": len(fit), "residual_rms": None, "residual_s": fit.rms_s}
    return {"ticks": len(fit.residuals), "residual_rms": fit.residuals.rms, "residual_s": None}


def _prediction(prediction: Prediction) -> dict[str, Any]:
    return {
        "name": prediction.name,
        "engine": prediction.rules.label,
        "prefix_cache": prediction.caching,
        "errors": _errors(prediction.errors),
        "errors_fitted_half": _errors(prediction.errors_fitted),
        "swing": asdict(prediction.swing),
        "swing_predicted_half": asdict(prediction.swing_predicted),
        "duration_s": prediction.duration_s,
        "preemptions": prediction.preemptions,
        "recomputed_tokens": prediction.recomputed_tokens,
        "reused_tokens": prediction.reused_tokens,
        "recomputed_share": prediction.recomputed_share,
    }


def _errors(errors: Errors) -> dict[str, Any]:
    return {name: None if error is None else error.to_dict() for name, error in errors.items()}


def as_dataset(replay: Replay) -> xr.Dataset:
    """Every account side by side.

    Returns:
        Dimensions account (measured, the predictions, constant rates), tick and request. Series as
        in `SERIES` (account, tick); latencies as in `LATENCIES` (account, request), seconds;
        input_length, output_length (request,); `half` (tick,), "fitted" or "predicted".
    """
    log = replay.log
    accounts: dict[str, Account] = {
        "measured": replay.measured,
        **{p.name: p.account for p in replay.predictions},
        "constant rates": replay.baseline,
    }
    first = log.tick_ends_s <= replay.middle_s
    fitted = first if replay.fitted == "first" else ~first
    variables: dict[str, Column] = {
        name: (
            ("account", "tick"),
            np.stack([getattr(account, name) for account in accounts.values()]),
            unit,
            title,
        )
        for name, (title, unit) in SERIES.items()
    }
    latencies = [account.latencies(log) for account in accounts.values()]
    for name, title in LATENCIES.items():
        values = np.stack([each[name] for each in latencies])
        variables[name] = ("account", "request"), values, "s", title
    variables["input_length"] = "request", log.input_lengths, "token", "input length"
    variables["output_length"] = "request", log.decode_lengths, "token", "output length"
    halves = np.where(fitted, "fitted", "predicted")
    variables["half"] = "tick", halves, "1", "whether clocks are fitted on it"
    return dataset(
        variables,
        {
            "account": ("account", list(accounts), "1", "who tells it"),
            "time": ("tick", log.tick_ends_s, "s", "end of the tick"),
        },
        unit="s",
    )


def tables(replay: Replay) -> dict[str, str]:
    """`ticks.csv` and `requests.csv`: one row a tick or request, one column a quantity and account.

    What is not logged is empty. Numbers are written with the shortest digits that read back as the
    same float.
    """
    data = as_dataset(replay)
    return {
        "ticks.csv": _table(data, {"time_s": data.time.values}, tuple(SERIES)),
        "requests.csv": _table(
            data,
            {name: data[name].values for name in ("input_length", "output_length")},
            tuple(LATENCIES),
        ),
    }


def _table(data: xr.Dataset, columns: dict[str, np.ndarray], names: tuple[str, ...]) -> str:
    for name in names:
        for account in data.account.values:
            column = f"{name} {account}".replace(" ", "_")
            columns[column] = data[name].sel(account=account).values
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    return "\n".join([",".join(columns), *(",".join(map(_cell, row)) for row in rows)]) + "\n"


def _cell(value: float) -> str:
    """Empty where it is not logged."""
    return "" if value != value else repr(value)
