"""An engine as users write it: NAME, NAME+cache, and its own settings behind a colon.

"sglang+cache:conservativeness=0.3,mixed_chunk=true". Each family of engines says here which
settings it has and what rules they make; numbers that every server has are in `Limits`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import EngineRules, Gate, NewTokenRatio, RatioReset, Victim, rule_of
from fluidkv.serving.sglang_settings import SglangSettings
from fluidkv.serving.versions import Version, named_version, numbers_of, reserves_in_full
from fluidkv.text import NUMBER

CACHE = "+cache"
"""After the name of an engine: with its prefix cache."""

Setting = bool | int | float | str
"""What may stand behind an equals sign."""

_OF_LIMITS: Mapping[str, str] = MappingProxyType(
    {
        "capacity": "the capacity",
        "page_size": "the block size",
        "chunked_prefill_size": "max_num_batched_tokens",
        "max_running": "max_num_seqs",
    }
)
"""Settings of SGLang's that every server has: they are limits and no part of an engine."""

_ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "schedule_conservativeness": "conservativeness",
        "enable_mixed_chunk": "mixed_chunk",
        "retraction_policy": "retraction",
        "radix_eviction_policy": "eviction",
        "max_running_requests": "max_running",
        "scheduler_reserve_full_isl": "reserve_full_isl",
        "preemption_victim": "victim",
        "mem_fraction_static": "mem_fraction",
    }
)
"""The flags of servers, by what they are called here."""

_MEMORY = "mem_fraction"


@dataclass(frozen=True)
class ServedEngine(Record):
    """An engine that serves: its rules, its cache, and what its own scheduler is set to.

    Args:
        rules: whom it evicts, whom it admits.
        caching: with its prefix cache; of SGLang: its own scheduler.
        settings: (name, value) pairs of `SglangSettings`, of SGLang's own scheduler alone.
        text: as it was written; "" of rules that were given as they are.
        note: in words, whose rules this version has and what differs; "" where it was compared.

    Examples:
        >>> from fluidkv.serving import served_engine
        >>> from fluidkv.serving.engine_text import ServedEngine
        >>> served_engine("vllm+cache").label
        'vllm+cache 0.33.0'
        >>> ServedEngine(fk.engine("vllm")).schedules_as(served_engine("vllm+cache"))
        True
        >>> served_engine("sglang+cache:clip=512").settings_of(fk.Limits(1000)).clip
        512
    """

    rules: EngineRules
    caching: bool = False
    settings: tuple[tuple[str, Setting], ...] = ()
    text: str = field(default="", compare=False)
    note: str = field(default="", compare=False)

    @property
    def own_scheduler(self) -> bool:
        """Whether it is SGLang's own scheduler, and not rules in the common loop."""
        return self.caching and self.rules.name == "sglang"

    @property
    def finds_prefixes(self) -> bool:
        """Whether a prompt that begins like another finds that in a cache."""
        return self.caching and dict(self.settings).get("radix", True) is not False

    @property
    def name(self) -> str:
        """As users write it."""
        return self.text or self.rules.name + CACHE * self.caching

    @property
    def version(self) -> str:
        """That its text names; "" where it names none."""
        return named_version(self.text.partition(":")[0].removesuffix(CACHE))

    @property
    def label(self) -> str:
        """Name and version, as shown."""
        rules, _, settings = self.name.partition(":")
        version = "" if self.version or self.rules.version in rules else self.rules.version
        said = f"{rules} {version}".strip()
        return said + (f" ({settings})" if settings else "")

    def settings_of(self, limits: Limits) -> SglangSettings:
        """What SGLang's own scheduler is set to, in this memory and under these caps.

        Raises:
            InputError: as `SglangSettings.of`.
        """
        return SglangSettings.of(limits, **dict[str, Any](self.settings))

    def schedules_as(self, other: "ServedEngine") -> bool:
        """Whether both do the same, whatever they are called; the cache is not looked at."""
        alike = {"name": "", "version": "", "flags": ()}
        same = replace(self.rules, **alike) == replace(other.rules, **alike)
        return same and self.settings == other.settings


def parts_of(argument: str, text: str) -> tuple[str, bool, dict[str, str]]:
    """Name, whether there is a cache, and settings as they are written.

    Raises:
        InputError: a setting without a value, or twice.
    """
    name, colon, rest = text.partition(":")
    given: dict[str, str] = {}
    for part in rest.split(",") if colon else ():
        setting, equals, said = (piece.strip() for piece in part.partition("="))
        setting = setting.removeprefix("--").replace("-", "_")
        setting = _ALIASES.get(setting, setting)
        if not (setting and equals and said) or setting in given:
            raise InputError(argument, text, "NAME:SETTING=VALUE,..., each setting once")
        given[setting] = said
    return name.removesuffix(CACHE), name.endswith(CACHE), given


