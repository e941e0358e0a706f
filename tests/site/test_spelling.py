"""codespell finds nothing in what people read: pages, tutorials, docstrings."""

import subprocess
import sys

from docs._site.layout import ROOT

_READ = ("README.md", "CHANGELOG.md", "docs", "notebooks", "fluidkv", "papers")


def _found(*paths: str) -> str:
    asked = [sys.executable, "-m", "codespell_lib", "--toml", "pyproject.toml", *paths]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True).stdout


def test_words_are_spelt_as_they_should_be():
    assert _found(*_READ) == ""


def test_a_misspelt_word_is_found(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("The equilibrum is " + "sta" + "bel.\n", encoding="utf-8")
    assert "equilibrum" in _found(str(path))
