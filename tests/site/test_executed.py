"""Notebooks with outputs: two at a time, kept until something changes; why there are none."""

import nbformat

from docs._site.executed import NOT_RUN, WITHOUT_TRACES, digested, executed
from docs._site.layout import ROOT


def notebook(code: str) -> str:
    cells = [nbformat.v4.new_markdown_cell("# A page"), nbformat.v4.new_code_cell(code)]
    return nbformat.writes(nbformat.v4.new_notebook(cells=cells))


def printed(page: str) -> str:
    return nbformat.reads(page, as_version=4).cells[1].outputs[0].text


def test_notebooks_run_side_by_side_and_are_kept(tmp_path, capfd):
    before = {path.name for path in (ROOT / "notebooks").iterdir()}
    pages = {f"{name}.ipynb": notebook(f"print('{name}')") for name in ("one", "two")}
    found = executed(pages, tmp_path)
    assert {name: printed(page) for name, page in found.items()} == {
        "one.ipynb": "one\n",
        "two.ipynb": "two\n",
    }
    said = capfd.readouterr()
    assert sorted(line.split(" ran in ")[0] for line in said.out.splitlines()) == [*pages]
    assert "WARNING" not in said.err
    assert {path.name for path in (ROOT / "notebooks").iterdir()} == before
    assert executed(pages, tmp_path) == found
    assert capfd.readouterr().out == ""  # nothing ran again


def test_outputs_rest_on_data_and_locked_versions_too():
    kinds = {path.suffix for path in digested()}
    assert {".py", ".csv", ".npz", ".c"} <= kinds
    assert ".pyc" not in kinds
    assert ROOT / "lock" / "base.txt" in digested()


def test_a_page_without_outputs_says_why(tmp_path, monkeypatch):
    page = notebook("print(1)")
    assert NOT_RUN in executed({"one.ipynb": page}, None)["one.ipynb"]
    monkeypatch.delenv("FLUIDKV_TRACES", raising=False)
    name = "tutorials/06_measured_log.ipynb"
    shown = nbformat.reads(executed({name: page}, tmp_path)[name], as_version=4)
    assert WITHOUT_TRACES in shown.cells[1].source
