"""A segment of the paper's workloads under memory that it fills, small enough to simulate.

OPT-13B on one A100 with 80 GB holds 62,976 KV tokens and is never short of them with Alpaca's
lengths at the printed rates; the memory that the paper gave is not printed. So memory is scaled
down until printed rates fill it: to a 30th with Alpaca's lengths, and with ShareGPT's to a tenth,
at a tenth of the rates. Lengths, the clock's model, block sizes, paddings and settings are the
paper's where it has them. Predictions err by up to 30 % either way, evenly: the paper's accuracy
has no unit. The direction classifier is right in 80 of 100 cases.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType

import numpy as np
import xarray as xr

from fluidkv import preempt, runs, serving
from fluidkv.preempt.padding.rules import (
    BucketPadding,
    ConfidencePadding,
    ConstantPadding,
    Padding,
    SharePadding,
    with_estimates,
)
from fluidkv.preempt.predictors.direction import DirectionClassifier
from fluidkv.preempt.predictors.noise import UniformNoise
from fluidkv.preempt.predictors.predictor import with_predictions
from fluidkv.runs.requests import Requests
from fluidkv.serving.engines import engine
from fluidkv.serving.limits import Limits
from fluidkv.serving.swap import Swap
from fluidkv_papers.cacheopt.instances import opt_13b, table_1
from fluidkv_papers.cacheopt.scheduler.run import serve_cacheopt
from fluidkv_papers.cacheopt.scheduler.settings import ABLATIONS, CacheOpt

ERROR, RIGHT = 0.3, 0.8
"""Half the range of a prediction's error, as a share; how often its direction is told rightly."""
CHUNK = 512
"""Token budget of Sarathi's iterations; of CacheOPT's, too, which says that it finds one."""
LONGEST_PROMPT = 1024
"""Longer prompts of Alpaca are cut: some would not fit in the scaled memory."""
SWAP = Swap(opt_13b.KV_BYTES / 32e9, sweet_spot=table_1.SWEET_SPOT)
"""A bus of 32 GB/s (PCIe 4.0 with 16 lanes, nominal), and the printed sweet spot."""
CONFIDENCE, BLOCK = 0.9, 8
"""Defaults of section 5."""


@dataclass(frozen=True)
class Segment:
    """Lengths of a trace, and how much of memory and traffic is simulated.

    Args:
        trace: a row of Table 1.
        memory: one part in so many of OPT-13B's.
        traffic: one part in so many of the printed rate.
        requests: how many come.
    """

    trace: str
    memory: int
    traffic: int
    requests: int

    @property
    def capacity(self) -> int:
        """Tokens, in whole blocks of 32."""
        return opt_13b.CAPACITY // self.memory // 32 * 32

    @property
    def rate(self) -> float:
        """Requests a second."""
        return table_1.number(table_1.TABLE_1[self.trace].rate) / self.traffic


ALPACA = Segment("alpaca", 30, 1, 250)
SHAREGPT = Segment("sharegpt", 10, 10, 80)


@dataclass(frozen=True)
class Method:
    """One of the compared systems.

    Args:
        padding: of its estimates.
        engine: a name of `fluidkv.serving`; None: CacheOPT.
        settings: of CacheOPT.
        block: B.
        chunk: token budget; None: none.
    """

    padding: Padding
    engine: str | None = None
    settings: CacheOpt = field(default_factory=CacheOpt)
    block: int = opt_13b.BLOCK_SIZE
    chunk: int | None = None


def confident(confidence: float = CONFIDENCE, *, down: bool = True) -> Padding:
    """CacheOPT's padding, where b - a is the range of the error around what is said.

    Args:
        confidence: c.
        down: as printed, it is subtracted where the classifier says "overpredicted". From a
            confidence of 0.87 on that takes off more than the whole range of the error.
    """
    return _Confident(confidence, DirectionClassifier(RIGHT) if down else None)


@dataclass(frozen=True)
class _Confident:
    confidence: float
    classifier: DirectionClassifier | None

    def estimated(self, predicted: np.ndarray, outputs: np.ndarray, seed: int) -> np.ndarray:
        """See `Padding`."""
        width = 2 * ERROR * predicted
        padding = ConfidencePadding(self.confidence, np.zeros(len(width)), width, self.classifier)
        return padding.estimated(predicted, outputs, seed)


