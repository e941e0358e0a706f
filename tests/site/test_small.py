"""A site of five pages with the settings of the whole one: what its extensions make of a page."""

import html
import json
import re
from pathlib import Path

import pytest
from sphinx.cmd.build import build_main

from docs._site.claims import claims_page
from docs._site.commands import command_pages
from docs._site.docstring import markdown
from docs._site.gallery import gallery
from docs._site.layout import ROOT, lay_out
from docs._site.mathtext import drawn
from tests.site.page import is_elsewhere, read

DOC = """Whether a balance holds.

Examples:
    Of one class:
    >>> from fluidkv import Workload
    >>> Workload.of((10, 2, 1))["mean"]
    'stable_*_'

    >>> 1 + 1
    2
"""
NAMED = """# Named

::::::{py:function} fluidkv.f(x: _.Fraction | None, *, %s: int, y: int) -> int

%s
::::::
"""
INDEX = """# A page

`congestion.example-2` and `fluidkv verify congestion.example-2`, `fluidkv figure server`,
`fluidkv size --qps 1`, `fluidkv figure --all`, `fluidkv nothing`; $x^2$ too.

```{toctree}
claims
gallery
commands/size
named
```
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> tuple[Path, str]:
    """The folder of the site, and what Sphinx said."""
    folder = tmp_path_factory.mktemp("small")
    size = re.sub(r"\]\([^)]*\)", "]", command_pages()["commands/size.md"])
    pages = {
        "index.md": INDEX,
        "commands/size.md": size,
        "named.md": NAMED % ("a_name" * 9, markdown(DOC, lambda _: None)),
        **{name: re.sub(r"\]\([^)]*\)", "]", text) for name, text in claims_page().items()},
        **gallery(),
    }
    lay_out(pages, folder / "source")
    out, said = folder / "out", folder / "warnings.txt"
    asked = ["-q", "-w", str(said), "-c", str(ROOT / "docs"), str(folder / "source"), str(out)]
    assert build_main(asked) == 0
    return out, said.read_text(encoding="utf-8")


def test_sphinx_has_no_warning(small):
    assert small[1] == ""


def test_code_that_names_something_leads_to_it(small):
    links = read(small[0] / "index.html").links
    assert {"claims.html#congestion.example-2", "gallery.html#server"} <= set(links)
    assert links.count("claims.html#congestion.example-2") == 2
    assert any(each.startswith("commands/size.html") for each in links)
    assert [each for each in links if "nothing" in each or "--all" in each] == []
    text = (small[0] / "index.html").read_text(encoding="utf-8")
    for words in ("fluidkv nothing", "fluidkv figure --all"):
        assert words in re.sub(r"<[^>]+>", "", text)


def test_an_example_of_a_docstring_is_code_with_its_output(small):
    text = (small[0] / "named.html").read_text(encoding="utf-8")
    blocks = re.findall(r'<div class="highlight-pycon .*?<pre>(.*?)</pre>', text, re.S)
    shown = [html.unescape(re.sub(r"<[^>]+>", "", block)).strip() for block in blocks]
    first = ">>> from fluidkv import Workload\n>>> Workload.of((10, 2, 1))[\"mean\"]\n'stable_*_'"
    assert shown == [first, ">>> 1 + 1\n2"]
    assert "<p>Of one class:</p>" in text
    assert "<strong>Examples</strong>" in text


def test_a_long_signature_is_in_lines_and_types_have_their_own_names(small):
    text = (small[0] / "named.html").read_text(encoding="utf-8")
    signature = re.search(r"<dt class=\"sig.*?</dt>", text, re.S)
    assert signature
    assert signature[0].count('<span class="parameter">') == 4
    assert "<dd>" not in signature[0]
    words = re.sub(r"<[^>]+>|\s", "", signature[0])
    assert "x:Fraction|None" in words
    assert "_." not in words


def test_a_formula_is_drawn_where_it_stands(small):
    text = (small[0] / "index.html").read_text(encoding="utf-8")
    assert re.search(r'<span class="formula" role="img" aria-label="x\^2"><svg', text)


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda p: p.stem)
def test_each_formula_that_a_notebook_has_stored_can_be_drawn(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    data = [out["data"] for cell in cells for out in cell.get("outputs", ()) if "data" in out]
    for text in ("".join(each["text/latex"]) for each in data if "text/latex" in each):
        assert drawn(text.strip("$")).count("<path") == 1


def test_nothing_comes_from_another_host(small):
    pages = [path for path in small[0].rglob("*.html") if "_static" not in path.parts]
    assert len(pages) >= 5
    assert [a for path in pages for a in read(path).loads if is_elsewhere(a)] == []
