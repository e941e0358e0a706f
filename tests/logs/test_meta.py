"""The server's settings from meta.json; what is not there is None, what is wrong is said."""

import json
from pathlib import Path

import pytest

from fluidkv.errors import InputError
from fluidkv.logs.meta import read_settings
from fluidkv.logs.settings import LoggedSettings

LOG = "vllm_rtx4090_llama31_8b"


def written(tmp_path: Path, meta) -> Path:
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    return tmp_path


def test_settings_of_the_measured_log(traces_dir) -> None:
    server = read_settings(traces_dir / LOG)
    assert server == LoggedSettings(
        version="0.19.0",
        device="NVIDIA GeForce RTX 4090",
        model="meta-llama/Llama-3.1-8B",
        capacity=41_408,  # 2,588 blocks of 16 tokens, the null block among them
        blocks=2587,
        block_size=16,
        max_num_seqs=256,
        max_num_batched_tokens=2048,
        max_model_len=32_768,
        prefix_caching=True,
        reserves_full_input=True,
        memory_share=0.9,
        policy="fcfs",
    )
    assert read_settings(traces_dir / LOG / "requests.jsonl") == server


def test_settings_of_the_measured_sglang_run(sglang_dir) -> None:
    settings = read_settings(sglang_dir)
    assert settings == LoggedSettings(
        version="0.5.18 (71de97b)",
        device="RTX 4090 24GB",
        model="Qwen/Qwen3-4B bf16",
        capacity=87_552,
        blocks=87_552,
        block_size=1,
        max_num_seqs=2048,
        max_num_batched_tokens=2048,
        prefix_caching=True,
        conservativeness=1.0,
        new_token_ratio=(0.7, 0.098),
        clip_max_new_tokens=4096,
        ignore_eos=True,
        policy="fcfs",
    )
    assert settings.usable_capacity == 87_552


def test_keys_of_vllm_may_lie_flat(tmp_path) -> None:
    """As those of SGLang do."""
    meta = {"engine": "vllm", "version": "0.19.0", "gpu": "H100", "num_gpu_blocks": 101}
    meta |= {"block_size": 32, "max_num_seqs": 64, "enable_prefix_caching": False}
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    settings = read_settings(tmp_path)
    assert (settings.version, settings.device) == ("0.19.0", "H100")
    assert (settings.blocks, settings.block_size, settings.max_num_seqs) == (100, 32, 64)
    assert settings.prefix_caching is False


def test_what_is_not_there_is_none(tmp_path) -> None:
    assert read_settings(tmp_path) == LoggedSettings()
    assert read_settings(written(tmp_path, {"kv_cache": 3})) == LoggedSettings()


def test_names_are_fit_to_be_shown(tmp_path) -> None:
    meta = {"vllm_version": "0\x1b[2J", "hardware": {"device_name": "\ud800[/x]"}}
    server = read_settings(written(tmp_path, meta))
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
        read_settings(written(tmp_path, meta))


def test_capacity_is_none_where_the_log_does_not_give_it(tmp_path: Path) -> None:
    assert read_settings(tmp_path).capacity is None
    for meta in ("{}", '{"kv_cache": null}', '{"kv_cache": {"num_kv_tokens": null}}'):
        (tmp_path / "meta.json").write_text(meta)
        assert read_settings(tmp_path).capacity is None
    (tmp_path / "meta.json").write_text('{"kv_cache": {"num_kv_tokens": 7}}')
    assert read_settings(tmp_path / "requests.jsonl").capacity == 7


@pytest.mark.parametrize("meta", ["", "{", "[]", "\0", '{"kv_cache": {"num_kv_tokens": 4'])
def test_broken_meta_is_refused(tmp_path: Path, meta: str) -> None:
    (tmp_path / "meta.json").write_text(meta)
    with pytest.raises(InputError, match=r"^source: "):
        read_settings(tmp_path)


@pytest.mark.parametrize("tokens", ["0", "-5", "4.5", '"41408"', "true", "9" * 400])
def test_capacity_that_is_no_number_of_tokens_is_refused(tmp_path: Path, tokens: str) -> None:
    (tmp_path / "meta.json").write_text(f'{{"kv_cache": {{"num_kv_tokens": {tokens}}}}}')
    with pytest.raises(InputError, match=r"^kv_cache\.num_kv_tokens: "):
        read_settings(tmp_path)
