"""Loops that a compiler for Python turns into machine code, and where the code is kept.

A kernel is a plain function over NumPy arrays and numbers. Numba compiles it on its first call for
a set of types; it holds no interpreter lock, so that groups of trajectories go to threads
(`batch.in_groups`). Modules with kernels are imported where one is called, not before: Numba takes
half a second to load.

The code is kept between processes. Numba looks only at the file of the function that is called, not
at what that one calls; so a kernel calls nothing outside of its own folder, and the place of its
code is named after the contents of all files there.
"""

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TypeVar, cast

from numba import njit
from numba.core import config

Function = TypeVar("Function", bound=Callable)


def kernel(function: Function) -> Function:
    """Compile on the first call; IEEE arithmetic in the order written, x / 0 is no error."""
    before = config.__dict__["CACHE_DIR"]
    config.__dict__["CACHE_DIR"] = str(_place(Path(function.__code__.co_filename).parent))
    try:
        compiled = njit(cache=True, nogil=True, error_model="numpy", fastmath=False)(function)
    finally:
        config.__dict__["CACHE_DIR"] = before
    return cast(Function, compiled)


@cache
def _place(folder: Path) -> Path:
    contents = sha256()
    for path in sorted(folder.glob("*.py")):
        contents.update(path.name.encode() + path.read_bytes())
    return Path.home() / ".cache" / "fluidkv" / "kernels" / contents.hexdigest()[:16]
