"""Engines as users write them: names, caches, versions, settings."""

from fractions import Fraction

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.runs.requests import Requests
from fluidkv.serving.caching.run import serve_sglang
from fluidkv.serving.engines import (
    ENGINES,
    SGLANG,
    VLLM,
    VLLM_0_11,
    VLLM_PRIORITY,
    engine,
    served_engine,
    with_cache,
)
from fluidkv.serving.limits import Limits
from fluidkv.serving.rules import Gate, NewTokenRatio, RatioReset, Victim
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server
from fluidkv.serving.sglang_settings import SglangSettings
from fluidkv.serving.versions import in_logged_version

CROWD = Requests([20] * 120, [20] * 120)


def test_a_name_is_its_preset_and_rules_stand_for_themselves() -> None:
    for name, rules in ENGINES.items():
        assert served_engine(name).rules is rules
        assert not served_engine(name).caching
        assert served_engine(rules).rules is rules
    cached = served_engine("vllm-priority+cache")
    assert (cached.rules, cached.caching) == (VLLM_PRIORITY, True)
    assert served_engine(cached) is cached
    assert with_cache("sglang+cache") == (SGLANG, True)


def test_settings_of_sglangs_scheduler_reach_it() -> None:
    text = "sglang+cache:conservativeness=0.3,mixed-chunk=true,overlap=false"
    settings = served_engine(text).settings_of(Limits(700, max_num_batched_tokens=64))
    wanted = SglangSettings(
        700, chunked_prefill_size=64, conservativeness=0.3, mixed_chunk=True, overlap=False
    )
    assert settings == wanted
    limits = Limits(700, max_num_batched_tokens=64)
    by_text = serve(CROWD, Server(text, limits))
    by_text = by_text.drop_vars("capacity")  # of runs: only `serve` has it
    own = serve_sglang(CROWD, wanted)
    assert by_text.drop_attrs().identical(own.drop_attrs())
    usual = serve(CROWD, Server("sglang+cache", limits))
    assert not np.array_equal(by_text.preempt.sum(), usual.preempt.sum())


def test_what_the_server_has_anyway_is_no_other_engine() -> None:
    assert served_engine("sglang+cache:conservativeness=1,overlap=true") == served_engine(
        "sglang+cache"
    )
    assert served_engine("sglang+cache:schedule-conservativeness=0.5") == served_engine(
        "sglang+cache:conservativeness=0.5"
    )
    assert served_engine("sglang:conservativeness=1.0").rules == SGLANG


@pytest.mark.parametrize(("said", "start"), [("0.5", "0.35"), ("1.3", "0.91"), ("7", "1")])
def test_conservativeness_scales_the_ratio_of_the_short_form(said: str, start: str) -> None:
    ratio = served_engine(f"sglang:conservativeness={said}").rules.ratio
    assert ratio == NewTokenRatio(Fraction(start), Fraction(start) * Fraction(14, 100))


def test_settings_of_rules_are_rules() -> None:
    assert served_engine("vllm:reserve_full_isl=false").rules.gate is Gate.FIRST_CHUNK
    assert served_engine("vllm+cache:victim=most-blocks").rules.victim is Victim.MOST_BLOCKS
    short = served_engine("sglang:reset=estimate,clip=100").rules.ratio
    assert (short.reset, short.clip) == (RatioReset.ESTIMATE, 100)
    assert engine("vllm:reserve_full_isl=false").gate is Gate.FIRST_CHUNK


def test_a_version_has_the_rules_that_are_known_of_it_and_says_what_is_not() -> None:
    assert served_engine("vllm-0.33.0").rules is VLLM
    assert served_engine("vllm-0.11.2").rules is VLLM_0_11
    old = served_engine("vllm-0.19+cache")
    assert old.schedules_as(served_engine("vllm"))
    assert not old.schedules_as(served_engine("vllm-0.11"))
    assert old.label == "vllm-0.19+cache"
    assert old.note.startswith("vllm-0.19: the rules of vllm 0.33.0; by its source the whole input")
    assert served_engine("sglang-0.5.18+cache").own_scheduler
    assert served_engine("sglang-0.5.18").note
    assert not served_engine("sglang-0.5.23").note
    now = serve(CROWD, Server("vllm-0.19", Limits(700)))
    assert now.drop_attrs().identical(serve(CROWD, Server("vllm", Limits(700))).drop_attrs())


