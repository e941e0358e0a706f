"""Notebooks with their outputs: each runs in a clean kernel, two at a time.

What a run printed is kept under a name made of the notebook and the package: it is
never stale.
"""

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

from docs._site.layout import ROOT, Pages

NEEDS_TRACES = {"tutorials/06_measured_log.ipynb"}
WITHOUT_TRACES = (
    "This page is shown without outputs: it reads measured traces, and the environment variable "
    "`FLUIDKV_TRACES` named no folder with them when the site was built."
)
# Kernels on a port warn that others of this machine could read it; sockets that are files do not.
_SOCKETS = Config(KernelManager={"transport": "ipc"}) if os.name == "posix" else Config()
NOT_RUN = "This page is shown without outputs: the site was built without running its tutorials."


def executed(notebooks: Pages, kept: Path | None) -> Pages:
    """The notebooks with outputs, or with a line that says why there are none."""
    if kept is None:
        return {name: _told(text, NOT_RUN) for name, text in notebooks.items()}
    package = _digest(*(p.read_bytes() for p in sorted((ROOT / "fluidkv").rglob("*.py"))))
    kept.mkdir(parents=True, exist_ok=True)

    def one(item: tuple[str, str]) -> tuple[str, str]:
        name, text = item
        if name in NEEDS_TRACES and not traces():
            return name, _told(text, WITHOUT_TRACES)
        path = kept / f"{Path(name).stem}-{_digest(text.encode(), package.encode())}.ipynb"
        if not path.is_file():
            path.write_text(_run(text, name), encoding="utf-8")
        return name, path.read_text("utf-8")

    with ThreadPoolExecutor(2) as two:
        return dict(two.map(one, notebooks.items()))


def traces() -> Path | None:
    """The folder of measured traces, if the environment names one that is there."""
    named = os.environ.get("FLUIDKV_TRACES")
    return Path(named).resolve() if named and Path(named).is_dir() else None


def _run(text: str, name: str) -> str:
    notebook = nbformat.reads(text, as_version=4)
    folder = {"metadata": {"path": str(ROOT / "notebooks")}}
    environment = os.environ | {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}
    found = traces()
    if found:
        environment["FLUIDKV_TRACES"] = str(found)
    client = NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources=folder, config=_SOCKETS
    )
    began = perf_counter()
    client.execute(env=environment)
    print(f"{name} ran in {perf_counter() - began:.0f} s", flush=True)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it ran
    return nbformat.writes(notebook)


def _told(text: str, why: str) -> str:
    notebook = nbformat.reads(text, as_version=4)
    notebook.cells.insert(1, nbformat.v4.new_markdown_cell(f":::{{note}}\n{why}\n:::"))
    for place, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{place}"  # new ones are drawn at random: the page would always be new
    return nbformat.writes(notebook)


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
