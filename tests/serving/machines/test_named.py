"""Clocks by name: what they say of themselves, what is modelled, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fluidkv.answers.replay.source import read_source
from fluidkv.errors import InputError
from fluidkv.logs.read import read_log
from fluidkv.serving.clock import IterationClock, require_prefill
from fluidkv.serving.clock_fit.fit import fit_clock
from fluidkv.serving.clock_fit.points import tick_points
from fluidkv.serving.machines.against import (
    cautions_of,
    caveat_of,
    compared,
    error_range,
    modelled_caveat,
    pool_caveat,
    pools,
)
from fluidkv.serving.machines.efficiencies import bar, fitted_clock
from fluidkv.serving.machines.gpus import gpu_named
from fluidkv.serving.machines.models import model_named, stored_bytes
from fluidkv.serving.machines.named import CLOCKS, Validity, known, named_clock, outside
from fluidkv.serving.machines.pool import kv_tokens_left
from fluidkv.serving.machines.roofline import (
    BANDWIDTH_SHARE,
    STEP_S,
    batch_limit,
    modelled_clock,
)
from fluidkv_papers.measured.instances.sglang_study import fitted

LLAMA, RTX = model_named("llama-3.1-8b"), gpu_named("rtx-4090")


def test_every_named_clock_says_whose_it_is():
    for name, named in CLOCKS.items():
        assert named_clock(name.upper()) is named
        assert named.name == name == named.clock.name
        assert named.source
        if named.clock.unit == "s":
            assert model_named(named.model).name == named.model
            assert gpu_named(named.gpu).name == named.gpu


def test_a_name_does_not_count_where_clocks_are_compared():
    clock = CLOCKS["iteration"].clock
    assert clock == IterationClock.iterations()
    assert hash(clock) == hash(IterationClock.iterations())


def test_the_modelled_clock_counts_bytes_and_operations():
    """By hand: Llama-3.1-8B on an RTX 4090, 1,008 GB/s and 165.2 TFLOP/s."""
    clock = modelled_clock(LLAMA, RTX, bandwidth_share=1, flops_share=1, step_s=0)
    assert clock.base == pytest.approx(2 * (6_979_321_856 + 128_256 * 4096) / 1008e9)
    assert clock.per_kv_token == pytest.approx(131_072 / 1008e9)
    assert clock.per_prefill_token == pytest.approx(2 * 6_979_321_856 / 165.2e12)
    assert clock.per_prefill_pair == pytest.approx(4 * 4096 * 32 / 165.2e12)
    named = named_clock("llama-3.1-8b@rtx-4090").clock
    assert named.durations == pytest.approx(modelled_clock(LLAMA, RTX).durations, rel=1e-3)
    assert named.base == 0.01961  # four digits
    assert named_clock("modelled:meta-llama/Llama-3.1-8B@RTX 4090").name == "llama-3.1-8b@rtx-4090"


def test_eight_bits_halve_the_weights_and_double_the_operations():
    full, half = (named_clock(f"llama-3.1-8b{end}@l40s").clock for end in ("", "-fp8"))
    assert half.per_kv_token == full.per_kv_token
    assert half.per_prefill_token == pytest.approx(full.per_prefill_token / 2, rel=0.02)
    assert 0.5 < half.base / full.base < 0.6  # the output's embedding stays at 16 bits


def test_experts_are_computed_in_part_and_read_nearly_whole():
    experts, dense = (
        modelled_clock(model_named(n), gpu_named("h100")) for n in ("qwen3-30b-a3b", "qwen2.5-32b")
    )
    assert 0.8 < experts.base / dense.base < 1
    assert experts.per_prefill_token < dense.per_prefill_token / 10
    # docs/clock.md: 23 ms at any number of requests, of which a single one needs 3
    model, gpu = model_named("qwen3-30b-a3b"), gpu_named("h100")
    alone = model.weight_bytes * model.read(1) / (BANDWIDTH_SHARE * gpu.bandwidth) + STEP_S
    assert [round(1e3 * seconds) for seconds in (experts.base, alone)] == [23, 3]


def test_a_batch_at_the_limit_is_multiplied_as_fast_as_it_is_read():
    clock = modelled_clock(LLAMA, RTX, step_s=0)
    limit = batch_limit(LLAMA, RTX)
    each = clock.per_prefill_token
    assert limit * each <= clock.base < (limit + 1) * each


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("llama-3.1-70b@h100", "141 GB of them, 1 h100 85.9 GB"),
        ("llama-3.1-70b@l40s", "141 GB of them, l40s 48.3 GB"),
        ("llama-3.1-8b@2xa100-80", "nothing is fitted to several"),
        ("llama-3.1-8b@a100-80/sglang", "engine: one GPU and no engine"),
        ("llama-3.1-8b@3xh100", "gpus: 1, 2, 4 or 8"),
        ("llama-3.1-8b@h100/tgi", "engine: one of vllm, sglang, trtllm"),
        ("gpt-oss-20b@a100-80", "keep the last 128 only"),
        ("Qwen/Qwen3.5-27B@h100", "linear attention or state spaces"),
        ("lama-3.1-8b@h100", "model: llama-3.1-8b, "),
        ("llama-3.1-8b@h1000", "gpu: h100, "),
        (
            "vidur-llama3-8b",
            "vidur-llama3-8b-a100-prefill, vidur-llama3-8b-a100 (the nearest), or MODEL@GPU",
        ),
        ("sundial", "one of iteration, vllm"),
    ],
)
def test_what_is_not_known_or_not_modelled_is_refused(name, said):
    with pytest.raises(InputError) as caught:
        named_clock(name)
    assert caught.value.argument == "clock"
    assert said in caught.value.allowed


def test_one_gpu_may_be_counted():
    assert named_clock("llama-3.1-8b@1xh100").name == "llama-3.1-8b@h100"


def test_a_clock_without_prefill_says_no_first_token():
    free = CLOCKS["vidur-llama3-8b-a100"].clock
    with pytest.raises(InputError, match=r"--slo: got 'ttft_p99=2s'; .*D0:D1:D2"):
        require_prefill(free, "--slo", "ttft_p99=2s")
    require_prefill(replace(free, per_prefill_token=1e-4), "--slo", "ttft_p99=2s")
    require_prefill(replace(free, per_prefill_pair=1e-9), "--slo", "ttft_p99=2s")


def test_gpus_share_weights_and_heads_and_a_latent_cache_is_on_each():
    one, two, eight = (named_clock(f"llama-3.1-8b@{n}xh200").clock for n in (1, 2, 8))
    assert one.per_kv_token == pytest.approx(2 * two.per_kv_token, rel=1e-3)
    assert one.base > two.base > eight.base > one.base / 8  # launches are not shared
    four, all_eight = (named_clock(f"deepseek-v3@{n}xb200").clock for n in (4, 8))
    assert four.per_kv_token == pytest.approx(all_eight.per_kv_token, rel=1e-3)
    assert four.experts == pytest.approx(2 * all_eight.experts, rel=1e-3)
    assert four.expert_share == 8 / 256
    tokens = [
        kv_tokens_left(model_named("deepseek-v3"), gpu_named("h200"), gpus=n, overhead=0)
        for n in (8,)
    ]
    left = 0.9 * 141 * 2**30 - stored_bytes(model_named("deepseek-v3")) / 8
    assert tokens == [int(left // 70_272)]


def test_a_cache_of_eight_bits_is_an_option_of_its_own():
    full, half = (named_clock(f"llama-3.1-70b-fp8{end}@4xh200").clock for end in ("", "-kv8"))
    assert full.per_kv_token == pytest.approx(2 * half.per_kv_token, rel=1e-3)
    assert full.base == half.base


def test_a_step_of_experts_reads_those_that_its_requests_choose():
    """docs/clock.md: of Qwen3-30B-A3B one request reads a sixteenth."""
    clock = named_clock("qwen3-30b-a3b@h100").clock
    one, many = (clock.duration(0, 0, decoding=n) for n in (1, 64))
    assert one - clock.base - clock.per_request == pytest.approx(clock.experts * 8 / 128)
    assert many > clock.base + 0.98 * clock.experts


@pytest.mark.parametrize("name", ["gpt-oss-120b@h100", "gemma-3-27b@h100"])
def test_windows_cost_each_request_and_no_pool_is_said(name):
    named = named_clock(name)
    assert named.validity.kv_tokens is None
    assert "keep the last" in cautions_of(named)[0]
    model = model_named(named.model)
    full = replace(model, windowed=0)
    ours, all_of = (fitted_clock(each, gpu_named("h100")) for each in (model, full))
    share = (model.layers - model.windowed) / model.layers
    assert ours.per_kv_token == pytest.approx(share * all_of.per_kv_token)
    more = ours.per_request - all_of.per_request
    assert more == pytest.approx((1 - share) * all_of.per_kv_token * (model.window or 0))


def test_every_fitted_clock_says_its_bars():
    for name in ("llama-3.1-70b-fp8@4xh200/trtllm", "llama-4-scout-17b-16e@4xh200"):
        named = named_clock(name)
        model, gpu = model_named(named.model), gpu_named(named.gpu)
        text = caveat_of(named)
        for metric in ("tpot", "throughput", "ttft"):
            found = bar(model, gpu, metric)
            assert f"{found.mean:.0%} off on average, 90 % of them {found.low:.2f}" in text
    assert "as this one is" in text
    assert named_clock("deepseek-r1@8xh200/sglang").name == "deepseek-r1@8xh200/sglang"


def test_a_clock_is_known_by_its_name_and_its_numbers():
    for named in (CLOCKS["vllm-llama3.1-8b-rtx4090"], named_clock("qwen3-8b@h100")):
        assert known(named.clock) == named
        assert known(replace(named.clock, per_kv_token=0.0)) is None
    assert known(IterationClock(1.0)) is None
    assert known(IterationClock(1.0, name="mine")) is None


def test_what_lies_outside_is_said():
    holds = Validity(128, (1000, 40_000), 2048)
    assert outside(holds, running=128, kv_tokens=40_000, prefill_tokens=2048) == ()
    assert outside(holds, kv_tokens=10) == ()  # a run begins empty
    said = outside(holds, running=300, kv_tokens=50_000, prefill_tokens=8192)
    assert said[0] == "300 requests run at once, and the clock holds up to 128"
    assert ["40,000" in said[1], "2,048" in said[2]] == [True, True]
    assert outside(Validity(), running=1e9, kv_tokens=1e9, prefill_tokens=1e9) == ()


def test_the_recorded_steps_are_those_of_their_clocks():
    """The rows of servers that have a named clock."""
    for row in compared():
        named = [
            each
            for each in CLOCKS.values()
            if each.gpu == row.gpu and each.clock.prefills and each.model == row.model
        ]
        for each in named:
            prefill = row.what == "prefill"
            own = each.clock.per_prefill_token if prefill else each.clock.duration(row.kv_tokens, 0)
            assert row.measured_s == pytest.approx(own, rel=1e-3)
    assert {row.server for row in compared() if row.held_out} == {"vllm-rtxpro6000"}


def test_the_caveat_says_the_range_of_the_table():
    low, high, servers = error_range("step")
    inside = [row.error for row in compared() if row.what == "step" and row.inside]
    assert (low, high) == (min(inside), max(inside))
    assert f"of {servers} servers measured or profiled" in modelled_caveat()
    outside_it = [row for row in compared() if not row.inside]
    assert [(row.running, row.error < low) for row in outside_it] == [(256, True)]


def test_the_clock_named_after_the_vllm_log_is_its_fit(traces_dir):
    log = read_log(traces_dir / "vllm_rtx4090_llama31_8b").timed()
    fit = fit_clock(tick_points(**log.clock_arrays()))
    named = CLOCKS["vllm-llama3.1-8b-rtx4090"]
    # Four digits are named, three of d2.
    assert named.clock.durations == pytest.approx(fit.clock.durations, rel=1e-3)
    assert named.validity.kv_tokens == pytest.approx(fit.kv_tokens, abs=1)


@pytest.fixture(scope="module")
def sglang(traces_dir) -> Path:
    folder = traces_dir / "sglang_rtx4090_qwen3_4b"
    if not (folder / "decode_log.csv").is_file():
        pytest.skip(f"no real traces: FLUIDKV_TRACES names no folder with {folder.name}")
    return folder


def test_the_clock_named_after_the_sglang_log_is_its_fit(sglang):
    fit = fitted(read_source(sglang))
    named = CLOCKS["sglang-qwen3-4b-rtx4090"]
    # Four digits are named, three of d2.
    assert named.clock.durations == pytest.approx(fit.clock.durations, rel=1e-3)
    assert len(fit) == 110
    said = json.loads((sglang / "meta.json").read_text())["step_time_ms"]
    assert "11.0 @1," in said
    assert "24.0 @68" in said
    most, least = (
        row.modelled_s for row in compared() if row.engine == "SGLang 0.5.18" and row.what == "step"
    )
    assert (round(most / 0.024 - 1, 2), round(least / 0.011 - 1, 2)) == (0.12, 0.0)
    assert named.validity.kv_tokens == pytest.approx(fit.kv_tokens, abs=1)


def test_the_caveat_of_memory_is_the_range_of_its_table():
    errors = [row.error for row in pools()]
    assert min(errors) > -0.15
    assert max(errors) < 0.05
    assert f"{min(errors):+.0%} to {max(errors):+.0%} off" in pool_caveat()
    for row in pools():
        model, gpu = model_named(row.model), gpu_named(row.gpu)
        assert row.modelled == kv_tokens_left(model, gpu, utilisation=row.utilisation)


def test_no_room_for_a_cache_is_refused():
    with pytest.raises(InputError, match="a GPU with room for a cache"):
        kv_tokens_left(LLAMA, gpu_named("l4"), utilisation=0.6)
