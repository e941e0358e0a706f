"""What an SGLang server prints, in the forms of versions 0.3 to 0.5.

A line comes every `decode_log_interval` steps of decoding, one for each prefill, and one where
requests are retracted:

    [2026-09-13 16:06:07] Decode batch. #running-req: 66, #token: 87282, token usage: 1.00, cuda
    graph: False, gen throughput (token/s): 2529.33, #queue-req: 13
    [2026-09-13 16:06:08] Prefill batch. #new-seq: 2, #new-token: 704, #cached-token: 36, token
    usage: 0.97, #running-req: 62, #queue-req: 16
    [2026-09-13 16:06:08] KV cache pool is full. Retract requests. #retracted_reqs: 1,
    #new_tokens_gained: 646, #new_token_ratio: 0.0980 -> 0.3487

Tokens in use are those of running requests: what the radix cache could evict is not among them.
Times are in whole seconds, so that several lines may have one. Each rank of an engine (TP, PP) is a
process that prints what it sees, and all see the same: a retraction stands there once for each. One
rank of each engine (DP) is read, the first that prints statistics.
"""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from fluidkv.errors import InputError
from fluidkv.logs.log import LoggedTicks, PrefillPass, Retraction, ServerLog
from fluidkv.logs.settings import LoggedSettings
from fluidkv.logs.stdout.lines import STAMP_WITHIN, Clock, Stamp, log_lines
from fluidkv.logs.stdout.numbers import COUNT, DECIMAL, number_after
from fluidkv.logs.stdout.rows import StatRow, Turns, ends_of, summed
from fluidkv.logs.stdout.sglang_start import Start
from fluidkv.traces.report import Tally

DECODE = re.compile(r"Decode batch(?: \[\d{1,15}\])?[.,] ")
"""Every line of statistics has it, and no other line."""

_PREFILL = re.compile(r"Prefill batch(?: \[\d{1,15}\])?[.,] ")
_RETRACTED = re.compile(r"#retracted_reqs: " + COUNT)
_RATIO = re.compile(rf"#new_token_ratio: {DECIMAL} -> {DECIMAL}(?![\d.])")
_RANKS = re.compile(r"\[[^\]]{0,60}?((?: [A-Z]{2,8}\d{1,6})+)\]")
_ENGINE = re.compile(r"\bDP(\d{1,6})\b")
_USUAL_STEPS = 40  # between lines, in all versions unless set otherwise


_Event = TypeVar("_Event", Retraction, PrefillPass)


@dataclass
class _Said:
    """What has been read so far; what lies between two rows is counted with the later one."""

    clock: Clock = field(default_factory=Clock)
    turns: Turns = field(default_factory=Turns)
    start: Start = field(default_factory=Start)
    tally: Tally = field(default_factory=Tally)
    ranks: dict[str, str] = field(default_factory=dict)
    guessed: dict[str, str] = field(default_factory=dict)
    retractions: list[Retraction] = field(default_factory=list)
    prefills: list[PrefillPass] = field(default_factory=list)
    retracted: float = 0.0
    prefilled: float = 0.0
    last_s: float = 0.0


def read_sglang_stdout(path: Path) -> ServerLog:
    """Ticks, retractions and settings. A line that is cut off is dropped, and reported.

    The start of a server alone gives settings.

    Raises:
        InputError: a file that is unreadable; times that fall; fewer than two decode lines and
            nothing of the start.
    """
    said = _Said()
    for number, line in log_lines(path):
        if DECODE.search(line):
            if _counts(line, said.ranks):
                _decode(said, number, line)
        elif _PREFILL.search(line):
            if _counts(line, said.ranks):
                _prefill(said, number, line)
        elif found := _RETRACTED.search(line):
            # A log cut at its top may begin with a retraction, of whichever rank came first.
            if _counts(line, said.guessed | said.ranks, said.guessed):
                _retraction(said, line, int(found[1]))
        else:
            said.start.read(line)
    report = said.tally.report(source=path.name, format="sglang-stdout")
    if len(said.turns.turns) < 2 and not said.start:
        found = "; ".join(str(reason) for reason in report.dropped_because[:2])
        found = found or f"found {len(said.turns.turns)}"
        allowed = f"an SGLang log with two lines of a decode batch ({found})"
        raise InputError("source", str(path), allowed)
    settings = said.start.settings(max(len(said.turns.engines), 1))
    if len(said.turns.turns) < 2:
        notes = (f"{path.name} has the start of a server, and no two lines of a decode batch",)
        return ServerLog(str(path), "sglang", settings=settings, notes=notes)
    ticks = replace(_ticks(said, path, settings), report=report)
    notes = [f"time 0 of {path.name} is its first decode line"]
    if said.start.steps is None:
        notes.append(f"{path.name} does not name decode_log_interval: {_USUAL_STEPS} steps a line")
    if len(said.turns.engines) > 1:
        count = len(said.turns.engines)
        notes.append(f"{count} engines of {path.name} added up; KV in use is their mean")
    return ServerLog(
        source=str(path),
        engine="sglang",
        ticks=ticks,
        retractions=_placed(said.retractions, ticks),
        prefills=_placed(said.prefills, ticks),
        settings=settings,
        clock_zero_s=said.clock.zero_s if said.clock.kind is Stamp.ZONE else None,
        notes=tuple(notes),
    )


