"""Figures 12 and 13: inputs of 60, ten outputs with the shares of real conversations."""

from fractions import Fraction
from typing import TYPE_CHECKING

from fluidkv.figures.figure import Data, array, scalar
from fluidkv.papers.wait.figures import azure, nested, sweeps
from fluidkv.papers.wait.instances import server

if TYPE_CHECKING:
    from fluidkv.wait.policy import NestedWait

MEMORY = 483_328
"""Tokens: 30,208 blocks of 16, as in Congestion's runs on the same machine."""
SEED = 0
_HORIZON = 300  # s, of the bound
_STEP = 5  # prompts a second, between rates that are tried for the fixed thresholds


def data(rates: tuple[int, ...], seconds: float, window: tuple[float, float]) -> Data:
    """As `nested.data`. "full" is the rate that memory can carry in the fluid, "last" that where
    the load is 1 on any memory, "fixed" that whose least thresholds are the fixed ones.

    Raises:
        MissingInput: the trace is not there.
    """
    mix = azure.mix(60, width=50)
    policy, rate = fixed()
    found = nested.data(
        mix,
        [Fraction(rate) for rate in rates],
        MEMORY,
        fixed=policy,
        seeds=(SEED,),
        seconds=seconds,
        window=window,
    )
    return {
        **found,
        "full": float(server.rate_at(mix, MEMORY)),
        "last": float(1 / mix.load),
        "fixed": float(rate),
        "left_out": azure.left_out(),
    }


def fixed() -> "tuple[NestedWait, Fraction]":
    """The largest thresholds whose memory bound (14) the A100 satisfies, and their rate."""
    from fluidkv.wait.policy import NestedWait

    most = 100
    system = azure.mix(60, width=50).scaled(most)
    segments, found, part = server.largest_that_fits(
        system, MEMORY, horizon=_HORIZON, steps=most // _STEP
    )
    return NestedWait(segments.ends, found.thresholds), part * most


def told(data: Data) -> str:
    """The setting, for the captions."""
    policy, _ = fixed()
    return (
        f"{azure.TOLD}: inputs of 60, outputs rounded up to 50, 100, ..., 500 tokens with its "
        f"shares ({scalar(data, 'left_out'):.1%} longer ones left out). Memory {MEMORY:,} tokens. "
        f"{server.CLOCK_TOLD}: that machine carries {scalar(data, 'full'):.0f} prompts/s in this "
        f"memory, and fewer than {scalar(data, 'last'):.0f} in any (Proposition 1). Fixed "
        f"thresholds are {', '.join(map(str, policy.thresholds))}: the least for "
        f"{scalar(data, 'fixed'):.0f} prompts/s, the most whose bound (14) fits, delta 5 %, 300 s. "
        "One draw. The clock was fitted to batches of up to 512 requests; here it goes beyond."
    )


def compared(data: Data, key: str) -> str:
    """A policy against the running first, rate by rate."""
    gain = sweeps.ratio(data, "throughput", key, "running_first")
    later = sweeps.ratio(data, "latency_mean", key, "running_first")
    rows = zip(array(data, "x"), gain, later, strict=True)
    return "; ".join(
        f"at {x:.0f}/s {g - 1:+.1%} tokens/s, {t:.2f} times the latency"
        for x, g, t in rows
        if g == g
    )


def parameters(
    rates: tuple[int, ...], seconds: float, window: tuple[float, float]
) -> dict[str, object]:
    return {
        "trace": azure.FILE,
        "input_length": 60,
        "outputs": "rounded up to multiples of 50, up to 500",
        "rates_per_s": list(rates),
        "capacity": MEMORY,
        "clock": [float(server.BASE), float(server.PER_KV_TOKEN)],
        "seconds": seconds,
        "window_s": list(window),
        "seed": SEED,
    }
