"""Notebooks with their outputs: each runs in a clean kernel, two at a time.

What a run printed is kept under a name made of the notebook, the files of the package and the
locked versions of what it needs. Another Python, or other measured traces, are not in it.
"""

import asyncio
import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

from docs._site.layout import ROOT, Pages

NEEDS_TRACES = {"tutorials/06_measured_log.ipynb"}
# A machine with other work is waited for; the last is for outputs that come after a cell's end.
PATIENT = {"timeout": None, "startup_timeout": 600, "iopub_timeout": 600}
WITHOUT_TRACES = (
    "This page is shown without outputs: it reads measured traces, and the environment variable "
    "`FLUIDKV_TRACES` named no folder with them when the site was built."
)
NOT_RUN = "This page is shown without outputs: the site was built without running its tutorials."


def executed(notebooks: Pages, kept: Path | None) -> Pages:
    """The notebooks with outputs, or with a line that says why there are none."""
    if kept is None:
        return {name: _told(text, NOT_RUN) for name, text in notebooks.items()}
    package = _digest(*(path.read_bytes() for path in digested()))
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


def digested() -> list[Path]:
    """The files on which an output rests, beside the notebook and the measured traces."""
    package = (path for path in sorted((ROOT / "fluidkv").rglob("*")) if path.is_file())
    return [*(p for p in package if p.suffix != ".pyc"), ROOT / "lock" / "base.txt"]


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
    began = perf_counter()
    with TemporaryDirectory() as own:
        # A kernel on a port warns that others on this machine could listen; one on files does not.
        sockets = {"transport": "ipc", "ip": f"{own}/kernel"} if os.name == "posix" else {}
        config = Config(KernelManager=sockets)
        client = NotebookClient(
            notebook, kernel_name="python3", resources=folder, config=config, **PATIENT
        )
        asyncio.run(client.async_execute(env=environment))  # closes its loop, as `execute` does not
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
