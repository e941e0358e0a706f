"""A server at a glance: its KV cache is full, it preempts, and how much memory would do."""

from typing import Any

import numpy as np

from fluidkv.answers import ServerSettings, Setting, Slo, read_server, replay_log, size_server
from fluidkv.answers.size.result import SizeAnswer
from fluidkv.answers.size.sizes import Size
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, GREY, NOTE, ORANGE, PALE, SMALL_NOTE, name_axes
from fluidkv.traces import read_trace

SOURCE = "sample:vllm-rtx4090"
RATE = 1.0  # requests a second, of the right panel
TTFT_P99 = 2.0  # seconds, and
TPOT_P99 = 0.05  # what the README asks for
_SHOWN = (12_000, 45_000)  # KV tokens; memory for all requests is far to the right

_COUNT: dict[str, Any] = SMALL_NOTE | {"color": ORANGE}
_POINTER: dict[str, Any] = NOTE | {
    "arrowprops": {"arrowstyle": "-", "color": GREY, "linewidth": 0.7}
}


def data() -> Data:
    """Ticks measured and predicted, preemptions, and p99 TTFT of every size of the KV cache."""
    return {**_replayed(), **_sized(sized())}


def _replayed() -> Data:
    found = replay_log(SOURCE)
    at = found.main.account.preempted_s
    return {
        "t_s": found.log.tick_ends_s,
        "middle_s": found.middle_s,
        "requests": float(len(found.log.input_lengths)),
        "measured_kv_used": 100 * found.measured.kv_used,
        "predicted_kv_used": 100 * found.main.account.kv_used,
        "measured_running": found.measured.running,
        "predicted_running": found.main.account.running,
        "preempted_s": np.zeros(0) if at is None else np.asarray(at),
        "preempted_at_least": float(found.preemptions_seen),
        "recomputed_tokens": float(found.main.recomputed_tokens),
    }


def sized() -> SizeAnswer:
    """What `fluidkv size SOURCE --qps 1 --slo ttft_p99=2s --slo tpot_p99=50ms` finds."""
    server = read_server(SOURCE)
    asked, _ = ServerSettings(None, None, None, None, Setting()).as_logged(server)
    return size_server(
        read_trace(SOURCE).trace,
        [Slo("ttft_p99", TTFT_P99), Slo("tpot_p99", TPOT_P99)],
        capacity=asked.capacity,
        rate=RATE,
        engine=server.engine,
        clock=asked.clock,
        setting=asked.now,
        block_size=asked.block_size,
        max_num_batched_tokens=asked.max_num_batched_tokens,
        log=server.log,
        totals=server.totals,
        draws=0,  # the log's own requests, as measured
    )


def _sized(found: SizeAnswer) -> Data:
    def tokens(size: Size | None) -> float:
        return np.nan if size is None else float(found.tokens(size))

    sizes = [size for size in found.along if _SHOWN[0] <= found.tokens(size) <= _SHOWN[1]]
    worse = found.cliff.worse
    edge = None if found.against is None else found.against.edge
    return {
        "tokens": np.array([tokens(size) for size in sizes]),
        "ttft_p99_s": np.array([found.worst(size, "ttft_p99") for size in sizes]),
        "met": np.array([float(found.meets(size)) for size in sizes]),
        "answer": tokens(found.answer),
        "answer_s": found.worst(found.answer, "ttft_p99"),
        "with_error": tokens(None if edge is None else edge.answer),
        "cliff": tokens(worse),
        "cliff_s": np.nan if worse is None else found.worst(worse, "ttft_p99"),
        "today": tokens(found.today),
    }


def draw(data: Data, canvas: Canvas) -> None:
    """Left, over time: memory with preemptions, and the batch. Right: the tail over memory."""
    left, right = canvas.add_gridspec(1, 2, width_ratios=[1.25, 1])
    above, below = (canvas.add_subplot(place) for place in left.subgridspec(2, 1))
    _memory(data, above)
    _batch(data, below)
    _cliff(data, canvas.add_subplot(right))


def _memory(data: Data, ax: Axes) -> None:
    _half(data, ax)
    ax.fill_between(data["t_s"], data["measured_kv_used"], color=BLUE, alpha=0.18, linewidth=0)
    _both(data, ax, "kv_used")
    ticks = data["preempted_s"]
    ax.plot(ticks, np.full(ticks.size, 114.0), "|", color=ORANGE, markersize=7, clip_on=False)
    words = f"{ticks.size} preemptions, simulated"
    ax.annotate(words, (0, 114), (2, 7), **_COUNT)
    ax.set(ylim=(0, 132), yticks=(0, 50, 100), xlim=(0, float(data["t_s"][-1])))
    ax.tick_params(labelbottom=False)
    name_axes(ax, y="KV cache in use, %", title="What an overloaded server does")


