"""Small sweeps that tests share."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

MAP: dict[str, Any] = {
    "analysis": "stability",
    "chunk": 6,
    "settings": {"decode_length": [2, 3], "capacity": 1000},
    "grid": {"input_length": [1, 2, 4, 8], "share": ["1/10", "1/2", "9/10"]},
}
"""12 points in two chunks, stable ones and unstable ones."""


def tree(folder: Path) -> dict[str, str]:
    """Path inside a folder -> digest of the file, of folders ""."""
    return {
        each.relative_to(folder).as_posix(): hashlib.sha256(each.read_bytes()).hexdigest()
        if each.is_file()
        else ""
        for each in sorted(folder.rglob("*"))
    }


@pytest.fixture(scope="session")
def map_tree(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The store of `MAP` as one that ran through leaves it."""
    from fluidkv.sweeps.planning import plan
    from fluidkv.sweeps.running import run

    folder = tmp_path_factory.mktemp("whole") / "map"
    run(plan(MAP), folder)
    return tree(folder)
