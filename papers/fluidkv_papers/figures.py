"""Which figures there are."""

from importlib import import_module

from fluidkv.figures.figure import Figure

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
    ("footprints", "spectra maps"),
)


def figures() -> dict[str, Figure]:
    """Every figure by what it is asked for by: those of the papers by number, then ours."""
    numbered = [figure for of in _NUMBERED for figure in sorted(_in(*of), key=_number)]
    ours = [figure for of in _OURS for figure in _in(*of)]
    return {_written(figure.id): figure for figure in [*numbered, *ours]}


def _in(paper: str, modules: str) -> list[Figure]:
    found = []
    for name in modules.split():
        module = import_module(f"fluidkv_papers.{paper}.figures.{name}")
        found += getattr(module, "FIGURES", None) or (module.FIGURE,)
    return found


def _number(figure: Figure) -> int:
    return int(figure.id.rsplit("_", 1)[1])


def _written(id: str) -> str:
    """As ids of claims are written, `congestion.figure-2`; an id of files has underscores alone."""
    paper, _, rest = id.partition("_")
    papers = {name for name, _ in _NUMBERED}
    return f"{paper}.{rest}".replace("_", "-") if paper in papers else id.replace("_", "-")
