"""Where drafts cure requests that are all alike, where windows nearly do, and what slots cost."""

from fractions import Fraction
from itertools import product

import numpy as np

import fluidkv as fk
from fluidkv import footprints
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, SMALL_NOTE, name_axes
from fluidkv.footprints.attention import Attention

_DRAFTS = 3
_OUTPUTS = (4, 6, 8, 12, 16, 20, 24, 32, 40, 50)
_ACCEPTANCE = tuple(Fraction(k, 20) for k in range(1, 20, 2))
_INPUT, _SHORT_INPUT = 100, 20
_WINDOWS = (4, 8, 12, 16, 20, 22, 26, 32, 40, 50, 60, 70)
_SHAPES = ((_SHORT_INPUT, 60, BLUE), (_INPUT, 24, ORANGE), (400, 100, GREEN))
_CAPACITY = 10**6  # does not enter


def _speculation(acceptance: Fraction, reserved: int | None = None) -> "fk.Speculation":
    return fk.Speculation(_DRAFTS, acceptance, reserved)


def _server(
    input_length: int,
    output_length: int,
    speculation: "fk.Speculation | None" = None,
    attention: Attention | None = None,
) -> "fk.FullServer":
    kept = attention or footprints.FullAttention()
    footprint = fk.RequestFootprint(input_length, output_length, kept, speculation)
    return fk.FullServer(footprint, _CAPACITY)


def _leading(server: "fk.FullServer") -> float:
    """|z| of the leading mode, middle of its enclosure."""
    return sum(fk.footprint_stability(server).spectral_radius) / 2


def _rate(server: "fk.FullServer") -> float:
    """Completed an iteration; M / A(1), without a certificate."""
    return float(
        _CAPACITY / footprints.second_moments.mean_weights(server.footprint).lifetime_memory
    )


def drafts_data(
    outputs: tuple[int, ...] = _OUTPUTS, acceptance: tuple[Fraction, ...] = _ACCEPTANCE
) -> Data:
    """Shapes: output (outputs,), acceptance (a,); leading and short_leading (outputs x a,), rows
    by output, of inputs of 100 and 20; gain_L0_L1 and free_L0_L1 (a,): requests completed an
    iteration over those without drafts, with K slots reserved and with none.
    """
    grid = list(product(outputs, acceptance))
    found: dict[str, np.ndarray] = {
        "output": np.array(outputs, float),
        "acceptance": np.array([float(a) for a in acceptance]),
        "leading": np.array([_leading(_server(_INPUT, n, _speculation(a))) for n, a in grid]),
        "short_leading": np.array(
            [_leading(_server(_SHORT_INPUT, n, _speculation(a))) for n, a in grid]
        ),
    }
    for l0, l1, _ in _SHAPES:
        plain = _rate(_server(l0, l1))
        for name, slots in (("gain", None), ("free", 0)):
            rates = [_rate(_server(l0, l1, _speculation(a, slots))) / plain for a in acceptance]
            found[f"{name}_{l0}_{l1}"] = np.array(rates)
    return found


def windows_data(outputs: tuple[int, ...] = _OUTPUTS, windows: tuple[int, ...] = _WINDOWS) -> Data:
    """Shapes: output (outputs,), window (w,); leading (outputs x w,), rows by output, of all layers
    with a window; drafted (outputs x w,): the same with drafts, half of them accepted.
    """
    grid, half = list(product(outputs, windows)), _speculation(Fraction(1, 2))
    return {
        "output": np.array(outputs, float),
        "window": np.array(windows, float),
        "leading": np.array(
            [_leading(_server(_SHORT_INPUT, n, None, footprints.SlidingWindow(w))) for n, w in grid]
        ),
        "drafted": np.array(
            [_leading(_server(_SHORT_INPUT, n, half, footprints.SlidingWindow(w))) for n, w in grid]
        ),
    }


def _map(ax: Axes, canvas: Canvas, x: np.ndarray, y: np.ndarray, leading: np.ndarray) -> None:
    """Growth an iteration in per cent: blue decays, orange grows, a black line between."""
    from matplotlib.colors import LinearSegmentedColormap, TwoSlopeNorm

    colours = LinearSegmentedColormap.from_list("growth", [BLUE, "white", ORANGE])
    growth = 100 * (leading.reshape(len(y), len(x)) - 1)
    norm = TwoSlopeNorm(0, -4, 4)
    image = ax.contourf(
        x, y, growth, np.linspace(-4, 4, 33), cmap=colours, norm=norm, extend="both"
    )
    if growth.min() < 0 < growth.max():
        ax.contour(x, y, growth, [0.0], colors=BLACK, linewidths=1.2)
    bar = canvas.colorbar(image, ax=ax, ticks=[-4, -2, 0, 2, 4])
    bar.set_label("growth an iteration, %")


