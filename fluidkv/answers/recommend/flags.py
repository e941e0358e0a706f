"""How a setting is set: by flags, which a version of an engine has or lacks, or in front of it."""

from collections.abc import Sequence

from fluidkv.answers.served.setting import Setting
from fluidkv.serving.rules import EngineRules
from fluidkv.serving.versions import FIRST_WITH_FLAG, numbers_of

IN_FRONT = ("admission_rate", "clients")
"""Knobs that no engine has a flag for: a rate limiter, or the clients themselves."""


def flags_of(rules: EngineRules, setting: Setting, now: Setting) -> tuple[tuple[str, str], ...]:
    """(flag, value) for what differs from now and has a flag in this engine."""
    known = dict(rules.flags)
    return tuple(
        (known[name], _spelled(getattr(setting, name)))
        for name in setting.changed(now)
        if name in known
    )


def needs_of(
    rules: EngineRules, setting: Setting, now: Setting, version: str | None
) -> tuple[tuple[str, str], ...]:
    """(flag, first version with it) for the flags that an older server lacks.

    Args:
        version: of the server, "0.19.0"; None, or one that is no list of numbers: not known.
    """
    there = numbers_of(version)
    return tuple(
        (flag, first)
        for flag, _ in flags_of(rules, setting, now)
        for known, first in FIRST_WITH_FLAG.items()
        if known == (rules.name, flag) and there and there < numbers_of(first)
    )


def without_flag(rules: EngineRules, setting: Setting, now: Setting) -> tuple[str, ...]:
    """Knobs that differ from now and have no flag in this engine."""
    return tuple(name for name in setting.changed(now) if name not in dict(rules.flags))


def of_the_engine(settings: Sequence[Setting]) -> tuple[int, ...]:
    """Settings that differ from the first in nothing that stands in front of the engine."""
    return tuple(i for i, s in enumerate(settings) if not set(s.changed(settings[0])) & {*IN_FRONT})


def at_hand(
    rules: EngineRules, settings: Sequence[Setting], version: str | None
) -> tuple[int, ...]:
    """Of those, the ones that a version has all flags for."""
    return tuple(
        i for i in of_the_engine(settings) if not needs_of(rules, settings[i], settings[0], version)
    )


def _spelled(value: float | int | None) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
