"""The site builds without a warning; its links lead somewhere; nothing comes from another host."""

import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from docs._site.claims import fronts
from docs._site.commands import answering, commands
from docs._site.layout import ROOT
from docs._site.objects import objects
from fluidkv.papers.ledger import ledger
from tests.site.page import is_elsewhere, read

EXTERNAL = ROOT / "docs" / "_site" / "external.txt"


@pytest.fixture(scope="module")
def pages(built) -> dict[str, Path]:
    """Every page by its address; templates of the theme, which it copies, apart."""
    out, _ = built
    found = {path.relative_to(out).as_posix(): path for path in sorted(out.rglob("*.html"))}
    return {name: path for name, path in found.items() if not name.startswith("_static/")}


def test_sphinx_has_no_warning(built):
    assert "WARNING" not in built[1]
    assert "ERROR" not in built[1]


def test_every_link_leads_to_a_page_and_a_place_on_it(pages, built):
    out, _ = built
    broken = []
    for name, path in pages.items():
        for link in read(path).links:
            file, _, anchor = link.partition("#")
            if is_elsewhere(link) or link.startswith("mailto:"):
                continue
            aim = (path.parent / unquote(file).partition("?")[0]).resolve() if file else path
            there = aim.is_file() and (
                not anchor or aim.suffix != ".html" or unquote(anchor) in read(aim).ids
            )
            if not there:
                broken.append(f"{name}: {link}")
    assert broken == []
    assert (out / "claims.html").is_file()


def test_a_page_loads_nothing_from_another_host(pages):
    found = {name: [a for a in read(path).loads if is_elsewhere(a)] for name, path in pages.items()}
    assert {name: addresses for name, addresses in found.items() if addresses} == {}


def test_what_a_page_loads_is_there(pages):
    missing = [
        f"{name}: {address}"
        for name, path in pages.items()
        for address in read(path).loads
        if not (path.parent / unquote(address).partition("?")[0]).is_file()
    ]
    assert missing == []


def test_a_still_gives_way_to_the_picture_that_moves(pages):
    assert "_static/moving.html" in read(pages["model.html"]).loads
    assert "data-embed" in (pages["model.html"].parent / "_static/moving.html").read_text("utf-8")


def test_links_to_other_hosts_are_listed(pages):
    """A new one is added to docs/_site/external.txt, where a reader of the change sees it."""
    found = {link for path in pages.values() for link in read(path).links if is_elsewhere(link)}
    assert sorted(found) == EXTERNAL.read_text(encoding="utf-8").split()


def test_every_public_name_has_its_place(pages):
    ids = {name: read(path).ids for name, path in pages.items() if name.startswith("reference/")}
    every = set().union(*ids.values())
    assert [each.path for each in objects() if each.path not in every] == []


def test_every_command_and_each_of_its_options_has_its_place(pages):
    for name, command in commands().items():
        text = pages[f"commands/{name}.html"].read_text(encoding="utf-8")
        options = [o for each in command.params for o in each.opts if o.startswith("-")]
        assert [each for each in options if f">{each}<" not in text] == [], name


def test_every_claim_and_figure_has_its_place(pages):
    ids = read(pages["claims.html"]).ids
    assert {front for claim in ledger() for front in fronts(claim.id)} <= ids
    manifest = json.loads((ROOT / "figures" / "manifest.json").read_text(encoding="utf-8"))
    assert set(manifest["figures"]) <= read(pages["gallery.html"]).ids


def test_coverage_leads_to_claims_and_figures(pages):
    links = read(pages["coverage.html"]).links
    text = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
    for name in re.findall(r"`((?:congestion|wait)\.[a-z0-9.-]+)`", text):
        assert f"claims.html#{name}" in links
    for name in re.findall(r"`figure (\w+)`", text):
        assert f"gallery.html#{name}" in links


def test_every_schema_is_a_file(built):
    for name in answering():
        schema = json.loads((built[0] / "schemas" / f"{name}.json").read_text(encoding="utf-8"))
        assert schema["title"] == f"fluidkv {name} --json"
