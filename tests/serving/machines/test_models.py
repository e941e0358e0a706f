"""Shapes of models against the counts that they are published with, and names as people write."""

from collections.abc import Callable

import pytest

from fluidkv.errors import InputError
from fluidkv.serving.machines.gpus import gpu_named, known_gpus
from fluidkv.serving.machines.models import (
    known_models,
    kv_bytes_per_token,
    model_named,
    stored_bytes,
)


@pytest.mark.parametrize("name", known_models())
def test_matrices_sum_to_the_published_parameters(name: str) -> None:
    model = known_models()[name]
    # Norms, biases and positions are left out: a thousandth at most, and four digits are given.
    assert model.summed == pytest.approx(model.parameters, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "bytes_"),
    [
        ("llama-3.1-8b", 131_072),
        ("llama-2-7b", 2**19),
        ("qwen3-4b", 147_456),
        ("deepseek-v3", 61 * (512 + 64) * 2),
        ("kimi-k2.5-kv8", 61 * (512 + 64)),
    ],
)
def test_bytes_of_a_token(name: str, bytes_: int) -> None:
    assert kv_bytes_per_token(name) == kv_bytes_per_token(model_named(name)) == bytes_


@pytest.mark.parametrize(
    ("gib", "gpus", "tokens"),
    [(5.01, 1, 93_872), (24.83, 1, 464_848), (11.03, 2, 412_944), (12.02, 2, 450_192)],
)
def test_gib_of_measured_servers_are_their_tokens(gib: float, gpus: int, tokens: int) -> None:
    """Qwen2-7B on vLLM 0.10.1.1 (`one_class_engines.json`): GiB a GPU, printed to two digits."""
    per_gpu = kv_bytes_per_token("Qwen2-7B-Instruct") // gpus  # two GPUs have half the heads each
    low, high = ((gib + off) * 2**30 / per_gpu for off in (-0.005, 0.005))
    assert low <= tokens <= high


def test_a_model_that_forgets_has_no_bytes_a_token() -> None:
    with pytest.raises(InputError, match="12 of the 24 layers of gpt-oss-20b keep the last 128"):
        kv_bytes_per_token("gpt-oss-20b")


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("meta-llama/Meta-Llama-3-8B", "llama-3-8b"),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b"),
        ("meta-llama/Llama-2-7b-hf", "llama-2-7b"),
        ("llama-3.1-70b-fp8", "llama-3.1-70b-fp8"),
        ("deepseek-ai/DeepSeek-R1-0528", "deepseek-r1"),
        ("nvidia/DeepSeek-V3.1-NVFP4", "deepseek-v3.1-nvfp4"),
        ("Qwen/Qwen3-235B-A22B-Instruct-2507-FP8", "qwen3-235b-a22b-fp8"),
        ("google/gemma-3-27b-it", "gemma-3-27b"),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama-4-scout-17b-16e"),
    ],
)
def test_models_are_known_as_their_hub_has_them(written: str, name: str) -> None:
    assert model_named(written).name == name


@pytest.mark.parametrize(
    ("name", "billions", "active", "gigabytes"),
    [
        ("deepseek-v3", 671.0, 37.6, 672.8),  # its report: 671B, 37B active
        (
            "gpt-oss-120b",
            116.8,
            5.7,
            65.2,
        ),  # its card: 60.8 GiB
        ("qwen3-235b-a22b", 235.1, 22.2, 470.2),
        ("minimax-m2.5", 228.7, 11.0, 229.9),
        ("llama-4-maverick-17b-128e", 400.7, 17.2, 801.4),
    ],
)
def test_experts_are_many_and_few_are_active(
    name: str, billions: float, active: float, gigabytes: float
) -> None:
    """Both embeddings counted among the active ones, as most cards do."""
    model = model_named(name)
    assert model.parameters / 1e9 == pytest.approx(billions, abs=0.05)
    assert (model.computed + 2 * model.embedding) / 1e9 == pytest.approx(active, abs=0.05)
    assert stored_bytes(model) / 1e9 == pytest.approx(gigabytes, abs=0.1)


@pytest.mark.parametrize("name", ["Qwen/Qwen3-Next-80B-A3B", "mamba-2.8b", "nemotron-h-56b"])
def test_a_model_that_keeps_states_is_refused_in_a_line(name: str) -> None:
    with pytest.raises(InputError, match="a state for each request; give tokens"):
        model_named(name)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("rtx4090", "rtx-4090"),
        ("A100-SXM-80GB", "a100-80"),
        ("H100", "h100"),
    ],
)
def test_gpus_are_known_as_drivers_have_them(written: str, name: str) -> None:
    assert gpu_named(written).name == name


@pytest.mark.parametrize(
    ("look_up", "near"),
    [
        (lambda: model_named("lama-3.1-8b"), "llama-3.1-8b, "),
        (lambda: model_named("nonsense"), "one of llama-2-7b, "),
        (lambda: gpu_named("a100"), "a100-40, a100-80, a100-80-pcie (the nearest)"),
        (lambda: gpu_named("h-100"), "h100"),
    ],
)
def test_an_unknown_name_gets_those_near_it(look_up: Callable[[], object], near: str) -> None:
    with pytest.raises(InputError) as refused:
        look_up()
    assert near in refused.value.allowed


def test_experts_are_read_as_tokens_choose_them() -> None:
    model = model_named("qwen3-30b-a3b")
    one = model.computed + model.embedding
    assert model.read(1) == pytest.approx(one)  # the active ones
    assert model.read(1e6) == pytest.approx(model.in_layers + model.embedding)  # all
    dense = model_named("qwen3-8b")
    assert dense.read(1) == dense.read(1e6) == dense.in_layers + dense.embedding


@pytest.mark.parametrize("name", known_gpus())
def test_eight_bits_are_twice_as_fast_as_sixteen(name: str) -> None:
    gpu = known_gpus()[name]
    assert gpu.flops_8 is None or gpu.flops_8 == pytest.approx(2 * gpu.flops_16, rel=0.02)


@pytest.mark.parametrize(
    ("name", "mib"),
    [
        *(("l4", 23_034), ("l40s", 46_068), ("a40", 46_068)),
        *(("rtx-4090", 24_564), ("h100", 81_559), ("h200", 143_771), ("a100-80", 81_920)),
    ],
)
def test_memory_is_what_drivers_report(name: str, mib: int) -> None:
    """`nvidia-smi`, codes that correct errors on where the card has them."""
    assert gpu_named(name).memory / 2**20 == pytest.approx(mib, rel=0.02)
