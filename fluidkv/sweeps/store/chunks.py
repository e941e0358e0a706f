"""One chunk in a store: all of its files, then their checksums.

The file of `status` is written when all others are on the disk, and the checksums after it: where
they are there, the chunk is whole. A chunk without them is written again, in all its files, and
gets the same bytes.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fluidkv.files import write_durably
from fluidkv.sweeps.analysis import STATUS, Arrays, Variable
from fluidkv.sweeps.planning import Plan
from fluidkv.sweeps.store.checksums import listing_of, lost_files
from fluidkv.sweeps.store.skeleton import make_array


@dataclass(frozen=True)
class Store:
    """A folder that a sweep fills, while somebody holds it; it pickles.

    Fields:
        path: of the folder.
        parts: a folder in it, where files are written before they are moved into place.
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
        >>> from fluidkv.sweeps.planning import compute, plan
        >>> from fluidkv.sweeps.store.chunks import missing, write
        >>> from fluidkv.sweeps.store.folder import opened
        >>> asked = {"analysis": "stability", "settings": {"decode_length": [2, 3], "capacity": 8}}
        >>> asked |= {"grid": {"input_length": [1, 4, 8]}, "chunk": 2}
        >>> with opened(Path("store"), plan(asked)) as store:
        ...     write(store, plan(asked), 1, compute(plan(asked), 1))
        ...     missing(store, plan(asked))
        [0]
    """
    contents = encoded(plan, chunk, arrays)
    contents[_listing(plan, chunk)] = listing_of(contents)
    for name, content in contents.items():
        write_durably(store.path / name, content, store.parts)


def missing(store: Store | Path, plan: Plan) -> list[int]:
    """The chunks that are still to be written, in order; one that has lost a file among them.

    Raises:
        InputError: a file of a chunk is not what its checksum says.
    """
    path = store.path if isinstance(store, Store) else store
    begun = {f"{STATUS.name}/{each.name}" for each in (path / STATUS.name).iterdir()}

    def whole(chunk: int) -> bool:
        listing = _listing(plan, chunk)
        return listing in begun and not lost_files(path, listing, _files(plan, chunk))

    return [chunk for chunk in range(plan.chunks) if not whole(chunk)]


def encoded(plan: Plan, chunk: int, arrays: Arrays) -> dict[str, bytes]:
    """Path inside the store -> bytes, of each file of a chunk; that of `STATUS` is the last."""
    import zarr
    from zarr.storage import MemoryStore

    memory = MemoryStore()
    group = zarr.create_group(memory, zarr_format=3)
    region = plan.region(chunk)
    for variable in plan.stored:
        array = make_array(group, plan, variable)
        array[(*region, ...)] = np.asarray(arrays[variable.name])
    return {path: memory._store_dict[path].to_bytes() for path in _files(plan, chunk)}


def _files(plan: Plan, chunk: int) -> list[str]:
    return [_file(plan, each, chunk) for each in plan.stored]


def _file(plan: Plan, variable: Variable, chunk: int) -> str:
    """As Zarr names it: by its place along each dimension, 0 along those of the variable."""
    places = [*plan.place(chunk), *(0 for _ in variable.dims)]
    return f"{variable.name}/" + ".".join(["c", *map(str, places)])


def _listing(plan: Plan, chunk: int) -> str:
    return f"{_file(plan, STATUS, chunk)}.sha256"
