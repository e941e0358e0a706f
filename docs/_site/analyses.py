"""The page of a sweep's analyses, from their registry: settings, defaults, what each point has."""

from docs._site.layout import Pages
from fluidkv.questions.kinds import plain
from fluidkv.sweeps.analyses.named import ANALYSES
from fluidkv.sweeps.analysis import REQUIRED, Analysis, Setting, Variable

_INTRO = """\
# Analyses of a sweep

What a [sweep](sweep.md) can ask at each point, with the settings and the variables of each. Units
with *time* are seconds, or iterations where no clock is given; of `wait`, the unit in which its
rates and times are said.
"""


def analyses_page() -> Pages:
    """`analyses.md`: a section for each analysis."""
    return {"analyses.md": _INTRO + "".join(map(_section, ANALYSES.values()))}


def _section(analysis: Analysis) -> str:
    lines = [f"\n## {analysis.name}\n\n{analysis.title} Each point is `{analysis.call}`.\n\n"]
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
