"""The pictures of one answer about WAIT, as `fluidkv wait --out` writes them."""

import math
import textwrap
from fractions import Fraction
from functools import partial

import numpy as np

from fluidkv import answers, wait
from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, name_axes

_POINTS = 48  # rates at which memory is drawn
_LAST = 0.98  # of the rate that no policy keeps up with: M* goes to infinity there
_HEADROOM = 1.08  # above the highest marker, so that none is cut off
_TITLE = 80  # characters in a line
_COLOURS = (BLUE, ORANGE, GREEN)


def wait_figures(answer: "answers.wait.study.WaitAnswer") -> tuple[Figure, ...]:
    """`memory_by_rate`; `memory_by_segments` with unknown outputs; `policies` if they were run."""
    figures = [_rates_figure(answer)]
    if answer.nested is not None:
        figures.append(_segments_figure(answer.nested))
    if answer.runs is not None:
        figures.append(_policies_figure(answer, answer.runs))
    return tuple(figures)


# --- memory by rate -----------------------------------------------------------------------------


def _rates_figure(answer: "answers.wait.study.WaitAnswer") -> Figure:
    return Figure(
        id="memory_by_rate",
        title=_rates_title(answer),
        source="fluidkv.wait: the fluid equilibrium and the least whole thresholds",
        parameters={
            "types": len(answer.system.types),
            "load": float(answer.system.load),
            "capacity": float(answer.capacity),
        },
        size=(7.5, 4.0),
        data=partial(_rates_data, answer),
        draw=partial(_rates_draw, answer),
        caption=partial(_rates_caption, answer),
    )


def _rates_title(answer: "answers.wait.study.WaitAnswer") -> str:
    held, whole = (_tokens(float(each.memory)) for each in (answer.equilibrium, answer.least))
    if answer.nested is not None:
        return f"If outputs were known: {held} KV tokens in balance, {whole} of WAIT"
    return f"The balanced state holds {held} KV tokens, whole thresholds {whole}"