def with_settings(engine: ServedEngine, given: Mapping[str, str]) -> ServedEngine:
    """The engine with settings that users wrote.

    Raises:
        InputError: a setting that it does not have, and what it has; a value of another kind.
    """
    if not given:
        return engine
    of_rules = _settings_of_rules(engine)
    known = _known_of_sglang(engine) if engine.own_scheduler else tuple(of_rules)
    for name in given:
        if name not in known:
            bare = engine.name.partition(":")[0]
            has = f"{bare} has {', '.join(known) or 'no settings'}"
            raise InputError("engine", engine.name, f"{_without(name)}; {has}")
    try:
        if engine.own_scheduler:
            return replace(engine, settings=_read_for_sglang(_of_its_version(engine, given)))
        rules = engine.rules
        for name, said in given.items():
            rules = of_rules[name](rules, said)
        return replace(engine, rules=rules)
    except InputError as error:
        raise InputError("engine", engine.name, f"{error.argument}: {error.allowed}") from None


def _without(name: str) -> str:
    if name == _MEMORY:
        relation = f"({name} x the GPU's memory - weights) / bytes of a token"
        return f"without {name}: it is memory; as KV tokens, in the capacity: {relation}"
    if name in _OF_LIMITS:
        return f"without {name}: it is {_OF_LIMITS[name]}"
    return f"without {name}"


# --------------------------------------------------------------------------- SGLang's own scheduler

_OF_SGLANG: Mapping[str, Any] = MappingProxyType(
    {f.name: f.default for f in fields(SglangSettings) if f.name not in _OF_LIMITS}
)
"""Settings of `SglangSettings` that are no limits -> as the server has them."""


_SINCE: Mapping[str, Version] = MappingProxyType({"retraction": (0, 5, 20)})
"""Settings that older versions do not have -> the oldest known to."""


def _known_of_sglang(engine: ServedEngine) -> tuple[str, ...]:
    version = numbers_of(engine.version or engine.rules.version)
    return tuple(name for name in _OF_SGLANG if version >= _SINCE.get(name, version))


def _of_its_version(engine: ServedEngine, given: Mapping[str, str]) -> Mapping[str, str]:
    """With what the version does by itself, where a setting asks for it."""
    by_ratio = given.get("ignore_eos") == "true" and not reserves_in_full(engine.version)
    return {"in_full": "false", **given} if by_ratio else given


def _read_for_sglang(given: Mapping[str, str]) -> tuple[tuple[str, Setting], ...]:
    """Checked, as far as that needs no memory; those that are the server's own are left out."""
    values = {name: _value(name, said, type(_OF_SGLANG[name])) for name, said in given.items()}
    checked = SglangSettings(capacity=1, **dict[str, Any](values))
    found = {name: getattr(checked, name) for name in _OF_SGLANG if name in values}
    return tuple((name, value) for name, value in found.items() if value != _OF_SGLANG[name])


def _value(argument: str, said: str, kind: type) -> Setting:
    if kind is bool:
        if said not in ("true", "false"):
            raise InputError(argument, said, "true or false")
        return said == "true"
    if kind is int:
        if not re.fullmatch("[0-9]+", said):
            raise InputError(argument, said, "a whole number")
        return int(said)
    if kind is float:
        if not NUMBER.fullmatch(said):
            raise InputError(argument, said, "a number")
        return float(said)
    return said


# ------------------------------------------------------------------------------------ other engines

_Change = Callable[[EngineRules, str], EngineRules]


def _settings_of_rules(engine: ServedEngine) -> Mapping[str, _Change]:
    """Settings that are rules of the common loop -> the rules with a value of it."""
    if engine.rules.name == "vllm-0.11":  # before the gate was a setting
        return {"victim": _victim}
    if engine.rules.name.startswith("vllm"):
        return {"reserve_full_isl": _gate, "victim": _victim}
    if engine.rules.name == "sglang":
        return {"conservativeness": _conservativeness, "clip": _clip, "reset": _reset}
    return {}


def _gate(rules: EngineRules, said: str) -> EngineRules:
    whole = _value("reserve_full_isl", said, bool)
    return replace(rules, gate=Gate.FULL_INPUT if whole else Gate.FIRST_CHUNK)


def _victim(rules: EngineRules, said: str) -> EngineRules:
    return replace(rules, victim=rule_of(Victim, said))


def _conservativeness(rules: EngineRules, said: str) -> EngineRules:
    """The ratio starts at a share that is as much larger, 1 at most; its least is 0.14 of that."""
    usual = NewTokenRatio()
    if not NUMBER.fullmatch(said) or not Fraction(said) > 0:
        raise InputError("conservativeness", said, "a finite number above 0")
    start = min(usual.start * Fraction(said), Fraction(1))
    least = start * usual.least / usual.start
    if (start - least) * usual.SCALE < rules.ratio.decay_steps:
        raise InputError("conservativeness", said, "at least 0.002, in the short form")
    return replace(rules, ratio=replace(rules.ratio, start=start, least=least))


def _clip(rules: EngineRules, said: str) -> EngineRules:
    tokens = _value("clip", said, int)
    assert isinstance(tokens, int)
    return replace(rules, ratio=replace(rules.ratio, clip=tokens))


def _reset(rules: EngineRules, said: str) -> EngineRules:
    return replace(rules, ratio=replace(rules.ratio, reset=rule_of(RatioReset, said)))
