"""The page on file formats names each format that a reader takes."""

from pathlib import Path

from fluidkv.traces.known import format_names

PAGE = Path(__file__).parents[2] / "docs" / "formats.md"


def test_the_page_names_every_format_of_requests():
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in format_names() if f"`{name}`" not in text] == []
