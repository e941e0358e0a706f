"""Loops that a compiler for Python turns into machine code, and where the code is kept.

A kernel is a plain function over NumPy arrays and numbers. Numba compiles it on its first call for
a set of types; it holds no interpreter lock, so that groups of trajectories go to threads
(`batch.in_groups`). Modules with kernels are imported where one is called, not before: Numba takes
half a second to load.

The code is kept between processes, beside what JAX compiles. Numba's own way of keeping it looks
only at the file of the function that is called, not at what that one calls; two processes that
compile at once for other types may there find each other's code, and a full disk ends the
computation. So a kernel calls nothing outside of its own folder but what is in files of another
`kernel` folder, and in those that these have it from; and its code is kept under a name that says
what all these files contain, in a file for each set of types.
"""

import os
import pickle
import platform
import re
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite.ir import FunctionType as Callee
from numba import cfunc, njit, types
from numba.core.errors import NumbaError
from numba.extending import intrinsic

from fluidkv.runs import inlined, parts
from fluidkv.runs.compiled_code import code_store

CompileResult: Any = None
try:  # inner names of Numba; a version that lacks them compiles every time
    from numba.core.compiler import CompileResult
    from numba.core.serialize import dumps
except ImportError:
    dumps: Any = None

Function = TypeVar("Function", bound=Callable)


def kernel(function: Function) -> Function:
    """Compile on the first call; IEEE arithmetic in the order written, x / 0 is no error."""
    _tell_of_inlined()
    compiled: Any = njit(nogil=True, error_model="numpy", fastmath=False)(function)
    contents = _contents(Path(function.__code__.co_filename).parent)
    if CompileResult and dumps and contents and hasattr(compiled, "_cache"):
        compiled._cache = _Kept(f"{contents} {function.__module__}.{function.__qualname__}")
    return cast(Function, compiled)


def inner(function: Function) -> Function:
    """Part of a kernel: called by kernels alone, with arrays that these hold.

    It is put into the code of those that call it, and kept there. It has no way in from Python,
    which saves a third of the compilation; and it counts no references to arrays, which would cost
    more than what a short one does. So it must make no array, nor return one.
    """
    return _part(function, forceinline=True)


@cache
def compiled(function: Function) -> Function:
    """A function of Python that is made of `inlined` ones, as a kernel: made once."""
    return kernel(function)


@intrinsic
def _at_address(typing: Any, address: Any, numbers: Any) -> Any:
    """Calls what lies at an address with these numbers, as `at_address` compiles it."""
    kinds = [types.float64 if isinstance(t, types.Float) else types.int64 for t in numbers.types]

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        native = [context.get_value_type(kind) for kind in kinds]
        returned = context.get_value_type(types.float64)
        called = Callee(returned, native).as_pointer()
        at, values = arguments
        given = [
            context.cast(builder, builder.extract_value(values, place), numbers.types[place], kind)
            for place, kind in enumerate(kinds)
        ]
        return builder.call(builder.inttoptr(at, called), given)

    return types.float64(address, numbers), code


def _call(address: int, numbers: tuple) -> float:
    return _at_address(address, numbers)  # pyright: ignore[reportCallIssue]


def at_address(function: Callable, given: type[tuple]) -> Any:
    """A function of a named tuple of integers that `inlined.call` calls, by its `address`.

    Args:
        function: of such a tuple, returns a number.
        given: the named tuple.

    Returns:
        What holds its code, which must live as long as the address is used; None where it cannot be
        compiled.
    """
    names = ", ".join(given.__annotations__)
    space: dict[str, Any] = {"known": njit(error_model="numpy")(function), "given": given}
    # What is called by an address has its arguments one by one: there is no tuple of them in C.
    exec(f"def of_numbers({names}): return 1.0 * known(given({names}))", space)
    kinds = [types.int64] * len(given.__annotations__)
    try:
        return cfunc(types.float64(*kinds), error_model="numpy")(space["of_numbers"])
    except NumbaError:
        return None


