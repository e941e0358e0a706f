"""A measured run as people have it: what its files say of requests, ticks and settings.

What no file says is None, and `ServerLog.missing` names it with the command that would record it.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fluidkv.errors import InputError
from fluidkv.logs.settings import LoggedSettings
from fluidkv.logs.stamps import evenly
from fluidkv.logs.timed import TimedRun
from fluidkv.record import Record
from fluidkv.traces.report import LoadReport

Array = NDArray[np.float64]
Engine = Literal["vllm", "sglang"]


@dataclass(frozen=True, eq=False)
class LoggedRequests(Record):
    """What requests asked for and when; shapes (request,), in the order of the file.

    Args:
        input_lengths, decode_lengths: tokens.
        arrival_s: when each came.
        queued_s, scheduled_s, first_token_s, last_token_s: scheduled is the first time only.
        cached_prefix: tokens at the beginning of each prompt that the cache held already.
        report: what became of each row of the file.

    Examples:
        >>> requests = fk.read_log("sample:vllm-rtx4090").requests
        >>> requests.input_lengths[:3].tolist(), int(requests.decode_lengths.sum())
        ([2358, 1034, 1320], 195753)
        >>> round(float((requests.first_token_s - requests.arrival_s).max()), 1)
        137.8
        >>> (requests.moved(5.0).arrival_s - requests.arrival_s)[:2].tolist()
        [-5.0, -5.0]
    """

    input_lengths: NDArray[np.int64]
    decode_lengths: NDArray[np.int64]
    arrival_s: Array | None = None
    queued_s: Array | None = None
    scheduled_s: Array | None = None
    first_token_s: Array | None = None
    last_token_s: Array | None = None
    cached_prefix: NDArray[np.int64] | None = None
    report: LoadReport | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _freeze(self)

    def __len__(self) -> int:
        """Number of requests."""
        return len(self.input_lengths)

    def moved(self, origin: float) -> "LoggedRequests":
        """The same on a clock that begins at `origin` of this one."""
        times = {name: getattr(self, name) for name in _TIMES}
        return replace(self, **{n: None if t is None else t - origin for n, t in times.items()})


@dataclass(frozen=True, eq=False)
class LoggedTicks(Record):
    """Counters of the engine; shapes (tick,).

    Args:
        ends_s: when each tick ends, never falling. Whole steps of `resolution_s`, if that is given:
            then several may be equal.
        running, waiting: requests, as seen at the end of each tick.
        kv_used: part of the KV tokens in use there, 0 to 1.
        generated_tokens: output tokens made during each tick.
        generation_rate: the same a second, where the file has a rate and says not over which time.
        prompt_tokens: during each tick. vLLM counts a prompt, whole, in the tick of its first
            token, with what a prefix cache served, and without what is computed again. SGLang
            counts what is computed, again too, and nothing that its cache served.
        preemptions: requests preempted (vLLM) or retracted (SGLang) so far.
        decode_steps: steps of decoding so far.
        iterations: of the engine, during each tick.
        resolution_s: in which times are written; None where they are exact.
        report: what became of each row of the file; None where each became a tick.

    Examples:
        >>> ticks = fk.read_log("sample:vllm-rtx4090").ticks
        >>> ticks.ends_s[:2].tolist(), ticks.running[:2].tolist(), float(ticks.kv_used.max())
        ([1.0, 2.0], [5.0, 16.0], 1.0)
        >>> ticks.preemptions is None
        True
    """

    ends_s: Array
    running: Array | None = None
    waiting: Array | None = None
    kv_used: Array | None = None
    generated_tokens: Array | None = None
    prompt_tokens: Array | None = None
    generation_rate: Array | None = None
    preemptions: Array | None = None
    decode_steps: Array | None = None
    iterations: Array | None = None
    resolution_s: float | None = None
    report: LoadReport | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _freeze(self)

    def __len__(self) -> int:
        """Number of ticks."""
        return len(self.ends_s)

    def spread_s(self) -> Array:
        """Ends that increase: those of one time lie evenly in the unit that it is written in.

        Raises:
            InputError: equal times without a resolution.
        """
        if self.resolution_s is None and (np.diff(self.ends_s) == 0).any():
            raise InputError("ends_s", "equal times", "times that increase, or a resolution")
        return evenly(self.ends_s, self.resolution_s or 0.0)


@dataclass(frozen=True)
class Retraction(Record):
    """SGLang takes requests out of its batch, one line of its log. None: the log does not say.

    Args:
        time_s: on the clock of the ticks.
        after_step: the last step of decoding that a tick showed before it.
        ratio_before, ratio_after: of the new tokens that it reserves for.
        tokens_gained: by the requests that it took out.
        requests: how many it took out.

    Examples:
        >>> from fluidkv.logs.log import Retraction, ServerLog
        >>> from fluidkv.logs.report import log_as_dict
        >>> gone = Retraction(67.0, ratio_before=0.098, ratio_after=0.349, requests=2)
        >>> log = ServerLog("by hand", "sglang", retractions=(gone,))
        >>> log_as_dict(log)["retractions"]
        2
    """

    time_s: float
    after_step: float | None = None
    ratio_before: float | None = None
    ratio_after: float | None = None
    tokens_gained: float | None = None
    requests: int = 1


@dataclass(frozen=True)
class PrefillPass(Record):
    """SGLang computes prompts, a pass by itself and one line of its log. None: it does not say.

    Args:
        time_s: on the clock of the ticks.
        tokens: that it computes; what the cache has is not among them.
        requests: of how many prompts, the middle of a long one counted too.
        after_step: the last step of decoding that a tick showed before it.

    Examples:
        >>> from fluidkv.logs.log import PrefillPass, ServerLog
        >>> passes = (PrefillPass(0.5, 704), PrefillPass(1.5, 100, 2))
        >>> log = ServerLog("by hand", "sglang", prefills=passes)
        >>> sum(each.tokens for each in log.prefills), sum(each.requests for each in log.prefills)
        (804, 3)
    """

    time_s: float
    tokens: float
    requests: int = 1
    after_step: float | None = None


@dataclass(frozen=True)
class LogFile(Record):
    """One file of a log.

    Args:
        name: of the file.
        kind: what it is, in words.
        gave: what it said, in words.
    """

    name: str
    kind: str
    gave: str


@dataclass(frozen=True)
class Missing(Record):
    """What no file says.

    Args:
        what: such as "per-request times".
        needed_for: the answers that need it.
        command: what would record it.
        is_required: whether those answers are refused without it.

    Examples:
        >>> [missing] = fk.read_log("sample:vllm-rtx4090").missing
        >>> missing.what, missing.is_required
        ('preemptions', False)
        >>> missing.needed_for
        'measured preemptions'
        >>> missing.command
        'curl -s localhost:8000/metrics every second (vllm:num_preemptions_total)'
    """

    what: str
    needed_for: str
    command: str
    is_required: bool = True

    def __str__(self) -> str:
        return f"{self.what}, for {self.needed_for}: {self.command}"


@dataclass(frozen=True, eq=False)
class ServerLog(Record):
    """One run of one server.

    Args:
        source: the folder or file, as its reader was told.
        engine: None where no file says.
        requests, ticks: None where no file has any. Times of both are on one clock exactly if
            `offset_s` is given.
        retractions: of SGLang, as far as it logs them; () where nothing is known.
        prefills: its passes from the first one on that is logged; () where none is.
        settings: how the server was set; its version is among them.
        clock_zero_s: seconds since 1970 of moment 0 on the clock of the ticks; None where no file
            says.
        offset_s: (low, high): adding any number between to the ticks' clock gives the requests'
            own; the middle was taken, and all times here are on the ticks' clock.
        delay_s: how long a request is on its way from the client to the scheduler, and its tokens
            on their way back, taken to be the same for each; 0 where none is seen, or where
            requests have times of the server's own.
        unmatched_ticks: ticks whose prompt tokens are not those of the requests; 0 unless requests
            were dropped.
        files: there are, with what each said.
        requests_from: the file that the requests are from.
        missing: what no file says.
        notes: what else a reader ought to know, a sentence each.

    Examples:
        >>> log = fk.read_log("sample:vllm-rtx4090")
        >>> log.capacity, log.settings.max_num_seqs, log.unmatched_ticks
        (41408, 256, 0)
        >>> [file.name for file in log.files]
        ['meta.json', 'requests.jsonl', 'timeseries.csv']
    """

    source: str
    engine: Engine | None
    requests: LoggedRequests | None = None
    ticks: LoggedTicks | None = None
    retractions: tuple[Retraction, ...] = ()
    prefills: tuple[PrefillPass, ...] = ()
    settings: LoggedSettings = field(default_factory=LoggedSettings)
    clock_zero_s: float | None = None
    offset_s: tuple[float, float] | None = None
    delay_s: float = 0.0
    unmatched_ticks: int = 0
    files: tuple[LogFile, ...] = ()
    requests_from: Path | None = None
    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def version(self) -> str | None:
        """Of the engine."""
        return self.settings.version

    @property
    def capacity(self) -> int | None:
        """KV tokens in the pool, as the engine counts them."""
        return self.settings.capacity

    @property
    def reports(self) -> tuple[LoadReport, ...]:
        """What became of the rows of each file of which some may have been left out."""
        found = [part.report for part in (self.requests, self.ticks) if part is not None]
        return tuple(report for report in found if report is not None)

    def timed(self) -> TimedRun:
        """The run with every time known, for fitting a clock and for a replay.

        A client does not see when its requests are scheduled. Then they are taken to be so as their
        first tokens come, and to be queued as they are sent: `TimedRun.stood_in` says it. Memory in
        use that no file says is NaN.

        Raises:
            InputError: something of it is in no file; the message says what would record it.
        """
        of_requests = {} if self.requests is None else vars(self.requests)
        of_ticks = {} if self.ticks is None else vars(self.ticks)
        fields: dict[str, Any] = {
            **{name: of_requests.get(name) for name in _OF_REQUESTS},
            **{name: of_ticks.get(name) for name in _OF_TICKS},
            "tick_ends_s": of_ticks.get("ends_s"),
        }
        stood_in = [name for name in _STAND_INS if fields[name] is None]
        for name in stood_in:
            fields[name] = fields[_STAND_INS[name]]
        for name in ("prompt_tokens", "kv_used"):
            if fields[name] is None and fields["tick_ends_s"] is not None:
                fields[name] = np.full(len(fields["tick_ends_s"]), np.nan)
        absent = any(values is None for values in fields.values())
        if absent or self.offset_s is None or (np.diff(of_ticks["ends_s"]) <= 0).any():
            lacks = [each for each in self.missing if each.is_required]
            said = "; ".join(map(str, lacks)) or "requests and ticks on one clock"
            raise InputError("source", self.source, f"a log with every time in it ({said})")
        so_far = of_ticks["preemptions"]
        return TimedRun(
            **fields,
            capacity=self.capacity,
            iterations=of_ticks["iterations"],
            preempted=None if so_far is None else np.diff(so_far, prepend=0.0),
            delay_s=self.delay_s,
            stood_in=tuple(stood_in),
        )


_STAND_INS = {"queued_s": "arrival_s", "scheduled_s": "first_token_s"}
_TIMES = ("arrival_s", "queued_s", "scheduled_s", "first_token_s", "last_token_s")
_OF_REQUESTS = ("report", "input_lengths", "decode_lengths", *_TIMES)
_OF_TICKS = ("running", "waiting", "kv_used", "prompt_tokens", "generated_tokens")


def _freeze(record: LoggedRequests | LoggedTicks) -> None:
    for values in vars(record).values():
        if isinstance(values, np.ndarray):
            values.flags.writeable = False
