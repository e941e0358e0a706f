"""A page replaces an older one of ours, and nothing else."""

import os

import pytest

from fluidkv.errors import InputError
from fluidkv.report.file import require_ours, write_page
from fluidkv.report.head import MARK

OURS = f'<!doctype html>{MARK} explore 0.0">'


def test_a_page_of_ours_is_replaced(tmp_path):
    path = tmp_path / "page.html"
    write_page(path, OURS)
    write_page(path, OURS + "<p>new</p>")
    assert path.read_text(encoding="utf-8").endswith("<p>new</p>")


@pytest.mark.parametrize("content", ["", "mine", "<!doctype html><title>fluidkv</title>"])
def test_what_is_not_ours_is_left_alone(tmp_path, content):
    path = tmp_path / "page.html"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match="a page that fluidkv wrote"):
        write_page(path, OURS)
    assert path.read_text(encoding="utf-8") == content


def test_a_link_to_what_is_not_ours_is_left_alone(tmp_path):
    mine, path = tmp_path / "mine.html", tmp_path / "page.html"
    mine.write_text("mine", encoding="utf-8")
    path.symlink_to(mine)
    with pytest.raises(InputError):
        write_page(path, OURS)
    assert mine.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("folder.html", "not a folder"),
        ("none/page.html", "a folder that is there"),
        ("page.txt", "ends in .html"),
        ("page", "ends in .html"),
    ],
)
def test_a_place_where_no_page_goes_is_refused(tmp_path, name, allowed):
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(InputError, match=allowed):
        require_ours(tmp_path / name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "page.html")
    with pytest.raises(InputError, match="a file"):
        require_ours(tmp_path / "page.html")


def test_a_link_that_leads_nowhere_is_left_alone(tmp_path):
    path, circle = tmp_path / "page.html", tmp_path / "circle.html"
    path.symlink_to(tmp_path / "notes.html")
    circle.symlink_to(circle)
    for each in (path, circle):
        with pytest.raises(InputError, match="a page that fluidkv wrote"):
            require_ours(each)
        assert each.is_symlink()


def test_a_name_that_is_too_long_is_one_line(tmp_path):
    with pytest.raises(InputError, match="a file that can be written"):
        require_ours(tmp_path / f"{'x' * 300}.html")
