"""The same saturated workloads where the evicted lose their progress and where they keep it.

One class of 64 outputs and a pair of 32 and 64, inputs from a sixteenth of 64 to four times as
long, one server that is always short of memory. Throughput is held against x*, the eviction-free
rate of the same engine. Up to whole requests all ratios here depend on input over output alone,
neither on the memory nor on how long outputs are; seconds depend on the server too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from fluidkv import exact, serving
from fluidkv.workload import Workload
from fluidkv_papers.congestion.experiments import a100
from fluidkv_papers.congestion.experiments.a100 import workload

if TYPE_CHECKING:
    import xarray as xr

Lengths = tuple[int, ...]

AT_ONCE, OUTPUT = 300, 64
"""Memory holds so many requests without eviction: with fewer than a lifetime has iterations, what
one eviction leaves free admits another, again and again."""
ONE, PAIR = (OUTPUT,), (OUTPUT // 2, OUTPUT)
INPUTS = (4, 8, 16, 32, 64, 128, 256)
ENGINES = ("restart", "vllm")
WARM_UP, MEASURED = 12 * OUTPUT, 12 * OUTPUT

PEAK_SHARE = Fraction(1, 2)
"""Share of the GPU's peak at which prompts are computed: ours; published serving is near it."""
PER_PREFILL_TOKEN_S = float(2 * a100.LLAMA_3_8B / (a100.PEAK_FLOPS * PEAK_SHARE))
"""d2 of Llama-3-8B on an A100: two operations a weight and token."""


@dataclass(frozen=True)
class Kept:
    """One run, after its warm-up.

    Fields:
        rate: new output tokens per iteration, over those of x*.
        completed: requests per iteration, over x*.
        tax: share of the computed tokens that were computed before.
        prefill: prefill tokens for each new output token.
        evictions: for each request completed.
        swing: largest less smallest number of running requests, over their mean.
        period: of their strongest oscillation, iterations.
        running: their number, shape (iteration,).
    """

    rate: float
    completed: float
    tax: float
    prefill: float
    evictions: float
    swing: float
    period: float
    running: np.ndarray


def runs(
    engine: str, lengths: Lengths, inputs: Sequence[int] = INPUTS, output: int = OUTPUT
) -> tuple[Kept, ...]:
    """One for each input length.

    Args:
        engine: of `ENGINES`, or another.
        lengths: outputs; equal shares, classes in turn.
        inputs: input lengths.
        output: the longest output: what the horizon is counted in.
    """
    # Both mixes in one call: it takes longer to compile the loop for a size than to run it.
    mixes = (ONE, PAIR) if lengths in (ONE, PAIR) else (lengths,)
    return _served(engine, mixes, tuple(inputs), output)[lengths]


def best(engine: str, classes: Workload) -> float:
    """x* of the engine, requests per iteration: vLLM holds a token less of each than the model."""
    reserved = serving.engine(engine).reserved_tokens
    return capacity(classes) / float(_held(classes, reserved))


def capacity(classes: Workload) -> int:
    """Tokens of memory for `AT_ONCE` requests of the model."""
    mean = sum(c.share * c.decode_length for c in classes.classes)
    return round(AT_ONCE * _held(classes, 1) / mean)


def synchronized(lengths: Lengths, input_length: int) -> Fraction:
    """Throughput of the paper's synchronized cycle, over x*; exact.

    One length: the maximal-eviction cycle. Two: the pulse cycle of their common divisor. No memory
    enters: it cancels.
    """
    if len(lengths) == 2:
        return exact.pulse_cycle(a100.system(lengths, input_length)).share_of_best
    (length,) = lengths
    held = sum(input_length + 1 + j for j in range(length))
    return Fraction(held, length * (input_length + length))


def again_in_cycle(input_length: int) -> Fraction:
    """Prefill tokens of the maximal-eviction cycle for an output token, beyond the prompts; exact.

    Once a lifetime all memory is admitted, M / (l0+1), of which M / (l0+l1) complete.
    """
    return Fraction(input_length, OUTPUT) * (Fraction(input_length + OUTPUT, input_length + 1) - 1)


def share_in_seconds(kept: Kept, ratio: float, output: int, *, per_prefill_s: float) -> float:
    """Output tokens a second, over those without eviction, on the A100.

    Args:
        kept: of a run with one class.
        ratio: input over output length of that run.
        output: output length on the server; the input is `ratio` times as long.
        per_prefill_s: d2.

    An iteration with full memory lasts d0 + d1 M; of x* an iteration serves M / (l0 + l1/2)
    requests at once, each of which emits one output; prompts, and what is computed again, come on
    top.
    """
    iteration_s = a100.BASE_S + a100.PER_KV_TOKEN_S * a100.CAPACITY
    decode_s = iteration_s * (ratio + 0.5) * output / a100.CAPACITY
    smooth = decode_s + per_prefill_s * ratio
    return smooth / (decode_s / kept.rate + per_prefill_s * kept.prefill)


@cache
def _served(
    engine: str, mixes: tuple[Lengths, ...], inputs: tuple[int, ...], output: int
) -> dict[Lengths, tuple[Kept, ...]]:
    from fluidkv.runs import saturated

    classes = [workload(lengths, l0) for lengths in mixes for l0 in inputs]
    horizon = (WARM_UP + MEASURED) * output // OUTPUT
    # More than could be served and held at once, so that the queue never empties.
    counts = [
        int(1.2 * best(engine, c) * horizon + capacity(c) / c.classes[0].input_length)
        for c in classes
    ]
    found = serving.serve(
        [saturated(c, count, in_turn=True) for c, count in zip(classes, counts, strict=True)],
        serving.Server(engine, [serving.Limits(capacity(c)) for c in classes]),
        iterations=horizon,
        keep_requests=False,
    )
    kept = [
        _kept(found.isel(run=[i]), best(engine, c), mixes[i // len(inputs)], horizon // 2)
        for i, c in enumerate(classes)
    ]
    return {
        lengths: tuple(kept[i * len(inputs) : (i + 1) * len(inputs)])
        for i, lengths in enumerate(mixes)
    }


def _held(classes: Workload, reserved: int) -> Fraction:
    """Tokens that a request holds, summed over its iterations; mean over the classes."""
    return sum(
        (
            c.share * sum(c.input_length + reserved + j for j in range(c.decode_length))
            for c in classes.classes
        ),
        Fraction(0),
    )


def _kept(run: "xr.Dataset", x: float, lengths: Lengths, first: int) -> Kept:
    from fluidkv.runs import metrics

    told = metrics(run, first=first)
    late = run.isel(run=0, window=slice(first, None))
    running = late.running.values
    outputs = float(late.new_outputs.sum())
    return Kept(
        rate=float(told.output_throughput.item()) / (x * float(np.mean(lengths))),
        completed=float(told.throughput.item()) / x,
        tax=float(told.recompute_tax.item()),
        prefill=float(late.prefill_tokens.sum()) / outputs,
        evictions=float(told.preemptions.item() / told.completions.item()),
        swing=float((running.max() - running.min()) / running.mean()),
        period=strongest_period(running),
        running=running,
    )


def strongest_period(values: np.ndarray) -> float:
    """Of the strongest line of the spectrum; a window of whole lifetimes has a line at one."""
    power = np.abs(np.fft.rfft(values - values.mean())) ** 2
    return len(values) / float(np.argmax(power))
