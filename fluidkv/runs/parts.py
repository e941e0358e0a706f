"""Parts of a kernel as their callers take them in: neither optimised nor made machine code.

The kernel is optimised once, with all its parts in it. Optimised by itself too, a part would be
gone over again by everyone through whom it is called, which is a third of the compilation. That
takes inner names of Numba; where a version lacks one of them, its own compiler does each part
whole.
"""

from functools import cache
from typing import Any

Compiler: Any = None
JITCodeLibrary: Any = None
try:
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler
except ImportError:
    pass

_OF_LIBRARY = ("codegen", "get_pointer_to_function", "_ensure_finalized", "_finalized")
_STEPS = ("_optimize_final_module", "_finalize_final_module")


@cache
def compiler() -> Any:
    """The compiler of parts, as `njit` takes it (`pipeline_class`); None: Numba's own."""
    has_library = all(hasattr(JITCodeLibrary, name) for name in (*_OF_LIBRARY, *_STEPS))
    if not (has_library and hasattr(Compiler, "_compile_core")):
        return None

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

        def _compile_core(self) -> Any:
            state = self.state
            if state.library is None:
                state.library = Library(state.targetctx.codegen(), state.func_id.func_qualname)
            return super()._compile_core()

    return Parts