def _tokens(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _rates_data(answer: "answers.wait.study.WaitAnswer") -> Data:
    load = float(answer.system.load)
    last = _LAST / load if load else 2.0
    factors = [Fraction(round(1000 * last * k / _POINTS), 1000) for k in range(1, _POINTS + 1)]
    systems = [answer.system.scaled(factor) for factor in factors if factor > 0]
    return {
        "rate_factor": np.array([float(factor) for factor in factors if factor > 0]),
        "balanced": np.array([float(wait.fluid_equilibrium(each).memory) for each in systems]),
        "whole": np.array([float(wait.integer_thresholds(each).memory) for each in systems]),
        "capacity": float(answer.capacity),
        "limit": 1 / load if load else math.nan,
    }


def _rates_draw(answer: "answers.wait.study.WaitAnswer", data: Data, canvas: Canvas) -> None:
    ax = canvas.subplots()
    x = data["rate_factor"]
    ax.plot(x, data["whole"], color=BLUE, drawstyle="steps-mid", label="whole thresholds of WAIT")
    ax.plot(x, data["balanced"], color=GREEN, label="balanced state, M*")
    ax.axhline(data["capacity"], color=BLACK, linewidth=1.0, label="capacity")
    ax.axvline(1, color=GREY, linewidth=0.8, linestyle=":", label="these rates")
    if not math.isnan(data["limit"]):
        ax.axvline(data["limit"], color=ORANGE, linewidth=1.0, label="no policy keeps up")
    name_axes(ax, "arrival rates, as a multiple of those given", "KV tokens", log="y")
    ax.set_xlim(left=0)
    ax.legend(loc="best")
    canvas.suptitle(_rates_title(answer))


def _rates_caption(answer: "answers.wait.study.WaitAnswer", data: Data) -> str:
    words = (
        "Memory against all arrival rates together: of the balanced state (M*, exact) and of the "
        f"least whole thresholds of WAIT, which never hold more. Capacity "
        f"{data['capacity']:,.6g} tokens."
    )
    if answer.nested is not None:
        words += (
            " Both are for outputs that are known when prompts come; what Nested WAIT needs where "
            "they are not is in memory_by_segments."
        )
    limit = data["limit"]
    return words if math.isnan(limit) else f"{words} At {limit:.4g} times the rates the load is 1."


# --- memory by segments -------------------------------------------------------------------------


def _segments_figure(nested: "answers.wait.nested.NestedAnswer") -> Figure:
    return Figure(
        id="memory_by_segments",
        title=_segments_title(nested),
        source="fluidkv.wait: the memory bound of Nested WAIT, WAIT equation 17",
        parameters={
            "delta": float(nested.delta),
            "capacity": float(nested.capacity),
            "batches": nested.plan.bound.batches,
        },
        size=(7.5, 4.0),
        data=partial(_segments_data, nested),
        draw=partial(_segments_draw, nested),
        caption=partial(_segments_caption, nested),
    )


def _segments_title(nested: "answers.wait.nested.NestedAnswer") -> str:
    plan = nested.chosen
    number = len(plan.segments)
    kind = "Given" if nested.given else "Best found"
    return f"{kind}: {number} segment{'s' * (number > 1)}, {plan.bound.capacity:,} KV tokens"


def _segments_data(nested: "answers.wait.nested.NestedAnswer") -> Data:
    designs = nested.designs
    return {
        "segments": np.array([design.count for design in designs], float),
        "batch": np.array([float(design.batch) for design in designs]),
        "queue": np.array([float(design.queue) for design in designs]),
        "tail": np.array([design.tail for design in designs]),
        "capacity": float(nested.capacity),
        "chosen_segments": float(len(nested.chosen.segments)),
        "chosen": float(nested.chosen.bound.capacity),
    }


def _segments_draw(nested: "answers.wait.nested.NestedAnswer", data: Data, canvas: Canvas) -> None:
    from matplotlib.ticker import MaxNLocator

    ax = canvas.subplots()
    x = data["segments"]
    total = sum(data[name] for name in ("batch", "queue", "tail"))
    for name, label, colour in (
        ("batch", "batch, $M^\\pi$", BLUE),
        ("queue", "waiting", GREEN),
        ("tail", "tail", PURPLE),
    ):
        values = data[name]
        ax.plot(x, np.where(values > 0, values, np.nan), ".-", color=colour, label=label)
    ax.plot(x, total, ".-", color=BLACK, label="all")
    ax.axhline(data["capacity"], color=GREY, linewidth=1.0, label="capacity")
    chosen = data["chosen_segments"], data["chosen"]
    ax.scatter(*chosen, s=110, marker="*", color=ORANGE, zorder=3, label="chosen")
    ax.set_yscale("log")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    name_axes(ax, "segments", "KV tokens")
    ax.set_xlim(0.5, x.max() + 0.5)
    ax.legend(loc="best", ncols=2)
    canvas.suptitle(_segments_title(nested))


def _segments_caption(nested: "answers.wait.nested.NestedAnswer", data: Data) -> str:
    how = (
        "given"
        if nested.given
        else "best found, with ends and thresholds moved where that saves memory"
    )
    return (
        "KV tokens that Nested WAIT does not exceed in "
        f"{nested.plan.bound.batches:,} iterations but with probability {float(nested.delta):.4g}, "
        "in three terms, for each number of segments with the least whole thresholds: the better "
        "of ends at equal distances and after equal shares of the prompts. Star: "
        f"{how}, {data['chosen']:,.0f} tokens, certified."
    )


# --- policies -----------------------------------------------------------------------------------


def _policies_figure(
    answer: "answers.wait.study.WaitAnswer", runs: "answers.wait.runs.Comparison"
) -> Figure:
    return Figure(
        id="policies",
        title=" ".join(_policies_title(runs)),
        source="fluidkv.wait: policies on the same Poisson arrivals, sampled",
        parameters={"duration": runs.duration, "seeds": len(runs.prompts)},
        size=(9.0, 3.6),
        data=partial(_policies_data, answer, runs),
        draw=partial(_policies_draw, runs, answer.unit),
        caption=partial(_policies_caption, runs),
    )


def _policies_title(runs: "answers.wait.runs.Comparison") -> list[str]:
    evicted = [f"{each.name}: {sum(each.evictions):,}" for each in runs.policies]
    start = "; runs too short to compare" if runs.short or runs.short_for_all else ""
    says = (
        f"{answers.wait.ahead.ahead(runs)}{start}" if len(runs.policies) > 1 else start.lstrip("; ")
    )
    return [f"Evictions. {'; '.join(evicted)}.", *([says] if says else [])]


def _policies_data(
    answer: "answers.wait.study.WaitAnswer", runs: "answers.wait.runs.Comparison"
) -> Data:
    """One row a policy and seed."""
    columns = ("throughput", "latency_mean", "latency_p99", "ttft_p99", "evictions", "peak_memory")
    seeds = len(runs.prompts)
    rows: dict[str, np.ndarray | float] = {
        "policy": np.repeat(np.arange(len(runs.policies), dtype=float), seeds)
    }
    for name in columns:
        rows[name] = np.concatenate([np.array(getattr(p, name), float) for p in runs.policies])
    rows["balance"] = float(answer.equilibrium.throughput)
    return rows


def _policies_draw(
    runs: "answers.wait.runs.Comparison", unit: str, data: Data, canvas: Canvas
) -> None:
    axes = canvas.subplots(1, 3)
    names = [each.name.replace(", ", ",\n") for each in runs.policies]
    policy = data["policy"]
    each = "second" if unit == "s" else "unit of time"
    columns = (
        ("throughput", f"output tokens a {each}"),
        ("latency_p99", f"p99 latency{', s' if unit == 's' else ''}"),
        ("evictions", "evictions in a run"),
    )
    for ax, (name, label) in zip(axes, columns, strict=True):
        for index, colour in zip(range(len(names)), _COLOURS, strict=False):
            values = data[name][policy == index]
            ax.scatter(np.full(values.size, index), values, color=colour, s=30, alpha=0.8)
        ax.set_xticks(range(len(names)), names)
        ax.set_xlim(-0.6, len(names) - 0.4)
        highest = np.nanmax(data[name], initial=0)
        if name == "throughput":
            highest = max(highest, data["balance"])
        ax.set_ylim(bottom=0, top=_HEADROOM * highest if highest > 0 else 1)
        ax.tick_params(axis="x", labelsize=8)
        ax.set_ylabel(label)
    axes[0].axhline(data["balance"], color=GREY, linewidth=0.8)
    lines = [line for text in _policies_title(runs) for line in textwrap.wrap(text, _TITLE)]
    canvas.suptitle("\n".join(lines))


def _policies_caption(runs: "answers.wait.runs.Comparison", data: Data) -> str:
    return (
        f"{len(runs.prompts)} runs of {np.mean(runs.prompts):,.0f} prompts on average, the same "
        "for each policy, from an empty server; tokens of completed prompts and latencies in the "
        "second half of each, evictions in all of it. Grey line: "
        f"{data['balance']:,.6g}, the throughput of the balanced state. No point where "
        "no prompt completed. Sampled, not proved."
    )
