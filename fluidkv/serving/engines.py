"""The engines that we know, each tied to a version.

Sources: Congestion, section 2.2 (`restart`); WAIT, sections 2.4, 2.6, 4.1 and 6 (`fcfs-...`);
per-step records of vLLM's and Vidur's own schedulers, which `tests/serving/records/test_replay.py`
replays; the schedulers of SGLang and TensorRT-LLM as their public sources state them, one test a
rule in `tests/serving/test_rules.py`.
"""

from dataclasses import replace

from fluidkv.errors import InputError
from fluidkv.serving.engine_text import CACHE as CACHE
from fluidkv.serving.engine_text import (
    ServedEngine,
    parts_of,
    with_settings,
)
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
from fluidkv.serving.versions import of_version
from fluidkv.text import nearest

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

>>> from fluidkv.serving.engines import RESTART
>>> run = fk.serve(fk.Requests([4, 4], [8, 8]), fk.Server(RESTART, fk.Limits(16)))
>>> run.evictions.values.tolist(), run.last_token.values.tolist()
([[0, 3]], [[8.0, 16.0]])
>>> RESTART.keeps.name
'NOTHING'
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
"""vLLM as of now: whoever was admitted last goes, and its cache is computed again.

>>> from fluidkv.serving import VLLM
>>> run = fk.serve(fk.Requests([4, 4], [8, 8]), fk.Server(VLLM, fk.Limits(16)))
>>> run.evictions.values.tolist(), run.last_token.values.tolist()
([[0, 1]], [[8.0, 11.0]])
>>> VLLM == fk.engine("vllm"), VLLM.flags[0]
(True, ('max_num_seqs', '--max-num-seqs'))
"""
VLLM_0_11 = replace(
    VLLM, name="vllm-0.11", version="0.11", gate=Gate.FIRST_CHUNK, flags=_VLLM_FLAGS
)
"""vLLM before the full-input gate and the watermark.

>>> from fluidkv.serving import VLLM
>>> from fluidkv.serving.engines import VLLM_0_11
>>> for rules in (VLLM, VLLM_0_11):
...     limits = fk.Limits(30, max_num_batched_tokens=5)
...     run = fk.serve(fk.Requests([10, 20], [8, 8]), fk.Server(rules, limits))
...     print(rules.gate.name, run.admitted.values.tolist(), run.evictions.sum().item())
...
FULL_INPUT [[0.0, 9.0]] 0
FIRST_CHUNK [[0.0, 2.0]] 1
"""

VLLM_PRIORITY = replace(
    VLLM,
    name="vllm-priority",
    victim=Victim.LEAST_URGENT,
    requeue=Requeue.BY_PRIORITY,
)
"""vLLM with `--scheduling-policy priority`: who waits stands in the order of priority and arrival,
and of those who run the last in that order goes.

>>> from fluidkv.serving import VLLM
>>> from fluidkv.serving.engines import VLLM_PRIORITY
>>> urgent_last = fk.Requests([4, 4], [8, 8], priority=[1, 0])
>>> for rules in (VLLM, VLLM_PRIORITY):
...     print(fk.serve(urgent_last, fk.Server(rules, fk.Limits(16))).evictions.values.tolist())
...
[[0, 1]]
[[1, 0]]
"""

VLLM_LCF = replace(
    VLLM,
    name="vllm-lcf",
    version="(pull request 53723, 31 August 2026)",
    victim=Victim.LEAST_COMPUTED,
    asker_stays=True,
)
"""A proposal for vLLM, `preemption_victim="lcf"`: who has computed least goes, but not who asks.

>>> from fluidkv.serving import VLLM
>>> from fluidkv.serving.engines import VLLM_LCF
>>> for rules in (VLLM, VLLM_LCF):
...     run = fk.serve(fk.Requests([4, 9, 5], [8, 8, 8]), fk.Server(rules, fk.Limits(25)))
...     print(run.evictions.values.tolist())
...
[[0, 1, 1]]
[[1, 1, 0]]
"""

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
        ("conservativeness", "--schedule-conservativeness"),
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

