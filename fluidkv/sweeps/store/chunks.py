"""One chunk in a store: all of its files, then the one that says so.

The chunk of `status` is written last, when all others are on the disk: where its file is there, the
chunk is whole. So a chunk without it is written again, in all its files, and gets the same bytes.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fluidkv.files import settle, write_durably
from fluidkv.sweeps.analysis import STATUS, Arrays
from fluidkv.sweeps.planning import Plan
from fluidkv.sweeps.store.skeleton import make_array


@dataclass(frozen=True)
class Store:
    """A folder that a sweep fills, while somebody holds it; it pickles.

    Fields:
        path: of the folder.
        parts: a folder in it, where files are written before they are moved into place.

    Examples:
        >>> from pathlib import Path
        >>> from fluidkv.sweeps import opened, plan
        >>> asked = {"analysis": "stability", "settings": {"decode_length": [2, 3], "capacity": 8}}
        >>> asked |= {"grid": {"input_length": [1, 4, 8]}, "chunk": 2}
        >>> with opened(Path("store"), plan(asked)) as store:
        ...     store.path.name, store.parts.parent == store.path
        ('store', True)
    """

    path: Path
    parts: Path


def write(store: Store, plan: Plan, chunk: int, arrays: Arrays) -> None:
    """Put what was computed into a store; safe from many processes, and to be repeated.

    Args:
        arrays: what `compute` returned for the chunk.

    Raises:
        OSError: the disk is full, or nobody holds the store any more; the chunk is not there then.

    Examples:
        >>> from pathlib import Path
        >>> from fluidkv.sweeps import compute, missing, opened, plan, write
        >>> asked = {"analysis": "stability", "settings": {"decode_length": [2, 3], "capacity": 8}}
        >>> asked |= {"grid": {"input_length": [1, 4, 8]}, "chunk": 2}
        >>> with opened(Path("store"), plan(asked)) as store:
        ...     write(store, plan(asked), 1, compute(plan(asked), 1))
        ...     missing(store, plan(asked))
        [0]
    """
    names = [each.name for each in plan.variables]
    contents = encoded(plan, chunk, arrays)
    for name in names:
        write_durably(_file(store.path, plan, name, chunk), contents[name], store.parts)
    for name in names:
        settle(store.path / name)
    write_durably(_file(store.path, plan, STATUS, chunk), contents[STATUS], store.parts)
    settle(store.path / STATUS)


def missing(store: Store | Path, plan: Plan) -> list[int]:
    """The chunks that are still to be written, in order; one that has lost a file among them.

    Examples:
        >>> from pathlib import Path
        >>> from fluidkv.sweeps import missing, opened, plan
        >>> asked = {"analysis": "stability", "settings": {"decode_length": [2, 3], "capacity": 8}}
        >>> asked |= {"grid": {"input_length": [1, 4, 8]}, "chunk": 2}
        >>> with opened(Path("store"), plan(asked)) as store:
        ...     missing(store, plan(asked))
        [0, 1]
    """
    path = store.path if isinstance(store, Store) else store
    names = [STATUS, *(each.name for each in plan.variables)]
    there = {name: {each.name for each in (path / name).iterdir()} for name in names}
    return [
        chunk
        for chunk in range(plan.chunks)
        if any(_key(plan, name, chunk) not in there[name] for name in names)
    ]


def encoded(plan: Plan, chunk: int, arrays: Arrays) -> dict[str, bytes]:
    """Variable -> the bytes of its file."""
    import zarr
    from zarr.storage import MemoryStore

    memory = MemoryStore()
    group = zarr.create_group(memory, zarr_format=3)
    region = plan.region(chunk)
    found = {}
    for name in [*(each.name for each in plan.variables), STATUS]:
        array = make_array(group, plan, name)
        values = np.asarray(arrays[name])
        array[(*region, ...)] = values
        found[name] = memory._store_dict[f"{name}/{_key(plan, name, chunk)}"].to_bytes()
    return found


def _file(path: Path, plan: Plan, name: str, chunk: int) -> Path:
    return path / name / _key(plan, name, chunk)


def _key(plan: Plan, name: str, chunk: int) -> str:
    """Zarr's name of a chunk: its place along each dimension, 0 along those of the variable."""
    own = [each.dims for each in plan.variables if each.name == name]
    places = [*plan.place(chunk), *([0] * len(own[0]) if own else [])]
    return ".".join(["c", *map(str, places)])
