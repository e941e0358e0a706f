"""Signatures as they stand in the source, with the package's own types by their full names."""

import ast
import copy

from docs._site.objects import Object, meant

_LONGEST_VALUE = 100
_NO_CALL = ("Enum", "StrEnum", "IntEnum", "Protocol", "NamedTuple", "TypedDict", "ABC")


def signature(obj: Object) -> str:
    """What stands behind the name: arguments with types and defaults, and what comes back."""
    node, module = obj.node, obj.public.module
    if isinstance(node, ast.FunctionDef):
        return called(node, module)
    if isinstance(node, ast.ClassDef):
        return _made(node, module)
    return ""


def called(node: ast.FunctionDef, module: str, *, method: bool = False) -> str:
    """Of a function, or of a method without its first argument."""
    arguments = _Qualified(module).visit(copy.deepcopy(node.args))
    if method and not _has(node, "staticmethod"):
        (arguments.posonlyargs or arguments.args)[:1] = []
    back = _Qualified(module).visit(_unquoted(node.returns)) if node.returns else None
    return f"({ast.unparse(arguments)})" + (f" -> {ast.unparse(back)}" if back else "")


def returned(node: ast.FunctionDef, module: str) -> str:
    """The type of a property, or ""."""
    if node.returns is None:
        return ""
    return ast.unparse(_Qualified(module).visit(_unquoted(node.returns)))


def _unquoted(annotation: ast.expr) -> ast.expr:
    """A copy, of what a string says where it is one."""
    match annotation:
        case ast.Constant(value=str(text)):
            return ast.parse(text, mode="eval").body
    return copy.deepcopy(annotation)


def value(obj: Object) -> str:
    """What a constant is, where it is short."""
    assert isinstance(obj.node, ast.Assign | ast.AnnAssign)
    said = ast.unparse(obj.node.value) if obj.node.value else ""
    return said if len(said) <= _LONGEST_VALUE else ""


def fields(node: ast.ClassDef) -> list[ast.AnnAssign]:
    """Those of a record, in the order in which they are given."""
    return [
        each
        for each in node.body
        if isinstance(each, ast.AnnAssign)
        and isinstance(each.target, ast.Name)
        and not each.target.id.startswith("_")
        and not ast.unparse(each.annotation).startswith("ClassVar")
    ]


def _made(node: ast.ClassDef, module: str) -> str:
    """How one is made: its fields, or the arguments of its `__init__`."""
    bases = {ast.unparse(each).rpartition(".")[2] for each in node.bases}
    if bases & set(_NO_CALL):
        return ""
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and each.name == "__init__":
            return called(each, module, method=True).removesuffix(" -> None")
    said = []
    for each in fields(node):
        kind = ast.unparse(_Qualified(module).visit(_unquoted(each.annotation)))
        assert isinstance(each.target, ast.Name)
        default = _default(each.value)
        said.append(f"{each.target.id}: {kind}" + (f" = {default}" if default else ""))
    return f"({', '.join(said)})" if said else ""


def _default(node: ast.expr | None) -> str:
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("field", "eqx.field"):
        given = {each.arg: each.value for each in node.keywords}
        if "default" in given:
            return ast.unparse(given["default"])
        made = given.get("default_factory")
        return f"{ast.unparse(made)}()" if isinstance(made, ast.Name) else ""
    return ast.unparse(node) if node else ""


def _has(node: ast.FunctionDef, decorator: str) -> bool:
    return decorator in {ast.unparse(each) for each in node.decorator_list}


class _Qualified(ast.NodeTransformer):
    """The package's own types by the names that one imports; strings of annotations as types."""

    def __init__(self, module: str):
        self.module = module

    def visit_arg(self, node: ast.arg) -> ast.arg:
        if node.annotation is not None:
            node.annotation = _unquoted(node.annotation)
        return self.generic_visit(node)  # type: ignore[return-value]  # a visitor gives back any node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """A type alone: what `Annotated` says beside it stands in the description."""
        match node:
            case ast.Subscript(ast.Name("Annotated"), ast.Tuple([kind, *_])):
                return self.visit(kind)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if not node.id[:1].isupper() or node.id.isupper():
            return node
        known = meant(node.id, self.module)
        # Sphinx guesses at a bare name; with `_` before it, it links nothing and shows the name.
        path = known.path if known else f"_.{node.id}"
        return ast.parse(path, mode="eval").body
