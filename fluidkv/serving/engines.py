"""The engines that we know, each tied to a version.

Sources: Congestion, section 2.2 (`restart`); WAIT, sections 2.4, 2.6, 4.1 and 6 (`fcfs-...`);
per-step records of vLLM's and Vidur's own schedulers, which `tests/serving/records/test_replay.py`
replays; the schedulers of SGLang and TensorRT-LLM as their public sources state them, one test a
rule in `tests/serving/test_rules.py`.
"""

from dataclasses import replace

from fluidkv.errors import InputError
from fluidkv.serving.rules import (
    Allocation,
    EngineRules,
    Gate,
    Growth,
    Guard,
    Keeps,
    Requeue,
    Restore,
    Victim,
)

RESTART = EngineRules(
    name="restart",
    version="(Congestion, section 2)",
    victim=Victim.LEAST_PROGRESSED,
    keeps=Keeps.NOTHING,
    requeue=Requeue.HEAD,
    reserved_tokens=1,
    admits_after_eviction=True,
)
"""Least progressed first; the evicted lose all progress; admission fills memory.

The paper leaves open who of one stage goes first and where the evicted wait: the one admitted last,
and the head of the queue, so that requests stay in their order of arrival.
"""

_VLLM_FLAGS = (
    ("max_num_seqs", "--max-num-seqs"),
    ("max_num_batched_tokens", "--max-num-batched-tokens"),
)

VLLM = EngineRules(
    name="vllm",
    version="0.33.0",
    victim=Victim.LAST_ADMITTED,
    keeps=Keeps.OUTPUTS,
    requeue=Requeue.HEAD,
    in_turn=True,
    flags=(*_VLLM_FLAGS, ("watermark", "--watermark")),
)
VLLM_0_11 = replace(
    VLLM, name="vllm-0.11", version="0.11", gate=Gate.FIRST_CHUNK, flags=_VLLM_FLAGS
)
"""vLLM before the full-input gate and the watermark."""

VLLM_PRIORITY = replace(
    VLLM,
    name="vllm-priority",
    victim=Victim.LEAST_URGENT,
    requeue=Requeue.BY_PRIORITY,
)
"""vLLM with `--scheduling-policy priority`: who waits stands in the order of priority and arrival,
and of those who run the last in that order goes."""

VLLM_LCF = replace(
    VLLM,
    name="vllm-lcf",
    version="(pull request 53723, 31 August 2026)",
    victim=Victim.LEAST_COMPUTED,
    asker_stays=True,
)
"""A proposal for vLLM, `preemption_victim="lcf"`: who has computed least goes, but not who asks."""

SGLANG = EngineRules(
    name="sglang",
    version="0.5.23",
    victim=Victim.FEWEST_OUTPUTS,
    keeps=Keeps.OUTPUTS,
    requeue=Requeue.TAIL,
    gate=Gate.RATIO,
    prefill_alone=True,
    flags=(
        ("max_num_seqs", "--max-running-requests"),
        ("max_num_batched_tokens", "--chunked-prefill-size"),
    ),
)

VIDUR_SARATHI = EngineRules(
    name="vidur-sarathi",
    version="7d47513",
    victim=Victim.LAST_ADMITTED,
    keeps=Keeps.OUTPUTS,
    requeue=Requeue.HEAD,
    growth=Growth.ONE_FREE,
    guard=Guard.ALWAYS,
    admits_after_eviction=True,
)

_TRTLLM_FLAGS = (
    ("max_num_seqs", "--max_batch_size"),
    ("max_num_batched_tokens", "--max_num_tokens"),
)
TRTLLM_MAX_UTILIZATION = EngineRules(
    name="trtllm-max-utilization",
    version="1.0",
    victim=Victim.LAST_ADMITTED,
    keeps=Keeps.OUTPUTS,
    requeue=Requeue.HEAD,
    flags=_TRTLLM_FLAGS,
)
TRTLLM_NO_EVICT = replace(TRTLLM_MAX_UTILIZATION, name="trtllm-no-evict", gate=Gate.PEAK)
"""GUARANTEED_NO_EVICT: input + maximum output is reserved at admission."""

