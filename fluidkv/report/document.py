"""An answer as one file that a browser opens: no network, nothing beside it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

from fluidkv.figures.figure import Figure
from fluidkv.report.blocks import Block, Title, Verdict
from fluidkv.report.body import Section, sections
from fluidkv.report.charts import chart
from fluidkv.report.head import head
from fluidkv.report.numbers import counted

_ASSETS = files("fluidkv.report") / "assets"
_NOTHING = ("none", "no")
_MOST_JSON = 10**6
"""Characters of JSON that a page holds; a longer one stays where `--json` prints it."""


@dataclass(frozen=True)
class Option:
    """An option of the command that was run.

    Fields:
        name: as it is written, "--capacity".
        value: as it was given; else the default that the help names, "none" where it names none.
        given: whether the user wrote it.
        meaning: from the command's help.
    """

    name: str
    value: str
    given: bool
    meaning: str


@dataclass(frozen=True)
class Report:
    """What a report says.

    Fields:
        command: its name, "fluidkv study".
        asks: what it answers, in a sentence.
        line: command line, to paste.
        about: its title, where the answer does not begin with one.
        blocks: the answer.
        figures: its pictures.
        assumes: sentences on what the answer takes for granted.
        options: all that the command has.
        made: what made it: name -> version, and when.
        json: the answer with all its digits.
    """

    command: str
    asks: str
    line: str
    about: str
    blocks: Sequence[Block]
    figures: Sequence[Figure]
    assumes: Sequence[str]
    options: Sequence[Option]
    made: Mapping[str, str]
    json: str


def document(report: Report) -> str:
    """HTML, complete in itself: text, charts, assumptions, and what made it.

    Raises:
        MissingInput: from a figure's data.
    """
    style = _asset("look.css") + _asset("report.css")
    script = _asset("report.js")
    verdict, subject, answer = _subject(report)
    below = next((n for n, part in enumerate(answer, 1) if "<table" in part.html), 1)
    answer[below:below] = _charts(report)  # directly below the first table
    parts = [*answer, _assumed(report), _made(report)]
    named = [(f"part-{n}", part) for n, part in enumerate(parts, 1)]
    title = f"{subject}: {report.command}" if subject else report.command
    return (
        f"{head(title, style=style, scripts=[script])}<body>\n"
        '<a class="skip" href="#answer">Skip to the answer</a>\n'
        f"{_header(report, verdict, subject)}\n{_contents(named)}\n"
        f'<main id="answer" tabindex="-1">\n{"".join(_section(*each) for each in named)}</main>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _subject(report: Report) -> tuple[str, str, list[Section]]:
    """Verdict and title that the answer begins with, and its parts."""
    blocks, verdict, subject = list(report.blocks), "", report.about
    if blocks and isinstance(blocks[0], Verdict):
        verdict = blocks[0].text.plain.strip()
        del blocks[0]
    if blocks and isinstance(blocks[0], Title) and not blocks[0].opens:
        subject = (blocks[0].text + blocks[0].rest).plain.strip()
        del blocks[0]
    return (
        verdict,
        subject,
        [part if part.heading else Section("In short", "", part.html) for part in sections(blocks)],
    )


def _header(report: Report, verdict: str, subject: str) -> str:
    heading = verdict or subject or report.asks
    below = [each for each in (subject, report.asks) if each and each != heading]
    by = f"fluidkv {report.made['fluidkv']}, {report.made['made']}"
    return (
        f'<header>\n<p class="command">{escape(report.command)}</p>\n'
        f"<h1>{escape(heading)}</h1>\n"
        + "".join(f"<p>{escape(each)}</p>\n" for each in below)
        + f'<pre class="paste" tabindex="0"><code>{escape(report.line)}</code></pre>\n'
        f'<p class="quiet">{escape(by)}</p>\n'
        '<div id="theme" role="group" aria-label="Colours" hidden>'
        '<button type="button" data-to="" aria-pressed="true">as the system</button>'
        '<button type="button" data-to="light" aria-pressed="false">light</button>'
        '<button type="button" data-to="dark" aria-pressed="false">dark</button></div>\n</header>'
    )


def _contents(named: Sequence[tuple[str, Section]]) -> str:
    links = "".join(f'<li><a href="#{id_}">{escape(part.heading)}</a></li>' for id_, part in named)
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>'


def _section(id_: str, part: Section) -> str:
    rest = f'<span class="rest">{part.rest}</span>' if part.rest else ""
    return (
        f'<section id="{id_}" aria-labelledby="{id_}-title">\n'
        f'<h2 id="{id_}-title">{escape(part.heading)}{rest}</h2>\n{part.html}\n</section>\n'
    )


def _charts(report: Report) -> list[Section]:
    if not report.figures:
        return []
    drawn = [chart(each, name=f"chart-{n}") for n, each in enumerate(report.figures, 1)]
    return [Section("Charts", "", "\n".join(drawn))]


def _assumed(report: Report) -> Section:
    """Of the model, in sentences; then the options, those without a default folded away."""
    sentences = "".join(f"<li>{escape(each)}</li>" for each in report.assumes)
    given = [each for each in report.options if each.given]
    usual = [each for each in report.options if not each.given and each.value not in _NOTHING]
    others = [each for each in report.options if not each.given and each.value in _NOTHING]
    parts = [f"<ul>{sentences}</ul>" if sentences else ""]
    parts += [f"<h3>Options that were given</h3>{_options(given)}"] if given else []
    parts += [f"<h3>Not given, and so by default</h3>{_options(usual)}"] if usual else []
    if others:
        many = counted(len(others), "option that was not given", "options that were not given")
        parts.append(f"<details><summary>{many}</summary>{_options(others)}</details>")
    return Section("What was assumed", "", "\n".join(filter(None, parts)))


def _options(options: Sequence[Option]) -> str:
    rows = "".join(
        f"<div><dt><code>{escape(each.name)}</code></dt><dd>{escape(each.value)}</dd>"
        f'<dd class="quiet">{escape(each.meaning)}</dd></div>'
        for each in options
    )
    return f'<dl class="options">{rows}</dl>'


def _made(report: Report) -> Section:
    rows = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
        for name, value in report.made.items()
    )
    return Section("How it was made", "", f"<dl>{rows}</dl>\n{_numbers(report)}")


def _numbers(report: Report) -> str:
    size = f"{len(report.json) / 1000:,.0f} kB"
    if len(report.json) > _MOST_JSON:
        return f"<p>The answer as JSON has {size}, too much for a page; --json prints it.</p>"
    return (
        f"<details><summary>The answer as JSON ({size})</summary>"
        '<pre tabindex="0" role="region" aria-label="The answer as JSON"><code>'
        f"{escape(report.json)}</code></pre></details>"
    )


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")