>>> from fluidkv.serving.engines import FCFS_RUNNING_FIRST
>>> run = fk.serve(fk.Requests([4, 4, 4], [8, 8, 8]), fk.Server(FCFS_RUNNING_FIRST, fk.Limits(16)))
>>> run.evictions.values.tolist(), run.last_token.values.tolist()
([[0, 1, 5]], [[8.0, 15.0, 22.0]])
"""

FCFS_NEW_FIRST = replace(
    FCFS_RUNNING_FIRST,
    name="fcfs-new-first",
    admits_after_eviction=False,
    newcomers_first=True,
)
"""The same, but whoever waits goes before whoever runs, as in Example 2: what it means by vLLM.

No vLLM that we know does this: it evicts for the growth of those that run, never to admit.

>>> from fluidkv.serving.engines import FCFS_NEW_FIRST
>>> requests = fk.Requests([4, 4], [8, 8], arrival=[0, 3])
>>> run = fk.serve(requests, fk.Server(FCFS_NEW_FIRST, fk.Limits(11)), iterations=40)
>>> run.evictions.values.tolist(), run.status.item()
([[9, 9]], 'HORIZON')
>>> FCFS_NEW_FIRST.may_cycle
True
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


_CACHED = (VLLM, VLLM_0_11, VLLM_PRIORITY, VLLM_LCF, SGLANG)
_WITH_CACHE = tuple(f"{rules.name}{CACHE}" for rules in _CACHED)
WITH_CACHE = f"{', '.join(_WITH_CACHE[:-1])} or {_WITH_CACHE[-1]}"
"""The engines that have one, as an error lists them."""


def served_engine(engine: str | EngineRules | ServedEngine) -> ServedEngine:
    """The engine of a text: "vllm", "vllm+cache", "sglang+cache:conservativeness=0.3", "vllm-0.19".

    A version without rules of its own has the nearest, and `note` says what differs. Rules stand
    for themselves, without a cache; a `ServedEngine` is returned as it is.

    Raises:
        InputError: an unknown name, and what is near it; a cache for an engine other than vLLM and
            SGLang; a setting that the engine does not have.

    Examples:
        >>> from fluidkv.serving import served_engine
        >>> engine = served_engine("sglang+cache:conservativeness=0.3")
        >>> engine.caching, engine.settings
        (True, (('conservativeness', 0.3),))
        >>> served_engine("vllm:victim=least-computed").rules.victim.name
        'LEAST_COMPUTED'
    """
    if isinstance(engine, ServedEngine):
        return engine
    if isinstance(engine, EngineRules):
        return ServedEngine(engine)
    if not isinstance(engine, str):
        raise InputError("engine", engine, f"one of {', '.join(ENGINES)}")
    name, caching, settings = parts_of("engine", engine)
    found = of_version(name, ENGINES)
    if found is None and name not in ENGINES:
        raise InputError("engine", engine, WITH_CACHE if caching else nearest(name, ENGINES))
    rules, note = found or (ENGINES[name], "")
    if caching and rules.name not in [each.name for each in _CACHED]:
        raise InputError("engine", engine, WITH_CACHE)
    bare = ServedEngine(rules, caching, text=engine.replace(" ", ""), note=note)
    return with_settings(bare, settings)


def engine(name: str | EngineRules) -> EngineRules:
    """The rules of a named engine; rules are returned as they are.

    Raises:
        InputError: what `served_engine` refuses; an engine with its cache.

    Examples:
        >>> fk.engine("vllm").victim.name, fk.engine("restart").victim.name
        ('LAST_ADMITTED', 'LEAST_PROGRESSED')
        >>> fk.engine("vlm")
        Traceback (most recent call last):
            ...
        fluidkv.errors.InputError: engine: got 'vlm'; allowed: vllm (the nearest)
    """
    served = served_engine(name)
    if served.caching:
        rules = served.rules.name
        raise InputError("engine", name, f"{rules}, its rules alone; `serve` takes {name}")
    return served.rules


def with_cache(name: str | EngineRules | ServedEngine) -> tuple[EngineRules, bool]:
    """The rules of an engine, and whether it has a prefix cache.

    The settings of SGLang's own scheduler are in neither: who runs it passes `name` on.

    Raises:
        InputError: as `served_engine`.
    """
    served = served_engine(name)
    return served.rules, served.caching
