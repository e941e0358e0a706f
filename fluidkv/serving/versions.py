"""Versions of engines by name, "vllm-0.19": whose rules they get, and what is known to differ.

Compared row by row with their own schedulers are vLLM 0.11.0 and 0.33.0, and SGLang 0.5.23. Of the
others it is read in the sources of the released packages. vLLM (`config/scheduler.py`, `v1/core`):
`scheduler_reserve_full_isl` is in 0.19.0 and not in 0.18.1, on by default (pull request 37307);
`watermark` is in 0.24.0 and not in 0.23.0, off by default (44594). SGLang
(`managers/schedule_policy.py`): requests that ignore the end of text are reserved in full in 0.5.22
and not in 0.5.21.
"""

import re
from collections.abc import Mapping

from fluidkv.serving.rules import EngineRules

Version = tuple[int, ...]

_NAME = re.compile(r"(vllm|sglang)-v?([0-9]+(?:\.[0-9]+)*)")

_SINCE: tuple[tuple[str, Version, str, str], ...] = (
    ("vllm", (), "vllm-0.11", "this one is older than any that was compared"),
    ("vllm", (0, 11), "vllm-0.11", ""),
    ("vllm", (0, 12), "vllm-0.11", "by its source a first chunk has to fit to enter, as there"),
    (
        "vllm",
        (0, 19),
        "vllm",
        "by its source the whole input has to fit to enter, as there, and there is no watermark "
        "before 0.24.0",
    ),
    ("vllm", (0, 24), "vllm", "by its source it has the same gate and watermark"),
    ("vllm", (0, 33), "vllm", ""),
    ("vllm", (0, 34), "vllm", "this one is newer than any that was compared"),
    ("sglang", (), "sglang", "this one is older than any that was compared"),
    (
        "sglang",
        (0, 5, 18),
        "sglang",
        "but requests that ignore the end of text are reserved by the ratio, as by its source "
        "before 0.5.22",
    ),
    ("sglang", (0, 5, 22), "sglang", "by its source it reserves as these do"),
    ("sglang", (0, 5, 23), "sglang", ""),
    ("sglang", (0, 5, 24), "sglang", "this one is newer than any that was compared"),
)
"""Engine, first version, whose rules it has from there on, and what is said; "": compared."""

FIRST_WITH_FLAG: Mapping[tuple[str, str], str] = {("vllm", "--watermark"): "0.24.0"}
"""(engine, flag) -> the first version with it. The other flags are in all versions here."""


def of_version(name: str, rules: Mapping[str, EngineRules]) -> tuple[EngineRules, str] | None:
    """The rules of a version, the nearest where it has none of its own, and in words what differs.

    Args:
        rules: those that were compared, by name.

    Returns: None where the name has no version, or is a preset's.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    version = numbers_of(match[2])
    nearest, text = next(
        (whose, text)
        for engine, first, whose, text in reversed(_SINCE)
        if engine == match[1] and first <= version
    )
    found = rules[nearest]
    label = f"{nearest.partition('-')[0]} {found.version}"
    return found, f"{name}: the rules of {label}; {text}" if text else ""


def named_version(name: str) -> str:
    """The version in the name of an engine; "" where there is none.

    Examples:
        >>> from fluidkv.serving.versions import named_version
        >>> named_version("vllm-0.19.0"), named_version("vllm-priority")
        ('0.19.0', '')
    """
    match = _NAME.fullmatch(name)
    return match[2] if match else ""


def in_logged_version(text: str, product: str, version: str | None) -> str:
    """The text of an engine in the version of a log, where it is the log's and names no version.

    Args:
        product, version: what was logged.

    Examples:
        >>> from fluidkv.serving.versions import in_logged_version
        >>> in_logged_version("sglang+cache:radix=false", "sglang", "0.5.18 (71de97b)")
        'sglang-0.5.18+cache:radix=false'
        >>> in_logged_version("vllm-0.33", "vllm", "0.19.0")
        'vllm-0.33'
    """
    name = re.split(r"[+:]", text, maxsplit=1)[0]
    numbers = ".".join(map(str, numbers_of(version)))
    if name.strip() != product or not numbers:
        return text
    return f"{product}-{numbers}{text[len(name) :]}"


def reserves_in_full(version: str | None) -> bool:
    """Whether SGLang reserves all for requests that ignore the end of text; as now, if unknown."""
    return (numbers_of(version) or (0, 5, 22)) >= (0, 5, 22)


def numbers_of(version: str | None) -> Version:
    """The numbers that a version begins with: () for none.

    Nor has 0.1.dev any: so setuptools_scm calls what is built from a checkout without tags.
    """
    match = re.match(r"v?(?!0\.1\.dev)(\d+(?:\.\d+)*)", version or "")
    return tuple(int(part) for part in match[1].split(".")) if match else ()
