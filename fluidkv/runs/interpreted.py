"""A module of kernels as plain Python: the same source, nothing compiled and no compiler loaded.

To compile a kernel takes seconds where its code is not kept yet (`kernels`), more than little work
takes as it is written. IEEE arithmetic in the order written makes both the same bits, so that which
of them computes is nobody's concern but the clock's.
"""

import builtins
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from threading import Lock
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any

MOST = 2**18
"""Passes of a kernel's loops that a process makes in Python, all in all: about a second."""

_KERNELS = "fluidkv.runs.kernels"
_DECORATORS = ("kernel", "inner", "routine")
_modules: dict[str, Any] = {}
_made, _making = 0, Lock()


def as_python(passes: int, is_compiled: Callable[[], bool]) -> bool:
    """Whether so many passes are made in Python; if so, they count.

    Args:
        passes: of the loops.
        is_compiled: whether the compiled code is there, which is asked last: it loads the compiler.
    """
    global _made  # what this process has done so far
    with _making:
        if _made + passes > MOST or is_compiled():
            return False
        _made += passes
        return True


def interpreted(name: str, parts: Mapping[str, Any] | None = None) -> Any:
    """The module of this name, and those of kernels that it imports, with kernels as functions.

    Call what is in it under `numpy.errstate(all="ignore")`: in kernels x / 0 is no warning.

    Args:
        parts: such modules by name, and what stands in their place, for this caller alone.
    """
    return _loaded(name, _modules if parts is None else dict(parts))


def _loaded(name: str, modules: dict[str, Any]) -> Any:
    if name in modules:
        return modules[name]
    folder = name.rpartition(".")[0]

    def importer(asked: str, *rest: Any) -> Any:
        if asked == _KERNELS:
            return SimpleNamespace(**dict.fromkeys(_DECORATORS, lambda f: f))
        inside = asked.startswith(f"{folder}.") or (".kernel." in asked and _has_kernels(asked))
        return _loaded(asked, modules) if inside else builtins.__import__(asked, *rest)

    module = ModuleType(name)
    vars(module)["__builtins__"] = {**vars(builtins), "__import__": importer}
    exec(_source(name), vars(module))
    return modules.setdefault(name, module)


def _has_kernels(name: str) -> bool:
    """Whether a module is for the compiler; `inlined` functions are Python's as they are."""
    return _KERNELS in _source(name).co_names


@cache
def _source(name: str) -> CodeType:
    spec = find_spec(name)
    assert spec is not None, name
    loader: Any = spec.loader
    return compile(loader.get_source(name), str(spec.origin), "exec")
