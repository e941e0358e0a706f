"""Which figures there are, by the plug-ins that list them."""

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from fluidkv.errors import InputError
from fluidkv.figures.figure import Figure
from fluidkv.figures.render import Rendered, write_figures
from fluidkv.plugins import listed
from fluidkv.text import id_key, nearest

__all__ = ["figures", "render", "select", "written"]


@cache
def _by_name() -> dict[str, Figure]:
    """Each figure by what it is asked for by: "congestion.figure-2"."""
    return {name: figure for figures in listed("figures") for name, figure in figures.items()}


def figures() -> tuple[Figure, ...]:
    """Every figure, in the order of the plug-ins."""
    return tuple(_by_name().values())


def written(id: str) -> str:
    """What a figure is asked for by: "congestion.figure-2" where id and files have underscores,
    "congestion_figure_2".
    """
    return next(name for name, figure in _by_name().items() if figure.id == id)


def select(ids: Iterable[str] | None = None) -> tuple[Figure, ...]:
    """The figures with these ids, each once; all of them for None.

    Args:
        ids: as in "congestion.figure-2"; "congestion_figure_2" is the same.

    Raises:
        InputError: an id that no figure has.
    """
    known = {id_key(figure.id): figure for figure in figures()}
    if ids is None:
        return tuple(known.values())
    wanted = {id_key(name): name for name in ids}
    for key, name in wanted.items():
        if key not in known:
            raise InputError("id", name, nearest(name, [written(f.id) for f in known.values()]))
    return tuple(known[key] for key in wanted)


def render(
    ids: Iterable[str] | None = None,
    out_dir: str | Path = "figures",
    *,
    on_skip: Callable[[str, str], None] | None = None,
    on_progress: Callable[[int, int, str], None] | None = None,
) -> list[Rendered]:
    """Write figures that plug-ins list, and bring the manifest up to date.

    Args:
        ids: None writes all.
        out_dir, on_skip, on_progress: as in `write_figures`.

    Raises:
        InputError: an unknown id; a folder as in `write_figures`.

    Examples:
        >>> (written,) = fk.render(["congestion.figure-2"], "figures")
        >>> written.files
        ('congestion_figure_2.png', 'congestion_figure_2.svg', 'congestion_figure_2.csv')
    """
    return write_figures(select(ids), out_dir, on_skip=on_skip, on_progress=on_progress)