@pytest.mark.parametrize(
    ("text", "gate", "said"),
    [
        ("vllm-0.6.3", Gate.FIRST_CHUNK, "older than any that was compared"),
        ("vllm-0.11.2", Gate.FIRST_CHUNK, ""),
        ("vllm-0.12", Gate.FIRST_CHUNK, "the rules of vllm 0.11; by its source a first chunk"),
        ("vllm-0.18.1", Gate.FIRST_CHUNK, "the rules of vllm 0.11; by its source a first chunk"),
        ("vllm-0.19.0", Gate.FULL_INPUT, "no watermark before 0.24.0"),
        ("vllm-0.23", Gate.FULL_INPUT, "no watermark before 0.24.0"),
        ("vllm-0.24", Gate.FULL_INPUT, "the same gate and watermark"),
        ("vllm-0.32.0", Gate.FULL_INPUT, "the same gate and watermark"),
        ("vllm-0.40.1", Gate.FULL_INPUT, "newer than any that was compared"),
    ],
)
def test_a_version_of_vllm_has_the_gate_of_its_source(text: str, gate: Gate, said: str) -> None:
    """`scheduler_reserve_full_isl` is in 0.19.0, not in 0.18.1; `watermark` is in 0.24.0."""
    found = served_engine(text)
    assert found.rules.gate is gate
    assert said in found.note
    assert bool(said) is bool(found.note)


@pytest.mark.parametrize(
    ("text", "in_full"),
    [
        ("sglang-0.4.6+cache", False),
        ("sglang-0.5.21+cache", False),
        ("sglang-0.5.22+cache", True),
        ("sglang+cache", True),
        ("sglang-0.6+cache", True),
    ],
)
def test_sglang_reserves_in_full_for_who_ignores_the_end_since_0_5_22(text, in_full) -> None:
    settings = served_engine(f"{text}:ignore_eos=true").settings_of(Limits(100))
    assert settings.reserves_in_full is in_full
    assert not served_engine(text).settings_of(Limits(100)).reserves_in_full


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("vlm", "vllm (the nearest)"),
        ("quite another", "one of restart, vllm,"),
        ("trtllm-no-evict+cache", "vllm+cache, vllm-0.11+cache"),
        ("vllm:watermark=0.1", "without watermark; vllm has reserve_full_isl, victim"),
        ("trtllm-no-evict:chunks=1", "without chunks; trtllm-no-evict has no settings"),
        ("sglang+cache:mem_fraction_static=0.8", "without mem_fraction: it is memory"),
        ("sglang+cache:max-running-requests=8", "without max_running: it is max_num_seqs"),
        ("sglang+cache:conservativeness=0", "conservativeness: a finite number above 0"),
        ("sglang+cache:overlap=1", "overlap: true or false"),
        ("sglang+cache:clip=1.5", "clip: a whole number"),
        ("sglang+cache:conservativeness=much", "conservativeness: a number"),
        ("sglang:conservativeness=1e-6", "conservativeness: at least 0.002"),
        ("vllm:victim=fastest", "victim: one of last-admitted,"),
        ("sglang+cache:retraction=priority", "retraction: length, without priority_scheduling"),
        ("sglang+cache:retraction=random", "retraction: length or priority"),
        ("sglang-0.5.18+cache:retraction=length", "without retraction; sglang-0.5.18+cache has"),
        ("vllm:", "NAME:SETTING=VALUE"),
        ("vllm:victim", "NAME:SETTING=VALUE"),
        ("vllm:victim=random,victim=random", "NAME:SETTING=VALUE"),
    ],
)
def test_another_text_is_refused_with_what_is_near(text: str, allowed: str) -> None:
    with pytest.raises(InputError) as caught:
        served_engine(text)
    assert caught.value.argument == "engine"
    assert caught.value.allowed.startswith(allowed)


def test_rules_alone_have_no_cache() -> None:
    with pytest.raises(InputError, match="its rules alone"):
        engine("sglang+cache:conservativeness=0.3")


def test_a_build_without_tags_is_no_old_version():
    assert in_logged_version("vllm+cache", "vllm", "0.1.dev1+g6d8ef2a") == "vllm+cache"
    assert in_logged_version("vllm+cache", "vllm", "0.19.1.dev7") == "vllm-0.19.1+cache"


def test_without_a_tree_prompts_that_begin_alike_are_not_found():
    names = ("vllm+cache", "sglang+cache", "sglang+cache:radix=false", "sglang")
    assert [served_engine(name).finds_prefixes for name in names] == [True, True, False, False]
