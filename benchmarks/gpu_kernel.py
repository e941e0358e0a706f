"""The kernel of labels, compiled for an H100 on a machine that needs neither a GPU nor a driver.

`python -m benchmarks.gpu_kernel` prints what `ptxas` says of it, and what that and the bytes of an
iteration leave at most. It needs numba-cuda and NVIDIA's compilers, which the group `cuda` of
pyproject.toml installs.
"""

import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.inputs import SkippedError
from fluidkv.runs.gpu import THREADS
from fluidkv.suite.tables import markdown_table as table

CAPABILITY = (9, 0)  # of an H100
# NVIDIA H100 Tensor Core GPU Architecture (white paper, 2022), SXM5.
MULTIPROCESSORS, REGISTERS, CLOCK, BANDWIDTH = 132, 65_536, 1.98e9, 3.35e12
_ROUNDED = 8  # registers of a thread are given in eights
_ACCESSES = 5  # where a label enters: one is read, one emptied, its mass and two links written
_WORD, _SECTOR = 8, 32  # bytes: of an access, and of what memory reads or writes at least
ASKED = 1e10  # trajectory-iterations a second


class Resources(NamedTuple):
    """Of a thread: registers, and bytes of stack and of registers that did not fit."""

    registers: int
    stack: int
    spilled: int

    @property
    def threads(self) -> int:
        """That are on the GPU at once."""
        rounded = -(-self.registers // _ROUNDED) * _ROUNDED
        return REGISTERS // (rounded * THREADS) * THREADS * MULTIPROCESSORS


def labels_ptx(capability: tuple[int, int] = CAPABILITY) -> str:
    """PTX of what `engine.advance` launches on a GPU, of arrays as `gpu.GPU` lays them out."""
    if find_spec("numba_cuda") is None:
        raise SkippedError("numba-cuda is not installed")
    from numba import types

    from fluidkv.fluid.labels.gpu import advance_lane

    whole, real = types.int64, types.float64
    tables = [(whole, 2), (real, 3), (whole, 2), (real, 3)]
    lanes = [(whole, 1), (real, 3), (real, 1), (whole, 1)]  # system, start, capacity, until
    lanes += [(real, 2), (whole, 2), (real, 2), (whole, 2), (whole, 2), (real, 2), (real, 3)]
    windows = [*[(real, 3)] * 4, (real, 2), (real, 4), (real, 3)]
    looks = [(whole, 1), (whole, 1), (real, 2), (real, 1), (whole, 1), (whole, 1), (real, 1)]
    looks += [(real, 4)]
    marks = [(real, 2), (whole, 2)]

    def arrays(kinds: list[tuple[Any, int]], *, by_lane: bool) -> list[Any]:
        return [types.Array(k, axes, "F" if by_lane and axes > 1 else "C") for k, axes in kinds]

    arguments = (
        *arrays(tables, by_lane=False),
        *arrays(lanes + windows, by_lane=True),
        *arrays(looks, by_lane=False),
        *arrays(marks, by_lane=True),
        *(whole, whole),
    )
    return ptx(advance_lane.py_func, arguments, capability)


def ptx(thread: Callable[..., None], types: tuple[Any, ...], capability: tuple[int, int]) -> str:
    """Of what a thread does with arguments of these types, and of all that it calls.

    Raises:
        SkippedError: NVIDIA's compilers are not there.
    """
    from cuda.pathfinder import DynamicLibNotFoundError

    cuda: Any = import_module("numba.cuda")
    try:
        with _taken_for(capability):
            code, _ = cuda.compile(thread, types, device=False, abi="numba", cc=capability)
    except (DynamicLibNotFoundError, ImportError) as error:  # NVRTC, or NVVM
        raise SkippedError(str(error).splitlines()[0]) from None
    return code


@contextmanager
def _taken_for(capability: tuple[int, int]) -> Iterator[None]:
    """numba-cuda asks the GPU what it is where one function calls another; here there is none."""
    dispatcher: Any = import_module("numba.cuda.dispatcher")

    class Device(NamedTuple):
        compute_capability: tuple[int, int]

    asked, dispatcher.get_current_device = dispatcher.get_current_device, lambda: Device(capability)
    try:
        yield
    finally:
        dispatcher.get_current_device = asked


def resources(code: str, capability: tuple[int, int] = CAPABILITY, *options: str) -> Resources:
    """What `ptxas -v` says of a kernel's PTX, with its `options`.

    Raises:
        SkippedError: there is no ptxas.
    """
    wheel = Path(sysconfig.get_path("purelib"), "nvidia", "cuda_nvcc", "bin")
    command = shutil.which("ptxas", path=wheel) or shutil.which("ptxas")
    if command is None:
        raise SkippedError("there is no ptxas")
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(code, encoding="utf-8")
        target = f"-arch=sm_{capability[0]}{capability[1]}"
        words = [command, "-v", target, *options, str(source), "-o", str(cubin)]
        text = subprocess.run(words, capture_output=True, text=True, check=True).stderr
        assert cubin.stat().st_size > 0
    registers, stack, *spilled = (
        int(re.findall(pattern, text)[0])
        for pattern in (
            r"Used (\d+) registers",
            r"(\d+) bytes stack frame",
            r"(\d+) bytes spill stores",
            r"(\d+) bytes spill loads",
        )
    )
    return Resources(registers, stack, sum(spilled))


def main() -> None:
    code = labels_ptx()
    rows = []
    for most in (None, 128, 96):
        options = () if most is None else (f"-maxrregcount={most}",)
        found = resources(code, CAPABILITY, *options)
        cycles = found.threads * CLOCK / ASKED
        rows.append([str(most or "-"), *map(str, found), f"{found.threads:,}", f"{cycles:,.0f}"])
    names = ["at most", "registers", "stack, bytes", "spilled, bytes", "threads at once"]
    print(table([*names, f"cycles of each for {ASKED:.0e} a second"], rows))
    for what, size in (("side by side", _WORD), ("each alone", _SECTOR)):
        most = BANDWIDTH / (_ACCESSES * size)
        print(f"{_ACCESSES} accesses of memory, {what}: {most:.1e} a second at most")


if __name__ == "__main__":
    main()
