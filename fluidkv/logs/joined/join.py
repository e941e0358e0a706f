"""The parts of a log as one log: each thing from the file that says it best, or refused."""

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from fluidkv.errors import InputError
from fluidkv.logs.folder import vllm
from fluidkv.logs.held import recorded
from fluidkv.logs.joined.kinds import Kind
from fluidkv.logs.joined.lay import answered, laying
from fluidkv.logs.joined.parts import Part
from fluidkv.logs.joined.span import of_run
from fluidkv.logs.log import Engine, LogFile, LoggedRequests, LoggedTicks, ServerLog
from fluidkv.logs.settings import LoggedSettings

_NAMED_DIFFERENTLY = ("model", "device", "policy")  # a path here, a name there: no contradiction


def joined(source: Path, parts: Sequence[Part]) -> ServerLog:
    """One log out of its files.

    Raises:
        InputError: files that contradict each other.
    """
    settings = _settings(source, parts)
    requests, ticks = _requests(source, parts), _ticks(parts)
    events = next((part for part in parts if part.log.retractions or part.log.prefills), None)
    log = ServerLog(
        source=str(source),
        engine=_engine(source, parts),
        requests=None if requests is None else requests.log.requests,
        ticks=None if ticks is None else ticks.log.ticks,
        retractions=() if events is None else events.log.retractions,
        prefills=() if events is None else events.log.prefills,
        settings=settings,
        clock_zero_s=None if ticks is None else ticks.log.clock_zero_s,
        files=tuple(LogFile(part.path.name, part.kind.value, _gave(part)) for part in parts),
        requests_from=None if requests is None else requests.path,
        notes=tuple(note for part in parts for note in part.log.notes),
    )
    if ticks is not None:
        log = replace(log, notes=log.notes + _not_taken(ticks, parts))
        log = _without_empty(log, ticks.path.name)
    return log if requests is None or ticks is None else _on_one_clock(log, requests, ticks)


def _without_empty(log: ServerLog, name: str) -> ServerLog:
    """The log without a counter of memory that nobody filled in."""
    ticks = log.ticks
    if ticks is None or recorded(ticks.kv_used, ticks.running) is ticks.kv_used:
        return log
    note = f"KV in use is 0 in all of {name} while requests run: taken as not recorded"
    return replace(log, ticks=replace(ticks, kv_used=None), notes=(*log.notes, note))


def _engine(source: Path, parts: Sequence[Part]) -> Engine | None:
    said: dict[Engine, str] = {}
    for part in parts:
        if part.log.engine is not None:
            said.setdefault(part.log.engine, part.path.name)
    if len(said) > 1:
        (one, here), (other, there) = list(said.items())[:2]
        allowed = f"files of one server ({here} is of {one}, {there} of {other})"
        raise InputError("source", str(source), allowed)
    if said:
        return next(iter(said))
    return "vllm" if any(part.kind is Kind.VLLM_TICKS for part in parts) else None


def _settings(source: Path, parts: Sequence[Part]) -> LoggedSettings:
    """Each setting from the file that says it; two that say it differently are refused."""
    found: dict[str, object] = {}
    origin: dict[str, str] = {}
    for part in parts:
        for name in (each.name for each in fields(LoggedSettings)):
            value = getattr(part.log.settings, name)
            if value is None:
                continue
            first = found.setdefault(name, value)
            origin.setdefault(name, part.path.name)
            same = first == value or name in _NAMED_DIFFERENTLY or _same_version(name, first, value)
            if not same:
                here, there = origin[name], part.path.name
                allowed = f"one {name} ({here} says {_shown(first)}, {there} {_shown(value)})"
                raise InputError("source", str(source), allowed)
    return LoggedSettings(**found)  # type: ignore[arg-type]  # by its own names


def _same_version(name: str, one: object, other: object) -> bool:
    """Whether one is the other with more behind it, such as the commit."""
    short, long = sorted((str(one), str(other)), key=len)
    return name == "version" and long.startswith(short) and not long[len(short) :][:1].isdigit()


def _shown(value: object) -> str:
    return f"{value:,}" if type(value) is int else f"{value}"


