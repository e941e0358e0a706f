"""The measured SGLang run through SGLang's rules: with its clock, with clocks near it, and others.

The clock is fitted to the first half of what is logged. Runs under it, under clocks as likely by
the fit, with arrivals moved by milliseconds, and under other settings stand in `sglang_study.csv`,
since they take minutes and need the log; the tests compute some of them again.
"""

from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from functools import cache
from pathlib import Path

import numpy as np

from fluidkv.answers.replay.rows import step_rows
from fluidkv.answers.replay.source import Source, limits_of_source, read_source
from fluidkv.answers.replay.ways import settings_of
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.sglang.stepped import SglangEngine
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.clock_fit.steps import StepFit, StepRows, fit_steps
from fluidkv.serving.sglang_settings import SglangSettings
from fluidkv.serving.versions import reserves_in_full
from fluidkv_papers.measured.instances.sglang_published import SETTINGS, Setting
from fluidkv_papers.records import Table

_TABLE, _RETRACTIONS = Table(__file__), Table(__file__, "sglang_retractions")

DRAWS = 200
MOVED_S = (0.001, 0.01, 0.1)
"""Standard deviations of what arrivals are moved by."""
SPREADS = (1, 3)
"""Times the standard errors of the fit. What is left over of its rows is correlated from row to
row by 0.8, which makes the errors about three times as large as they are for independent rows."""
SECOND = "fit second half of the log"
RUN_S = 285.2  # of the whole run; its log ends before
RATE = 2.0  # requests a second


@dataclass(frozen=True)
class Outcome:
    """What one run came to.

    Fields:
        study: which: "fit ..." with the clock of a part of the log, "clock ..." and "moved ..."
            with draws, "setting ..." under other settings.
        draw: of it.
        base, per_kv_token, per_prefill_token: the clock, seconds.
        retractions, recomputed: requests taken out of the batch; tokens computed again.
        running, waiting: the most at once, in decode passes.
        wall_s: from the first request to the last token.
        ttft_p50 ... latency_p99: over requests, in seconds.
    """

    study: str
    draw: int
    base: float
    per_kv_token: float
    per_prefill_token: float
    retractions: int
    recomputed: int
    running: int
    waiting: int
    wall_s: float
    ttft_p50: float
    ttft_p99: float
    tpot_p50: float
    tpot_p99: float
    latency_p99: float


@dataclass(frozen=True)
class Retracted:
    """One retraction: when, and the new-token ratio around it."""

    time_s: float
    ratio_before: float
    ratio_after: float


def rows_of(source: Source) -> StepRows:
    """The rows of the log."""
    assert source.log.capacity is not None
    return step_rows(source.log, source.log.capacity)[0]


def fitted(source: Source) -> StepFit:
    """The clock of the first half of what is logged: the one that all predictions are by."""
    return fit_steps(rows_of(source), half="first")


def until(source: Source, end_s: float) -> StepFit:
    """The clock of the rows up to some time."""
    rows = rows_of(source)
    chosen = rows.ends_s <= end_s
    names = ("ends_s", "passes", "kv_tokens", "prefill_tokens", "used")
    return fit_steps(StepRows(**{name: getattr(rows, name)[chosen] for name in names}))


def options(source: Source, setting: Setting | None = None) -> SglangSettings:
    """The server's; or those of another setting."""
    server = source.settings
    limits = limits_of_source(server, None, None, None, None, 0.0)
    if setting is None:
        return settings_of(server, limits)
    return SglangSettings(
        setting.capacity,
        conservativeness=server.conservativeness or 1.0,
        chunked_prefill_size=limits.max_num_batched_tokens,
        max_running=setting.max_running,
        radix=setting.tree,
        ignore_eos=not setting.tree,  # all lengths are known to a server without a tree
        in_full=reserves_in_full(server.version),
    )