def _tell_of_inlined() -> None:
    """What is `inlined` is compiled where kernels call it; for Python it stays what it is."""
    for function, source in [*inlined.unknown(), (inlined.call, _call)]:
        known: Any = function
        known.code = inner(source)  # the type alone does not hold it
        known._numba_type_ = types.Dispatcher(known.code)


def is_compiled(function: Callable, arguments: Sequence[Any]) -> bool:
    """Whether code of a kernel is there for arguments of these types: made, or kept on the disk."""
    compiled: Any = function
    types = tuple(numba.typeof(each) for each in arguments)
    if types in compiled.overloads:
        return True
    return isinstance(compiled._cache, _Kept) and compiled._cache.has(types, compiled.targetctx)


def routine(function: Function) -> Function:
    """As `inner`, but code of its own, however many call it: for what is long, or called often.

    The steps of a long loop are such: written out within it, they are more than the optimiser
    looks through, and the loop takes half as long again.
    """
    return _part(function)


def _part(function: Function, **settings: Any) -> Function:
    settings |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
    if compiler := parts.compiler():
        settings["pipeline_class"] = compiler
    return cast(Function, njit(nogil=True, error_model="numpy", **settings)(function))


class _Kept:
    """The code of one kernel, as Numba asks for it. What is kept by whom is asked at each call."""

    cache_path = None

    def __init__(self, name: str) -> None:
        self._name = name

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """For these types; None if there is none, or none that this Numba can read."""
        store = code_store("kernels")
        if store is None:
            return None
        target_context.refresh()
        found = store.get(self._key(sig, target_context.codegen()))
        if found is None:
            return None
        try:
            code = CompileResult._rebuild(target_context, *pickle.loads(found))
        except Exception:  # whatever is wrong with it: to compile is right
            return None
        return code if code.signature.args == sig else None

    def has(self, sig: Any, target_context: Any) -> bool:
        """Whether there is any for these types."""
        store = code_store("kernels")
        return store is not None and store.get(self._key(sig, target_context.codegen())) is not None

    def save_overload(self, sig: Any, cres: Any) -> None:
        """For these types, unless its code holds addresses of this process."""
        store = code_store("kernels")
        if store is None or cres.library.has_dynamic_globals or cres.lifted:
            return
        store.put(self._key(sig, cres.codegen), dumps(cres._reduce()))

    def _key(self, sig: Any, codegen: Any) -> str:
        versions = (numba.__version__, np.__version__, platform.python_version())
        settings = sorted(each for each in os.environ.items() if each[0].startswith("NUMBA_"))
        return f"{self._name} {sig} {codegen.magic_tuple()} {versions} {settings}"

    def enable(self) -> None:
        """Always."""

    def disable(self) -> None:
        """Never: the user's variable says whether code is kept."""

    def flush(self) -> None:
        """Nothing: what is unused goes by its age."""


_ELSEWHERE = re.compile(r"^from (fluidkv(?:\.\w+)*) import ", re.MULTILINE)


def _sources(folder: Path) -> list[Path]:
    """All files there, what they import of the package, functions and constants, of those that are
    in a `kernel` folder what these import in turn, and what makes kernels; none in a zip file."""
    paths, names = sorted(folder.glob("*.py")), set[str]()
    for path in paths:  # to which those that it names are added
        if path.parent.name != "kernel" and path.parent != folder:
            continue
        imported = set(_ELSEWHERE.findall(path.read_text())) - names
        paths += [Path(str(getattr(find_spec(name), "origin", ""))) for name in sorted(imported)]
        names |= imported
    return [*paths, *map(Path, (__file__, inlined.__file__, parts.__file__))] if paths else []


@cache
def _contents(folder: Path) -> str:
    """Of the sources of its kernels: numbers in them are part of the code."""
    contents = sha256()
    paths = _sources(folder)
    for path in paths:
        contents.update(path.name.encode() + b"\0" + path.read_bytes())
    return contents.hexdigest() if paths else ""
