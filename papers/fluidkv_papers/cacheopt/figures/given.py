"""Figures 1, 3 and 4, and 6, in simulation: memory by block, by prediction, and how much of it."""

import numpy as np

from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREEN, GREY, ORANGE, PALE, name_axes
from fluidkv_papers.cacheopt.instances import given

_NAMES = {"vllm": "vLLM", "rlp": "RLP", "s3": "S3"}
_PARTS = {"waiting_s": "waiting", "preempted_s": "preempted", "execution_s": "execution"}
_COLORS = {"waiting_s": ORANGE, "preempted_s": GREEN, "execution_s": BLUE}
_WHERE = (("sharegpt", 10.0), ("sharegpt", 28.0), ("bookcorpus", 1.2), ("bookcorpus", 1.6))
_SETTING = (
    "OPT-13B on one A100 at its roofline, 62,976 tokens of cache in blocks of 32; lengths of "
    f"greatest entropy with Table 1's means and bounds; {given.SEEDS} draws of "
    f"{given.REQUESTS:,} requests from an empty server."
)


def compared_data() -> Data:
    """Means over draws, for each trace and rate, vLLM, RLP and S3 in turn: (where x method,)."""
    settings = [s for where in _WHERE for s in given.compared(*where).values()]
    names = (*_PARTS, "first", "tokens", "useful", "held", "filled")
    return {name: np.array([given.mean(s, name) for s in settings]) for name in names}


def draw_compared(data: Data, canvas: Canvas) -> None:
    times, counts, memory = canvas.subplots(3, 1, sharex=True)
    at = np.array([4.0 * k + m for k in range(len(_WHERE)) for m in range(len(_NAMES))])
    for name, label in _PARTS.items():
        times.plot(at, data[name], "o", color=_COLORS[name], label=label)
    times.grid(axis="y", color=PALE)
    name_axes(times, y="seconds a request, mean", log="y")
    counts.bar(at, data["tokens"], color=GREY, label="computed again")
    counts.bar(at, data["useful"], color=BLUE, label="computed first")
    name_axes(counts, y="tokens an iteration, mean")
    memory.bar(at, 100 * data["held"], color=GREY, label="given")
    memory.bar(at, 100 * data["filled"], color=BLUE, label="filled")
    name_axes(memory, y="KV memory, %")
    for ax in (times, counts, memory):
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    words = [f"{_NAMES[name]}" for _ in _WHERE for name in _NAMES]
    for k, (trace, rate) in enumerate(_WHERE):
        words[3 * k + 1] += f"\n{trace} at {rate:g}/s"
    memory.set_xticks(at, words)


def _compared_caption(data: Data) -> str:
    waiting, added = (data[name].reshape(-1, 3) for name in ("waiting_s", "first"))
    more = [
        f"{100 * (row[1] / row[0] - 1):.0f} and {100 * (row[2] / row[0] - 1):.0f}"
        for row in waiting
    ]
    tokens = data["tokens"].reshape(-1, 3)
    budget = [f"{100 * (row[0] / row[1] - 1):.0f}" for row in tokens]
    over = [f"{100 * (row[0] / row[1] - 1):.0f}" for row in added]
    return (
        f"{_SETTING} Each group is vLLM, RLP and S3 at one rate. RLP and S3 wait "
        f"{'; '.join(more)} % longer than vLLM, which "
        f"computes {', '.join(budget)} % more tokens an iteration than RLP, part of them again, "
        f"and adds {', '.join(over)} % more new requests. What RLP and S3 are given and do not "
        "fill is grey in the last row. The paper: 43 to 72 and 27 to 65 % longer, 37 % more tokens."
    )


def padding_data() -> Data:
    """Means over draws: "padding" (padding,), and of each rate "<rate>.<part>" (padding,)."""
    found: dict[str, np.ndarray] = {"padding": np.array(given.PADDINGS, float)}
    for rate in given.SWEPT_RATES:
        settings = [given.Setting(given.SWEPT, rate, "rlp", p) for p in given.PADDINGS]
        for name in (*_PARTS, "response_s"):
            found[f"{rate:g}.{name}"] = np.array([given.mean(s, name) for s in settings])
    return found


def draw_padding(data: Data, canvas: Canvas) -> None:
    panels = canvas.subplots(2, 2, sharex=True).flat
    for ax, rate in zip(panels, given.SWEPT_RATES, strict=True):
        x, response = data["padding"], data[f"{rate:g}.response_s"]
        parts = [data[f"{rate:g}.{name}"] for name in reversed(_PARTS)]
        colors = [_COLORS[name] for name in reversed(_PARTS)]
        ax.stackplot(x, *parts, colors=colors, labels=list(reversed(_PARTS.values())), alpha=0.8)
        ax.plot(x, response, "k.-", linewidth=1)
        best = int(np.argmin(response))
        ax.annotate(
            f"least: {x[best]:.0f}",
            (x[best], response[best]),
            (12, 14),
            textcoords="offset points",
            ha="center",
            fontsize=8.5,
        )
        name_axes(ax, title=f"{rate:g} requests/s")
        ax.set_ylim(0, 1.12 * response.max())
    axes = canvas.axes
    axes[1].legend(loc="upper right")
    for k in (0, 2):
        axes[k].set_ylabel("seconds a request, mean")
    for k in (2, 3):
        axes[k].set_xlabel("padding, tokens")


def _padding_caption(data: Data) -> str:
    least = [
        f"{data['padding'][np.argmin(data[f'{rate:g}.response_s'])]:.0f} at {rate:g}/s"
        for rate in given.SWEPT_RATES
    ]
    halted = data[f"{given.SWEPT_RATES[-1]:g}.preempted_s"]
    return (
        f"RLP on ShareGPT-like requests, 67 % of predictions within 100 tokens. {_SETTING} The sum "
        f"of waiting, preemption and execution is least with a padding of {', '.join(least)}: it "
        "falls and then rises, and where it is least depends on the rate, as the paper says. "
        f"Preemption time is too small to be seen ({1e3 * halted[0]:.0f} ms without padding); what "
        "little padding costs is the work done again, which lengthens execution and the queue. "
        "The paper has execution stable and waiting rising throughout."
    )


FIGURES = (
    Figure(
        id="cacheopt_figure_4",
        title="Memory reserved by prediction: fewer tokens per iteration, longer queues",
        source="CacheOPT, Figures 1, 3 and 4, in simulation",
        parameters={"where": [list(each) for each in _WHERE], "seeds": given.SEEDS},
        size=(8.5, 7.5),
        data=compared_data,
        draw=draw_compared,
        caption=_compared_caption,
    ),
    Figure(
        id="cacheopt_figure_6",
        title="The best padding depends on the rate until memory is short",
        source="CacheOPT, Figure 6, in simulation",
        parameters={"rates": list(given.SWEPT_RATES), "paddings": list(given.PADDINGS)},
        size=(8.5, 6.2),
        data=padding_data,
        draw=draw_padding,
        caption=_padding_caption,
    ),
)
