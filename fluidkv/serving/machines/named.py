"""Clocks with a name: whose server, how the numbers came about, and where they hold.

A clock is *measured* (fitted to the log of a server), *profiled* (from single kernels) or
*modelled* (from data sheets, `MODEL@GPU`); the theory's is none of them. Outside of what it was
taken from it extrapolates, and `outside` says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from fluidkv.errors import InputError
from fluidkv.record import Record
from fluidkv.serving.clock import VIDUR_LLAMA3_8B_A100 as _NO_PREFILL
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.machines.efficiencies import ENGINES, MOST_CLIENTS, fitted_clock
from fluidkv.serving.machines.gpus import Gpu, gpu_named
from fluidkv.serving.machines.models import Model, model_named
from fluidkv.serving.machines.pool import kv_tokens_left
from fluidkv.serving.machines.roofline import batch_limit, modelled_clock
from fluidkv.text import nearest

Kind = Literal["measured", "modelled", "profiled", "theory"]


@dataclass(frozen=True)
class Validity(Record):
    """Where a clock was taken from; None: not said.

    Args:
        running: most requests in a batch.
        kv_tokens: least and most in the cache.
        prefill_tokens: most of one iteration.

    Examples:
        >>> from fluidkv.serving.machines.named import Validity, outside
        >>> outside(Validity(running=49), running=60)
        ('60 requests run at once, and the clock holds up to 49',)
        >>> outside(Validity(), running=60)
        ()
    """

    running: int | None = None
    kv_tokens: tuple[int, int] | None = None
    prefill_tokens: int | None = None


@dataclass(frozen=True)
class NamedClock(Record):
    """A clock, and what to know of it.

    Fields:
        clock: its numbers; `clock.name` is its name.
        kind: how they came about.
        model, gpu, engine: of the server; "" where there is none.
        gpus: that share the model.
        source: where the numbers are from.
        validity: where they hold.

    Examples:
        >>> from fluidkv.serving.machines.named import named_clock
        >>> from fluidkv.serving.machines.named import NamedClock
        >>> clock = fk.IterationClock(0.01, name="mine")
        >>> mine = NamedClock(clock, "measured", "qwen3-4b", "l4", "", "a log of ours")
        >>> mine.name, mine.validity.running
        ('mine', None)
        >>> named_clock("vllm-llama3.1-8b-rtx4090").validity.running
        49
    """

    clock: IterationClock
    kind: Kind
    model: str
    gpu: str
    engine: str
    source: str
    validity: Validity = Validity()
    gpus: int = 1

    @property
    def name(self) -> str:
        """As commands take it."""
        return self.clock.name


def _named(*clocks: NamedClock) -> Mapping[str, NamedClock]:
    return MappingProxyType({each.name: each for each in clocks})


_VIDUR = "Vidur's profiles (microsoft/vidur, data/profiling): decode batches of up to 512"

CLOCKS = _named(
    NamedClock(
        replace(IterationClock.iterations(), name="iteration"),
        "theory",
        "",
        "",
        "",
        "the papers' clock: every iteration lasts 1",
    ),
    NamedClock(
        IterationClock(1.489e-2, 2.600e-7, 8.68e-5, name="vllm-llama3.1-8b-rtx4090"),
        "measured",
        "llama-3.1-8b",
        "rtx-4090",
        "vLLM 0.19.0",
        "fitted to 87 ticks of a log of 300 requests (LLMServingSim's examples, MIT)",
        Validity(49, (11_110, 41_352), 2048),
    ),
    NamedClock(
        IterationClock(9.497e-3, 1.843e-7, 8.63e-5, name="sglang-qwen3-4b-rtx4090"),
        "measured",
        "qwen3-4b",
        "rtx-4090",
        "SGLang 0.5.18",
        "fitted to the first 110 rows, 91 s, of a decode log (sglang-peak-kv-admission by "
        "HwaminJung00, CC BY 4.0)",
        Validity(68, (411, 87_505), 2048),
    ),
    NamedClock(
        replace(_NO_PREFILL, per_prefill_token=6.57e-5, name=f"{_NO_PREFILL.name}-prefill"),
        "profiled",
        "llama-3-8b",
        "a100-80",
        "Vidur",
        f"{_VIDUR}; d2 of its matrices at 648 and 32,768 tokens, attention left out",
        Validity(512, None, 32_768),
    ),
    NamedClock(
        _NO_PREFILL,
        "profiled",
        "llama-3-8b",
        "a100-80",
        "Vidur",
        f"{_VIDUR} (R^2 0.982); no prefill",
        Validity(512),
    ),
)
"""Clocks with a name of their own, by it.

