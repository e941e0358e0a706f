"""A replay: a log, and what we say of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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
from fluidkv.plain import csv_text, picked, plain
from fluidkv.questions.answer import stack
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
        rules: of the engine.
        caching: whether a preempted request finds what is left of itself.
        account: at the log's ticks and for its requests.
        errors, errors_fitted: in the half that was predicted; in the one with the clock's fit.
        swing, swing_predicted: of its batch, in the windows of `Replay`.
        preemptions, recomputed_tokens, reused_tokens: of the whole run. Reused were found in the
            cache by preempted requests, where otherwise they would have been recomputed.
        duration_s: from the first arrival to the last token.

    Examples:
        >>> main = fk.replay_log("sample:vllm-rtx4090").main
        >>> main.name, main.preemptions, round(main.duration_s, 1), round(main.recomputed_share, 2)
        ('vllm+cache', 199, 188.2, 0.59)
        >>> round(main.errors["kv_used"].bias, 2)  # a share of memory
        0.03
    """

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
    def name(self) -> str:
        """Of the engine, with "+cache" where there is one."""
        return self.account.name

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
        >>> answer = fk.replay_log("sample:vllm-rtx4090")
        >>> [way.name for way in answer.predictions], answer.middle_s, answer.preemptions_seen
        (['vllm+cache', 'vllm', 'vllm-0.11+cache'], 92.0, 99)
        >>> answer.to_xarray().account.values.tolist()
        ['measured', 'vllm+cache', 'vllm', 'vllm-0.11+cache', 'constant rates']
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

    @property
    def counts_steps(self) -> bool:
        """Whether the log counts decode steps, and has no times of single requests."""
        return isinstance(self.fit, StepFit)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; `null` where there is nothing to say. Seconds, tokens, shares."""
        fit, seen = self.fit, self.recompute_seen
        return {
            **picked(self, "engine", "note", "server"),
            "limits": {
                **picked(self.limits, "capacity", "block_size", "blocks"),
                **picked(self.limits, "max_num_seqs", "max_num_batched_tokens", "watermark"),
            },
            "log": self.log.report.to_dict(),
            "halves": picked(self, "fitted", "predicted", "middle_s"),
            "clock": {
                **picked(fit.clock, "base", "per_kv_token", "per_prefill_token"),
                **picked(fit, "standard_error", "unseen"),
                **_left_over(fit),
                "dropped": [{"what": what, "ticks": ticks} for what, ticks in fit.dropped],
            },
            "measured": {
                "swing": self.swing.to_dict(),
                "swing_predicted_half": self.swing_predicted.to_dict(),
                **picked(self, "duration_s", "log.delay_s"),
                "preemptions_at_least": self.preemptions_seen,
                "preemptions_counted": self.preemptions_counted,
                "recomputed_tokens": self.recomputed_logged if seen is None else seen.tokens,
                **picked(self, "repeats"),
            },
            "predictions": [_prediction(prediction) for prediction in self.predictions],
            "baseline": {"errors": plain(self.baseline_errors)},
        }

    def to_xarray(self) -> xr.Dataset:
        """Every account side by side.

        Returns:
            Dimensions account (measured, the predictions, constant rates), tick, request. Series
            and latencies as `Account` has them; input_length, output_length (request,); `half`
            (tick,), "fitted" or "predicted".
        """
        variables: dict[str, Column] = {}
        coords: dict[str, Column] = {}
        accounts = [self.measured, *(way.account for way in self.predictions), self.baseline]
        stack(accounts, "account", variables, coords)
        log = self.log
        variables["input_length"] = "request", log.input_lengths, "token", "input length"
        variables["output_length"] = "request", log.decode_lengths, "token", "output length"
        fitted = (log.tick_ends_s <= self.middle_s) == (self.fitted == "first")
        halves = np.where(fitted, "fitted", "predicted")
        variables["half"] = "tick", halves, "1", "whether clocks are fitted on it"
        coords["time"] = "tick", log.tick_ends_s, "s", "end of the tick"
        return dataset(variables, coords, unit="s")


def files(replay: Replay) -> dict[str, str | bytes]:
    """What is written beside the JSON: the tables, and all accounts as netCDF."""
    return {**tables(replay), "replay.nc": bytes(replay.to_xarray().to_netcdf(engine="scipy"))}


def tables(replay: Replay) -> dict[str, str]:
    """`ticks.csv` and `requests.csv`: one row a tick or request, one column a quantity and account.

    What is not logged is empty. Numbers are written with the shortest digits that read back as the
    same float.

    Examples:
        >>> from fluidkv.answers.replay.result import tables
        >>> texts = tables(fk.replay_log("sample:vllm-rtx4090"))
        >>> {name: len(text.splitlines()) for name, text in texts.items()}
        {'ticks.csv': 185, 'requests.csv': 301}
        >>> texts["ticks.csv"].split(",")[:3]
        ['time_s', 'running_measured', 'running_vllm+cache']
    """
    data = replay.to_xarray()
    return {
        "ticks.csv": _table(data, {"time_s": data.time}, SERIES),
        "requests.csv": _table(data, data[["input_length", "output_length"]], LATENCIES),
    }


def _table(data: xr.Dataset, first: Mapping[Any, xr.DataArray], names: Iterable[str]) -> str:
    """Columns that come first, and of each name one of each account."""
    columns = dict(first) | {
        f"{name} {account}".replace(" ", "_"): data[name].sel(account=account)
        for name in names
        for account in data.account.values
    }
    values = (column.values.tolist() for column in columns.values())
    return csv_text(columns, zip(*values, strict=True))


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
        "errors": plain(prediction.errors),
        "errors_fitted_half": plain(prediction.errors_fitted),
        "swing": prediction.swing.to_dict(),
        "swing_predicted_half": prediction.swing_predicted.to_dict(),
        **picked(prediction, "duration_s", "preemptions", "recomputed_tokens", "reused_tokens"),
        **picked(prediction, "recomputed_share"),
    }
