"""Blocks as HTML: what they are, and nothing of it is markup of somebody else's."""

import re
from importlib.resources import files

from rich.text import Text

from fluidkv.report.blocks import Block
from fluidkv.report.body import inline, sections
from fluidkv.report.page import Page
from tests.report.markup import read

EVIL = "<script>alert(1)</script>\"'&amp;<img src=x onerror=alert(1)>"


def _page() -> tuple[Page, list[Block]]:
    blocks: list[Block] = []
    return Page(blocks.append), blocks


def test_headings_begin_sections():
    page, blocks = _page()
    page.rows([("name", "sharegpt")])
    page.heading("Verdict", " (sampled)")
    page.paragraph("It is stable.", "dim")
    page.heading("Empty")
    found = sections(blocks)
    assert [each.heading for each in found] == ["", "Verdict", "Empty"]
    assert found[0].html == "<dl><div><dt>name</dt><dd>sharegpt</dd></div></dl>"
    assert found[1].rest == " (sampled)"
    assert found[1].html == '<p><span class="quiet">It is stable.</span></p>'


def test_a_row_without_a_label_goes_with_the_one_above():
    page, blocks = _page()
    page.rows([("read", "a"), ("", "b")])
    page.rows([("", "c"), ("note", "d")])
    (only,) = sections(blocks)
    assert only.html == (
        "<dl><div><dt>read</dt><dd>a</dd><dd>b</dd><dd>c</dd></div>"
        "<div><dt>note</dt><dd>d</dd></div></dl>"
    )


def test_lines_to_paste_are_one_piece_and_a_gap_between_blocks_is_a_rule():
    page, blocks = _page()
    page.line()
    page.line("  fluidkv study a.csv")
    page.line("  fluidkv size a.csv")
    page.line()
    page.line("not to paste")
    page.line()
    (only,) = sections(blocks)
    assert only.html == (
        '<pre class="paste" tabindex="0"><code>fluidkv study a.csv\n'
        "fluidkv size a.csv</code></pre>\n<hr>\n"
        "<p>not to paste</p>"
    )


def test_a_table_has_names_of_columns_and_of_rows():
    page, blocks = _page()
    page.heading("Sizes")
    page.table(["", "p99"], [["a", "1"], "below: the second half", None, ["b", "2"]], goes_on=True)
    html = sections(blocks)[0].html
    assert '<th scope="col">p99</th>' in html
    assert html.count('<th scope="row">') == 2
    assert '<th scope="colgroup" colspan="2">below: the second half</th>' in html
    assert "rows between are left out" in html
    assert 'aria-label="Table: Sizes"' in html


def test_a_column_of_marks_names_no_row():
    page, blocks = _page()
    page.table(["", "rate", "p99"], [[">", "1.5", "2"], ["", "1.6", "3"]])
    html = sections(blocks)[0].html
    assert (
        '<td>&gt;</td><th scope="row" data-column="rate">1.5</th><td data-column="p99">2</td>'
        in html
    )


def test_no_rows_are_nothing():
    page, blocks = _page()
    page.rows([])
    assert sections(blocks) == []


def test_styles_become_classes_and_the_last_one_counts():
    text = Text("STABLE", "bold green")
    text.append("  all decay", "default")
    text.append(" now", "dim")
    assert inline(text) == (
        '<span class="good">STABLE</span>  all decay<span class="quiet"> now</span>'
    )


def test_what_comes_from_outside_is_no_markup():
    page, blocks = _page()
    page.title(EVIL, EVIL)
    page.heading(EVIL, EVIL)
    page.line(f"  {EVIL}")
    page.line(EVIL)
    page.paragraph(EVIL)
    page.rows([(EVIL, EVIL)])
    page.table([EVIL, EVIL], [[EVIL, EVIL], EVIL])
    for each in sections(blocks):
        found = read(each.rest + each.html)
        assert not {"script", "img"} & set(found.tags)
        assert found.handlers == []
        assert EVIL in found.text


def test_on_a_phone_each_number_stands_behind_the_name_of_its_column():
    """No column is cut off at any width: a row becomes lines, and a cell says what it is."""
    page, blocks = _page()
    page.table(["engine", "tok/s", "a < b"], [["vllm", "1,024", "2"]])
    html = sections(blocks)[0].html
    assert '<td data-column="tok/s">1,024</td><td data-column="a &lt; b">2</td>' in html
    narrow = _phone((files("fluidkv.report") / "assets" / "report.css").read_text())
    assert re.search(r"\.scroll tr \{[^}]*flex-wrap: wrap", narrow)
    assert re.search(r"\.scroll :is\(table, tbody, th, td\) \{ display: block", narrow)
    assert re.search(r"\[data-column\][^{]*::before \{ content: attr\(data-column\)", narrow)
    assert "nowrap" not in narrow


def _phone(style: str) -> str:
    """The rules for screens of up to 36rem."""
    return style.partition("@media (max-width: 36rem) {")[2].partition("@media")[0]
