"""Policies set up for rates and lengths that are not those that come."""

from fractions import Fraction

import numpy as np

from fluidkv import runs, wait
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import GREY, name_axes
from fluidkv_papers.bands import plain_numbers
from fluidkv_papers.wait.figures import policies, sweeps
from fluidkv_papers.wait.figures.sweeps import LOOKS, Point, draw_line
from fluidkv_papers.wait.instances import compared, server

_LOAD = Fraction(7, 10)  # believed
_FACTORS = (0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5)
_RANDOM = 1.75  # where geometric outputs stand on the axis
_SEEDS = tuple(range(32))
_SECONDS, _WINDOW = 8.0, (3.0, 6.5)
_KEYS = ("cap", "vllm", "wait_least", "nested")


def data(
    factors: tuple[float, ...] = _FACTORS,
    seeds: tuple[int, ...] = _SEEDS,
    seconds: float = _SECONDS,
    window: tuple[float, float] = _WINDOW,
) -> Data:
    """As `sweeps.sweep`, under "rates." over the true rate by that believed and under "lengths."
    over the true outputs by those believed, with geometric outputs of the believed means last.

    "wait_least_free" and "nested_free": the same without a limit on memory, for its peak.
    """

    def point(x: float, rate: float, length: float | None) -> Point:
        return _point(x, [_prompts(seed, seconds, rate, length) for seed in seeds], window)

    rates = [point(factor, factor, 1.0) for factor in factors]
    lengths = [point(factor, 1.0, factor) for factor in factors]
    lengths.append(point(_RANDOM, 1.0, None))
    found: dict[str, np.ndarray | float] = {}
    for name, points in (("rates", rates), ("lengths", lengths)):
        swept = sweeps.sweep(points, clock=server.clock(), capacity=policies.memory())
        found |= {f"{name}.{key}": value for key, value in swept.items()}
    return found


def _prompts(seed: int, seconds: float, rate: float, length: float | None) -> "runs.Requests":
    """What comes: Poisson, at `rate` times the believed rates, outputs `length` times as long.

    Without a length: each output geometric, with the mean of its type.
    """
    system = policies.full().scaled(_LOAD * Fraction(str(rate)))
    table = wait.poisson_prompts(system, rng=seed, horizon=seconds)
    if length is None:
        outputs = np.random.default_rng(seed).geometric(1 / table.output_length)
    else:
        outputs = np.rint(length * table.output_length).astype(np.int64)
    return runs.Requests(
        table.input_length, outputs, arrival=table.arrival, class_index=table.class_index
    )


def _point(x: float, tables: "list[runs.Requests]", window: tuple[float, float]) -> Point:
    """The policies of `policies`, for what is believed."""
    longest = max(int(table.output_length.max()) for table in tables)
    found: dict[str, compared.Contender] = {}
    for key, one in policies.contenders(policies.full().scaled(_LOAD)).items():
        if key not in _KEYS:
            continue
        if isinstance(one, wait.NestedWait):  # its last segment takes whatever is longer
            ends = (*one.ends[:-1], max(longest, one.ends[-1]))
            one = wait.NestedWait(ends, one.thresholds)
        found[key] = one
        if isinstance(one, wait.Wait | wait.NestedWait):
            found[f"{key}_free"] = compared.Unlimited(one)
    return Point(x, tables, found, window)


def part_of(data: Data, name: str) -> Data:
    """One sweep, and in it the peak without a limit where there is one."""
    found: dict[str, np.ndarray | float] = {}
    for key, value in data.items():
        if key.startswith(f"{name}."):
            found[key.removeprefix(f"{name}.")] = np.asarray(value)
    for key in _KEYS:
        held = f"{key}_free" if f"{key}_free.peak" in found else key
        for end in ("", "_low", "_high"):
            found[f"{key}.peak{end}"] = found[f"{held}.peak{end}"]
    return found


_MEASURES = (
    ("served", "output tokens completed, %", 100),
    ("latency_p99", "99 % of latencies below, s", 1),
    ("evictions", "evictions a prompt", 1),
    ("peak", "held without a limit, % of M", 100),
)


