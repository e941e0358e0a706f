"""What a sweep found, in a few numbers: how many points of which verdict, and those without one."""

from typing import Any

import numpy as np

from fluidkv.sweeps.analysis import REFUSED, STATUS
from fluidkv.sweeps.planning import why_refused
from fluidkv.sweeps.running import Ran, open_sweep
from fluidkv.sweeps.store.skeleton import unit_of

MOST_READ = 10**8
"""Points of which a summary is made: reading more takes longer than its reader waits."""


KEYS = (
    ("analysis", "text", "its name"),
    ("title", "text", "of the spec"),
    ("points", "count", "of the whole sweep"),
    ("dims[].name", "text", "of the points, in their order"),
    ("dims[].size", "count", "points along it"),
    ("chunks", "count", "of the whole sweep"),
    ("before", "points", "there when this run began"),
    ("computed", "points", "by this run"),
    ("seconds", "seconds", "of this run"),
    ("per_second", "points/s", "of this run; null where it computed nothing"),
    ("store", "text", "where it is"),
    ("spec_sha256", "text", "which spec it belongs to"),
    ("variables[].name", "text", "of what was found at each point"),
    ("variables[].units", "text", "of its values"),
    ("variables[].what", "text", "what it is"),
    (
        *("answers.*.*", "points"),
        "of a variable that says words, each word; without it for 10⁸ points and more",
    ),
    ("refused", "points", "of the whole store, without an answer"),
    ("why", "text", "why the first refused point has no answer; null where none is refused"),
)
"""Keys of `summary`, with units and what they are."""


def summary(ran: Ran) -> dict[str, Any]:
    """Plain values under `KEYS`: what was asked and done, and how often each word is the answer."""
    asked = ran.plan
    answers, refused, why = _counted(ran)
    computing = ran.computed > 0 and ran.seconds > 0
    return {
        "analysis": asked.spec.analysis.name,
        "title": asked.spec.title,
        "points": asked.points,
        "dims": [{"name": n, "size": s} for n, s in zip(asked.dims, asked.shape, strict=True)],
        "chunks": asked.chunks,
        "before": ran.before,
        "computed": ran.computed,
        "seconds": ran.seconds,
        "per_second": ran.computed / ran.seconds if computing else None,
        "store": str(ran.store),
        "spec_sha256": asked.spec.digest,
        "variables": [
            {"name": each.name, "units": unit_of(asked, each.units), "what": each.title}
            for each in asked.variables
        ],
        "answers": answers,
        "refused": refused,
        "why": why,
    }


def _counted(ran: Ran) -> tuple[dict[str, dict[str, int]], int | None, str | None]:
    if ran.plan.points > MOST_READ:
        return {}, None, None
    found = open_sweep(ran.store)
    answers = {}
    for each in ran.plan.variables:
        if each.kind == "flag" and not each.dims:
            values = found[each.name].to_numpy().ravel()
            counts = np.bincount(values[values >= 0], minlength=len(each.words))
            answers[each.name] = dict(zip(each.words, counts.tolist(), strict=True))
    without = np.flatnonzero(found[STATUS.name].to_numpy() == REFUSED)
    error = why_refused(ran.plan, int(without[0])) if without.size else None
    return answers, int(without.size), None if error is None else str(error)
