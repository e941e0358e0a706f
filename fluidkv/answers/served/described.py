"""What answers about servers have in common, described: gaps between servers, errors on a log."""

from typing import Any


def clock_json(clock: Any) -> dict[str, Any]:
    """A clock as JSON has it, with how far off it may be."""
    from fluidkv.answers.served.clock import clock_values

    return clock_values(clock)


METRICS = (
    (
        "*",
        "number",
        "mean over runs; per iteration, with `_per_time` per unit of time; "
        "times in the unit of time; `recompute_tax`, `utilisation`, `censored` are shares; "
        "others are counts",
    ),
)
"""Keys of the metrics of runs."""
THROUGHPUTS = ("output_throughput_per_time", "output_throughput")
"""Metrics of which more is better."""
GAP = (
    ("*.mean", "number", "mean difference from the first, over pairs"),
    ("*.half", "number", "half of the interval of that alone"),
    ("*.wide", "number", "half of the interval with all others"),
    ("*.relative", "yes/no", "whether it is relative"),
)
"""Keys of differences from the first server, by metric."""
BIAS = (
    ("*.measured", "as the metric", "if there is a log of this server: what it says"),
    ("*.simulated", "as the metric", "if there is a log: what the simulation of it says"),
    ("*.relative", "relative", "if there is a log: simulated over measured, less 1"),
    ("*.spread", "relative", "if there is a log: standard deviation of that over its parts"),
    ("*.error_bar", "relative", "if there is a log: what a difference has to exceed"),
)
"""Keys of what a simulation misses on a log, by metric."""
STRETCH = tuple(
    (name, kind, f"if there is a trace: {title}")
    for name, kind, title in (
        ("requests", "count", "in the part of the trace that draws are like"),
        ("of", "count", "in the whole trace"),
        ("rate", "a unit of time", "arrivals in the part"),
        ("rate_of_all", "a unit of time", "arrivals in the trace"),
        ("arrivals", "text", "how its requests come"),
    )
)
"""Keys of what fresh draws are like."""


def cost_keys(whose: str) -> tuple[tuple[str, str, str], ...]:
    """Keys of what a server costs, where a price is known.

    Args:
        whose: cost of a million output tokens it is.
    """
    tokens = f"if `--price` is given: what a million output tokens cost, {whose}"
    return (
        ("cost.per_gpu_hour", "money", "if `--price` is given: the price of a GPU"),
        ("cost.gpus", "count", "if `--price` is given: GPUs of a replica"),
        ("cost.per_million_output_tokens.*", "money", tokens),
    )


def below(path: str, keys: tuple[tuple[str, str, str], ...]) -> tuple[tuple[str, str, str], ...]:
    """The same keys below another one."""
    return tuple((f"{path}.{name}", kind, title) for name, kind, title in keys)
