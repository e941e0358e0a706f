"""The site builds without a warning; its links lead somewhere; nothing comes from another host.

A minute: `test_pages.py` asks the same of the sources, and `test_small.py` of a small site.
"""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.site.page import EXTERNAL, is_elsewhere, read
from tests.site.sources import files, laid_out

pytestmark = pytest.mark.thorough


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


def test_links_to_other_hosts_are_listed(pages):
    """A new one is added to docs/_site/external.txt, where a reader of the change sees it."""
    found = {link for path in pages.values() for link in read(path).links if is_elsewhere(link)}
    assert sorted(found) == EXTERNAL.read_text(encoding="utf-8").split()


def test_coverage_leads_to_claims_and_figures(pages):
    links = read(pages["coverage.html"]).links
    text = laid_out()["coverage.md"]
    for name in re.findall(r"`((?:congestion|wait)\.[a-z0-9.-]+)`", text):
        assert f"claims.html#{name}" in links
    for name in re.findall(r"`figure ([\w.-]+)`", text):
        assert f"gallery.html#{name}" in links


def test_files_that_are_no_pages_are_there(built):
    assert [name for name in files() if not (built[0] / name).is_file()] == []
