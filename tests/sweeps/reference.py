"""The part of docs/sweep.md about analyses, from the registry. `python -m tests.sweeps.reference`
writes it into the page.
"""

from pathlib import Path

from fluidkv.questions.kinds import plain
from fluidkv.sweeps import ANALYSES
from fluidkv.sweeps.analysis import REQUIRED, Analysis, Setting, Variable

PAGE = Path(__file__).parents[2] / "docs" / "sweep.md"
MARK = "<!-- the reference, as tests/sweeps/reference.py writes it -->\n"


def reference() -> str:
    return "".join(map(_section, ANALYSES.values()))


def _section(analysis: Analysis) -> str:
    lines = [f"\n### {analysis.name}\n\n{analysis.title} Each point is `{analysis.call}`.\n\n"]
    lines.append("| setting | unit | what it is | allowed | default |\n|---|---|---|---|---|\n")
    lines += map(_setting, analysis.settings)
    lines.append("\n| variable | unit | what it is |\n|---|---|---|\n")
    lines += [_variable(analysis, each) for each in analysis.variables]
    return "".join(lines)


def _setting(each: Setting) -> str:
    words = each.kind.words + (", of a class" if each.each_class else "")
    words += ", or none" if each.optional else ""
    default = "" if each.default is REQUIRED else f"`{plain(each.default)}`"
    if each.default is None and not each.optional:
        default = "all alike"
    return f"| `{each.name}` | {each.units} | {each.title} | {words} | {default} |\n"


def _variable(analysis: Analysis, each: Variable) -> str:
    said = each.title
    if each.words:
        said += ": " + ", ".join(word.replace(" ", "_") for word in each.words)
    for dim in each.dims:
        said += f"; along `{dim}`: {', '.join(analysis.labels[dim])}"
    return f"| `{each.name}` | {each.units} | {said} |\n"


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(text[: text.index(MARK) + len(MARK)] + reference(), encoding="utf-8")
