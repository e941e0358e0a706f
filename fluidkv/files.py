"""Files that appear whole or not at all."""

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the file and move into place, so that no reader meets half of it.

    Raises:
        OSError: the folder cannot be written; nothing is left behind.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as part:
            part.write(content)
        os.chmod(name, 0o644)  # a temporary file is private, what we write is not
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
