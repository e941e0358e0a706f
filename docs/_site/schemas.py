"""JSON Schemas of what commands print with `--json`, made from the page on JSON.

Each key of the page is a property with its type; those without an "if" are required, others than
those of the page are refused. Null is what is not known, not asked or not finite, for any key.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

import fluidkv
from docs._site.commands import answering
from docs._site.keys import EVERY, Key, flat
from docs._site.layout import Pages

_TYPES = {"text": "string", "yes/no": "boolean", "count": "integer", "from 0": "integer"}
_ANYTHING = ("", "as `unit`", "or less")
_EXACT = {
    "type": ["string", "null", "array"],
    "pattern": r"^-?\d+(/\d+)?$",
    "items": {"$ref": "#/$defs/exact"},
    "description": "an exact value as a fraction",
}
_INTRO = """# JSON schemas

What a command prints with `--json`, as a JSON Schema that a program can check or make code from.
They are made from the page [JSON](json.md) and have its keys: a key without an *if* is required,
one that the page does not have is refused, and null is what is not known. A test holds what
commands print against them.

"""


@dataclass
class _Node:
    """A key, and what is below it.

    Fields:
        keys: the rows of the page that name it as a whole.
        needed: whether it is always there; decided by the first row that names it.
        below: by name, "[]" for each of a list, "*" for names of their own.
    """

    needed: bool
    keys: list[Key] = field(default_factory=list)
    below: dict[str, "_Node"] = field(default_factory=dict)


def schema(command: str) -> dict[str, Any]:
    """Of what a command prints."""
    root = _Node(True)
    for key in (*flat(EVERY), *flat(command)):
        _put(root, key)
    of = _schema(root)
    of["properties"]["command"] = {"const": command}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"fluidkv {command} --json",
        "description": f"fluidkv {fluidkv.__version__}",
        **of,
        "type": "object",
        "$defs": {"exact": _EXACT},
    }


def schema_files() -> Pages:
    """A file for each command, for the site as it is."""
    return {f"schemas/{name}.json": json.dumps(schema(name), indent=1) for name in answering()}


def schema_page() -> Pages:
    """The page that lists them."""
    rows = "\n".join(
        f'| [`{name}`](commands/{name}.md) | <a href="schemas/{name}.json">{name}.json</a> '
        f"| [{len(flat(name))} keys](json.md#{name}) |"
        for name in answering()
    )
    table = f"| command | schema | keys |\n|---|---|---|\n{rows}\n"
    return {"schemas.md": _INTRO + table}


def _put(root: _Node, key: Key) -> None:
    node, decided = root, not key.sometimes
    for part in re.findall(r"\[\]|[^.\[\]]+", key.path):
        if part not in node.below:
            node.below[part] = _Node(needed=decided)
            decided = True  # an "if" speaks of the first key that it brings; the rest is below it
        node = node.below[part]
    node.keys.append(key)


def _schema(node: _Node) -> dict[str, Any]:
    """Of one node; what is only named is one value, or null."""
    said: dict[str, Any] = {}
    what = next((each.what for each in node.keys if each.what), "")
    unit = next((each.unit for each in node.keys if each.unit), "")
    if unit or what:
        said["description"] = ": ".join(filter(None, [unit, what]))
    if "[]" in node.below:
        return said | {"type": ["array", "null"], "items": _schema(node.below["[]"])}
    if not node.below:
        types = _types(unit)
        return said | ({"type": types} if types else {})
    named = {name: each for name, each in node.below.items() if name != "*"}
    other = node.below.get("*")
    return said | {
        "type": ["object", "null"],
        "properties": {name: _schema(each) for name, each in named.items()},
        "patternProperties": {"_exact$": {"$ref": "#/$defs/exact"}},
        "required": [name for name, each in named.items() if each.needed],
        "additionalProperties": _schema(other) if other else False,
    }


def _types(unit: str) -> list[str]:
    """As JSON calls them; [] for a key that may be anything."""
    if unit in _ANYTHING:
        return []
    return [*dict.fromkeys(_TYPES.get(each, "number") for each in unit.split(" or ")), "null"]