def _batch(data: Data, ax: Axes) -> None:
    _half(data, ax)
    _both(data, ax, "running")
    middle, last = float(data["middle_s"]), float(data["t_s"][-1])
    for words, at in (
        ("the simulation is tuned here", middle / 2),
        ("and predicts this half", (middle + last) / 2),
    ):
        ax.annotate(words, (at, 2), (0, 0), ha="center", **SMALL_NOTE)
    ax.set(ylim=(0, 62), xlim=(0, last))
    ax.legend(loc="upper right", ncols=2)
    name_axes(ax, "seconds", "requests running")


def _half(data: Data, ax: Axes) -> None:
    ax.axvspan(0, float(data["middle_s"]), color=PALE, zorder=0)


def _both(data: Data, ax: Axes, name: str) -> None:
    ax.plot(data["t_s"], data[f"measured_{name}"], color=BLUE, label="measured")
    predicted = data[f"predicted_{name}"]
    ax.plot(data["t_s"], predicted, color=ORANGE, linewidth=1.1, label="simulated")


def _cliff(data: Data, ax: Axes) -> None:
    met, at, wait = data["met"].astype(bool), data["tokens"] / 1e3, data["ttft_p99_s"]
    ax.plot(at, wait, color=GREY, linewidth=0.8, zorder=0)
    ax.axhline(TTFT_P99, color=BLACK, linewidth=0.9, linestyle="--", zorder=0)
    ax.annotate(f"asked for: {TTFT_P99:g} s", (at.max(), TTFT_P99), (0, 4), ha="right", **NOTE)
    for here, face, edge, label in (
        (~met, "white", ORANGE, "too slow"),
        (met, BLUE, BLUE, "fast enough"),
    ):
        ax.scatter(at[here], wait[here], s=20, facecolor=face, edgecolor=edge, label=label)
    less = 1 - data["cliff"] / data["answer"]
    times = data["cliff_s"] / data["answer_s"]
    ax.annotate(
        f"{less:.1%} less memory:\n{times:.1f} times the wait",
        (data["cliff"] / 1e3, data["cliff_s"]),
        (14, 22),
        **_POINTER,
    )
    ax.annotate(
        f"{data['answer']:,.0f} tokens\nare enough",
        (data["answer"] / 1e3, data["answer_s"]),
        (-20, -40),
        ha="right",
        **_POINTER,
    )
    here = float(wait[np.isclose(at, data["today"] / 1e3)][0])
    ax.annotate("today", (data["today"] / 1e3, here), (0, 7), ha="center", **NOTE)
    name_axes(
        *(ax, "KV cache, thousand tokens", "p99 time to first token, seconds"),
        title=f"How much KV cache is enough at {RATE:g} request a second",
        log="y",
    )
    ax.set_yticks([0.3, 1, 3, 10, 30, 100], ["0.3", "1", "3", "10", "30", "100"])
    ax.minorticks_off()
    ax.set_ylim(0.2, 150)
    ax.legend(loc="upper right", title="each point a simulated server")


def caption(data: Data) -> str:
    """What is seen, in an operator's words, with the numbers of the data."""
    full = float((data["measured_kv_used"] >= 90).mean())
    return (
        f"Left: {data['requests']:.0f} requests on vLLM 0.19.0 and one RTX 4090. The KV cache is "
        f"at least 90 % full in {full:.0%} of the ticks of the log. The simulation has a clock "
        f"from the first half (shaded) and preempts {data['preempted_s'].size} times, which "
        f"computes {data['recomputed_tokens']:,.0f} tokens again; the log counts neither, and "
        f"shows at least {data['preempted_at_least']:.0f} preemptions. Right: the same "
        f"requests at {RATE:g} a second, by servers with more and less KV cache (simulated, a "
        f"clock from the whole log). {data['answer']:,.0f} tokens meet a p99 time to first token "
        f"of {TTFT_P99:g} s and a p99 of {1e3 * TPOT_P99:.0f} ms a token; filled points do. With "
        f"{1 - data['cliff'] / data['answer']:.1%} less the p99 time to first token is "
        f"{data['cliff_s'] / data['answer_s']:.1f} times as long. If every iteration took longer "
        f"by as much as the simulation is off on this log, {data['with_error']:,.0f} would be "
        f"needed; today there are {data['today']:,.0f}."
    )


FIGURE = Figure(
    id="server",
    title="A server whose KV cache is full, and how much memory it needs",
    source="Measured log sample:vllm-rtx4090, from the examples of LLMServingSim (MIT)",
    parameters={
        "log": SOURCE,
        "rate_per_s": RATE,
        "ttft_p99_s": TTFT_P99,
        "tpot_p99_s": TPOT_P99,
    },
    size=(10.0, 4.4),
    data=data,
    draw=draw,
    caption=caption,
)
