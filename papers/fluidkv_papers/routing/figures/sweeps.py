"""Figures 3 to 7 and 10 to 14: methods on the same requests, over one thing that changes."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from fluidkv.figures.figure import Axes, Canvas, Data
from fluidkv.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, name_axes
from fluidkv.processes import cores, shared_out
from fluidkv_papers.bands import draw_band, plain_numbers, ranged
from fluidkv_papers.routing.instances import setting
from fluidkv_papers.routing.instances.setting import Setting

SEEDS = tuple(range(8))
DRAWN = ("latency_p50", "latency_p95", "hit_rate", "throughput")
MEASURES = (*DRAWN, "ttft_p50", "ttft_p95")

PALE_ORANGE = "#E69F00"  # of the same palette
LOOKS = {
    "random+lru": ("Random + LRU", GREY, ":", "x"),
    "round-robin+lru": ("Round-Robin + LRU", BLACK, "-.", "v"),
    "cache-aware+lru": ("Cache-Aware + LRU", ORANGE, "-", "s"),
    "cache-aware-0.3+lru": ("Cache-Aware (0.3) + LRU", PALE_ORANGE, "-", "P"),
    "cache-aware+rlt": ("Cache-Aware + RLT", PURPLE, "--", "D"),
    "lbgr+lru": ("LBGR + LRU", GREEN, "--", "^"),
    "lbgr+rlt": ("LBGR + RLT", BLUE, "-", "o"),
}
"""Method -> its name, colour, line and marker, the same in every figure."""

Point = tuple[float, Setting]
"""A place on the axis, and what runs there."""
Job = tuple[Setting, tuple[str, ...], int]


def sweep(
    points: Sequence[Point],
    *,
    seeds: Sequence[int] = SEEDS,
    names: Sequence[str] = tuple(LOOKS),
    measures: Sequence[str] = MEASURES,
) -> Data:
    """Mean, least and most over the seeds, of every method at every point.

    Shapes: "x" and all others (point,): "METHOD.MEASURE", and "..._low", "..._high".
    """
    jobs: list[Job] = [(of, tuple(names), seed) for _, of in points for seed in seeds]
    runs: dict[int, dict[str, dict[str, float]]] = dict(
        shared_out(_runs, jobs, cores(), argument="cores")
    )
    data: dict[str, np.ndarray] = {"x": np.array([x for x, _ in points], float)}
    for name in names:
        for measure in measures:
            found = np.array([runs[place][name][measure] for place in range(len(jobs))])
            data |= ranged(f"{name}.{measure}", found.reshape(len(points), len(seeds)))
    return data


def _runs(job: Job) -> dict[str, dict[str, float]]:
    of, names, seed = job
    return {name: setting.measured(of, name, seed) for name in names}


def names_of(data: Data) -> list[str]:
    """Methods of a sweep, in the order of `LOOKS`."""
    return [name for name in LOOKS if f"{name}.latency_p50" in data]


def draw_sweep(data: Data, canvas: Canvas, *, x: str, log: bool = False) -> None:
    """Latencies above, hit rate and throughput below, the legend under all."""
    axes = canvas.subplots(2, 2, sharex=True)
    scales = {"hit_rate": 100.0}
    titles = {
        "latency_p50": "median latency, s",
        "latency_p95": "P95 latency, s",
        "hit_rate": "hit rate, % of prompt tokens",
        "throughput": "requests/s",
    }
    for ax, measure in zip(axes.flat, DRAWN, strict=True):
        for name in names_of(data):
            draw_line(data, ax, name, measure, scale=scales.get(measure, 1.0))
        late = measure.startswith("latency")
        name_axes(ax, y=titles[measure], log="y" if late else "")
        if late:
            plain_numbers(ax, "y")
        else:
            ax.set_ylim(0, None)
        if log:
            ax.set_xscale("log")
    places = data["x"]
    for ax in axes[1]:
        ax.set_xlabel(x)
        ax.set_xticks(places, [f"{place:g}" for place in places], minor=False)
        ax.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    canvas.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower left", ncols=3)


def draw_line(data: Data, ax: Axes, name: str, measure: str, *, scale: float = 1.0) -> None:
    """One measure of one method, with its range over the seeds."""
    draw_band(data, ax, f"{name}.{measure}", LOOKS[name], scale=scale)


def part(data: Data, of: str) -> Data:
    """What is named "OF.NAME", by its name."""
    return {name.removeprefix(f"{of}."): v for name, v in data.items() if name.startswith(f"{of}.")}


def told(seeds: Sequence[int] = SEEDS) -> str:
    """What is chosen in all of these figures."""
    return (
        f"{len(seeds)} draws of requests and times; lines are means, bands the range. A worker "
        f"serves one request at a time, {setting.SECONDS_PER_1000} s for 1,000 tokens that are not "
        "in its cache (from the first row of Table 2) and nothing for others. LBGR corrects its "
        "estimate by normalized steps of 1 - 0.992. Cache-Aware follows a match of more than half "
        "a prompt, (0.3) one of more than 0.3."
    )


def parameters(points: Sequence[Point], **more: object) -> Mapping[str, object]:
    """What a sweep depends on, for the manifest."""
    of = points[0][1]
    return {
        "x": [x for x, _ in points],
        "workload": of.workload,
        "options": [[name, value] for name, value in of.options],
        "workers": of.workers,
        "capacity": of.capacity,
        "seconds_per_1000": of.seconds,
        "seeds": list(SEEDS),
        **more,
    }


def drawn(x: str, *, log: bool = False) -> partial[None]:
    """`draw_sweep` with its axis named."""
    return partial(draw_sweep, x=x, log=log)
