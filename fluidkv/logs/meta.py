"""What the meta.json of a log folder says of its server: one form for vLLM, one for SGLang."""

import os
from pathlib import Path
from typing import Any

from fluidkv.errors import InputError
from fluidkv.logs.settings import LoggedSettings
from fluidkv.reading import json_object
from fluidkv.text import printable
from fluidkv.traces.results.values import inside
from fluidkv.traces.samples.shipped import sample_path

META_FILE = "meta.json"
_MOST = 10**15  # no server has so much of anything; below it float64 holds every integer

NULL_BLOCKS = 1
"""vLLM's V1 block pool sets one block aside that no request gets; `num_gpu_blocks` counts it."""


def read_settings(source: Path | str) -> LoggedSettings:
    """The settings in the meta.json of a log; nothing but None where there is no such file.

    Args:
        source: the log folder, or a file in it.

    Raises:
        InputError: a meta.json that is no JSON object; a setting of another type than it has, or a
            count below 1 (below 2 for `num_gpu_blocks`).
    """
    meta = meta_of(source)
    return _of_sglang(meta) if engine_of(meta) == "sglang" else _of_vllm(meta)


def meta_of(source: Path | str) -> dict[str, Any]:
    """What meta.json holds; nothing where there is none."""
    log = sample_path(source)
    path = (log if os.path.isdir(log) else log.parent) / META_FILE
    if not os.path.lexists(path):
        return {}
    return json_object(path, "a meta.json that is one JSON object")


def engine_of(meta: dict[str, Any]) -> str | None:
    """The engine that a meta.json is of: "vllm", "sglang", or None."""
    named = str(inside(meta, "engine")).lower()
    if named in ("vllm", "sglang"):
        return named
    return "vllm" if "vllm_version" in meta or "kv_cache" in meta else None


def _of_vllm(meta: dict[str, Any]) -> LoggedSettings:
    blocks = _count(meta, "kv_cache", "num_gpu_blocks", least=1 + NULL_BLOCKS)
    return LoggedSettings(
        version=_text(meta, "vllm_version") or _text(meta, "version"),
        device=_text(meta, "hardware", "device_name") or _text(meta, "gpu"),
        model=_text(meta, "model"),
        capacity=_count(meta, "kv_cache", "num_kv_tokens"),
        blocks=None if blocks is None else blocks - NULL_BLOCKS,
        block_size=_count(meta, "kv_cache", "block_size"),
        max_num_seqs=_count(meta, "engine_kwargs", "max_num_seqs"),
        max_num_batched_tokens=_count(meta, "engine_kwargs", "max_num_batched_tokens"),
        max_model_len=_count(meta, "engine_kwargs", "max_model_len"),
        prefix_caching=_flag(meta, "kv_cache", "enable_prefix_caching"),
        reserves_full_input=_flag(
            meta, "resolved_config", "scheduler_config", "scheduler_reserve_full_isl"
        ),
        memory_share=_positive(meta, "kv_cache", "gpu_memory_utilization"),
        policy=_text(meta, "resolved_config", "scheduler_config", "policy"),
    )


def _of_sglang(meta: dict[str, Any]) -> LoggedSettings:
    ratio = [_positive(meta, "new_token_ratio", name) for name in ("init", "min")]
    tokens, page = _count(meta, "kv_tokens"), _count(meta, "page_size")
    return LoggedSettings(
        version=_text(meta, "version"),
        device=_text(meta, "gpu"),
        model=_text(meta, "model"),
        capacity=tokens,
        blocks=None if tokens is None or page is None else tokens // page,
        block_size=page,
        max_num_seqs=_count(meta, "max_running_requests"),
        max_num_batched_tokens=_count(meta, "chunked_prefill_size"),
        prefix_caching=_flag(meta, "radix_cache"),
        conservativeness=_positive(meta, "schedule_conservativeness"),
        new_token_ratio=None if None in ratio else (ratio[0] or 0.0, ratio[1] or 0.0),
        clip_max_new_tokens=_count(meta, "new_token_ratio", "clip_max_new_tokens"),
        ignore_eos="ignore_eos" in (_text(meta, "workload") or "") or None,
        memory_share=_positive(meta, "mem_fraction_static"),
        policy=_text(meta, "schedule_policy"),
    )


def _at(meta: dict, *keys: str) -> object:
    """What stands under keys within keys, or under the last of them alone."""
    nested = inside(meta, *keys)
    return meta.get(keys[-1]) if nested is None else nested


def _count(meta: dict, *keys: str, least: int = 1) -> int | None:
    value = _at(meta, *keys)
    if value is not None and (type(value) is not int or not least <= value <= _MOST):
        allowed = f"a whole number from {least} to {_MOST:.0e} in meta.json"
        raise InputError(".".join(keys), value, allowed)
    return value


def _positive(meta: dict, *keys: str) -> float | None:
    value = _at(meta, *keys)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _MOST:
        allowed = f"a number above 0, up to {_MOST:.0e}, in meta.json"
        raise InputError(".".join(keys), value, allowed)
    return float(value)


def _flag(meta: dict, *keys: str) -> bool | None:
    value = _at(meta, *keys)
    if value is not None and type(value) is not bool:
        raise InputError(".".join(keys), value, "true or false in meta.json")
    return value


def _text(meta: dict, *keys: str) -> str | None:
    value = _at(meta, *keys)
    if value is not None and type(value) is not str:
        raise InputError(".".join(keys), value, "text in meta.json")
    return None if value is None else printable(value)
