"""Victim rules, watermark and rate cap on one chart: what each does to tax and throughput."""

from fractions import Fraction

import numpy as np

from fluidkv import exact
from fluidkv.figures.figure import Axes, Canvas, Data, Figure
from fluidkv.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, SMALL_NOTE
from fluidkv.serving.rules import Keeps, Victim
from fluidkv.workload import RequestClass, System, Workload
from fluidkv_papers.theory.masses import Server, Trim, course, nudged
from fluidkv_papers.vllm.instances import victims_bench as bench
from fluidkv_papers.vllm.instances import victims_caps as caps

_ITERATIONS = 600
_WATERMARKS = (0.0, 0.05, 0.1, 0.2, 0.3)
_RATES = (1.0, 1.05, 1.2, 1.5, 2.0, 4.0)
_NUDGES = (1.0, -0.9, 0.4, 0.3, -0.7)
_KEPT = {"lost": Keeps.NOTHING, "kept": Keeps.OUTPUTS}
_TRIMS = {
    Trim.LEAST_PROGRESSED: "least progressed",
    Trim.MOST_PROGRESSED: "most progressed",
    Trim.LONGEST_REMAINING: "longest remaining",
    Trim.IN_PROPORTION: "in proportion",
}
_RULES = {
    Victim.LAST_ADMITTED: "last come",
    Victim.LEAST_COMPUTED: "least computed",
    Victim.LONGEST_REMAINING: "longest remaining",
    Victim.COST_AWARE: "cost-aware",
    Victim.RANDOM: "random",
    Victim.MOST_COMPUTED: "most computed",
}
_OFFSETS = {
    ("lost", "in proportion"): (7, -1),
    ("lost", "most progressed"): (7, -9),
    ("kept", "longest remaining"): (-84, 5),
    ("kept", "least progressed"): (-40, 15),
    ("kept", "in proportion"): (-10, -14),
    ("whole", "last come"): (7, -2),
    ("whole", "cost-aware"): (-6, -14),
    ("whole", "random"): (4, -11),
    ("cut", "last come"): (7, -2),
    ("cut", "longest remaining"): (-40, -14),
    ("cut", "random"): (7, -8),
}
"""Of names beside their points, in points of type, where neighbours would cover each other."""


def _system() -> System:
    half = Fraction(1, 2)
    return System(Workload((RequestClass(10, 10, half), RequestClass(10, 20, half))), 1000)


def data() -> Data:
    """Tax, per cent, and throughput of every point.

    Names are "lost" or "kept" (progress, in the mass model; completions of an iteration over x*,
    also "...swing"), "whole" or "cut" (prompts, on the bench; output tokens a second over those of
    last come first), then "rules", "watermark" or "rate", then "tax", "throughput".
    """
    system = _system()
    rate = float(exact.eviction_free_equilibrium(system).rate)
    start = nudged(system, _NUDGES, 0.01)
    numbers: dict[str, np.ndarray | float] = {}
    for name, keeps in _KEPT.items():
        servers = {
            "rules": [Server(system, trim, keeps) for trim in _TRIMS],
            "watermark": [Server(system, keeps=keeps, watermark=w) for w in _WATERMARKS],
            "rate": [Server(system, keeps=keeps, cap=rate * r) for r in _RATES],
        }
        for knob, of in servers.items():
            found = [course(server, start, iterations=_ITERATIONS) for server in of]
            numbers |= {
                f"{name}.{knob}.tax": np.array([100 * c.tax for c in found]),
                f"{name}.{knob}.throughput": np.array([c.throughput for c in found]),
                f"{name}.{knob}.swing": np.array([c.swing for c in found]),
            }
    for name, setting in zip(("whole", "cut"), caps.CHOSEN, strict=True):
        numbers |= _benched(name, setting)
    return numbers


def _benched(name: str, setting: bench.Setting) -> dict[str, np.ndarray | float]:
    """Means over the draws, tokens a second over those of last come first, draw by draw."""
    k, i = bench.SETTINGS.index(setting), caps.CHOSEN.index(setting)
    speed, tax = bench.NUMBERS.index("output_per_s"), bench.NUMBERS.index("tax")
    rules = np.array([bench.recorded()[victim][k] for victim in _RULES])
    last, capped = rules[0], caps.recorded()[i]
    marks = len(caps.WATERMARKS)
    knobs = {
        "rules": rules,
        "watermark": np.concatenate([[last], capped[:marks]]),
        "rate": capped[marks:],
    }
    found: dict[str, np.ndarray | float] = {}
    for knob, values in knobs.items():
        found[f"{name}.{knob}.tax"] = 100 * values[..., tax].mean(axis=1)
        found[f"{name}.{knob}.throughput"] = (values[..., speed] / last[:, speed]).mean(axis=1)
    return found


