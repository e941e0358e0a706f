"""From the repository to the site: lay out, generate, call Sphinx."""

import shutil
from pathlib import Path

from sphinx.cmd.build import build_main

from docs._site.layout import PICTURES, ROOT, lay_out
from docs._site.moving import moving_files
from docs._site.pages import all_pages
from docs._site.schemas import schema_files

__all__ = ["ROOT", "build", "sources"]


def build(out: Path, work: Path) -> int:
    """The site in `out`; what is made on the way is in `work`.

    Returns:
        Sphinx's exit code: every warning is an error, but all of them are told.
    """
    source = work / "source"
    sources(source)
    out.mkdir(parents=True, exist_ok=True)
    shutil.copytree(ROOT / "figures", out / "figures", dirs_exist_ok=True)
    for name, text in {**schema_files(), **moving_files()}.items():
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text(text, encoding="utf-8")
    # -a: each page has the list of all pages, so that a new title is news to all of them.
    asked = ["-W", "--keep-going", "-q", "-a", "-j", "2", "-c", str(ROOT / "docs")]
    return build_main([*asked, "-d", str(work / "read"), str(source), str(out)])


def sources(source: Path) -> None:
    """All sources as Sphinx reads them."""
    lay_out(all_pages(), source)
    for name, folder in PICTURES.items():
        shutil.copytree(folder, source / name, dirs_exist_ok=True)
