"""What an eviction costs where progress is lost, and where it is kept: iterations or prefill."""

import numpy as np

from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREY, ORANGE, name_axes, zero_line
from fluidkv_papers.congestion.experiments import a100
from fluidkv_papers.congestion.experiments import keeping as keeps

_COLORS = {"restart": ORANGE, "vllm": BLUE}
_NAMES = {"restart": "restart: progress is lost", "vllm": "vLLM: tokens are kept"}
_MIXES = {"one": keeps.ONE, "pair": keeps.PAIR}
_SHOWN_INPUT, _LIFETIMES = keeps.OUTPUT, 4
_OUTPUTS = (256, 1024)


def data() -> Data:
    """By engine and mix, over the ratio of input to output length.

    Keys: ratio; "ENGINE.MIX.FIELD" with the fields of `keeps.Kept`; "cycle.MIX", the synchronized
    cycle over x*; "cycle.again", its prefill tokens an output beyond the prompts, one length;
    "ENGINE.seconds.N", output tokens a second over those without eviction, outputs of N tokens;
    "ENGINE.running", requests at input = output; prefill_us.
    """
    found: dict[str, np.ndarray | float] = {"ratio": np.array(keeps.INPUTS) / keeps.OUTPUT}
    for engine in keeps.ENGINES:
        for mix, lengths in _MIXES.items():
            runs = keeps.runs(engine, lengths)
            for field in ("rate", "tax", "prefill", "evictions", "swing", "period"):
                values = [getattr(run, field) for run in runs]
                found[f"{engine}.{mix}.{field}"] = np.array(values, dtype=np.float64)
        alone = keeps.runs(engine, keeps.ONE)
        for output in _OUTPUTS:
            found[f"{engine}.seconds.{output}"] = np.array(
                [
                    keeps.share_in_seconds(
                        run, l0 / keeps.OUTPUT, output, per_prefill_s=keeps.PER_PREFILL_TOKEN_S
                    )
                    for l0, run in zip(keeps.INPUTS, alone, strict=True)
                ]
            )
        running = alone[keeps.INPUTS.index(_SHOWN_INPUT)].running
        found[f"{engine}.running"] = running[: _LIFETIMES * keeps.OUTPUT].astype(np.float64)
    for mix, lengths in _MIXES.items():
        found[f"cycle.{mix}"] = np.array(
            [float(keeps.synchronized(lengths, l0)) for l0 in keeps.INPUTS]
        )
    found["cycle.again"] = np.array([float(keeps.again_in_cycle(l0)) for l0 in keeps.INPUTS])
    found["prefill_us"] = 1e6 * keeps.PER_PREFILL_TOKEN_S
    return found


def draw(data: Data, canvas: Canvas) -> None:
    ((path, rate), (tax, seconds)) = canvas.subplots(2, 2)
    _path(data, path)
    _rate(data, rate)
    _tax(data, tax)
    _seconds(data, seconds)


def _path(data: Data, ax: Axes) -> None:
    for engine, color in _COLORS.items():
        running = data[f"{engine}.running"]
        ax.plot(np.arange(1, len(running) + 1), running, color=color, label=_NAMES[engine])
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.35 * (high - low))  # room for the legend
    ax.legend(loc="upper left", ncols=2, columnspacing=1.0)
    name_axes(
        ax,
        f"iteration; a lifetime is {keeps.OUTPUT}",
        "requests running",
        "(a) both oscillate: inputs as long as outputs",
    )
    ax.set(xticks=np.arange(0, _LIFETIMES + 1) * keeps.OUTPUT, xlim=(0, _LIFETIMES * keeps.OUTPUT))


def _rate(data: Data, ax: Axes) -> None:
    ratio = data["ratio"]
    ax.plot(ratio, data["cycle.one"], color=GREY, label="synchronized cycle, exact")
    ax.plot(ratio, data["cycle.pair"], color=GREY, linestyle="--")
    for engine, color in _COLORS.items():
        for mix, face in (("one", color), ("pair", "white")):
            label = f"{engine}, {'one length' if mix == 'one' else 'two lengths'}"
            _dots(ax, ratio, data[f"{engine}.{mix}.rate"], color, face, label)
    _over_ratio(ax)
    zero_line(ax, 1)
    name_axes(
        ax,
        y="output tokens an iteration\nover those of x*",
        title="(b) in iterations: only restart loses",
    )
    ax.set_ylim(0.4, 1.06)
    ax.legend(loc="lower right", fontsize=7.5)