def cacheopt(
    settings: CacheOpt | None = None, padding: Padding | None = None, block: int = BLOCK
) -> Method:
    """CacheOPT with these settings."""
    return Method(padding or confident(), None, settings or CacheOpt(), block, CHUNK)


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "vllm": Method(ConstantPadding(0), "vllm"),
        "sarathi": Method(ConstantPadding(0), "vllm", chunk=CHUNK),
        "rlp": Method(ConstantPadding(100), "rlp"),
        "s3": Method(BucketPadding(50), "s3"),
        "cacheopt": cacheopt(),
        "padded up": cacheopt(padding=confident(down=False)),
        "all critical": cacheopt(CacheOpt(preempted_are_critical=True)),
    }
)
"""What Figure 12 compares; and CacheOPT with padding that is never subtracted, or where who was
preempted is critical, too."""

COMPARED = ("vllm", "sarathi", "rlp", "s3", "cacheopt")

VARIANTS: Mapping[str, Method] = MappingProxyType(
    {"cacheopt": cacheopt(), "/CKA": cacheopt(padding=SharePadding(0.1))}
    | {name: cacheopt(settings) for name, settings in ABLATIONS.items()}
    | {
        "no embedding": cacheopt(CacheOpt(embeds=False)),
        "padded up": cacheopt(padding=confident(down=False)),
        "padded up, no embedding": cacheopt(CacheOpt(embeds=False), confident(down=False)),
    }
)
"""Section 5.2; and three of ours."""


@cache
def requests_of(segment: Segment, rate: float, seed: int) -> Requests:
    """Poisson arrivals with predictions, and no objectives yet.

    Args:
        rate: times the segment's.
    """
    table = table_1.requests_of(segment.trace, rate * segment.rate, segment.requests, seed)
    table = replace(table, input_length=np.minimum(table.input_length, LONGEST_PROMPT))
    return with_predictions(table, UniformNoise(share=ERROR), seed=seed)


@cache
def with_objectives(
    segment: Segment, rate: float, seed: int, scale: tuple[float, float] = (0.5, 2.5)
) -> Requests:
    """The same with objectives: mean times of the compared methods but CacheOPT, times a scale.

    CacheOPT is left out, since it needs objectives to run.
    """
    table = requests_of(segment, rate, seed)
    others = [_served(METHODS[name], segment, table, seed) for name in COMPARED[:-1]]
    means = preempt.slo.mean_times(others)
    key = runs.random_key(seed)
    return preempt.assigned(table, means.ttft, means.tbt, key, scale=scale, chunk=CHUNK)


MEASURES = ("ttft_p99", "tbt_p99", "ttft", "tbt", "latency", "preempt", "served")


def measured(
    method: Method,
    segment: Segment,
    rate: float,
    seed: int,
    scale: tuple[float, float] = (0.5, 2.5),
) -> dict[str, float]:
    """One run, `MEASURES`: P99 of TTFT and of a request's longest TBT, s; attainments of both;
    normalised latency, s a token; preemptions; requests served.

    Args:
        rate: times the segment's.
        scale: of the objectives.
    """
    table = with_objectives(segment, rate, seed, scale)
    run = _served(method, segment, table, seed)
    met, tail = preempt.attainment(run, table), preempt.slo.tails(run)
    return {
        "ttft_p99": float(tail.ttft_p99[0]),
        "tbt_p99": float(tail.longest_gap_p99[0]),
        "ttft": float(met.ttft[0]),
        "tbt": float(met.tbt[0]),
        "latency": float(tail.normalised_latency_mean[0]),
        "preempt": float(run.preempt.sum()),
        "served": float(run.served[0]),
    }


def _served(method: Method, segment: Segment, table: Requests, seed: int) -> xr.Dataset:
    limits = Limits(segment.capacity, method.block, max_num_batched_tokens=method.chunk, swap=SWAP)
    table = with_estimates(table, method.padding, seed=seed)
    if method.engine is None:
        return serve_cacheopt(
            table, method.settings, limits, clock=opt_13b.clock(), iterations=_HORIZON
        )
    return serving.serve(
        table,
        serving.Server(engine(method.engine), limits, clock=opt_13b.clock(), backend="reference"),
    )


_HORIZON = 30_000
"""Iterations, some ten times what a run takes: a run that turns in circles ends."""
