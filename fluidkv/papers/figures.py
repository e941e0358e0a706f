"""Which figures there are."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from pathlib import Path

from fluidkv.errors import InputError
from fluidkv.figures.figure import Figure
from fluidkv.figures.render import Rendered, write_figures
from fluidkv.papers.congestion import figures as congestion
from fluidkv.papers.congestion.figures import (
    gap_exponents,
    local_global,
    metastability,
    restart_resume,
    threshold_atlas,
)
from fluidkv.papers.vllm.figures import measured_log, replay_measured, watermark
from fluidkv.papers.wait import figures as wait

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


def render(
    ids: Iterable[str] | None = None,
    out_dir: str | Path = "figures",
    *,
    on_skip: Callable[[str, str], None] | None = None,
) -> list[Rendered]:
    """Write figures of the papers and bring the manifest up to date.

    Args:
        ids: None writes all.
        out_dir, on_skip: as in `write_figures`.

    Raises:
        InputError: an unknown id; a folder as in `write_figures`.
    """
    return write_figures(select(ids), out_dir, on_skip=on_skip)