def _counts(line: str, ranks: dict[str, str], keep: dict[str, str] | None = None) -> bool:
    """Whether a line is of the one rank of its engine that is read.

    Args:
        ranks: that of each engine, as far as they are known.
        keep: where the rank of an engine that is not known yet is put down; `ranks` if None.
    """
    found = _RANKS.search(line[:STAMP_WITHIN])
    if found is None:
        return True
    engine = _ENGINE.search(found[1])
    name = engine[1] if engine else ""
    if name not in ranks:
        (ranks if keep is None else keep)[name] = found[1]
        return True
    return ranks[name] == found[1]


def _decode(said: _Said, number: int, line: str) -> None:
    at = said.clock.seconds(line)
    values = {
        name: next((v for word in words if (v := number_after(word, line)) is not None), None)
        for name, words in _WORDS.items()
    }
    missing = [name for name in _NEEDED if values[name] is None]
    if at is None or missing:
        what = "no time" if at is None else f"no {missing[0]}"
        said.tally.drop(f"decode line: {what}", number)
        return
    engine = _ENGINE.search(line.split("Decode", 1)[0])
    value = {name: v or 0.0 for name, v in values.items()}
    said.turns.add(
        StatRow(
            line=number,
            at_s=at,
            engine=engine[1] if engine else "",
            running=value["running"],
            waiting=value["queue"],
            kv_used=value["usage"],
            kv_tokens=values["tokens"],
            generated=value["throughput"],
            prompt_tokens=said.prefilled,
            preempted=said.retracted,
        )
    )
    said.last_s = at
    said.prefilled = said.retracted = 0.0
    said.tally.keep(number, changed=(), flagged=())


_WORDS = {
    "running": ("#running-req: ",),
    "queue": ("#queue-req: ",),
    "usage": ("token usage: ",),  # of hybrid models "full token usage: " stands first
    "throughput": ("gen throughput (token/s): ",),
    "tokens": ("#token: ", "#full token: "),
}
_NEEDED = tuple(_WORDS)[:-1]


def _prefill(said: _Said, number: int, line: str) -> None:
    tokens, requests = (number_after(words, line) for words in ("#new-token: ", "#new-seq: "))
    if said.clock.kind is not None:
        at = said.clock.seconds(line)
        said.last_s = said.last_s if at is None else at
    if tokens is None:
        said.tally.drop("prefill line: no #new-token", number)
        return
    said.prefilled += tokens
    rows = float(len(said.turns.turns))  # `_placed` makes steps of them
    said.prefills.append(PrefillPass(said.last_s, tokens, int(requests or 1), rows))
    said.tally.keep(number, changed=(), flagged=())


def _retraction(said: _Said, line: str, requests: int) -> None:
    if said.clock.kind is not None:
        at = said.clock.seconds(line)
        said.last_s = said.last_s if at is None else at
    ratio = _RATIO.search(line)
    said.retracted += requests
    said.retractions.append(
        Retraction(
            time_s=said.last_s,
            after_step=float(len(said.turns.turns)),  # in rows; `_placed` makes steps of them
            ratio_before=float(ratio[1]) if ratio else None,
            ratio_after=float(ratio[2]) if ratio else None,
            tokens_gained=number_after("#new_tokens_gained: ", line),
            requests=requests,
        )
    )


def _placed(events: list[_Event], ticks: LoggedTicks) -> tuple[_Event, ...]:
    """Events behind the steps, where they stood behind so many rows."""
    steps = [0.0, *np.asarray(ticks.decode_steps).tolist()]
    return tuple(replace(each, after_step=steps[int(each.after_step or 0)]) for each in events)


def _ticks(said: _Said, path: Path, settings: LoggedSettings) -> LoggedTicks:
    turns = said.turns.turns
    try:
        ends = ends_of(turns)
    except InputError as error:
        raise InputError("source", str(path), error.allowed) from None
    tokens, usage = summed(turns, "kv_tokens"), summed(turns, "kv_used")
    if tokens is not None and settings.capacity is not None:
        used = tokens / settings.capacity
    else:
        used = None if usage is None else usage / len(said.turns.engines)
    preempted = summed(turns, "preempted")
    return LoggedTicks(
        ends_s=ends,
        running=summed(turns, "running"),
        waiting=summed(turns, "waiting"),
        kv_used=used,
        prompt_tokens=summed(turns, "prompt_tokens"),
        generation_rate=summed(turns, "generated"),
        preemptions=None if preempted is None else np.cumsum(preempted),
        decode_steps=np.arange(1.0, len(turns) + 1) * (said.start.steps or _USUAL_STEPS),
        resolution_s=None if (ends % 1).any() else 1.0,
    )