def _tax(data: Data, ax: Axes) -> None:
    ratio = data["ratio"]
    ax.plot(ratio, data["cycle.again"], color=GREY, label="restart's synchronized cycle, exact")
    for engine, color in _COLORS.items():
        for mix, face in (("one", color), ("pair", "white")):
            prefill = data[f"{engine}.{mix}.prefill"] - ratio * _prompts(mix)
            _dots(ax, ratio, prefill, color, face, None, line=True)
    _over_ratio(ax)
    ax.set_ylim(0, 1.25)  # room for the legend
    name_axes(
        ax,
        y="prefill tokens for an output\ntoken, beyond the prompts",
        title="(c) what is computed again",
    )
    ax.legend(loc="upper left", fontsize=7.5)


def _seconds(data: Data, ax: Axes) -> None:
    ratio = data["ratio"]
    for engine, color in _COLORS.items():
        for output, style in zip(_OUTPUTS, ("-", "--"), strict=True):
            ax.plot(
                ratio,
                data[f"{engine}.seconds.{output}"],
                color=color,
                linestyle=style,
                marker="o",
                markersize=3,
                label=f"{engine}, {output:,} outputs",
            )
    _over_ratio(ax)
    zero_line(ax, 1)
    ax.axhline(0.5, color=GREY, linewidth=0.8, linestyle=":", label="half")
    name_axes(
        ax,
        y="output tokens a second\nover those without eviction",
        title="(d) by a modelled clock: Vidur's decode line,\n"
        "prefill at half of peak, no prefix cache",
    )
    ax.set_ylim(0, 1.06)
    ax.legend(loc="lower right", fontsize=7.5)


def _dots(
    ax: Axes,
    x: np.ndarray,
    y: np.ndarray,
    color: str,
    face: str,
    label: str | None,
    *,
    line: bool = False,
) -> None:
    ax.plot(
        x,
        y,
        color=color,
        linestyle="-" if line else "",
        linewidth=1.0,
        marker="o",
        markersize=4.5,
        markerfacecolor=face,
        label=label,
    )


def _over_ratio(ax: Axes) -> None:
    ax.set_xscale("log", base=2)
    ax.set_xticks([1 / 16, 1 / 4, 1, 4], ["1/16", "1/4", "1", "4"])
    ax.set_xlabel("input over output length")


def _prompts(mix: str) -> float:
    """Input tokens of an output token, over input / the longest output."""
    lengths = _MIXES[mix]
    return max(lengths) * len(lengths) / sum(lengths)


def _span(values: np.ndarray) -> str:
    return f"{values.min():.2f} to {values.max():.2f}"


def caption(data: Data) -> str:
    lost, kept = data["restart.one.rate"], data["vllm.one.rate"]
    again = {e: data[f"{e}.one.prefill"] - data["ratio"] for e in keeps.ENGINES}
    short, long = (data[f"vllm.seconds.{n}"] for n in _OUTPUTS)
    lost_s = data["restart.seconds.256"]
    return (
        f"Endless queue, memory for {keeps.AT_ONCE} requests; one length ({keeps.OUTPUT}, filled) "
        f"and two in equal shares ({keeps.PAIR[0]} and {keeps.PAIR[1]}, open). (b) At inputs a "
        f"sixteenth as long as outputs restart serves {lost[0]:.0%} of x*, vLLM {kept[0]:.0%}. "
        f"(c) For each output token vLLM prefills {_span(again['vllm'])} tokens again, restart "
        f"{_span(again['restart'])}; the line is that of the cycle. (d) Not measured: by a line "
        f"through Vidur's decode batches and {data['prefill_us']:.0f} µs a prefill token "
        f"(half of the GPU's peak): at a sixteenth vLLM is left with {short[0]:.0%} of the tokens "
        f"a second for outputs of 256 tokens and {long[0]:.0%} for 1,024, restart with "
        f"{lost_s[0]:.0%} for 256; at four times, {short[-1]:.0%} and {long[-1]:.0%}; Llama-3-8B "
        "on an A100. vLLM "
        "without watermark and prefill budget; its prefix cache, which may find evicted blocks "
        "again, is left out."
    )


FIGURE = Figure(
    id="restart_resume",
    title="Keeping progress turns the lost iterations into prefill; the oscillation stays",
    source="Congestion, section 2.2 and Lemma 1, beside vLLM's rule",
    parameters={
        "requests_at_once": keeps.AT_ONCE,
        "decode_lengths": [list(keeps.ONE), list(keeps.PAIR)],
        "input_lengths": list(keeps.INPUTS),
        "shares": "equal, classes in turn",
        "iterations": [keeps.WARM_UP, keeps.MEASURED],
        "engines": list(keeps.ENGINES),
        "outputs_in_seconds": list(_OUTPUTS),
        "clock": [a100.BASE_S, a100.PER_KV_TOKEN_S, keeps.PER_PREFILL_TOKEN_S],
        "clock_capacity": a100.CAPACITY,
        "seed": None,
    },
    size=(9.5, 6.4),
    data=data,
    draw=draw,
    caption=caption,
)
