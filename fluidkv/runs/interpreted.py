"""A module of kernels as plain Python: the same source, nothing compiled and no compiler loaded.

To compile a kernel takes seconds where its code is not kept yet (`kernels`), more than little work
takes as it is written. IEEE arithmetic in the order written makes both the same bits, so that which
of them computes is nobody's concern but the clock's.
"""

import builtins
import importlib.util
from collections.abc import Callable
from functools import cache
from threading import Lock
from types import ModuleType, SimpleNamespace
from typing import Any

MOST = 2**18
"""Passes of a kernel's loops that a process makes in Python, all in all: about a second."""

_KERNELS = "fluidkv.runs.kernels"
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


@cache
def interpreted(name: str) -> ModuleType:
    """The module of this name, and those of its folder that it imports, with kernels as functions.

    A kernel calls nothing outside of its own folder, so that no compiled one is called. Call what
    is in it under `numpy.errstate(all="ignore")`: in kernels x / 0 is no warning.
    """
    folder, spec = name.rpartition(".")[0], importlib.util.find_spec(name)
    assert spec is not None, name

    def importer(asked: str, *rest: Any) -> Any:
        if asked == _KERNELS:
            return SimpleNamespace(kernel=lambda f: f, inner=lambda f: f)
        inside = asked.startswith(f"{folder}.")
        return interpreted(asked) if inside else builtins.__import__(asked, *rest)

    module = ModuleType(name)
    vars(module)["__builtins__"] = {**vars(builtins), "__import__": importer}
    loader: Any = spec.loader
    exec(compile(loader.get_source(name), str(spec.origin), "exec"), vars(module))
    return module
