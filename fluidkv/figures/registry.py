"""Which figures there are."""

from collections.abc import Iterable
from difflib import get_close_matches

from fluidkv.errors import InputError
from fluidkv.figures import (
    congestion,
    gap_exponents,
    local_global,
    measured_log,
    metastability,
    replay_measured,
    restart_resume,
    threshold_atlas,
    wait,
    watermark,
)
from fluidkv.figures.figure import Figure

_MODULES = (
    *congestion.MODULES,
    *wait.MODULES,
    threshold_atlas,
    gap_exponents,
    local_global,
    measured_log,
    replay_measured,
    metastability,
    watermark,
    restart_resume,
)


def figures() -> tuple[Figure, ...]:
    """Every figure."""
    return tuple(module.FIGURE for module in _MODULES)


def select(ids: Iterable[str] | None = None) -> tuple[Figure, ...]:
    """The figures with these ids, each once; all of them for None.

    Raises:
        InputError: an id that no figure has.
    """
    known = {figure.id: figure for figure in figures()}
    if ids is None:
        return tuple(known.values())
    wanted = dict.fromkeys(ids)
    for name in wanted:
        if name not in known:
            near = get_close_matches(name, known, cutoff=0.4) or list(known)
            raise InputError("id", name, ", ".join(near))
    return tuple(known[name] for name in wanted)
