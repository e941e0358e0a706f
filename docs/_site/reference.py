"""The reference: a page a room with every public name, and an index of all names."""

import ast
from itertools import groupby
from pkgutil import resolve_name

from docs._site.docstring import markdown, prose
from docs._site.layout import Pages
from docs._site.objects import Object, meant, objects, room_line
from docs._site.signature import called, returned, signature, value

_INTRO = """# Reference

Every public name with what it is called with and what it returns, a page a room, and
[all names](names.md) in one list. Examples take `fk` for
`fluidkv`, `np` for `numpy` and `Fraction` as given; each of them is run by the tests. Lengths and
memory are in tokens, time is in iterations, unless a name says otherwise. Bad input raises
{py:obj}`InputError <fluidkv.InputError>`.

"""


def reference() -> Pages:
    """All pages of the reference."""
    rooms = sorted({each.page for each in objects()})
    pages = {f"reference/{_file(room)}": _room(room) for room in rooms}
    listed = "".join(
        f"[`{room}`]({_file(room)})\n: {prose(room_line(room), _no_link)}\n\n" for room in rooms
    )
    files = "\n".join(_file(room) for room in rooms)
    toctree = f"```{{toctree}}\n:hidden:\n\nnames.md\n{files}\n```\n"
    pages["reference/index.md"] = f"{_INTRO}{listed}{toctree}"
    pages["reference/names.md"] = _names()
    return pages


def _file(room: str) -> str:
    return f"{room.rpartition('.')[2]}.md"


def _no_link(_: str) -> None:
    return None


def _names() -> str:
    lines = ["# All names", "", "{.names}\n| name | what it is | room |", "|---|---|---|"]
    for each in sorted(objects(), key=lambda o: (o.name.casefold(), o.path)):
        said = prose(each.summary, _no_link)
        lines.append(f"| {_link(each)} | {said} | [`{each.home}`]({_file(each.page)}) |")
    return "\n".join([*lines, ""])


def _link(obj: Object, words: str | None = None) -> str:
    return f"{{py:obj}}`{words or obj.name} <{obj.path}>`"


def _room(room: str) -> str:
    own = [each for each in objects() if each.page == room]
    text = [f"# `{room}`\n\n{prose(room_line(room), _no_link)}\n"]
    grouped = [(key, list(each)) for key, each in groupby(sorted(own, key=_group), key=_group)]
    for group, members in grouped:
        if len(grouped) > 1:
            text.append(f"## {_title(group, room)}\n")
        rows = "\n".join(f"| {_link(o)} | {prose(o.summary, _no_link)} |" for o in members)
        text.append(f"{{.names}}\n| name | what it is |\n|---|---|\n{rows}\n")
        text += [_entry(each) for each in members]
    if room == "fluidkv":
        text.append(_at_the_top())
    return "\n".join(text)


def _group(obj: Object) -> tuple[str, str]:
    """The room that lists it and the folder in which it is defined."""
    folder, _, file = obj.public.module.rpartition("/")
    return obj.home, (folder or file.removesuffix(".py")).replace("/", ".")


def _title(group: tuple[str, str], room: str) -> str:
    home, folder = group
    if home != room:
        return f"`{home}`: {_short(home)}"
    if f"fluidkv.{folder}" == room:
        return "The room itself"
    return _short(f"fluidkv.{folder}")


def _short(room: str) -> str:
    return prose(room_line(room).rstrip("."), _no_link)


def _at_the_top() -> str:
    rows = "\n".join(
        f"| {_link(o, f'fk.{o.name}')} | {prose(o.summary, _no_link)} |"
        for o in sorted(objects(), key=lambda o: o.name.casefold())
        if f"fluidkv.{o.name}" in o.also
    )
    lead = "What most users need is at the top level too, as `fk.NAME`:"
    return f"## From the rooms\n\n{lead}\n\n{{.names}}\n| name | what it is |\n|---|---|\n{rows}\n"


def _entry(obj: Object) -> str:
    """The directive of one name with all that it says."""
    module = obj.public.module

    def link(words: str) -> str | None:
        return _linked(words, module, obj)

    doc = obj.public.doc
    if isinstance(obj.node, ast.ClassDef) and "Described(" in ast.unparse(obj.node):
        doc = resolve_name(obj.path).__doc__  # with the fields that describe themselves
    parts = [markdown(doc, link)] if doc else []
    if isinstance(obj.node, ast.ClassDef):
        parts += _values(obj.node, obj)
        parts += [_member(each, obj, link) for each in obj.members()]
    options = [f":value: {value(obj)}"] if obj.kind == "data" and value(obj) else []
    where = [f"`fluidkv/{module}`", *(f"`{path}`" for path in obj.also)]
    parts.append(f"*In* {where[0]}" + (f"; *also* {', '.join(where[1:])}" if obj.also else ""))
    head = f"::::::{{py:{obj.kind}}} {obj.path}{signature(obj)}"
    return "\n".join([head, *options, "", "\n\n".join(parts), "::::::", ""])


def _values(node: ast.ClassDef, obj: Object) -> list[str]:
    """Members of an enumeration."""
    if not any("Enum" in ast.unparse(base) for base in node.bases):
        return []
    rows = [
        f"`{ast.unparse(each.targets[0])}`\n: `{ast.unparse(each.value)}`"
        for each in node.body
        if isinstance(each, ast.Assign)
    ]
    return ["**Members**", "\n\n".join(rows)] if rows else []


def _member(node: ast.FunctionDef, obj: Object, link) -> str:
    marks = {ast.unparse(each).rpartition(".")[2] for each in node.decorator_list}
    module = obj.public.module
    doc = markdown(ast.get_docstring(node) or "", link)
    path = f"{obj.path}.{node.name}"
    if marks & {"property", "cached_property"}:
        kind = returned(node, module)
        lines = [f":::::{{py:property}} {path}", *([f":type: {kind}"] if kind else [])]
    else:
        lines = [f":::::{{py:method}} {path}{called(node, module, method=True)}"]
        lines += [f":{mark}:" for mark in ("classmethod", "staticmethod") if mark in marks]
    return "\n".join([*lines, "", doc, ":::::"])


def _linked(words: str, module: str, own: Object) -> str | None:
    """A link for a name in backticks, with a method behind it, or without; None for other words."""
    name, call, _ = words.partition("(")
    if call or not name.replace(".", "").replace("_", "").isalnum():
        return None
    known = meant(name, module)
    if known is own:
        return None
    if known is None and "." in name:
        front, _, member = name.rpartition(".")
        known = meant(front, module)
        if known is None or member not in {each.name for each in known.members()}:
            return None
        return f"{{py:obj}}`{words} <{known.path}.{member}>`"
    return _link(known, words) if known else None