FCFS_RUNNING_FIRST = EngineRules(
    name="fcfs-running-first",
    version="(WAIT, section 6)",
    victim=Victim.LAST_ADMITTED,
    keeps=Keeps.NOTHING,
    requeue=Requeue.TAIL,
    admits_after_eviction=True,
)
"""First come, first served; the last admitted goes, loses everything and queues as a new arrival.

What the paper means by Sarathi. It leaves open whether an iteration that evicts also admits. Here
it does: its FCFS takes prompts "immediately upon arrival", and nothing in section 2.6 forbids it.
"""

FCFS_NEW_FIRST = replace(
    FCFS_RUNNING_FIRST,
    name="fcfs-new-first",
    admits_after_eviction=False,
    newcomers_first=True,
)
"""The same, but whoever waits goes before whoever runs, as in Example 2: what it means by vLLM.

No vLLM that we know does this: it evicts for the growth of those that run, never to admit.
"""

RLP = EngineRules(
    name="rlp",
    version="(CacheOPT, section 2.1)",
    victim=Victim.LAST_ADMITTED,
    keeps=Keeps.OUTPUTS,
    requeue=Requeue.HEAD,
    allocation=Allocation.ESTIMATE_THEN_MORE,
)
"""Predicted outputs and a padding are given; who outgrows them is preempted and given more.

The padding of who is admitted first is in `Requests.estimated_output`, later ones in
`Limits.more_outputs`. The paper leaves open where the preempted wait and whether they keep their
outputs: as in vLLM.
"""

S3 = replace(RLP, name="s3", allocation=Allocation.ESTIMATE_THEN_DOUBLE, restore=Restore.SWAP)
"""The bound of a bucket is given; who outgrows it is preempted, and its demand is doubled.

Demand is what the paper's Table 2 calls so: prompt and estimated output together. It swaps by
default (section 2.5); what that costs is in `Limits.swap`.
"""

ENGINES: dict[str, EngineRules] = {
    rules.name: rules
    for rules in (
        RESTART,
        VLLM,
        VLLM_0_11,
        VLLM_PRIORITY,
        VLLM_LCF,
        SGLANG,
        VIDUR_SARATHI,
        TRTLLM_MAX_UTILIZATION,
        TRTLLM_NO_EVICT,
        FCFS_RUNNING_FIRST,
        FCFS_NEW_FIRST,
        RLP,
        S3,
    )
}


CACHE = "+cache"
"""After the name of an engine: with its prefix cache."""

_CACHED = tuple(
    f"{rules.name}{CACHE}" for rules in (VLLM, VLLM_0_11, VLLM_PRIORITY, VLLM_LCF, SGLANG)
)
WITH_CACHE = f"{', '.join(_CACHED[:-1])} or {_CACHED[-1]}"
"""The engines that have one, as an error lists them."""


def engine(name: str | EngineRules) -> EngineRules:
    """The rules of a named engine; rules are returned as they are.

    Raises:
        InputError: a name that is not in `ENGINES`.
    """
    if isinstance(name, EngineRules):
        return name
    if name in _CACHED:
        rules = name.removesuffix(CACHE)
        raise InputError("engine", name, f"{rules}, its rules alone; `serve` takes {name}")
    if not isinstance(name, str) or name not in ENGINES:
        raise InputError("engine", name, f"one of {', '.join(ENGINES)}")
    return ENGINES[name]


def with_cache(name: str | EngineRules) -> tuple[EngineRules, bool]:
    """The rules of an engine, and whether it has a prefix cache.

    Raises:
        InputError: an unknown name; a cache for an engine other than vLLM and SGLang.
    """
    if not isinstance(name, str) or not name.endswith(CACHE):
        return engine(name), False
    if name not in _CACHED:
        raise InputError("engine", name, WITH_CACHE)
    return ENGINES[name.removesuffix(CACHE)], True
