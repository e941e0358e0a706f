"""The O(1) iteration in C, compiled for this machine: what an engine can be compared with."""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from jaxtyping import Float

Kernel = Callable[[Float[np.ndarray, "batch stage"], float, int, int], None]
"""Masses (changed in place), weight of stage 0, iterations, threads."""

SOURCE = Path(__file__).with_name("positions.c")
_COMPILERS = ("cc", "gcc", "clang")
_FLAGS = (("-O3", "-march=native"), ("-O3", "-mcpu=native"), ("-O3",))
_COMPILING_S = 60


class NoCompilerError(Exception):
    """There is none, or it cannot compile the kernel; the message is the reason."""


def c_kernel(folder: str) -> tuple[Kernel, str]:
    """Compile the kernel into a folder; with it, the command line that did it.

    Raises:
        NoCompilerError: on a system without one.
    """
    named = [os.environ[name] for name in ("CC",) if os.environ.get(name)]
    compilers = [name for name in (*named, *_COMPILERS) if shutil.which(name)]
    if not compilers:
        raise NoCompilerError("no C compiler here")
    library = Path(folder) / "positions.so"
    for flags in _FLAGS:
        words = [compilers[0], *flags]
        command = [*words, "-shared", "-fPIC", "-o", str(library), str(SOURCE)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=_COMPILING_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoCompilerError(f"{compilers[0]} did not run: {error}") from None
        if done.returncode == 0:
            return _loaded(library), " ".join(words)
    raise NoCompilerError(f"{compilers[0]} does not compile the kernel")


def _loaded(library: Path) -> Kernel:
    try:
        call = ctypes.CDLL(str(library)).run  # lets go of the interpreter while it runs
    except (OSError, AttributeError) as error:
        raise NoCompilerError(f"what was compiled cannot be loaded: {error}") from None
    call.argtypes = (
        *(ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_double, ctypes.c_long),
    )

    def run(
        masses: Float[np.ndarray, "batch stage"], first: float, iterations: int, threads: int
    ) -> None:
        assert masses.flags.c_contiguous
        assert masses.dtype == np.float64

        def part(rows: np.ndarray) -> None:
            if call(rows.ctypes.data, *rows.shape, first, iterations):
                raise MemoryError

        if threads == 1:
            part(masses)
            return
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(part, np.array_split(masses, threads)))

    return run
