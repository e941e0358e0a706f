"""How the vLLM server of a measured log was set: the parts of its meta.json that a replay needs."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fluidkv.errors import InputError
from fluidkv.reading import json_object
from fluidkv.text import printable

META_FILE = "meta.json"
_MOST = 10**15  # no server has so much of anything; below it float64 holds every integer

NULL_BLOCKS = 1
"""vLLM's V1 block pool sets one block aside that no request gets; `num_gpu_blocks` counts it."""


@dataclass(frozen=True)
class VllmServer:
    """Settings as the engine resolved them. None: the file does not say.

    Args:
        version: of vLLM.
        device: as the driver names it.
        blocks: that requests can hold: `num_gpu_blocks` less `NULL_BLOCKS`.
        block_size: tokens a block.
        max_num_seqs, max_num_batched_tokens: caps.
        prefix_caching: whether blocks are found again by their content.
        reserves_full_input: whether the whole current length must fit on admission.
    """

    version: str | None = None
    device: str | None = None
    blocks: int | None = None
    block_size: int | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    prefix_caching: bool | None = None
    reserves_full_input: bool | None = None


def read_vllm_server(source: Path | str) -> VllmServer:
    """The settings in the meta.json of a log; nothing but None where there is no such file.

    Args:
        source: the log folder, or a file in it.

    Raises:
        InputError: a meta.json that is no JSON object; a setting of another type than it has, or a
            count below 1 (below 2 for `num_gpu_blocks`).
    """
    meta = _meta(source)
    blocks = _count(meta, "kv_cache", "num_gpu_blocks", least=1 + NULL_BLOCKS)
    return VllmServer(
        version=_text(meta, "vllm_version"),
        device=_text(meta, "hardware", "device_name"),
        blocks=None if blocks is None else blocks - NULL_BLOCKS,
        block_size=_count(meta, "kv_cache", "block_size"),
        max_num_seqs=_count(meta, "engine_kwargs", "max_num_seqs"),
        max_num_batched_tokens=_count(meta, "engine_kwargs", "max_num_batched_tokens"),
        prefix_caching=_flag(meta, "kv_cache", "enable_prefix_caching"),
        reserves_full_input=_flag(
            meta, "resolved_config", "scheduler_config", "scheduler_reserve_full_isl"
        ),
    )


def bench_capacity(source: Path | str) -> int | None:
    """KV capacity of the engine that wrote the log: `kv_cache.num_kv_tokens` of its meta.json.

    Args:
        source: the log folder, or a file in it.

    Returns:
        Tokens; None where there is no meta.json, or it does not give the capacity.

    Raises:
        InputError: a meta.json that is no JSON object, or a capacity that is no count.
    """
    return _count(_meta(source), "kv_cache", "num_kv_tokens")


def _meta(source: Path | str) -> dict[str, Any]:
    """What meta.json holds; nothing where there is none."""
    log = Path(source)
    path = (log if os.path.isdir(log) else log.parent) / META_FILE
    if not os.path.lexists(path):
        return {}
    return json_object(path, "a meta.json that is one JSON object")


def _at(meta: object, *keys: str) -> object:
    for key in keys:
        meta = meta.get(key) if isinstance(meta, dict) else None
    return meta


def _count(meta: dict, *keys: str, least: int = 1) -> int | None:
    value = _at(meta, *keys)
    if value is not None and (type(value) is not int or not least <= value <= _MOST):
        allowed = f"a whole number from {least} to {_MOST:.0e} in meta.json"
        raise InputError(".".join(keys), value, allowed)
    return value


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
