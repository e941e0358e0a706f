"""What a router sees, with the parts that a test cares about."""

import numpy as np

from fluidkv.routing.router import View


def view(
    length: int = 1000,
    *,
    now: float = 0.0,
    hits: tuple[int, ...] = (0, 0, 0),
    tree: tuple[int, ...] = (0, 0, 0),
    pending: tuple[int, ...] = (0, 0, 0),
    to_compute: tuple[int, ...] = (0, 0, 0),
    active: tuple[int, ...] = (0, 0, 0),
    draws: tuple[float, float] = (0.0, 0.0),
) -> View:
    return View(
        now,
        length,
        np.array(hits),
        np.array(tree),
        np.array(pending),
        np.array(to_compute),
        np.array(active),
        draws,
    )
