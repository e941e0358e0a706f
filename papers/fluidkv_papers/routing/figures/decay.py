"""Figure 14, and what the paper leaves open beside it: how LBGR learns."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from fluidkv import routing
from fluidkv.figures.figure import Canvas, Data, Figure
from fluidkv.figures.style import BLUE, ORANGE, name_axes
from fluidkv_papers.bands import listed, plain_numbers
from fluidkv_papers.routing.figures import sweeps
from fluidkv_papers.routing.figures.sweeps import draw_line
from fluidkv_papers.routing.instances.setting import half, half_documents

SEEDS = sweeps.SEEDS
INTERVALS = (10, 20, 40, 80)
"""Milliseconds between two decays by 31/32."""
NAMES = ("lbgr+lru", "lbgr+rlt")

READINGS: dict[str, dict[str, str]] = {
    "used": {},
    "error\nas routed": {"error": "routed"},
    "all\nreleased": {"release": "whole"},
    "no\nresidual": {"step": "none"},
    "nlms": {"step": "nlms"},
    "rls": {"step": "rls"},
    "sgd": {"step": "sgd"},
}
"""How Algorithm 2 can be read (`fluidkv.routing.LBGR`)."""


def data(
    intervals: Sequence[int] = INTERVALS,
    readings: Sequence[str] = tuple(READINGS),
    seeds: Sequence[int] = SEEDS,
) -> Data:
    """As `sweeps.sweep`, over the interval; and over the readings, "reading.WORKLOAD.MEASURE"."""
    points = [(ms, half(router=routing.LBGR(every=ms / 1000))) for ms in intervals]
    found = dict(sweeps.sweep(points, seeds=seeds, names=NAMES))
    for name, of in (("gsp", half), ("documents", partial(half_documents, rate=8))):
        routers = [routing.LBGR(**READINGS[reading]) for reading in readings]  # pyright: ignore[reportArgumentType] -- words
        points = [(place, of(router=router)) for place, router in enumerate(routers)]
        for key, values in sweeps.sweep(points, seeds=seeds, names=("lbgr+rlt",)).items():
            found[f"reading.{name}.{key.removeprefix('lbgr+rlt.')}"] = values
    return found


def draw(data: Data, canvas: Canvas) -> None:
    left, right = canvas.subplots(1, 2, width_ratios=(2, 3))
    for name in NAMES:
        draw_line(data, left, name, "latency_p50")
        draw_line(data, left, name, "latency_p95")
    name_axes(left, "decay interval, ms", "latency, s", log="xy")
    left.set_xticks(data["x"], [f"{ms:g}" for ms in data["x"]], minor=False)
    left.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    plain_numbers(left, "y")
    left.set_title("median (lower) and P95 of each")
    handles, labels = left.get_legend_handles_labels()
    left.legend(handles[::2], labels[::2])
    places = data["reading.gsp.x"]
    for at, (name, label, shade) in enumerate(
        (("gsp", "generated prefixes, 12/s", BLUE), ("documents", "documents, 8/s", ORANGE))
    ):
        middle, low, high = (
            data[f"reading.{name}.latency_p95{end}"] for end in ("", "_low", "_high")
        )
        right.errorbar(
            places + 0.2 * at - 0.1,
            middle,
            yerr=np.stack([middle - low, high - middle]),
            color=shade,
            label=label,
            linestyle="none",
            marker="os"[at],
            markersize=5,
            elinewidth=1.0,
        )
    name_axes(right, y="P95 latency, s", title="LBGR + RLT, as it may be read", log="y")
    plain_numbers(right, "y")
    right.set_xticks(places, list(READINGS)[: places.size])
    right.legend()


def caption(data: Data) -> str:
    medians = data["lbgr+rlt.latency_p50"], data["lbgr+rlt.latency_p95"]
    of = {name: listed(data[f"reading.{name}.latency_p95"], ".3g") for name in ("gsp", "documents")}
    return (
        f"Half of the experiment, as in Figures 4 and 5. {sweeps.told(SEEDS)} Left: LBGR + "
        "RLT on generated prefixes has median latencies of "
        f"{listed(medians[0], '.2f')} s and P95 of {listed(medians[1], '.2f')} s at intervals of "
        f"{listed(data['x'], 'g')} ms; the paper has worse performance with longer intervals. "
        "Right: the paper calls the residual an online regression with a learning rate of 0.992 "
        "on features in thousands of tokens. Read as used: normalized steps of 1 - "
        "0.992; with the error as it was when the request was routed; with the whole cost "
        "released; without a residual; with normalized steps of 0.992; as recursive least squares "
        f"that forget; and as plain steps of 0.992, which diverge. P95 in this order: "
        f"{of['gsp']} s on generated prefixes, {of['documents']} s on documents at 8 requests/s."
    )


FIGURE = Figure(
    id="routing_figure_14",
    title="The decay interval hardly matters; how the residual is read does",
    source="Routing, Figure 14, Algorithm 2",
    parameters={
        "intervals_ms": list(INTERVALS),
        "readings": [dict(of) for of in READINGS.values()],
        "seeds": list(SEEDS),
    },
    size=(10.0, 4.2),
    data=data,
    draw=draw,
    caption=caption,
)