def draw(data: Data, canvas: Canvas) -> None:
    grid = canvas.subplots(2, 2)
    shown = (
        ("lost", "Masses, outputs of 10 and 20: the evicted start again", _TRIMS, "over x*"),
        ("kept", "The same, the evicted keep their progress", _TRIMS, "over x*"),
        ("whole", "Bench, chat: prompts computed whole", _RULES, "over last come"),
        ("cut", "Bench, documents: 512 tokens an iteration", _RULES, "over last come"),
    )
    for ax, (name, title, rules, over) in zip(grid.flat, shown, strict=True):
        _panel(data, ax, name, list(rules.values()))
        unit = "completed an iteration" if over == "over x*" else "output tokens/s"
        ax.set(title=title, xlabel="recompute tax, %", ylabel=f"{unit}, {over}")
        ax.margins(x=0.18, y=0.16)
        ax.set_xlim(left=-0.03 * ax.get_xlim()[1])  # a tax is not below 0
    grid[0, 0].legend(loc="upper left", bbox_to_anchor=(0.0, 0.97))


def _panel(data: Data, ax: Axes, name: str, rules: list[str]) -> None:
    masses = name in _KEPT
    for knob, color, label, marks in (
        ("watermark", GREEN, "watermark", _WATERMARKS if masses else (0, *caps.WATERMARKS)),
        ("rate", BLACK, "rate cap; 1 is what memory carries", _RATES if masses else caps.RATES),
    ):
        x, y = data[f"{name}.{knob}.tax"], data[f"{name}.{knob}.throughput"]
        ax.plot(x, y, ".-", color=color, linewidth=1.0, label=label)
        for k in (0, len(marks) - 1) if knob == "rate" else (len(marks) - 1,):
            ax.annotate(f"{marks[k]:g}", (x[k], y[k]), (3, -10), **SMALL_NOTE)
    x, y = data[f"{name}.rules.tax"], data[f"{name}.rules.throughput"]
    ax.plot(x, y, "o", color=BLUE, label="other victim rules")
    ax.plot(x[:1], y[:1], "o", color=ORANGE, label="least progressed, or last come")
    for k, rule in enumerate(rules):
        ax.annotate(rule, (x[k], y[k]), _OFFSETS.get((name, rule), (4, 5)), **SMALL_NOTE)
    if masses:
        ax.axhline(1, color=GREY, linewidth=0.6, linestyle=":")


def caption(data: Data) -> str:
    swings = np.concatenate([data[f"{name}.rules.swing"] for name in _KEPT])
    taxes = data["kept.rules.tax"]
    whole, cut = (data[f"{name}.rules.tax"] for name in ("whole", "cut"))
    return (
        "Top: the mass model near its equilibrium, which growing modes leave. Under every victim "
        f"rule the completions of an iteration go on to swing by {swings.min():.1f} to "
        f"{swings.max():.1f} x*; a cap of x* on admission ends it, with no tax and all of x*. "
        "Where the evicted keep their progress all rules complete x*, at taxes of "
        f"{taxes.min():.0f} to {taxes.max():.0f} %; where they start again, longest remaining "
        "exceeds x* by leaving the longer requests a sixth of their share. A watermark lowers the "
        "tax and does not settle it. Bottom: whole requests at 1.2 times the load that memory "
        f"carries, means of {bench.DRAWS} draws. Least computed first has a tax of {whole[1]:.0f} "
        f"% for {whole[0]:.0f} % under last come first where prompts are whole, and {cut[1]:.0f} % "
        f"for {cut[0]:.0f} % where they are cut."
    )


FIGURE = Figure(
    id="victim_rules",
    title="A victim rule cheapens evictions; a rate cap makes them few",
    source="Mass model of Congestion with other victims; bench of ours",
    parameters={
        "masses": "l0 = 10, l1 = 10 and 20, M = 1000, 1 % off the equilibrium",
        "iterations": _ITERATIONS,
        "watermarks": list(_WATERMARKS),
        "rates": list(_RATES),
        "bench": [str(setting) for setting in caps.CHOSEN],
    },
    size=(10.4, 7.6),
    data=data,
    draw=draw,
    caption=caption,
)