def draw_drafts(data: Data, canvas: Canvas) -> None:
    long, short, gain = canvas.subplots(1, 3, width_ratios=[1.15, 1.15, 1])
    for ax, key, l0 in ((long, "leading", _INPUT), (short, "short_leading", _SHORT_INPUT)):
        _map(ax, canvas, data["acceptance"], data["output"], data[key])
        name_axes(ax, "chance that a draft is accepted", "output tokens", f"inputs of {l0}")
    gain.axhline(1, color=GREY, linewidth=0.8)
    for l0, l1, color in _SHAPES:
        label = f"{l0} in, {l1} out"
        gain.plot(data["acceptance"], data[f"gain_{l0}_{l1}"], color=color, label=label)
        gain.plot(data["acceptance"], data[f"free_{l0}_{l1}"], color=color, linestyle=":")
    gain.plot([], [], color=GREY, linestyle=":", label="no slots reserved")
    words = "completed an iteration, relative"
    name_axes(gain, "chance that a draft is accepted", words, "what the slots cost")
    gain.legend(loc="upper left")


def draw_windows(data: Data, canvas: Canvas) -> None:
    plain, drafted = canvas.subplots(1, 2, sharey=True)
    for ax, key, title in (
        (plain, "leading", "one token an iteration"),
        (drafted, "drafted", f"{_DRAFTS} drafts, half accepted"),
    ):
        _map(ax, canvas, data["window"], data["output"], data[key])
        ax.plot(data["window"], data["window"] - _SHORT_INPUT, color=GREY, linewidth=1, ls="--")
        ax.set(ylim=(data["output"][0], data["output"][-1]))
        name_axes(ax, "window, tokens", "output tokens" if ax is plain else "", title)
    plain.annotate("above: the window binds", (62, 42), xytext=(-4, 6), ha="right", **SMALL_NOTE)


def drafts_caption(data: Data) -> str:
    cured = data["leading"] < 1
    least = [f"{l0} in and {l1} out, {_break_even(data, l0, l1)}" for l0, l1, _ in _SHAPES]
    return (
        f"Requests all alike, {_DRAFTS} drafts an iteration, each accepted with that chance if "
        "all before it were; K slots are reserved for each running request, as in vLLM. Without "
        "drafts the equilibrium is unstable at every length (Congestion, Theorem 2). Blue is "
        f"stable: {cured.mean():.0%} of the map for inputs of {_INPUT}, "
        f"{(data['short_leading'] < 1).mean():.0%} for inputs of {_SHORT_INPUT}. Each point is "
        "certified; between points colours are interpolated. Right: requests completed an "
        "iteration in a full memory, over those without drafts; lengths, and the least acceptance "
        f"drawn at which the slots leave a gain: {'; '.join(least)}."
    )


def _break_even(data: Data, l0: int, l1: int) -> str:
    gain = data[f"gain_{l0}_{l1}"]
    above = np.flatnonzero(gain >= 1)
    if above.size and above[0] == 0:
        return f"{data['acceptance'][0]:.2g}, the first"
    return f"{data['acceptance'][above[0]]:.2g}" if above.size else "none"


def windows_caption(data: Data) -> str:
    plain, drafted, n = data["leading"], data["drafted"], len(data["window"])
    row = int(np.argmax(data["output"]))
    narrow, wide = plain[row * n], plain[row * n + n - 1]
    windows = np.tile(data["window"], len(data["output"]))
    cured = sorted(set(windows[plain < 1].astype(int)))
    return (
        f"Requests all alike with inputs of {_SHORT_INPUT} tokens; all layers keep a window. The "
        "prompt is computed at once and held whole; after it a request holds the window at most. "
        f"A window of at most the input ({cured[0]} to {cured[-1]} here) makes what is held fall "
        "with age: stable, but barely, as modes decay by "
        f"{100 * (1 - narrow):.2g} % an iteration at most of outputs of "
        f"{data['output'][row]:.0f}; one of {data['window'][-1]:.0f} leaves a growth of "
        f"{100 * (wide - 1):.2g} %. With drafts {(drafted < 1).mean():.0%} of the map is stable, "
        f"without {(plain < 1).mean():.0%}. Each point is certified; between points colours are "
        "interpolated."
    )


_BOTH = {"outputs": list(_OUTPUTS), "drafts": _DRAFTS, "short_input": _SHORT_INPUT}
FIGURES = (
    Figure(
        id="footprints_drafts",
        title="Drafts can cure requests that are all alike",
        source="fluidkv.footprint_stability",
        parameters=_BOTH | {"input": _INPUT, "acceptance": [str(a) for a in _ACCEPTANCE]},
        size=(11.0, 3.8),
        data=drafts_data,
        draw=draw_drafts,
        caption=drafts_caption,
    ),
    Figure(
        id="footprints_windows",
        title="A window that the input fills cures, barely; drafts help it",
        source="fluidkv.footprint_stability",
        parameters=_BOTH | {"windows": list(_WINDOWS), "acceptance": "1/2"},
        size=(8.6, 3.8),
        data=windows_data,
        draw=draw_windows,
        caption=windows_caption,
    ),
)
