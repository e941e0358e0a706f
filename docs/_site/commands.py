"""A page for each command, from the command line's own objects; examples are those of the docs."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import typer

from docs._site.layout import ROOT, Pages, on_site
from fluidkv.cli.app import app

_MARKUP = re.compile(r"\[/?(?:bold|italic|dim)\]")
_EXAMPLES = 8
_INTRO = """# Commands

`fluidkv COMMAND --help` says what stands here. Commands that print an answer take `--json`: the
keys are on the page [JSON](../json.md), and each command has a [schema](../schemas.md). Bad input
gets one line on standard error and exit code 2. A claim or a record that comes out otherwise than
expected gives exit code 1.

"""


@dataclass(frozen=True)
class Shown:
    """A command line that a page of the docs shows.

    Fields:
        words: the command.
        comment: what stands behind it on its line.
        page: of the repository, "docs/size.md".
    """

    words: str
    comment: str
    page: str


def commands() -> dict[str, Any]:
    """Name -> the object that reads its options, in the order of `fluidkv --help`."""
    return dict(typer.main.get_command(app).commands)  # type: ignore[attr-defined]  # it is a group


def answering() -> list[str]:
    """Names of those that have `--json`."""
    return [
        name for name, each in commands().items() if any("--json" in p.opts for p in each.params)
    ]


def command_pages() -> Pages:
    """An index by panel, and a page each."""
    pages = {f"commands/{name}.md": _page(name, each) for name, each in commands().items()}
    panels: dict[str, list[str]] = {}
    for name, each in commands().items():
        panels.setdefault(each.rich_help_panel, []).append(name)
    lists = "".join(f"## {panel}\n\n{_listed(names)}\n" for panel, names in panels.items())
    files = "\n".join(f"{name}.md" for name in commands())
    pages["commands/index.md"] = f"{_INTRO}{lists}```{{toctree}}\n:hidden:\n\n{files}\n```\n"
    return pages


def _listed(names: list[str]) -> str:
    return "".join(f"[`{name}`]({name}.md)\n: {_first(commands()[name])}\n\n" for name in names)


def _first(command: Any) -> str:
    return _plain(command.help.split("\n\n")[0])


def _page(name: str, command: Any) -> str:
    parts = [f"# `fluidkv {name}`", f"```{{program}} fluidkv {name}\n```"]
    parts += map(_paragraph, command.help.split("\n\n"))
    usage = " ".join(
        p.metavar if p.required else f"[{p.metavar}]" for p in command.params if not _is_option(p)
    )
    parts.append(f"```sh\nfluidkv {name} {usage + ' ' if usage else ''}[OPTIONS]\n```")
    panels: dict[str, list[Any]] = {}
    for each in command.params:
        panel = each.rich_help_panel or ("Options" if _is_option(each) else "Arguments")
        panels.setdefault(panel, []).append(each)
    for panel, options in panels.items():
        parts += [f"## {panel}", "\n\n".join(map(_option, options))]
    parts += [_in_docs(name)] if _in_docs(name) else []
    if name in answering():
        parts.append(f"Its answer as JSON: [keys](../json.md#{name}), [schema](../schemas.md).")
    return "\n\n".join(parts) + "\n"


def _paragraph(text: str) -> str:
    """Lines in bold are commands to paste."""
    lines = text.strip().splitlines()
    if all(line.strip().startswith("[bold]") for line in lines):
        return "```sh\n" + "\n".join(_MARKUP.sub("", line).strip() for line in lines) + "\n```"
    return _plain(text)


def _plain(text: str) -> str:
    said = _MARKUP.sub("", text).replace(r"\[", "[")
    escaped = re.sub(r"([\\*_\[\]<>$|#~])", r"\\\1", " ".join(said.split()))
    return re.sub(r"(?<![\w-])(--[a-z][a-z0-9-]*)", r"`\1`", escaped)


def _is_option(parameter: Any) -> bool:
    return bool(parameter.opts) and parameter.opts[0].startswith("-")


def _option(parameter: Any) -> str:
    """Its names and value, what it says of itself, what it is where it is not given."""
    said = _plain(parameter.help or "Show what stands here and exit.")
    default = parameter.default
    shown = default is not None and not isinstance(default, bool | tuple) and default != []
    if shown and not callable(default) and "default:" not in said:
        said += f" \\[default: {_plain(str(default))}\\]"
    if not _is_option(parameter):
        return f"`{parameter.metavar}`\n: {said}"
    value = "" if getattr(parameter, "is_flag", False) else f" {parameter.metavar}"
    names = ", ".join(f"{each}{value}" for each in [*parameter.opts, *parameter.secondary_opts])
    return f":::{{option}} {names}\n{said}\n:::"


def _in_docs(name: str) -> str:
    shown = [each for each in shown_commands() if each.words.split()[1] == name][:_EXAMPLES]
    if not shown:
        return ""
    rows = []
    for each in shown:
        comment = f": {_plain(each.comment)}" if each.comment else ""
        page = on_site(each.page)
        rows.append(f"- `{each.words}`{comment} ([{page.removesuffix('.md')}](../{page}))")
    return "## As the pages show it\n\n" + "\n".join(rows)


@cache
def shown_commands() -> tuple[Shown, ...]:
    """Every command line in a block of the README or a page, the first place of each."""
    found: dict[str, Shown] = {}
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        blocks = re.findall(r"^```(?:sh)?\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
        for line in "".join(blocks).splitlines():
            words, _, comment = line.partition("#")
            if re.match(r"fluidkv [a-z]+", words) and not words.rstrip().endswith("\\"):
                name = page.relative_to(ROOT).as_posix()
                words = " ".join(words.split())
                found.setdefault(words, Shown(words, comment.strip(), name))
    return tuple(found.values())
