"""Checksums that lie in a store beside what they are of: `sha256sum --check` reads them too."""

import os
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from fluidkv.errors import InputError

OUT = "out"


def listing_of(contents: Mapping[str, bytes]) -> bytes:
    """A line for each file: its SHA-256 and its path inside the store."""
    lines = (f"{sha256(content).hexdigest()}  {name}\n" for name, content in contents.items())
    return "".join(lines).encode()


def lost_files(store: Path, listing: str, names: Iterable[str]) -> list[str]:
    """Files of a listing that are not there.

    Args:
        listing: its path inside the store.
        names: of files that have to be in it.

    Raises:
        InputError: one of the files, or the listing itself, is damaged.
    """
    lines = content_of(store, listing).decode(errors="replace").splitlines()
    digests = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    if "" in digests or not digests.keys() >= set(names):
        raise damaged(store, listing)
    present = [name for name in digests if os.path.exists(store / name)]  # False if it is too long
    for name in present:
        if sha256(content_of(store, name)).hexdigest() != digests[name]:
            raise damaged(store, name)
    return [name for name in digests if name not in present]


def content_of(store: Path, name: str) -> bytes:
    """The bytes of a file of a store.

    Raises:
        InputError: it is a folder, a pipe or a device, or cannot be read.
    """
    try:
        if (store / name).is_file():
            return (store / name).read_bytes()
    except OSError:
        pass
    raise damaged(store, name)


def damaged(store: Path, name: str) -> InputError:
    return InputError(OUT, str(store), f"whole files; {name} is damaged: remove it, run it again")
