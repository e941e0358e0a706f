"""Which figures there are."""

from collections.abc import Callable, Iterable
from importlib import import_module
from itertools import chain
from pathlib import Path

from fluidkv.errors import InputError
from fluidkv.figures.figure import Figure
from fluidkv.figures.render import Rendered, write_figures
from fluidkv.text import id_key, nearest

__all__ = ["figures", "render", "select"]

# A paper, and modules of its `figures` that have a `FIGURE`, or `FIGURES`
_NUMBERED = (
    (
        "congestion",
        "figure_1 figure_2 figure_3 figure_4 figure_7 figure_10 figure_11 figure_12 figure_30 "
        "bursts capped_admission cascades example_11 length_sets two_nodes vidur_bursts vidur_runs",
    ),
    ("wait", "figure_11 figure_14 figure_15 conversations demand segments"),
    ("routing", "decay figure_2 other_orders parameters servers"),
    ("cacheopt", "ablations compared figure_7 figure_8 given sensitivity"),
    ("tokenpd", "table_1"),
)
_OURS = (
    ("wait", "policies wrong_inputs gap overflow"),
    ("congestion", "threshold_atlas gap_exponents local_global"),
    ("vllm", "server measured_log replay_measured"),
    ("congestion", "metastability"),
    ("vllm", "watermark victims"),
    ("measured", "sglang_run"),
    ("congestion", "restart_resume"),
    ("routing", "gsp_one_worker mooncake_hit_rate"),
    ("tokenpd", "price_paths rates straight"),
)


def figures() -> tuple[Figure, ...]:
    """Every figure: those of the papers by number, then ours."""
    numbered = [sorted(_in(*of), key=_number) for of in _NUMBERED]
    return tuple(chain(*numbered, *(_in(*of) for of in _OURS)))


def _in(paper: str, modules: str) -> list[Figure]:
    found = []
    for name in modules.split():
        module = import_module(f"fluidkv_papers.{paper}.figures.{name}")
        found += getattr(module, "FIGURES", None) or (module.FIGURE,)
    return found


def _number(figure: Figure) -> int:
    return int(figure.id.rsplit("_", 1)[1])


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


def written(id: str) -> str:
    """The id of a figure as ids of claims are written, `congestion.figure-2`; that of its files has
    underscores alone.
    """
    paper, _, rest = id.partition("_")
    papers = {name for name, _ in _NUMBERED}
    return f"{paper}.{rest}".replace("_", "-") if paper in papers else id.replace("_", "-")


def render(
    ids: Iterable[str] | None = None,
    out_dir: str | Path = "figures",
    *,
    on_skip: Callable[[str, str], None] | None = None,
    on_progress: Callable[[int, int, str], None] | None = None,
) -> list[Rendered]:
    """Write figures of the papers and bring the manifest up to date.

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
