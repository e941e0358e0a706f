"""A replay: a log, and what we say of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

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
from fluidkv.plain import csv_text, picked
from fluidkv.questions.answer import Answer, Described, described, stack
from fluidkv.serving.clock_fit.fit import ClockFit, Recompute
from fluidkv.serving.clock_fit.line import Half
from fluidkv.serving.clock_fit.steps import StepFit
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.sglang_settings import SglangSettings

Errors = Mapping[str, SeriesError | RelativeError | None]
"""Keyed as `SERIES` and `LATENCIES`; None where the part has no such request."""


def _clock_json(fit: ClockFit | StepFit) -> dict[str, Any]:
    return {
        **picked(fit.clock, "base", "per_kv_token", "per_prefill_token"),
        **picked(fit, "standard_error", "unseen"),
        **_left_over(fit),
        "dropped": [{"what": what, "ticks": ticks} for what, ticks in fit.dropped],
    }


def _left_over(fit: ClockFit | StepFit) -> dict[str, Any]:
    """How many ticks, and what a clock leaves over of them: a share, or of their times, seconds."""
    if isinstance(fit, StepFit):
        return {"ticks": len(fit), "residual_rms": None, "residual_s": fit.rms_s}
    return {"ticks": len(fit.residuals), "residual_rms": fit.residuals.rms, "residual_s": None}


@dataclass(frozen=True, eq=False)
class Prediction(Answer):
    """One way to serve the requests of a log.

    Fields:
        account: at the log's ticks and for its requests.

    Examples:
        >>> main = fk.replay_log("sample:vllm-rtx4090").main
        >>> main.name, main.preemptions, round(main.duration_s, 1), round(main.recomputed_share, 2)
        ('vllm+cache', 199, 188.2, 0.59)
        >>> round(main.errors["kv_used"].bias, 2)  # a share of memory
        0.03
    """

    rules: Annotated[
        EngineRules,
        Described("rules of the engine", key="engine", kind="text", json=lambda rules: rules.label),
    ]
    caching: Annotated[
        bool,
        Described("whether a preempted request finds what is left of itself", key="prefix_cache"),
    ]
    account: Account
    errors: Annotated[Errors, Described("in the half that was predicted", section="errors")]
    errors_fitted: Annotated[
        Errors,
        Described("in the half of the clock's fit", key="errors_fitted_half", section="errors"),
    ]
    swing: Annotated[Swing, Described("of its batch, in the window of the log's", section="swing")]
    swing_predicted: Annotated[
        Swing,
        Described("in that of the predicted half", key="swing_predicted_half", section="swing"),
    ]
    preemptions: Annotated[int, Described("of the whole run")]
    recomputed_tokens: Annotated[int, Described("of the whole run", "tokens")]
    reused_tokens: Annotated[
        int,
        Described(
            "found in the cache by preempted requests, which otherwise had been recomputed",
            "tokens",
        ),
    ]
    duration_s: Annotated[float, Described("from the first arrival to the last token", "s")]

    @described("of the engine, with `+cache` where there is one")
    def name(self) -> str:
        """Of the account."""
        return self.account.name

    @described(
        "recomputed, of the tokens that preempted requests came back with; null if none came back",
        kind="share",
    )
    def recomputed_share(self) -> float | None:
        """The others were found in the cache."""
        lost = self.recomputed_tokens + self.reused_tokens
        return self.recomputed_tokens / lost if lost else None


@dataclass(frozen=True, eq=False)
class Replay(Answer):
    """A log, and what we say of it.

    Fields:
        log: what was replayed. What no file says of a request or tick is NaN.
        measured: the log's account.
        baseline: by constant rates of the fitted half.
        recompute_seen: what the log shows of tokens computed again, by a clock from all of it;
            None where it shows nothing.
        recomputed_logged: the same as the log counts it; None where it does not.
        options: of SGLang's own scheduler, where the first prediction is by it.

    Examples:
        >>> answer = fk.replay_log("sample:vllm-rtx4090")
        >>> [way.name for way in answer.predictions], answer.middle_s, answer.preemptions_seen
        (['vllm+cache', 'vllm', 'vllm-0.11+cache'], 92.0, 99)
        >>> answer.to_xarray().account.values.tolist()
        ['measured', 'vllm+cache', 'vllm', 'vllm-0.11+cache', 'constant rates']
    """

    engine: Annotated[Engine, Described("that wrote the log: `vllm` or `sglang`", kind="text")]
    note: Annotated[
        str,
        Described("whose rules its version has, and what differs; empty where these were compared"),
    ]
    log: Annotated[
        TimedRun,
        Described("how it was read", section="report", json=lambda log: log.report.to_dict()),
    ]
    server: Annotated[LoggedSettings, Described("as the log has it", section="server")]
    limits: Annotated[
        Limits,
        Described(
            "with which settings it was replayed",
            below=(
                ("capacity", "tokens", "KV memory"),
                ("block_size", "tokens", "of a block"),
                ("blocks", "count", "in that memory"),
                ("max_num_seqs", "count", "most requests running at once; null: no cap"),
                ("max_num_batched_tokens", "tokens", "most of an iteration; null: no cap"),
                ("watermark", "share", "of blocks that admission leaves free"),
            ),
        ),
    ]
    fitted: Annotated[
        Half,
        Described(
            "the half that the clock is from: `first` or `second`",
            key="halves.fitted",
            kind="text",
        ),
    ]
    fit: Annotated[
        ClockFit | StepFit,
        Described(
            "the clock",
            key="clock",
            below=(
                ("{base, per_kv_token, per_prefill_token}", "s", "of an iteration; of a token"),
                ("standard_error[]", "s", "of the three; null of one that is 0"),
                ("unseen[]", "text", "those of them that the ticks do not tell"),
                ("ticks", "count", "used"),
                ("{residual_rms, residual_s}", "share, s", "left over; null of the other kind"),
                ("dropped[].{what, ticks}", "text, count", "why ticks were not used, how many"),
            ),
            json=_clock_json,
        ),
    ]
    middle_s: Annotated[float, Described("where the halves meet", "s", key="halves.middle_s")]
    measured: Account
    swing: Annotated[
        Swing,
        Described(
            "of the log's batch, over the window that `fluidkv.measured` takes: in both halves",
            key="measured.swing",
            section="swing",
        ),
    ]
    swing_predicted: Annotated[
        Swing,
        Described(
            "the same over the predicted half, as far as there is a backlog",
            key="measured.swing_predicted_half",
            section="swing",
        ),
    ]
    predictions: Annotated[
        tuple[Prediction, ...],
        Described("the first is the one that the server's settings ask for", lists=1),
    ]
    baseline: Account
    baseline_errors: Annotated[
        Errors,
        Described("of constant rates of the fitted half", key="baseline.errors", section="errors"),
    ]
    preemptions_seen: Annotated[
        int,
        Described(
            "that the log shows; where it does not count them, the least that there were: rises of "
            "the requests that were scheduled once, are not done and do not run, between ticks",
            key="measured.preemptions_at_least",
        ),
    ]
    preemptions_counted: Annotated[
        bool, Described("whether the log counts them", key="measured.preemptions_counted")
    ] = False
    recompute_seen: Recompute | None = None
    recomputed_logged: float | None = None
    repeats: Annotated[
        Repeats | None,
        Described(
            "what repeats of the run came to; null where nobody says",
            key="measured.repeats",
        ),
    ] = None
    options: SglangSettings | None = None

    @property
    def main(self) -> Prediction:
        """The prediction that the server's settings ask for."""
        return self.predictions[0]

    @described("the half that the clock is not from", key="halves.predicted", kind="text")
    def predicted(self) -> Half:
        """The other one."""
        return "second" if self.fitted == "first" else "first"

    @described(
        "from the first arrival to the last token; null: nobody says",
        unit="s",
        key="measured.duration_s",
    )
    def duration_s(self) -> float | None:
        """Of the measured run, or the median of its repeats."""
        last = float(self.log.last_token_s.max())
        if not np.isnan(last):
            return last - float(self.log.arrival_s[0])
        said = () if self.repeats is None else self.repeats.duration_s
        return float(np.median(said)) if said else None

    @property
    def counts_steps(self) -> bool:
        """Whether the log counts decode steps, and has no times of single requests."""
        return isinstance(self.fit, StepFit)

    @described(
        "a request's way to the scheduler and back, estimated; 0 where none is seen",
        unit="s",
        key="measured.delay_s",
    )
    def delay_s(self) -> float:
        """Of the log."""
        return self.log.delay_s

    @described(
        "computed again, as far as the log says", unit="tokens", key="measured.recomputed_tokens"
    )
    def recomputed_tokens(self) -> float | None:
        """As its prefill shows, else as it counts."""
        recompute = self.recompute_seen
        return self.recomputed_logged if recompute is None else recompute.tokens

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
