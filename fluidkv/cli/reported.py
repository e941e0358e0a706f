"""What stands in an HTML report beside the answer: command line, settings, versions."""

import platform
import re
import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import fluidkv
from fluidkv.cli.asked import context
from fluidkv.report.blocks import Block
from fluidkv.text import printable

if TYPE_CHECKING:
    from fluidkv.figures.figure import Figure
    from fluidkv.report.document import Option, Report

_ELSEWHERE = {"--help", "--html", "--out", "--json"}  # where the answer goes
_LIBRARIES = ("jax", "jaxlib", "numpy", "numba", "python-flint")  # what computes an answer
_MARKUP = re.compile(r"\[/?(?:bold|italic|dim)\]")
_DEFAULT = re.compile(r"\s*\\?\[default: ([^\]]*)\]")


def reported(
    blocks: Sequence[Block],
    figures: "Sequence[Figure]",
    assumes: Sequence[str],
    json: str,
    about: str,
) -> "Report":
    """The report of the command that runs.

    Args:
        blocks: its answer, as its text has it.
        figures: its pictures.
        assumes: what it takes for granted, in sentences.
        json: its answer with all digits.
        about: title of an answer that does not begin with one.
    """
    from fluidkv.report.document import Report

    running = context()
    said = running.command.help or ""
    return Report(
        command=f"fluidkv {running.info_name}",
        asks=" ".join(_MARKUP.sub("", said.split("\n\n")[0]).split()),
        line=printable(shlex.join(["fluidkv", *running.obj])),
        about=about,
        blocks=blocks,
        figures=figures,
        assumes=assumes,
        options=list(_options(running, running.obj[1:])),
        made=_made(),
        json=json,
    )


def _options(running: Any, words: list[str]) -> "Iterator[Option]":
    """Every option: as it was written, else the default that the help names."""
    from fluidkv.report.document import Option

    written, _, _ = running.command.make_parser(running).parse_args(args=list(words))
    for each in running.command.params:
        name = each.opts[0] if each.opts[0].startswith("-") else each.metavar
        if name in _ELSEWHERE:
            continue
        given = running.get_parameter_source(each.name).name == "COMMANDLINE"
        said = each.help or ""
        value = _shown(written[each.name]) if given else _default(each.default, said)
        yield Option(name, printable(value), given, _MARKUP.sub("", _DEFAULT.sub("", said)))


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _default(value: Any, said: str) -> str:
    told = _DEFAULT.search(said)
    if told:
        return told[1]
    return "none" if value is None or value in ((), []) or callable(value) else _shown(value)


def _made() -> dict[str, str]:
    now = datetime.now(UTC)
    return {
        "fluidkv": fluidkv.__version__,
        "made": f"{now:%Y-%m-%d %H:%M} UTC",
        "Python": platform.python_version(),
        **{name: version(name) for name in _LIBRARIES},
        "machine": f"{platform.system()} {platform.machine()}",
    }
