"""The folder of a store: made, or taken up again, by one sweep at a time; another's is refused."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fluidkv.errors import InputError
from fluidkv.files import held, is_part, write_durably
from fluidkv.sweeps.computed_by import differing, versions
from fluidkv.sweeps.planning import Plan
from fluidkv.sweeps.store.checksums import OUT, content_of, damaged, lost_files
from fluidkv.sweeps.store.chunks import Store
from fluidkv.sweeps.store.skeleton import FORMAT, LISTING, ROOT, skeleton

_READABLE = (1, FORMAT)  # the first had no checksums


@contextmanager
def opened(path: Path, plan: Plan) -> Iterator[Store]:
    """Hold the store of a plan, made if it is not there, for as long as the block takes.

    Raises:
        InputError: what `check_folder` refuses; another sweep is filling it; it cannot be written.

    Examples:
        >>> from pathlib import Path
        >>> from fluidkv.sweeps.store.chunks import missing
        >>> from fluidkv.sweeps.store.folder import opened
        >>> from fluidkv.sweeps.planning import plan
        >>> from fluidkv.sweeps.running import run
        >>> asked = {"analysis": "stability", "settings": {"decode_length": [2, 3], "capacity": 8}}
        >>> asked |= {"grid": {"input_length": [1, 4, 8]}, "chunk": 2}
        >>> _ = run(plan(asked), Path("store"))
        >>> with opened(Path("store"), plan(asked)) as store:
        ...     missing(store, plan(asked))
        []
    """
    files = check_folder(path, plan)
    try:
        with held(path) as parts:
            for name, content in files.items():
                target = path / name
                target.parent.mkdir(parents=True, exist_ok=True)
                write_durably(target, content, parts)
            yield Store(path, parts)
    except BlockingIOError:
        raise InputError(OUT, str(path), "a store that no other sweep is filling now") from None
    except OSError as error:
        raise refuse_store(path, error) from None


def check_folder(path: Path, plan: Plan) -> dict[str, bytes]:
    """What is to be written before the first chunk; of a store, files that it has lost.

    Raises:
        InputError: something stands there that is neither this sweep's store nor an empty folder;
            a store of another spec, or of other versions; a damaged file.
    """
    if path.is_symlink() and not path.exists():
        raise InputError(OUT, str(path), "a folder, or a path where nothing stands")
    if not path.exists():
        return skeleton(plan)
    if not path.is_dir():
        raise InputError(OUT, str(path), "a folder, or a path where nothing stands")
    try:
        files = skeleton(plan)
        if not _same(path / LISTING, files[LISTING]):  # else it is this store, whatever it has lost
            if (path / ROOT).is_file():
                _check_same(path, plan)
            elif not _only_these(path, files):
                allowed = "a new folder, an empty one, or the store of a sweep"
                raise InputError(OUT, str(path), allowed)
        present = [name for name in files if (path / name).exists()]
        for name in present:
            if content_of(path, name) != files[name]:
                raise damaged(path, name)
    except OSError as error:
        raise refuse_store(path, error) from None
    return {name: files[name] for name in files if name not in present}


def attributes_of(path: Path) -> dict[str, Any]:
    """Those of a store's root.

    Raises:
        InputError: it is not the store of a sweep.
    """
    allowed = f"the store of a sweep, with its {ROOT}"
    try:
        attributes = json.loads(content_of(path, ROOT))["attributes"]
        version = attributes["fluidkv_sweep"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(OUT, str(path), allowed) from None
    if version not in _READABLE:
        raise InputError(OUT, str(path), f"{allowed} of this version")
    return attributes


def check_readable(path: Path) -> None:
    """Look at all files but those of chunks, which Zarr would take as they are.

    Raises:
        InputError: it is not the store of a sweep; a file is lost or damaged.
    """
    if attributes_of(path)["fluidkv_sweep"] != FORMAT:
        return
    for name in lost_files(path, LISTING, [ROOT]):
        raise InputError(OUT, str(path), f"whole files; {name} is lost: run the sweep again")


def refuse_store(path: Path, error: OSError) -> InputError:
    """The disk is full, or the folder cannot be written."""
    reason = error.strerror or type(error).__name__
    return InputError(
        OUT, str(path), f"a folder that takes files ({reason}); whole chunks stay, run it again"
    )


def _check_same(path: Path, plan: Plan) -> None:
    found = attributes_of(path)
    if found["fluidkv_sweep"] != FORMAT:
        allowed = "a new folder: this store is of an older version, has no checksums, is read alone"
        raise InputError(OUT, str(path), allowed)
    if found.get("spec_sha256") != plan.spec.digest:
        try:
            said, asked = (dict(json.loads(each)) for each in (found["spec"], plan.spec.text))
        except (KeyError, TypeError, ValueError):
            raise InputError(OUT, str(path), "the store of a sweep, with its spec") from None
        keys = [key for key in {**said, **asked} if said.get(key) != asked.get(key)]
        allowed = f"a store of this spec; this one differs in {', '.join(keys)}"
        raise InputError(OUT, str(path), allowed)
    stood = {name: str(found.get(f"{name.replace('-', '_')}_version")) for name in versions()}
    differ = differing(stood, versions())
    if differ:
        allowed = f"a store of these versions; it has {', '.join(differ)} now"
        raise InputError(OUT, str(path), allowed)


def _only_these(path: Path, files: dict[str, bytes]) -> bool:
    """Whether all that stands there is what a sweep of this plan has begun to write."""
    for each in path.rglob("*"):
        if any(is_part(above) for above in [each, *each.parents]):
            continue
        name = each.relative_to(path).as_posix()
        if each.is_dir():
            if not any(known.startswith(f"{name}/") for known in files):
                return False
        elif name not in files or not _same(each, files[name]):
            return False
    return True


def _same(file: Path, content: bytes) -> bool:
    return file.is_file() and file.read_bytes() == content
