"""Public names as the reference shows them: where each is found, its definition, its neighbours."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property

from tests.examples.public import PACKAGE, PRIVATE, Public, defined, is_type, public

Definition = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign
_GROUND = "fluidkv"
"""The room of names that only the top level lists, and of files that are no room."""


@dataclass(frozen=True)
class Object:
    """A public name and its definition.

    Fields:
        public: name, file and docstring.
        node: its definition.
    """

    public: Public
    node: Definition

    @property
    def name(self) -> str:
        return self.public.name

    @property
    def home(self) -> str:
        """The room that lists it, the innermost one: "fluidkv.exact"."""
        rooms = [each for each in self.public.listed if each != _GROUND]
        return max(rooms, key=len) if rooms else _GROUND

    @property
    def path(self) -> str:
        """As one imports it."""
        return f"{self.home}.{self.name}"

    @property
    def page(self) -> str:
        """Of the reference: the first room below the package."""
        return ".".join(self.home.split(".")[:2])

    @property
    def also(self) -> tuple[str, ...]:
        """Other ways to import it."""
        paths = (f"{room}.{self.name}" for room in self.public.listed)
        return tuple(path for path in paths if path != self.path)

    @property
    def summary(self) -> str:
        """The first sentence of its docstring, in one line."""
        first = self.public.doc.strip().split("\n\n")[0]
        return " ".join(first.split())

    @cached_property
    def kind(self) -> str:
        """As Sphinx calls it."""
        if isinstance(self.node, ast.FunctionDef):
            return "function"
        return "class" if isinstance(self.node, ast.ClassDef) else "data"

    def members(self) -> Iterator[ast.FunctionDef]:
        """Methods and properties without an underscore."""
        if isinstance(self.node, ast.ClassDef):
            for each in self.node.body:
                if isinstance(each, ast.FunctionDef) and not each.name.startswith("_"):
                    yield each


@cache
def objects() -> tuple[Object, ...]:
    """Public names, what they are called with and what they return, in the order of their files."""
    shown = {(each.module, each.name): Object(each, _definition(each)) for each in public()}
    left = list(shown.values())
    while left:
        for file, name in _types(left.pop()):
            if (file, name) not in shown and name in _kinds(file):
                module = file.removesuffix(".py").replace("/", ".")
                type_of = replace(defined(PACKAGE, module, name), listed=(f"fluidkv.{module}",))
                shown[file, name] = Object(type_of, _definition(type_of))
                left.append(shown[file, name])
    return tuple(shown[key] for key in sorted(shown))


def _types(obj: Object) -> Iterator[tuple[str, str]]:
    """(file, name) of what the annotations of a function, or of a class's fields, may name."""
    module = obj.public.module
    for annotation in _annotations(obj.node):
        for node in ast.walk(annotation):
            texts = [node.id] if isinstance(node, ast.Name) else []
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts = re.findall(r"\w+", node.value)
            for name in texts:
                yield _imports(module).get(name, (module, name))


def _annotations(node: Definition) -> Iterator[ast.expr]:
    if isinstance(node, ast.FunctionDef):
        every = node.args
        arguments = [*every.posonlyargs, *every.args, *every.kwonlyargs]
        arguments += [each for each in (every.vararg, every.kwarg) if each]
        yield from (each for each in (*(a.annotation for a in arguments), node.returns) if each)
    elif isinstance(node, ast.ClassDef):
        for each in node.body:
            if isinstance(each, ast.AnnAssign):
                yield each.annotation
            elif isinstance(each, ast.FunctionDef) and not each.name.startswith("_"):
                yield from _annotations(each)
    elif node.value is not None and is_type(node):
        yield node.value


@cache
def _kinds(file: str) -> set[str]:
    """Classes, and names of types, that a file of the package defines for others."""
    if not (PACKAGE / file).is_file() or file.split("/")[0] in PRIVATE:
        return set()
    names = set[str]()
    for node in _tree(file).body:
        if isinstance(node, ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and is_type(node):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return {name for name in names if not name.startswith("_")}


@cache
def by_definition() -> dict[tuple[str, str], Object]:
    """(file, name) -> object."""
    return {(each.public.module, each.name): each for each in objects()}


@cache
def by_name() -> dict[str, tuple[Object, ...]]:
    found: dict[str, tuple[Object, ...]] = {}
    for each in objects():
        found[each.name] = (*found.get(each.name, ()), each)
    return found


def meant(words: str, module: str) -> Object | None:
    """The object that a file means by a name: what it defines or imports, or the only one of it.

    A name with a room before it, `fluidkv.exact.stability` or `fk.stability`, means that one.
    """
    room, _, name = words.rpartition(".")
    if room:
        paths = {words, words.replace("fk.", "fluidkv.", 1)}
        return next((o for o in by_name().get(name, ()) if paths & {o.path, *o.also}), None)
    defined = _imports(module).get(name, (module, name))
    known = by_definition().get(defined) or _listed(*defined)
    if known is None:
        same = by_name().get(name, ())
        near = [o for o in same if o.public.room == module.split("/")[0]] or same
        known = near[0] if len(near) == 1 else None
    return known


def _listed(file: str, name: str) -> Object | None:
    """What a room, imported from as a whole, has under a name."""
    room = "fluidkv." + file.removesuffix(".py").replace("/", ".")
    return next((o for o in by_name().get(name, ()) if room in o.public.listed), None)


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse((PACKAGE / module).read_text(encoding="utf-8"))


def _definition(name: Public) -> Definition:
    for node in _tree(name.module).body:
        if isinstance(node, Definition) and node.lineno == name.line:
            return node
    raise LookupError(f"{name.module} has nothing at line {name.line}")


@cache
def _imports(module: str) -> dict[str, tuple[str, str]]:
    """Name in a file -> (file, name) where a file of the package that it imports has it."""
    found = {}
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fluidkv."):
            path = (node.module or "").removeprefix("fluidkv.").replace(".", "/")
            for each in node.names:
                found[each.asname or each.name] = (f"{path}.py", each.name)
    return found


def room_line(room: str) -> str:
    """The first line of what a room says of itself."""
    path = PACKAGE.joinpath(*room.split(".")[1:])
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    doc = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return doc.split("\n\n")[0].replace("\n", " ")
