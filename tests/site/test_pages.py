"""Pages of the site before Sphinx reads them: links, places, and that nothing is left out.

`test_site.py` asks the same and more of what Sphinx makes of them, which takes a minute.
"""

import json
import re
from posixpath import dirname, join, normpath

import pytest

from docs._site.commands import commands
from docs._site.failing import with_failing
from docs._site.layout import PICTURES, ROOT
from docs._site.moving import moving_files
from docs._site.objects import objects
from fluidkv.figures.registry import written
from fluidkv.ledger.registry import fronts, ledger
from fluidkv.ledger.verify import run_all
from fluidkv.verdict import Verdict
from tests.site.page import EXTERNAL, is_elsewhere
from tests.site.sources import files, laid_out, source, sources

MANIFEST = json.loads((ROOT / "figures" / "manifest.json").read_text(encoding="utf-8"))["figures"]


def is_broken(link: str, name: str) -> bool:
    """Whether a link of the page `name` leads nowhere, or to no place on a page."""
    file, _, place = link.partition("#")
    aim = normpath(join(dirname(name), file)) if file else name
    if aim in sources():
        return bool(place) and place not in sources()[aim].places
    folder, _, picture = aim.partition("/")
    drawn = folder in PICTURES and (PICTURES[folder] / picture).is_file()
    return not (aim in files() or aim in laid_out() or drawn or (ROOT / aim).is_file())


def test_every_link_leads_to_a_page_and_a_place_on_it():
    broken = [
        f"{name}: {link}"
        for name, page in sources().items()
        for link in page.links
        if not is_elsewhere(link) and is_broken(link, name)
    ]
    assert broken == []


@pytest.mark.parametrize(
    ("link", "broken"),
    [
        ("model.md", False),
        ("model.md#prefix-trees", False),
        ("model.md#no-such-heading", True),
        ("no_such_page.md", True),
        ("claims.md#congestion.example-2", False),
        ("figures/server.png", False),
        ("figures/no_such_figure.png", True),
        ("pictures/explore.png", False),
        ("pictures/no_such_picture.png", True),
    ],
)
def test_a_link_that_leads_nowhere_is_found(link, broken):
    assert is_broken(link, "index.md") is broken


def test_links_and_places_of_a_page_are_read():
    page = source("# A b, `c`!\n\n:::{card}\n[x](y.md#z)\n:::\n\n![p](q.png)\n\n# A b, `c`!\n")
    assert page.links == ["y.md#z", "q.png"]
    assert page.places == {"a-b-c", "a-b-c-1"}


def test_links_to_other_hosts_are_listed():
    """A new one is added to docs/_site/external.txt, where a reader of the change sees it."""
    found = {link for page in sources().values() for link in page.links if is_elsewhere(link)}
    assert sorted(found) == EXTERNAL.read_text(encoding="utf-8").split()


def test_every_page_is_in_a_toctree():
    reached, new = set(), {"index"}
    while new:
        reached |= new
        new = {
            re.sub(r"\.(md|ipynb)$", "", normpath(join(dirname(page), below)))
            for page in new
            for below in sources()[_file(page)].below
        } - reached
    assert {re.sub(r"\.(md|ipynb)$", "", name) for name in sources()} == reached


def _file(page: str) -> str:
    return next(name for name in (f"{page}.md", f"{page}.ipynb") if name in sources())


@pytest.mark.parametrize("name", MANIFEST)
def test_a_figure_has_its_caption_its_command_and_its_data_in_the_gallery(name):
    shown = re.search(rf'<figure id="{written(name)}".*?</figure>', laid_out()["gallery.md"])
    assert shown
    words = re.search(r"<p>(.*?)</p>", shown[0])
    assert words
    assert len(words[1]) > 40
    assert f"<code>fluidkv figure {written(name)}</code>" in shown[0]
    linked = set(re.findall(r'href="(figures/[^"]+)"', shown[0]))
    assert {each.rpartition(".")[2] for each in linked} - {"png", "svg"}
    assert [each for each in linked if not (ROOT / each).is_file()] == []


def test_every_claim_has_its_place():
    named = {front for claim in ledger() for front in fronts(claim.id)[1:]}
    assert named <= sources()["claims.md"].places


def test_what_fails_or_is_undecided_has_its_line_on_the_page_of_the_ledger():
    lines = re.findall(r"^- `([^`]+)`", laid_out()["ledger.md"], re.M)
    assert sorted(lines) == sorted(c.id for c in ledger() if c.expected is not Verdict.HOLDS)


def test_a_statement_that_fails_is_shown_with_what_its_check_finds_and_with_what_holds():
    def one(claims):
        return run_all([c for c in claims if c.id == "congestion.example-9.safety-margin"])

    page = with_failing({"ledger.md": (ROOT / "docs" / "ledger.md").read_text("utf-8")}, one)
    shown = page["ledger.md"].partition("- `congestion.example-9.safety-margin` For (2, 3) there")[
        2
    ]
    assert shown.startswith(
        " is a safety margin below 1 at every finite l0.\\\n  *Printed*: a safety"
    )
    assert r"*Ours*: \|z\|\^2 = (l0 + 3)/(2\*(l0 + 1)); at l0 = 1" in shown
    holds = r"*Holds*: The roots of the limiting polynomial have modulus 1/sqrt(2), about 0.707. "
    assert holds + "(`congestion.example-4.limit-modulus`)" in laid_out()["ledger.md"]


def test_every_command_has_a_page_with_its_options():
    for name, command in commands().items():
        options = {o for each in command.params for o in each.opts if o.startswith("-")}
        text = laid_out()[f"commands/{name}.md"]
        said = re.findall(r"^:::\{option\} (.*)$", text, re.M)
        shown = {each.split()[0] for line in said for each in line.split(", ")}
        assert options <= shown, name


def test_every_public_name_is_in_the_reference():
    text = "".join(page for name, page in laid_out().items() if name.startswith("reference/"))
    shown = set(re.findall(r"^:{6}\{py:\w+\} ([\w.]+)", text, re.M))
    assert {each.path for each in objects()} == shown


def test_a_still_gives_way_to_the_picture_that_moves():
    model = laid_out()["model.md"]
    assert 'src="moving.html"' in model
    assert "pictures/batch.png" not in model
    assert "data-embed" in moving_files()["moving.html"]
