"""Files of named arrays: NumPy's .npy and .npz, and safetensors. The content says which it is."""

import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from jaxtyping import Shaped
from safetensors import SafetensorError, safe_open

from fluidkv.errors import InputError

ONLY = "weights"
"""What the one array of a .npy is called."""

_KNOWN = "a file of arrays: .npy, .npz or safetensors"

_PICKLED = "pickled objects are not read"

_BROKEN = (
    *(ValueError, TypeError, KeyError, SyntaxError, TokenError, EOFError, NotImplementedError),
    *(zipfile.BadZipFile, zlib.error, SafetensorError),
)
"""What the libraries raise at a broken file; NumPy reads headers as Python's literals."""

Arrays = Shaped[np.ndarray, "..."]


@dataclass(frozen=True)
class TensorFile:
    """Arrays of a file, each read when it is asked for.

    Fields:
        path: where it is. format: "npy", "npz" or "safetensors".
        names: of the arrays, in the order of the file.
        words: text that stands beside them: metadata of safetensors, strings in an .npz.
    """

    path: Path
    format: str
    names: tuple[str, ...]
    words: dict[str, str]
    _shape: Callable[[str], tuple[int, ...]]
    _read: Callable[[str], Any]

    def outline(self, name: str) -> Arrays:
        """An array of the shape that one has, which is not read for that.

        Raises:
            InputError: as `read`.
        """
        with _refusing(self.path):
            return np.broadcast_to(np.int8(0), self._shape(name))

    def read(self, name: str) -> Arrays:
        """One array.

        Raises:
            InputError: it cannot be read, or is pickled.
        """
        with _refusing(self.path):
            array = self._read(name)
        if not isinstance(array, np.ndarray):
            raise InputError("source", str(self.path), f"{_KNOWN} ({name!r} is no array)")
        return array


def open_tensors(source: Path | str) -> TensorFile:
    """The arrays of a file.

    Raises:
        InputError: no file, one that cannot be read, or one of another kind.
    """
    if not isinstance(source, Path | str) or "\0" in str(source):
        raise InputError("source", source, "the path of a file")
    path = Path(source)
    with _refusing(path):
        if not path.is_file():
            found = "this is not a regular file" if path.exists() else "there is no such file"
            raise InputError("source", str(source), f"{_KNOWN} ({found})")
        with path.open("rb") as file:
            start = file.read(16)
        if start.startswith(b"\x93NUMPY"):
            return _npy(path)
        if start.startswith(b"PK\x03\x04"):
            return _npz(path)
        if start[8:9] == b"{":
            return _safetensors(path)
    found = _PICKLED if start.startswith(b"\x80") else "this is none"
    raise InputError("source", str(source), f"{_KNOWN} ({found})")


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """What libraries raise at a broken file, as one line."""
    try:
        yield
    except InputError:
        raise
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except MemoryError:
        reason = "it takes more memory than there is"
    except _BROKEN as error:
        said = " ".join(str(error).split())[:80]
        reason = said if said == _PICKLED else f"broken: {said}"
    else:
        return
    raise InputError("source", str(path), f"{_KNOWN} ({reason})") from None


def _npy(path: Path) -> TensorFile:
    def shape(_: str) -> tuple[int, ...]:
        with path.open("rb") as file:
            return _header(file)[0]

    return TensorFile(path, "npy", (ONLY,), {}, shape, lambda _: np.load(path, allow_pickle=False))


def _npz(path: Path) -> TensorFile:
    def read(name: str) -> Any:
        with np.load(path, allow_pickle=False) as arrays:
            return arrays[name]

    def header(name: str) -> tuple[tuple[int, ...], np.dtype]:
        with zipfile.ZipFile(path) as packed, packed.open(f"{name}.npy") as member:
            return _header(member)

    with zipfile.ZipFile(path) as packed:
        inside = packed.namelist()
    if any(name.endswith("data.pkl") for name in inside):
        raise ValueError("torch.save wrote this, as pickled objects: save as safetensors")
    every = [name.removesuffix(".npy") for name in inside if name.endswith(".npy")]
    words = {name: str(read(name)) for name in every if header(name)[1].kind == "U"}
    names = tuple(name for name in every if name not in words)
    return TensorFile(path, "npz", names, words, lambda name: header(name)[0], read)


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and kind of numbers of an array in NumPy's format, without reading them."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    else:
        shape, _, dtype = np.lib.format.read_array_header_2_0(file)
    if dtype.hasobject:
        raise ValueError(_PICKLED)
    return shape, dtype


def _safetensors(path: Path) -> TensorFile:
    with safe_open(path, framework="np") as file:
        names, words = tuple(file.keys()), dict(file.metadata() or {})

    def shape(name: str) -> tuple[int, ...]:
        with safe_open(path, framework="np") as file:
            return tuple(file.get_slice(name).get_shape())

    def read(name: str) -> Any:
        with safe_open(path, framework="np") as file:
            return file.get_tensor(name)

    return TensorFile(path, "safetensors", names, words, shape, read)
