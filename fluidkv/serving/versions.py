"""Versions of engines by name, "vllm-0.19": which rules are known to be theirs, and how well.

What is known of vLLM: 0.11.0 and 0.33.0 were compared, row by row. 0.19.0 says in its settings that
it asks for the whole input on admission (`scheduler_reserve_full_isl`, pull request 37307), and in
a measured log it does; whether it has a watermark they do not say. Where between 0.11 and 0.19 the
gate changed is not known here. Of SGLang 0.5.23 was compared; a log of 0.5.18 is replayed to one
retraction of twenty.
"""

import re
from dataclasses import replace

from fluidkv.errors import InputError
from fluidkv.serving.rules import EngineRules

Found = tuple[EngineRules, str] | None
"""Rules, and in words what of them was not compared."""

_NAME = re.compile(r"(vllm|sglang)-v?([0-9]+(?:\.[0-9]+)*)")


def of_version(name: str, vllm: EngineRules, vllm_0_11: EngineRules, sglang: EngineRules) -> Found:
    """The rules of a version; None: the name has none, or is a preset's.

    Args:
        vllm, vllm_0_11, sglang: the rules that were compared.

    Raises:
        InputError: a version of which it is not known which rules it has.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    version = tuple(int(part) for part in match[2].split("."))
    return (
        _of_vllm(name, version, vllm, vllm_0_11)
        if match[1] == "vllm"
        else _of_sglang(name, version, sglang)
    )


def _of_vllm(
    name: str, version: tuple[int, ...], vllm: EngineRules, vllm_0_11: EngineRules
) -> Found:
    minor = version[:2]
    if minor == (0, 11):
        return vllm_0_11, ""
    if minor == (0, 33):
        return vllm, ""
    if (0, 19) <= minor < (0, 33):
        flags = tuple(pair for pair in vllm.flags if pair[0] != "watermark")
        rules = replace(vllm, version=_text(version), flags=flags)
        return rules, (
            f"{name}: the rules of vllm {vllm.version}, whose gate 0.19.0 had already; this one "
            "was not compared with its scheduler, and no watermark is known of it"
        )
    if minor < (0, 11):
        raise InputError("engine", name, "vllm-0.11, the oldest that was compared")
    if minor < (0, 19):
        raise InputError(
            "engine",
            name,
            "vllm-0.11, where a first chunk must fit to enter, or vllm-0.19, where the whole input "
            "must: between them it is not known which",
        )
    raise InputError("engine", name, f"vllm, which is {vllm.version}, the newest compared")


def _of_sglang(name: str, version: tuple[int, ...], sglang: EngineRules) -> Found:
    if version == (0, 5, 23):
        return sglang, ""
    if (0, 5, 18) <= version < (0, 5, 23):
        rules = replace(sglang, version=_text(version))
        return rules, (
            f"{name}: the rules of sglang {sglang.version}; a log of 0.5.18 has 20 retractions "
            "where they have 21, and what ignores the end of text is not reserved in full there"
        )
    raise InputError("engine", name, f"sglang-0.5.18 to sglang-0.5.23; sglang is {sglang.version}")


def _text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
