"""Congestion, Figure 13: the memory after the shift keeps its distance to capacity inside N."""

from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLUE, GREY, ORANGE, PALE
from fluidkv.papers.congestion.figures._example_11 import PARAMETERS, example, number


def data() -> Data:
    """Tokens: after the shift, the margin, and how far N and larger sets reach."""
    found = example()
    margin = float(found.margin)
    delta = float(found.delta_squared) ** 0.5
    return {
        "capacity": float(found.system.capacity),
        "post_shift": float(found.system.capacity) - margin,
        "margin": margin,
        "bound": float(found.system.capacity / (4 * found.kappa)),
        "ball": delta * margin / number(found.ball_squared) ** 0.5,
        "inside": margin * delta / number(found.eviction_level) ** 0.5,
        "on_boundary": margin * delta / number(found.boundary_level) ** 0.5,
        "delta": delta,
        "sharp_factor": number(found.eviction_level) / delta**2,
    }


def draw(data: Data, canvas: Canvas) -> None:
    (ax,) = canvas.subplots(1, 1, squeeze=False)[0]
    shift, capacity = data["post_shift"], data["capacity"]
    rows = (
        ("at equilibrium", 0.0, BLUE),
        ("bound of the proof, $C_2 l_0 δ$", data["bound"], ORANGE),
        ("largest where ‖y‖ ≤ δ", data["ball"], ORANGE),
        ("largest inside $\\mathcal{N}$", data["inside"], ORANGE),
        ("largest inside $\\mathcal{N}$, memory full", data["on_boundary"], ORANGE),
    )
    for i, (_, deviation, color) in enumerate(rows):
        ax.barh(i, shift, color=BLUE, height=0.55)
        ax.barh(i, deviation, left=shift, color=color, height=0.55)
        ax.barh(i, capacity - shift - deviation, left=shift + deviation, color=PALE, height=0.55)
        free = capacity - shift - deviation
        ax.annotate(
            f"{free:.1f} free",
            (capacity, i),
            (-6, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=8,
        )
        if deviation:
            middle = (shift + deviation, i)
            style = {"textcoords": "offset points", "va": "center", "fontsize": 8, "color": GREY}
            ax.annotate(f"+{deviation:.1f}", middle, (4, 0), **style)
    ax.axvline(capacity, color=GREY, linewidth=1.0)
    ax.annotate(
        f"M = {capacity:g}", (capacity, -0.75), (-4, 0), textcoords="offset points", ha="right"
    )
    ax.set_yticks(range(len(rows)), [name for name, *_ in rows])
    ax.set(
        ylim=(len(rows) - 0.5, -1.0),
        xlim=(0, capacity * 1.01),
        xlabel="memory after the shift, before admission, tokens",
    )


def caption(data: Data) -> str:
    return (
        f"Example 11: after the shift {data['post_shift']:g} of "
        f"{data['capacity']:g} tokens are held at equilibrium. Where the deviation y of "
        f"the cohorts has norm at most δ = {data['delta']:.3f} the proof allows for "
        f"{data['bound']:.1f} tokens more; the largest that there are is "
        f"{data['ball']:.1f}, {data['inside']:.1f} inside N = {{L < δ²}} and "
        f"{data['on_boundary']:.1f} if memory is full as well. Eviction is excluded up to "
        f"L = {data['sharp_factor']:.0f} δ²."
    )


FIGURE = Figure(
    id="congestion_figure_13",
    title="Near the equilibrium memory after the shift stays well below capacity",
    source="Congestion, Figure 13 and Example 11",
    parameters=PARAMETERS,
    size=(8.0, 3.2),
    data=data,
    draw=draw,
    caption=caption,
)
