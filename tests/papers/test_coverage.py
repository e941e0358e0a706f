"""The page of what each paper has: all of its items, and none that there is not."""

import re
from dataclasses import replace

import pytest

from fluidkv.ledger.registry import ledger
from fluidkv_papers.coverage import PAPERS, contents, items, items_of, page


def test_the_page_has_a_section_for_every_paper_and_a_row_for_every_item() -> None:
    parts = re.split(r"^## ", page(), flags=re.M)[1:]
    assert [part.partition("\n")[0] for part in parts] == list(PAPERS)
    for part, paper in zip(parts, PAPERS, strict=True):
        rows = re.findall(r"^\| \*\*\(?([\w.]+)\)?\*\* ", part, flags=re.M)
        assert sorted(rows) == sorted(
            str(n) for of in contents(paper)["items"].values() for n in of
        )


def test_claims_speak_of_items_that_their_paper_has() -> None:
    names = {folder: name for name, folder in PAPERS.items()}
    for claim in ledger():
        paper = claim.id.partition(".")[0]
        if paper in names:
            listed = contents(names[paper])["items"]
            for kind, number in items_of(claim):
                assert number in listed.get(kind, {}), (claim.id, kind, number)


def test_remarks_are_about_items_that_their_paper_has() -> None:
    for paper in ("Routing", "CacheOPT", "Token-PD"):
        for item, text in contents(paper)["remarks"].items():
            kind, number = item.split(" ")
            assert number in contents(paper)["items"][kind], item
            assert text.endswith(".")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Tables 1, 2 and 4 to 6", [("table", n) for n in "12456"]),
        ("equations (7) to (9)", [("equation", n) for n in "789"]),
        ("equations-7-to-9", [("equation", n) for n in "789"]),
        ("Theorem 3 (1), section 4.3", [("theorem", "3")]),
        ("Figure 4 (a), (c)", [("figure", "4")]),
        ("Theorem 24, (31)", [("theorem", "24"), ("equation", "31")]),
        ("proof of Lemma A.10", [("lemma", "A.10")]),
        ("Examples 10 and 11, Figure 15", [("example", "10"), ("example", "11"), ("figure", "15")]),
        ("tables-1-2-6", [("table", n) for n in "126"]),
        ("section 5.1", []),
        ("Observations 1 and 2", [("observation", n) for n in "12"]),
    ],
)
def test_items_are_read_off_the_places_that_claims_name(text: str, found: list) -> None:
    assert items(text) == set(found)


def test_appendices_and_their_equations_are_items_of_a_paper_that_lists_them() -> None:
    claim = next(c for c in ledger() if c.id.startswith("tokenpd."))
    place = replace(
        claim, id="tokenpd.a.b", source="Token-PD, Appendix A, (2), with section 4, (4)"
    )
    assert items_of(place) == {("appendix", "A"), ("equation", "A.2")}
    assert items_of(replace(place, source="Routing, Appendix A, (2)")) == set()