>>> from fluidkv.serving.machines.named import CLOCKS
>>> [(name, clock.kind) for name, clock in CLOCKS.items()][:2]
[('iteration', 'theory'), ('vllm-llama3.1-8b-rtx4090', 'measured')]
>>> round(CLOCKS["vllm-llama3.1-8b-rtx4090"].clock.duration(40_000, 0), 4)
0.0253
"""


def named_clock(name: str) -> NamedClock:
    """One of `CLOCKS`, or MODEL@GPU in four digits: a clock from published numbers.

    On GPUs that efficiencies are fitted to it is `fitted_clock`'s, by vLLM's; MODEL@GPU/sglang and
    MODEL@GPU/trtllm are by other engines', MODEL@4xGPU shares the model between four. On others it
    is `modelled_clock`'s.

    Raises:
        InputError: another name, with those near it; a model, GPU or engine that is not known, or
            that do not go together; several GPUs that nothing is fitted to.

    Examples:
        >>> from fluidkv.serving.machines.named import named_clock
        >>> known = named_clock("llama-3.1-8b@h100")
        >>> known.kind, round(known.clock.duration(40_000, 0, decoding=32), 4)
        ('modelled', 0.0088)
        >>> named_clock("Qwen/Qwen3-235B-A22B-FP8@4xH200/sglang").gpus
        4
    """
    plain = name.strip().lower() if isinstance(name, str) else ""
    if plain in CLOCKS:
        return CLOCKS[plain]
    if "@" not in plain:
        raise InputError("clock", name, f"{nearest(plain, CLOCKS)}, or MODEL@GPU")
    model_name, _, gpu_name = plain.removeprefix("modelled:").partition("@")
    gpu_name, _, engine = gpu_name.partition("/")
    count, times, rest = gpu_name.partition("x")
    several = bool(times) and count.isdigit() and bool(rest)
    gpus, gpu_name = (int(count), rest) if several else (1, gpu_name)
    try:
        return _from_tables(model_named(model_name), gpu_named(gpu_name), gpus, engine)
    except InputError as error:
        raise InputError("clock", name, f"{error.argument}: {error.allowed}") from None


def _from_tables(model: Model, gpu: Gpu, gpus: int, engine: str) -> NamedClock:
    source = f"{model.source}; {gpu.source}"
    if gpu.generation:
        clock, running = fitted_clock(model, gpu, gpus, engine or ENGINES[0]), MOST_CLIENTS
        source = f"{source}; efficiencies fitted to measured servers (silicon_agg)"
    elif gpus != 1 or engine:
        allowed = (
            f"one GPU and no engine: on {gpu.name} nothing is fitted to several that share a "
            "model, or to an engine's own time; fit a clock to a log of yours, or give D0:D1:D2"
        )
        raise InputError("gpus" if gpus != 1 else "engine", gpus if gpus != 1 else engine, allowed)
    else:
        clock, running = modelled_clock(model, gpu), batch_limit(model, gpu)
    shared = f"{gpus}x" if gpus > 1 else ""
    own = f"/{engine}" if engine and engine != ENGINES[0] else ""
    most = None if model.windowed else (0, kv_tokens_left(model, gpu, gpus=gpus))
    return NamedClock(
        _rounded(clock, f"{model.name}@{shared}{gpu.name}{own}"),
        "modelled",
        model.name,
        gpu.name,
        (engine or ENGINES[0]) if gpu.generation else "",
        source,
        Validity(running, most, None),
        gpus,
    )


def _rounded(clock: IterationClock, name: str) -> IterationClock:
    """Four digits: what is modelled has no more."""
    d0, d1, d2, d3 = (float(f"{value:.4g}") for value in clock.durations)
    d4, d5 = (float(f"{value:.4g}") for value in clock.batch_durations[:2])
    return replace(
        clock,
        base=d0,
        per_kv_token=d1,
        per_prefill_token=d2,
        per_prefill_pair=d3,
        per_request=d4,
        experts=d5,
        name=name,
    )


def known(clock: IterationClock) -> NamedClock | None:
    """What is known of a clock that has its name from here; None: it has none."""
    try:
        found = named_clock(clock.name) if clock.name else None
    except InputError:
        return None
    return found if found is not None and found.clock == clock else None


def outside(
    validity: Validity,
    *,
    running: float | None = None,
    kv_tokens: float | None = None,
    prefill_tokens: float | None = None,
) -> tuple[str, ...]:
    """What of a run lies outside of where its clock holds, one sentence each.

    Args:
        running: requests in the largest batch of the run.
        kv_tokens: most tokens in its cache.
        prefill_tokens: most of one iteration.

    Examples:
        >>> from fluidkv.serving.machines.named import named_clock
        >>> from fluidkv.serving.machines.named import outside
        >>> known = named_clock("vllm-llama3.1-8b-rtx4090")
        >>> outside(known.validity, running=49, kv_tokens=50_000)
        ('50,000 KV tokens, and the clock holds up to 41,352',)
    """
    found = []
    if validity.running is not None and running is not None and running > validity.running:
        found.append(
            f"{running:,.0f} requests run at once, and the clock holds up to {validity.running:,}"
        )
    most = None if validity.kv_tokens is None else validity.kv_tokens[1]
    if most is not None and kv_tokens is not None and kv_tokens > most:
        found.append(f"{kv_tokens:,.0f} KV tokens, and the clock holds up to {most:,}")
    limit = validity.prefill_tokens
    if limit is not None and prefill_tokens is not None and prefill_tokens > limit:
        found.append(
            f"{prefill_tokens:,.0f} prefill tokens in an iteration, and the clock holds up to "
            f"{limit:,}"
        )
    return tuple(found)
