"""The gallery: every figure of the manifest with its caption beside it, and a filter by paper."""

import json
import re
from html import escape
from typing import Any

from docs._site.claims import PAPERS, paper_of
from docs._site.layout import ROOT, Pages
from fluidkv.figures.registry import written

_INTRO = """# Figures

Each figure is written by its command, with the numbers behind it as a file; `fluidkv figure --all`
writes them all. What a caption says in numbers comes from the same data. A paper's figures come in
its order, then those that are ours.

"""


def gallery() -> Pages:
    """One page; pictures and data lie beside it in `figures/`."""
    manifest = json.loads((ROOT / "figures" / "manifest.json").read_text("utf-8"))["figures"]
    ordered = sorted(manifest.items(), key=lambda item: _place(*item))
    shown = "\n".join(_figure(name, about) for name, about in ordered)
    papers = dict.fromkeys(paper_of(about["source"]) for _, about in ordered)
    options = "".join(f"<option>{escape(paper)}</option>" for paper in papers)
    form = (
        '<form class="filter" data-filters="#figures > figure" data-noun="figures" hidden>'
        f'<label>Paper <select name="paper"><option value="">all</option>{options}</select></label>'
        '<label>Words <input type="search" name="words"></label>'
        '<output aria-live="polite"></output></form>'
    )
    body = f'{form}\n<div id="figures">\n{shown}\n</div>'
    return {"gallery.md": f"{_INTRO}````{{raw}} html\n{body}\n````\n"}


def _place(name: str, about: dict[str, Any]) -> tuple[int, bool, list[int], str]:
    """By paper, those with a number of the paper first."""
    numbers = [int(n) for n in re.findall(r"_(?:figure|table)_(\d+)", name)]
    return PAPERS.index(paper_of(about["source"])), not numbers, numbers, name


def _figure(name: str, about: dict[str, Any]) -> str:
    files = {each.rpartition(".")[2]: f"figures/{each}" for each in about["files"]}
    data = [path for kind, path in files.items() if kind not in ("png", "svg")]
    links = [f'<a href="{path}">{path.rpartition(".")[2]}</a>' for path in [*files.values()]]
    picture = files.get("svg") or files["png"]
    assert data, name
    return (
        f'<figure id="{written(name)}" data-paper="{escape(paper_of(about["source"]))}">'
        f'<a class="picture" href="{files["png"]}"><img src="{picture}" loading="lazy" '
        f'alt="{escape(about["title"])}"></a>'
        f"<figcaption><h2>{escape(about['title'])}</h2>"
        f"<p>{escape(about['caption'])}</p>"
        f"<dl><dt>Source</dt><dd>{escape(about['source'])}</dd>"
        f"<dt>Command</dt><dd><code>fluidkv figure {written(name)}</code></dd>"
        f"<dt>Files</dt><dd>{', '.join(links)}</dd></dl></figcaption></figure>"
    )
