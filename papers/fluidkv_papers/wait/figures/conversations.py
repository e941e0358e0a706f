"""Figures 12 and 13: inputs of 60, ten outputs with the shares of real conversations."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from fluidkv import wait
from fluidkv.figures.figure import Data, Figure
from fluidkv_papers.bands import ratio
from fluidkv_papers.wait.figures import azure, nested, sweeps
from fluidkv_papers.wait.instances import server

MEMORY = 483_328
"""Tokens: 30,208 blocks of 16, as in Congestion's runs on the same machine."""
_SEEDS = tuple(range(32))
_HORIZON = 300  # s, of the bound
_STEP = 5  # prompts a second, between rates that are tried for the fixed thresholds


def data(
    rates: tuple[int, ...],
    seconds: float,
    window: tuple[float, float],
    seeds: tuple[int, ...] = _SEEDS,
) -> Data:
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
        seeds=seeds,
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


def fixed() -> "tuple[wait.NestedWait, Fraction]":
    """The largest thresholds whose memory bound (14) the A100 satisfies, and their rate."""
    most = 100
    system = azure.mix(60, width=50).scaled(most)
    segments, found, part = server.largest_that_fits(
        system, MEMORY, horizon=_HORIZON, steps=most // _STEP
    )
    return wait.NestedWait(segments.ends, found.thresholds), part * most


def _told(data: Data) -> str:
    """The setting, for the captions."""
    policy, _ = fixed()
    return (
        f"{azure.TOLD}: inputs of 60, outputs rounded up to 50, 100, ..., 500 tokens with its "
        f"shares ({data['left_out']:.1%} longer ones left out). Memory {MEMORY:,} tokens. "
        f"{server.CLOCK_TOLD}: that machine carries {data['full']:.0f} prompts/s in this "
        f"memory, and fewer than {data['last']:.0f} in any (Proposition 1). Fixed "
        f"thresholds are {', '.join(map(str, policy.thresholds))}: the least for "
        f"{data['fixed']:.0f} prompts/s, the most whose bound (14) fits, delta 5 %, 300 s. "
        f"{len(_SEEDS)} draws; lines are means, bands the range. The clock was fitted "
        "to batches of up to 512 requests; here it goes beyond."
    )


def _compared(data: Data, key: str) -> str:
    """A policy against the running first, rate by rate."""
    gain = ratio(data, "throughput", key, "running_first")
    later = ratio(data, "latency_mean", key, "running_first")
    rows = zip(data["x"], gain, later, strict=True)
    return "; ".join(
        f"at {x:.0f}/s {g - 1:+.1%} tokens/s, {t:.2f} times the latency"
        for x, g, t in rows
        if g == g
    )


def _parameters(
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
        "seeds": list(_SEEDS),
    }


def _around_caption(data: Data) -> str:
    return (
        f"{_told(data)} Against first come, first served with the running first: "
        f"fixed thresholds, {_compared(data, 'nested_fixed')}; the least thresholds "
        f"for each rate, {_compared(data, 'nested')}. Differences in throughput "
        "are of what was in the system at the ends of the window. The paper's Figure 12, at 55 "
        "prompts/s, has Nested WAIT ahead in both."
    )


def _heavy_caption(data: Data) -> str:
    return (
        f"{_told(data)} Against first come, first served with the running first: "
        f"{_compared(data, 'nested_fixed')}. 550 prompts/s, the paper's heavy load, "
        f"are {550 / data['last']:.1f} times what this machine can serve with any memory; "
        "it is saturated from 130 on."
    )


def _figure(
    number: int,
    title: str,
    caption: Callable[[Data], str],
    rates: tuple[int, ...],
    seconds: float,
    window: tuple[float, float],
) -> Figure:
    """The paper's figure of this number; the others as in `data`."""
    setting = (rates, seconds, window)
    return Figure(
        id=f"wait_figure_{number}",
        title=title,
        source=f"WAIT, Figure {number} and section 6.2",
        parameters=_parameters(*setting),
        size=(10.5, 4.4),
        data=partial(data, *setting),
        draw=sweeps.draw_sweep,
        caption=caption,
    )


FIGURES = (
    _figure(
        12,
        "Ten outputs, 40 to 80 prompts/s: all serve what comes, Nested WAIT later",
        _around_caption,
        (40, 55, 80),
        240.0,
        (110.0, 180.0),
    ),
    _figure(
        13,
        "Ten outputs near and above capacity: Nested WAIT serves less than FCFS, running first",
        _heavy_caption,
        (95, 110, 130),
        160.0,
        (80.0, 130.0),
    ),
)
