"""The list of tutorials: each notebook by its title and first sentences."""

import nbformat

from docs._site.layout import ROOT, Pages

_INTRO = """# Tutorials

Pages that run from top to bottom, each in less than 40 s on two cores. They stand in `notebooks/`
with what they print and draw; a test runs them again and compares.

"""


def tutorials() -> Pages:
    """One page, with the toctree of them all."""
    paths = sorted((ROOT / "notebooks").glob("*.ipynb"))
    rows = []
    for path in paths:
        title, first = _begins(nbformat.read(path, as_version=4))
        picture = f"![What it draws first](../pictures/{path.stem}.png)"
        rows.append(f"[{title}]({path.name})\n: {first}\n\n  {picture}\n\n")
    files = "\n".join(path.stem for path in paths)
    toctree = f"```{{toctree}}\n:hidden:\n\n{files}\n```\n"
    return {"tutorials/index.md": _INTRO + "".join(rows) + toctree}


def _begins(notebook: nbformat.NotebookNode) -> tuple[str, str]:
    heading, *paragraphs = notebook.cells[0].source.strip().split("\n\n")
    return heading.lstrip("# ").strip(), " ".join(paragraphs[0].split())