def outcome(
    source: Source,
    clock: IterationClock,
    study: str,
    draw: int = 0,
    *,
    setting: Setting | None = None,
    moved_s: np.ndarray | None = None,
) -> tuple[Outcome, list[Retracted]]:
    """One run, and its retractions."""
    found, arrival = source.requests, np.asarray(source.requests.arrival)
    if setting is not None:
        arrival = arrival * (RATE / setting.rate)
    if moved_s is not None:
        arrival = np.sort(arrival + moved_s)
        arrival = arrival - arrival[0]
    requests = Requests(found.input_length, found.output_length, arrival=arrival)
    tree = setting is None or setting.tree
    prompts, settings = source.prompts if tree else None, options(source, setting)
    run = SglangEngine(requests, prompts, settings, clock, offered=False, compiled=True)
    retracted: list[Retracted] = []
    recomputed = running = waiting = 0
    while run.done < len(requests):
        before, now = run.new_token_ratio, run.now
        counts = run.step()
        row = run.row
        recomputed += counts["recomputed_tokens"]
        if row.mode == "decode":
            running, waiting = max(running, row.running), max(waiting, row.waiting)
        retracted += [Retracted(now, before, row.new_token_ratio)] * row.retracted
    first, last = (
        np.array([getattr(r, name) for r in run.all])
        for name in ("first_token_at", "last_token_at")
    )
    latency, ttft = last - arrival, first - arrival
    tpot = (last - first) / (np.asarray(found.output_length) - 1)
    return Outcome(
        study,
        draw,
        *clock.durations[:3],
        retractions=len(retracted),
        recomputed=recomputed,
        running=running,
        waiting=waiting,
        wall_s=run.now,
        ttft_p50=float(np.quantile(ttft, 0.5)),
        ttft_p99=float(np.quantile(ttft, 0.99)),
        tpot_p50=float(np.quantile(tpot, 0.5)),
        tpot_p99=float(np.quantile(tpot, 0.99)),
        latency_p99=float(np.quantile(latency, 0.99)),
    ), retracted


def computed(folder: Path) -> Iterator[Outcome]:
    """All runs, one after the other."""
    source = read_source(folder)
    fit = fitted(source)
    yield outcome(source, fit.clock, "fit first half of the log")[0]
    for part, end_s in (
        ("first quarter of the log", rows_of(source).middle_s / 2),
        ("first half of the run", RUN_S / 2),
        ("whole log", np.inf),
    ):
        yield outcome(source, until(source, end_s).clock, f"fit {part}")[0]
    second = fit_steps(rows_of(source), half="second")
    yield outcome(source, second.clock, SECOND)[0]
    for spread in SPREADS:
        for draw in range(DRAWS):
            clock = drawn(fit, spread, draw)
            yield outcome(source, clock, f"clock {spread}", draw)[0]
    for size in MOVED_S:
        for draw in range(DRAWS):
            moved = np.random.default_rng([draw, 1]).normal(0, size, len(source.run.arrival_s))
            yield outcome(source, fit.clock, f"moved {size:g} s", draw, moved_s=moved)[0]
    for setting in SETTINGS:
        clock = slower(fit.clock, setting.slower)
        yield outcome(source, clock, f"setting {setting.measured.name}", setting=setting)[0]


def drawn(fit: StepFit, spread: int, draw: int) -> IterationClock:
    """A clock as likely as the fit says, its errors so many times as large."""
    rng = np.random.default_rng([draw, 0])
    clock = np.array(fit.clock.durations[:3])
    found = rng.multivariate_normal(clock, spread**2 * fit.covariance)
    base, kv, prefill = (float(value) for value in np.maximum(found, [1e-6, 0, 0]))
    return IterationClock(base, kv, prefill)


def slower(clock: IterationClock, times: float) -> IterationClock:
    """All steps so many times as long."""
    base, kv, prefill, _ = (times * value for value in clock.durations)
    return IterationClock(base, kv, prefill)


def record(folder: Path) -> None:
    """Compute all runs of the log in a folder and write them."""
    _TABLE.write([f.name for f in fields(Outcome)], (astuple(run) for run in computed(folder)))


def record_retractions(folder: Path) -> None:
    """The retractions of the log and of the prediction, beside each other."""
    source = read_source(folder)
    ours = outcome(source, fitted(source).clock, "")[1]
    theirs = [
        Retracted(r.time_s, r.ratio_before or 0.0, r.ratio_after or 0.0)
        for r in source.log.retractions
    ]
    sides = (("measured", theirs), ("predicted", ours))
    rows = ([who, *astuple(retracted)] for who, found in sides for retracted in found)
    _RETRACTIONS.write(["who", *(f.name for f in fields(Retracted))], rows)


@cache
def recorded() -> dict[str, tuple[Outcome, ...]]:
    """Runs on record, by study."""
    found: dict[str, list[Outcome]] = {}
    for run in _TABLE.rows(Outcome):
        found.setdefault(run.study, []).append(run)
    return {study: tuple(runs) for study, runs in found.items()}


@cache
def retractions(who: str) -> tuple[Retracted, ...]:
    """Those on record, "measured" or "predicted"."""
    rows = zip(_RETRACTIONS.lines(), _RETRACTIONS.rows(Retracted), strict=True)
    return tuple(retracted for line, retracted in rows if line["who"] == who)
