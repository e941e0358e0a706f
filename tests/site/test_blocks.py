"""Every block of code in the README and the pages is of a kind that a test checks."""

import json
import shutil
import subprocess
import tomllib
from collections.abc import Callable

import pytest
import yaml
from markdown_it import MarkdownIt

from docs._site.layout import PROGRAMS, ROOT, relinked

_ELSEWHERE = {
    "python": "tests/test_readme.py runs it",
    "python minutes": "tests/test_readme.py compiles it and runs its imports",
    "python save_attention.py": "tests/tokenpd/attention/test_page.py runs it",
    "{toctree}": "tests/site/test_pages.py follows it",
}


def _shell(text: str) -> None:
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True)
    if done.returncode:
        raise ValueError(done.stderr)


CHECKS: dict[str, Callable[[str], object]] = {
    "sh": _shell,
    "bash": _shell,
    "toml": tomllib.loads,
    "json": json.loads,
    "yaml": lambda text: list(yaml.safe_load_all(text)),
}


def _blocks() -> list[tuple[str, str, str]]:
    """(page and line, language, text) of each."""
    found = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        name = page.relative_to(ROOT).as_posix()
        for token in MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8")):
            if token.type == "fence" and token.map:
                where = f"{name}:{token.map[0] + 1}"
                found.append((where, token.info.strip(), token.content))
    return found


def kind(language: str, text: str) -> str:
    """The language; "sh" for commands without one, "" for what was printed."""
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    return "sh" if language == "" and first in PROGRAMS else language


BLOCKS = [(where, kind(language, text), text) for where, language, text in _blocks()]


def test_every_language_is_one_that_is_checked():
    known = {"", *CHECKS, *_ELSEWHERE}
    assert [f"{where}: {of}" for where, of, _ in BLOCKS if of not in known] == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on the PATH")
@pytest.mark.parametrize(
    ("of", "text"), [pytest.param(of, text, id=at) for at, of, text in BLOCKS if of in CHECKS]
)
def test_a_block_is_what_its_language_allows(of, text):
    CHECKS[of](text)


@pytest.mark.parametrize(
    ("of", "wrong"),
    [("sh", "while true; do echo\n"), ("toml", "a = \n"), ("json", "{"), ("yaml", "a: [")],
)
def test_a_block_that_is_not_is_found(of, wrong):
    with pytest.raises((ValueError, yaml.YAMLError)):
        CHECKS[of](wrong)


def test_commands_are_marked_on_the_site_and_outputs_are_not():
    page = "```\nfluidkv size\n```\n\nfluidkv says:\n\n```\nsmallest 12\n```\n"
    shown = "```sh\nfluidkv size\n```\n\nfluidkv says:\n\n```\nsmallest 12\n```\n"
    assert relinked(page, "docs/page.md") == shown
