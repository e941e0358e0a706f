"""The server's settings from meta.json; what is not there is None, what is wrong is said."""

import json
from pathlib import Path

import pytest

from fluidkv.errors import InputError
from fluidkv.traces.vllm_meta import VllmServer, read_vllm_server

LOG = "vllm_rtx4090_llama31_8b"


def written(tmp_path: Path, meta) -> Path:
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    return tmp_path


def test_settings_of_the_measured_log(traces_dir) -> None:
    server = read_vllm_server(traces_dir / LOG)
    assert server == VllmServer(
        version="0.19.0",
        device="NVIDIA GeForce RTX 4090",
        blocks=2587,
        block_size=16,
        max_num_seqs=256,
        max_num_batched_tokens=2048,
        prefix_caching=True,
        reserves_full_input=True,
    )
    assert read_vllm_server(traces_dir / LOG / "requests.jsonl") == server


def test_what_is_not_there_is_none(tmp_path) -> None:
    assert read_vllm_server(tmp_path) == VllmServer()
    assert read_vllm_server(written(tmp_path, {"kv_cache": 3})) == VllmServer()


def test_names_are_fit_to_be_shown(tmp_path) -> None:
    meta = {"vllm_version": "0\x1b[2J", "hardware": {"device_name": "\ud800[/x]"}}
    server = read_vllm_server(written(tmp_path, meta))
    assert (server.version, server.device) == ("0\\x1b[2J", "\\ud800[/x]")


@pytest.mark.parametrize(
    ("meta", "said"),
    [
        ([], "one JSON object"),
        ({"kv_cache": {"num_gpu_blocks": 1}}, "kv_cache.num_gpu_blocks"),
        ({"kv_cache": {"block_size": "16"}}, "kv_cache.block_size"),
        ({"kv_cache": {"enable_prefix_caching": 1}}, "true or false"),
        ({"vllm_version": 0.19}, "vllm_version"),
        ({"kv_cache": {"num_gpu_blocks": 10**400}}, "kv_cache.num_gpu_blocks: got about|1000"),
    ],
)
def test_wrong_settings_are_named(tmp_path, meta, said) -> None:
    with pytest.raises(InputError, match=said):
        read_vllm_server(written(tmp_path, meta))