def draw(data: Data, canvas: Canvas) -> None:
    axes = canvas.subplots(2, len(_MEASURES), sharey="col")
    for row, name in zip(axes, ("rates", "lengths"), strict=True):
        part = part_of(data, name)
        for ax, (measure, label, scale) in zip(row, _MEASURES, strict=True):
            _draw_panel(part, ax, measure, scale)
            name_axes(
                ax, "true rate / believed" if name == "rates" else "true outputs / believed", label
            )
    for column, (measure, _, _) in enumerate(_MEASURES):
        if measure == "evictions":
            most = max(
                np.nanmax(part_of(data, name)[f"{key}.evictions_high"])
                for name in ("rates", "lengths")
                for key in _KEYS
            )
            sweeps.count_scale(axes[0, column], most)
        elif measure == "latency_p99":
            axes[0, column].set_yscale("log")
            plain_numbers(axes[0, column], decades=3)
        elif measure == "served":
            axes[0, column].set_ylim(0, 110)
        else:
            axes[0, column].set_yscale("log")
            plain_numbers(axes[0, column], decades=3)
            for ax in axes[:, column]:
                ax.axhline(100, color=GREY, linewidth=0.8)
    canvas.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower left", ncols=4)


def _draw_panel(part: Data, ax: Axes, measure: str, scale: float) -> None:
    random = part["x"] == _RANDOM
    for key in _KEYS:
        names = [f"{key}.{measure}{end}" for end in ("", "_low", "_high")]
        line = {"x": part["x"][~random]}
        line |= {name: part[name][~random] for name in names}
        draw_line(line, ax, key, measure, scale=scale)
        if random.any():
            _, color, _, marker = LOOKS[key]
            at = scale * part[names[0]][random]
            ax.plot([_RANDOM], at, color=color, marker=marker, markersize=4.5, linestyle="")
    if random.any():
        ax.axvline((_RANDOM + 1.5) / 2, color=GREY, linewidth=0.6, linestyle=":")
        ax.set_xticks([0.5, 1.0, 1.5, _RANDOM], ["0.5", "1", "1.5", "geom."])
    else:
        ax.set_xticks([0.5, 1.0, 1.5], ["0.5", "1", "1.5"])


def caption(data: Data) -> str:
    def at(name: str, x: float) -> str:
        part = part_of(data, name)
        place = int(np.argmin(np.abs(part["x"] - x)))
        return "; ".join(
            f"{LOOKS[key][0]} {part[f'{key}.served'][place]:.0%} of the tokens, "
            f"{part[f'{key}.latency_p99'][place]:.2f} s, "
            f"{part[f'{key}.evictions'][place]:.2g} evictions a prompt, "
            f"peak {part[f'{key}.peak'][place]:.0%}"
            for key in _KEYS
        )

    return (
        "The workload and memory of figure wait.policies, believed at "
        f"{float(_LOAD):.0%} of the rate that memory can carry "
        f"({data['rates.capacity']:,.0f} tokens). Thresholds are for the believed rates "
        "and lengths; the cap needs the lengths, the watermark nothing. Types stay known to WAIT. "
        "The last segment of Nested WAIT takes what is longer than foreseen. Memory held is that "
        "of WAIT and Nested WAIT without a limit; all else is with the memory as it is, where they "
        f"evict the last admitted. {len(_SEEDS)} draws; lines are means, bands the range. "
        f"Rates half of what was believed: {at('rates', 0.5)}. One and a half times: "
        f"{at('rates', 1.5)}. Outputs 1.25 times as long: {at('lengths', 1.25)}. Outputs geometric "
        f"with the same means: {at('lengths', _RANDOM)}."
    )


FIGURE = Figure(
    id="wait_wrong_inputs",
    title="Wrong rates cap WAIT; outputs 10 % beyond a segment's end wreck Nested WAIT",
    source="WAIT, section 8 (volatile arrivals); the question is ours",
    parameters={
        "lengths": [list(pair) for pair in policies.LENGTHS],
        "believed_part_of_full_rate": str(_LOAD),
        "factors": list(_FACTORS),
        "geometric": "numpy, mean of the type, seeds as the arrivals",
        "cap": sum(policies.PER_STAGE),
        "watermark": 0.05,
        "seconds": _SECONDS,
        "window_s": list(_WINDOW),
        "seeds": list(_SEEDS),
    },
    size=(11.5, 5.6),
    data=data,
    draw=draw,
    caption=caption,
)
