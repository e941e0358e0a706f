"""`python -m docs._site.stored [NAME ...]`: run notebooks and store their outputs in them.

So they show it where the repository is read, and on the site; a test runs them again and compares
the text. The pictures of the README's table are the first of each.
"""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

from docs._site.layout import PICTURES, ROOT
from docs._site.thumbnails import thumbnail

NOTEBOOKS = ROOT / "notebooks"
# A machine with other work is waited for; the last is for outputs that come after a cell's end.
PATIENT = {"timeout": None, "startup_timeout": 600, "iopub_timeout": 600, "record_timing": False}


def store(path: Path) -> None:
    """Run one, from top to bottom in a clean kernel, and write it back with its outputs."""
    notebook = nbformat.read(path, as_version=4)
    environment = os.environ | {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}
    with TemporaryDirectory() as own:
        # A kernel on a port warns that others on this machine could listen; one on files does not.
        sockets = {"transport": "ipc", "ip": f"{own}/kernel"} if os.name == "posix" else {}
        client = NotebookClient(
            notebook,
            kernel_name="python3",
            resources={"metadata": {"path": str(NOTEBOOKS)}},
            config=Config(KernelManager=sockets),
            **PATIENT,
        )
        client.execute(env=environment)
    python = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = {"kernelspec": python, "language_info": {"name": "python"}}
    nbformat.write(notebook, path)
    picture = PICTURES["pictures"] / f"{path.stem}.png"
    picture.write_bytes(thumbnail(notebook))


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(path.name for path in NOTEBOOKS.glob("*.ipynb")):
        print(name, flush=True)
        store(NOTEBOOKS / name)