def _requests(source: Path, parts: Sequence[Part]) -> Part | None:
    """The file of requests with the most times; others have to have the same requests."""
    found = [part for part in parts if part.log.requests is not None]
    if not found:
        return None
    best = max(found, key=lambda part: _said(part.log.requests))
    for part in found:
        if part is not best and _lengths(part) != _lengths(best):
            here, there = (
                f"{each.path.name}: {len(_lengths(each)):,} requests, "
                f"{sum(n for _, n in _lengths(each)):,} output tokens"
                for each in (best, part)
            )
            raise InputError("source", str(source), f"requests of one run ({here}; {there})")
    return best


def _lengths(part: Part) -> list[tuple[int, int]]:
    requests = part.log.requests
    if requests is None:
        return []
    pairs = zip(requests.input_lengths.tolist(), requests.decode_lengths.tolist(), strict=True)
    return sorted(pairs)


def _said(record: LoggedRequests | LoggedTicks | None) -> int:
    """How many things a file says of its requests or ticks."""
    return 0 if record is None else sum(value is not None for value in vars(record).values())


_FINEST_FIRST = (
    *(Kind.VLLM_TICKS, Kind.SGLANG_TICKS, Kind.PAGES, Kind.METRICS, Kind.RANGE),
    *(Kind.SGLANG_STDOUT, Kind.VLLM_STDOUT),
)


def _ticks(parts: Sequence[Part]) -> Part | None:
    found = [part for part in parts if part.log.ticks is not None]
    return min(found, key=lambda part: _FINEST_FIRST.index(part.kind), default=None)


def _not_taken(ticks: Part, parts: Sequence[Part]) -> tuple[str, ...]:
    """What other files say of the same counters, where it differs."""
    notes = []
    for part in parts:
        ours, theirs = ticks.log.ticks, part.log.ticks
        if part is ticks or ours is None or theirs is None:
            continue
        notes.append(f"ticks are those of {ticks.path.name}; {part.path.name} has some too")
        if ours.running is not None and theirs.running is not None:
            here, there = float(np.max(ours.running)), float(np.max(theirs.running))
            # A file with fewer ticks may miss a peak, and has no higher one.
            if there > here + max(2.0, 0.05 * here):
                notes.append(
                    f"at most {here:,.0f} run at once in {ticks.path.name}, {there:,.0f} in "
                    f"{part.path.name}: one is of more than this run"
                )
    return tuple(notes)


def _on_one_clock(log: ServerLog, requests: Part, ticks: Part) -> ServerLog:
    if log.requests is None or log.ticks is None:
        return log
    if requests.kind is Kind.VLLM_REQUESTS and ticks.kind is Kind.VLLM_TICKS:
        if log.requests.first_token_s is None:
            return log
        return replace(log, **vllm.laid(log.requests, log.ticks, log.source)._asdict())
    names = f"{requests.path.name} and {ticks.path.name}"
    found, counters = laying(log.requests, log.ticks), log.ticks
    if found is not None and ticks.kind is Kind.PAGES:
        counters = answered(log.requests, counters, (found.low + found.high) / 2)
        found = laying(log.requests, counters)
    if found is None:
        return replace(log, notes=(*log.notes, f"the clocks of {names} are apart"))
    if not found.agrees:
        note = f"the clocks of {names} are apart: at best {found.off:,.1f} requests differ"
        return replace(log, notes=(*log.notes, note))
    note = f"the clocks of {names} are laid on each other to {found.high - found.low:.2g} s"
    late = f" and each is {found.delay_s:.2g} s on its way" if found.delay_s else ""
    laid = replace(
        log,
        ticks=counters,
        delay_s=found.delay_s,
        requests=log.requests.moved((found.low + found.high) / 2),
        offset_s=(found.low, found.high),
        notes=(*log.notes, f"{note}, where {found.off:,.1f} requests differ{late}"),
    )
    return of_run(laid)


def _gave(part: Part) -> str:
    """What a file said, in a few words."""
    log, words = part.log, []
    if log.requests is not None:
        words.append(f"{len(log.requests):,} requests")
    if log.ticks is not None:
        span = float(log.ticks.ends_s[-1] - log.ticks.ends_s[0])
        words.append(f"{len(log.ticks):,} ticks over {span:,.0f} s")
    if log.retractions:
        words.append(f"{sum(each.requests for each in log.retractions):,} retractions")
    values = [getattr(log.settings, each.name) for each in fields(LoggedSettings)]
    said = [value for value in values if value is not None]
    if said:
        words.append(f"{len(said)} settings")
    return ", ".join(words) or "nothing"
