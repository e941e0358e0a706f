"""Where each file of the repository stands on the site, and links that follow it there.

`docs/` becomes the root of the site, notebooks become tutorials. A link that leaves `docs/`,
`../notebooks/01_first_verdict.ipynb`, leads to the page on the site.
"""

import re
from pathlib import Path
from posixpath import dirname, join, normpath, relpath

ROOT = Path(__file__).parents[2]
PICTURES = {"figures": ROOT / "figures", "pictures": ROOT / "docs" / "pictures"}
"""Folder below the root of the site -> where its files come from."""

Pages = dict[str, str]
"""Path below the root of the sources -> text."""

ALONE = ("analyses.md", "coverage.md", "rooms.md")
"""Generated pages that pages of the repository link: they are on the site alone."""

_SINGLE = {
    "README.md": "readme.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/RESULTS.md": "benchmark_results.md",
    "LICENSE": "LICENSE.txt",
}
PROGRAMS = (
    *("fluidkv", "make", "pip", "python", "mkdir", "while", "kubectl", "curl"),
    *("vllm", "guidellm", "trtllm-serve"),
)
"""A block without a language that begins with one of them is of commands; others are outputs."""
_COMMANDS = re.compile(rf"^```\n(?=(?:{'|'.join(PROGRAMS)}) )", re.M)
_LINK = re.compile(r"(?<=\]\()([^()\s#]+)((?:#[^()\s]*)?)(?=\))")


def pages_of_repository() -> Pages:
    """Every page and what pages let one download, each where it stands on the site."""
    files = [p for p in sorted((ROOT / "docs").rglob("*")) if p.suffix in (".md", ".toml", ".json")]
    files += [*sorted((ROOT / "notebooks").glob("*.ipynb")), *(ROOT / name for name in _SINGLE)]
    names = [path.relative_to(ROOT).as_posix() for path in files if "_site" not in path.parts]
    return {on_site(name): relinked((ROOT / name).read_text("utf-8"), name) for name in names}


def on_site(name: str) -> str:
    """Where a file of the repository stands below the root of the site."""
    folder, _, rest = name.partition("/")
    return _SINGLE.get(name) or {"docs": rest, "notebooks": f"tutorials/{rest}"}.get(folder, name)


def relinked(text: str, name: str) -> str:
    """A page of the repository with its links as they are on the site.

    A link to a file that the site does not have, a folder for one, becomes its own text. Blocks of
    commands are marked as such: their long lines wrap, where tables that are printed must not.
    """
    if name.endswith((".toml", ".json")) or name == "LICENSE":
        return text
    here = on_site(name)

    def there(match: re.Match[str]) -> str:
        target, anchor = match.groups()
        if ":" in target:
            return match[0]
        aim = normpath(join(dirname(name), target))
        return relpath(on_site(aim), dirname(here) or ".") + anchor

    dropped = re.sub(r"\[([^\]]*)\]\(([^()\s:]+)/\)", r"\1", text)
    return _COMMANDS.sub("```sh\n", _LINK.sub(there, dropped))


def lay_out(pages: Pages, source: Path) -> None:
    """Write what changed, remove what is gone: Sphinx reads again what is new."""
    for name, text in pages.items():
        path = source / name
        if not path.is_file() or path.read_text("utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    kept = {source / name for name in pages}
    kept |= {path for folder in PICTURES for path in (source / folder).rglob("*")}
    for path in [p for p in source.rglob("*") if p.is_file() and p not in kept]:
        path.unlink()
