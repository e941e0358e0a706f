"""A replay: a log, and what we say of it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import xarray as xr

from fluidkv.answers.replay.account import LATENCIES, SERIES, Account
from fluidkv.answers.replay.errors import RelativeError, SeriesError
from fluidkv.answers.replay.repeats import Repeats
from fluidkv.answers.replay.swing import Swing
from fluidkv.labels import Column, dataset
from fluidkv.logs.log import Engine
from fluidkv.logs.settings import LoggedSettings
from fluidkv.logs.timed import TimedRun
from fluidkv.record import Record
from fluidkv.serving.clock_fit.fit import ClockFit, Recompute
from fluidkv.serving.clock_fit.line import Half
from fluidkv.serving.clock_fit.steps import StepFit
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.sglang_settings import SglangSettings

Errors = Mapping[str, SeriesError | RelativeError | None]
"""Keyed as `SERIES` and `LATENCIES`; None where the part has no such request."""


@dataclass(frozen=True, eq=False)
class Prediction(Record):
    """One way to serve the requests of a log.

    Fields:
        name: of the engine, with "+cache" if a preempted request finds what is left of itself.
        rules, caching: the same apart.
        account: at the log's ticks and for its requests.
        errors, errors_fitted: in the half that was predicted; in the one with the clock's fit.
        swing, swing_predicted: of its batch, in the windows of `Replay`.
        preemptions, recomputed_tokens, reused_tokens: of the whole run. Reused were found in the
            cache by preempted requests, where otherwise they would have been recomputed.
        duration_s: from the first arrival to the last token.

    Examples:
        >>> from pathlib import Path
        >>> Path("run").mkdir()
        >>> _ = Path("run/meta.json").write_text('{"engine": "SGLang", "kv_tokens": 8000}')
        >>> request = '{"arrival_s": 0, "input": 100, "output": 1000}'
        >>> np.savetxt("run/requests.jsonl", [request] * 4, fmt="%s")
        >>> t = np.arange(1, 21)  # seconds, of 50 steps each
        >>> rows = np.c_[t, 50 * t, 4 + 0 * t, 0 * t, 400 + 200 * t, 0.05 + t / 40, 0 * t]
        >>> names = "time_s,decode_iter,running,waiting,tokens,kv_usage,preemptions"
        >>> np.savetxt("run/decode_log.csv", rows, "%g", ",", header=names, comments="")
        >>> main = fk.replay_log("run").main
        >>> main.name, main.preemptions, round(main.duration_s, 1), main.recomputed_share
        ('sglang+cache', 0, 20.0, None)
        >>> round(main.errors["kv_used"].bias, 2)  # a share of memory
        -0.03
    """

    name: str
    rules: EngineRules
    caching: bool
    account: Account
    errors: Errors
    errors_fitted: Errors
    swing: Swing
    swing_predicted: Swing
    preemptions: int
    recomputed_tokens: int
    reused_tokens: int
    duration_s: float

    @property
    def recomputed_share(self) -> float | None:
        """Of the tokens that preempted requests came back with; None if none came back."""
        lost = self.recomputed_tokens + self.reused_tokens
        return self.recomputed_tokens / lost if lost else None


@dataclass(frozen=True, eq=False)
class Replay(Record):
    """A log, and what we say of it.

    Fields:
        engine: that wrote the log: "vllm" or "sglang".
        note: in words, whose rules its version has and what differs; "" where it was compared.
        log, server, limits: what was replayed, and with which settings. What no file says of a
            request or tick is NaN.
        fitted: the half that the clock is from; the other one is predicted.
        fit: the clock.
        middle_s: where the halves meet.
        measured: the log's account.
        swing: of its batch, over the window that `fluidkv.measured` takes from the log. It lies in
            both halves.
        swing_predicted: the same over the predicted half, as far as there is a backlog.
        predictions: the first is the one that the server's settings ask for.
        baseline, baseline_errors: constant rates of the fitted half.
        preemptions_seen: that the log shows; `preemptions_counted` says whether it counts them.
            Where not, these are the least that there were: rises of the requests that were
            scheduled once, are not done and do not run, between ticks.
        recompute_seen: what the log shows of tokens computed again, by a clock from all of it;
            None where it shows nothing.
        recomputed_logged: the same as the log counts it; None where it does not.
        repeats: what repeats of the run came to; None where nobody says.
        options: of SGLang's own scheduler, where the first prediction is by it.

    Examples:
        >>> from pathlib import Path
        >>> Path("run").mkdir()
        >>> _ = Path("run/meta.json").write_text('{"engine": "SGLang", "kv_tokens": 8000}')
        >>> request = '{"arrival_s": 0, "input": 100, "output": 1000}'
        >>> np.savetxt("run/requests.jsonl", [request] * 4, fmt="%s")
        >>> t = np.arange(1, 21)  # seconds, of 50 steps each
        >>> rows = np.c_[t, 50 * t, 4 + 0 * t, 0 * t, 400 + 200 * t, 0.05 + t / 40, 0 * t]
        >>> names = "time_s,decode_iter,running,waiting,tokens,kv_usage,preemptions"
        >>> np.savetxt("run/decode_log.csv", rows, "%g", ",", header=names, comments="")
        >>> found = fk.replay_log("run")
        >>> [each.name for each in found.predictions], found.middle_s, found.preemptions_seen
        (['sglang+cache', 'sglang'], 9.75, 0)
        >>> found.to_xarray().account.values.tolist()
        ['measured', 'sglang+cache', 'sglang', 'constant rates']
    """

    engine: Engine
    note: str
    log: TimedRun
    server: LoggedSettings
    limits: Limits
    fitted: Half
    fit: ClockFit | StepFit
    middle_s: float
    measured: Account
    swing: Swing
    swing_predicted: Swing
    predictions: tuple[Prediction, ...]
    baseline: Account
    baseline_errors: Errors
    preemptions_seen: int
    preemptions_counted: bool = False
    recompute_seen: Recompute | None = None
    recomputed_logged: float | None = None
    repeats: Repeats | None = None
    options: SglangSettings | None = None

    @property
    def main(self) -> Prediction:
        """The prediction that the server's settings ask for."""
        return self.predictions[0]

    @property
    def predicted(self) -> Half:
        """The half that the clock is not from."""
        return "second" if self.fitted == "first" else "first"

    @property
    def duration_s(self) -> float | None:
        """Of the measured run, from the first arrival to the last token; None: nobody says."""
        last = float(self.log.last_token_s.max())
        if not np.isnan(last):
            return last - float(self.log.arrival_s[0])
        said = () if self.repeats is None else self.repeats.duration_s
        return float(np.median(said)) if said else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; `null` where there is nothing to say. Seconds, tokens, shares."""
        log, fit, limits = self.log, self.fit, self.limits
        seen = self.recompute_seen
        return {
            "engine": self.engine,
            "note": self.note,
            "server": asdict(self.server),
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
                "fitted": self.fitted,
                "predicted": self.predicted,
                "middle_s": self.middle_s,
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
                "swing": asdict(self.swing),
                "swing_predicted_half": asdict(self.swing_predicted),
                "duration_s": self.duration_s,
                "delay_s": log.delay_s,
                "preemptions_at_least": self.preemptions_seen,
                "preemptions_counted": self.preemptions_counted,
                "recomputed_tokens": self.recomputed_logged if seen is None else seen.tokens,
                "repeats": None if self.repeats is None else asdict(self.repeats),
            },
            "predictions": [_prediction(p) for p in self.predictions],
            "baseline": {"errors": _errors(self.baseline_errors)},
        }

    def to_xarray(self) -> xr.Dataset:
        """Every account side by side.

        Returns:
            Dimensions account (measured, the predictions, constant rates), tick, request. Series as
            in `SERIES` (account, tick); latencies as in `LATENCIES` (account, request), seconds;
            input_length, output_length (request,); `half` (tick,), "fitted" or "predicted".
        """
        log = self.log
        accounts: dict[str, Account] = {
            "measured": self.measured,
            **{p.name: p.account for p in self.predictions},
            "constant rates": self.baseline,
        }
        first = log.tick_ends_s <= self.middle_s
        fitted = first if self.fitted == "first" else ~first
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
