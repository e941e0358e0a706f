"""Parts of a kernel as their callers take them in: neither optimised nor made machine code.

The kernel is optimised once, with all its parts in it. Optimised by itself too, a part would be
gone over again by everyone through whom it is called, which is a third of the compilation. Nor is a
part searched for what no part has, such as closures; and all parts have one object of settings.
That takes inner names of Numba; where a version lacks one of them, its own compiler does each part
whole.
"""

from functools import cache
from typing import Any

Compiler: Any = None
Flags: Any = None
JITCodeLibrary: Any = None
try:
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler, Flags
except ImportError:
    pass

_OF_LIBRARY = ("codegen", "get_pointer_to_function", "_ensure_finalized", "_finalized")
_NEEDLESS = ("InlineClosureLikes", "InlineOverloads", "NopythonRewrites", "AnnotateTypes")
"""Passes over closures and comprehensions, library functions that Numba writes out before it has
types, expressions of whole arrays, and a listing for readers."""
_STEPS = ("_optimize_final_module", "_finalize_final_module")


@cache
def compiler() -> Any:
    """The compiler of parts, as `njit` takes it (`pipeline_class`); None: Numba's own."""
    has_library = all(hasattr(JITCodeLibrary, name) for name in (*_OF_LIBRARY, *_STEPS))
    if not (has_library and hasattr(Compiler, "_compile_core") and hasattr(Flags, "copy")):
        return None

    class Settings(Flags):
        """Of parts, not to be changed. Numba looks up by them what it knows of types, and compares
        objects that are not the same field by field."""

        __slots__ = ("hash",)

        def __init__(self, flags: Any) -> None:
            super().__init__(flags)
            self.hash = hash(flags)

        def __hash__(self) -> int:
            return self.hash

        def copy(self) -> Any:
            return self

    known: dict[Any, Any] = {}

    class Codegen:
        """What turns code into machine code, for a part that has no place in memory."""

        def __init__(self, codegen: Any) -> None:
            self._codegen = codegen

        def __getattr__(self, name: str) -> Any:
            return getattr(self._codegen, name)

        def set_env(self, name: str, env: Any) -> None:
            """Nothing: constants of Python are those of the kernel that a part becomes one with."""

    class Library(JITCodeLibrary):
        """The code of a part."""

        @property
        def codegen(self) -> Any:
            return Codegen(self._codegen)

        def get_pointer_to_function(self, name: str) -> int:
            """0: Python does not call it."""
            self._ensure_finalized()
            return 0

        def _optimize_final_module(self) -> None:
            """Not by itself."""

        def _finalize_final_module(self) -> None:
            self._finalized = True

    class Parts(Compiler):
        """Numba's own, which puts what it makes of a part into a `Library`."""

        def define_pipelines(self) -> list[Any]:
            """Numba's, but for passes that find nothing here."""
            pipelines = super().define_pipelines()
            for each in pipelines:
                each.passes = [step for step in each.passes if step[0].__name__ not in _NEEDLESS]
            return pipelines

        def _compile_core(self) -> Any:
            state = self.state
            if state.flags not in known:
                known[state.flags] = Settings(state.flags)
            state.flags = known[state.flags]
            if state.library is None:
                state.library = Library(state.targetctx.codegen(), state.func_id.func_qualname)
            return super()._compile_core()

    return Parts
