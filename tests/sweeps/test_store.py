"""Whose a store is: what is refused, and that what stands there stays."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fluidkv.errors import InputError
from fluidkv.sweeps import open_sweep
from fluidkv.sweeps.planning import plan
from fluidkv.sweeps.running import run
from fluidkv.sweeps.store.chunks import missing
from fluidkv.sweeps.store.folder import opened
from tests.sweeps.cases import CASES
from tests.sweeps.conftest import MAP, tree


def _refused(folder: Path, spec: dict, message: str) -> None:
    before = tree(folder) if folder.is_dir() else folder.read_bytes()
    with pytest.raises(InputError, match=message):
        run(plan(spec), folder)
    assert (tree(folder) if folder.is_dir() else folder.read_bytes()) == before


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stores") / "map"
    run(plan(MAP), folder)
    return folder


def test_a_store_of_another_spec_is_refused(store: Path) -> None:
    other = MAP | {"settings": {"decode_length": [2, 3], "capacity": 999}, "seed": 3}
    _refused(store, other, "out: .*a store of this spec; this one differs in seed, settings")


def test_a_store_of_another_version_is_refused(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fluidkv.sweeps import computed_by

    monkeypatch.setattr(computed_by, "__version__", "9.9")
    _refused(store, MAP, "out: .*it has fluidkv 0.1.0 and 9.9 now")


def test_a_folder_that_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    _refused(tmp_path, MAP, "out: .*a new folder, an empty one, or the store of a sweep")
    _refused(tmp_path / "notes.txt", MAP, "out: .*a folder, or a path where nothing stands")


def test_a_zarr_store_of_somebody_else_is_refused(tmp_path: Path) -> None:
    import zarr

    zarr.create_group(tmp_path / "theirs")
    _refused(tmp_path / "theirs", MAP, "out: .*the store of a sweep")
    with pytest.raises(InputError, match="the store of a sweep"):
        open_sweep(tmp_path / "theirs")
    (tmp_path / "theirs" / "zarr.json").write_text("{")
    _refused(tmp_path / "theirs", MAP, "out: .*the store of a sweep")


def test_a_store_begun_with_another_spec_is_no_new_folder(tmp_path: Path) -> None:
    """As it was left where a sweep was killed before its store was one."""
    with opened(tmp_path / "map", plan(MAP)):
        pass
    (tmp_path / "map" / "zarr.json").unlink()
    for grid in ({"input_length": [3]}, MAP["grid"] | {"input_length": [1, 2, 4, 9]}):
        _refused(tmp_path / "map", MAP | {"grid": grid}, "out: .*a new folder")
    run(plan(MAP), tmp_path / "map")
    assert (open_sweep(tmp_path / "map").status == 1).all()


def test_a_folder_of_others_above_is_left_alone(tmp_path: Path, map_tree: dict[str, str]) -> None:
    (tmp_path / "empty").mkdir()
    run(plan(MAP), tmp_path / "empty")
    assert tree(tmp_path / "empty") == map_tree
    run(plan(MAP), tmp_path / "deep" / "er" / "map")
    assert tree(tmp_path / "deep" / "er" / "map") == map_tree


def test_the_root_says_what_was_asked_and_by_what(store: Path) -> None:
    attributes = json.loads((store / "zarr.json").read_text())["attributes"]
    assert json.loads(attributes["spec"])["grid"]["share"] == ["1/10", "1/2", "9/10"]
    assert attributes["zarr_version"]
    assert attributes["seed"] == 0
    assert plan(json.loads(attributes["spec"])).spec.digest == attributes["spec_sha256"]


def test_no_one_seed_is_named_where_seeds_are_an_axis(tmp_path: Path) -> None:
    run(plan({"analysis": "basins", **CASES["basins"]}), tmp_path / "drawn")
    attributes = json.loads((tmp_path / "drawn" / "zarr.json").read_text())["attributes"]
    assert "seed" not in attributes


def test_a_store_cannot_be_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="out: "):
        run(plan(MAP), tmp_path / "file" / "map")


@pytest.mark.parametrize("lost", ["status/c.0.0", "verdict/c.1.0", "verdict", "share/zarr.json"])
def test_what_a_store_has_lost_is_written_again(
    lost: str, tmp_path: Path, map_tree: dict[str, str]
) -> None:
    run(plan(MAP), tmp_path / "map")
    there = tmp_path / "map" / lost
    assert there.exists()
    shutil.rmtree(there) if there.is_dir() else there.unlink()
    run(plan(MAP), tmp_path / "map")
    assert tree(tmp_path / "map") == map_tree


def _flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-3])


def _fold(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


CHUNKS = ["radius_low/c.1.0", "status/c.1.0", "status/c.1.0.sha256"]
OTHERS = ["share/c.0", "share/zarr.json", "status/zarr.json", "zarr.json", "zarr.json.sha256"]


@pytest.mark.parametrize("damage", [_flip, _cut, _fold, _pipe], ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("name", [*CHUNKS, *OTHERS])
def test_a_damaged_file_of_a_store_is_named(
    name: str, damage: Callable[[Path], None], store: Path, tmp_path: Path
) -> None:
    shutil.copytree(store, tmp_path, dirs_exist_ok=True)
    damage(tmp_path / name)
    # A sum that is another one is taken for that of a file that changed.
    named = r"\w+/c.1.0" if name == CHUNKS[-1] and damage is _flip else name
    with pytest.raises(InputError, match=f"out: .* {named} is damaged: remove it, run it again"):
        run(plan(MAP), tmp_path)
    if name in OTHERS:
        said = name if name == "zarr.json" else r"(whole files|the store of a sweep)"
        with pytest.raises(InputError, match=f"out: .*{said}"):
            open_sweep(tmp_path)


@pytest.mark.parametrize("line", ["", "0" * 64, "0" * 64 + "  " + "x" * 5000])
@pytest.mark.parametrize("listing", ["zarr.json.sha256", "status/c.1.0.sha256"])
def test_lines_more_of_a_listing_end_in_no_traceback(
    listing: str, line: str, store: Path, tmp_path: Path
) -> None:
    shutil.copytree(store, tmp_path, dirs_exist_ok=True)
    with (tmp_path / listing).open("a") as file:
        file.write(f"{line}\n")
    if listing == "zarr.json.sha256":
        with pytest.raises(InputError, match=r"zarr.json.sha256 is damaged|x is lost"):
            open_sweep(tmp_path)
    elif "x" in line:
        assert missing(tmp_path, plan(MAP)) == [1]
    else:
        with pytest.raises(InputError, match=f"{listing} is damaged"):
            missing(tmp_path, plan(MAP))


def test_chunks_that_changed_places_are_damaged(store: Path, tmp_path: Path) -> None:
    """Each is whole by itself, as Zarr's own checksum has it."""
    shutil.copytree(store, tmp_path, dirs_exist_ok=True)
    one, other = tmp_path / "radius_low" / "c.0.0", tmp_path / "radius_low" / "c.1.0"
    content = one.read_bytes(), other.read_bytes()
    other.write_bytes(content[0])
    one.write_bytes(content[1])
    with pytest.raises(InputError, match=r"radius_low/c.0.0 is damaged"):
        run(plan(MAP), tmp_path)


@pytest.mark.parametrize("name", ["radius_low/c.1.0", "status/c.1.0.sha256", *OTHERS])
def test_a_damaged_file_that_is_removed_is_written_again(
    name: str, tmp_path: Path, store: Path, map_tree: dict[str, str]
) -> None:
    shutil.copytree(store, tmp_path, dirs_exist_ok=True)
    _cut(tmp_path / name)
    (tmp_path / name).unlink()
    run(plan(MAP), tmp_path)
    assert tree(tmp_path) == map_tree


def test_a_lost_coordinate_is_said_where_a_store_is_opened(store: Path, tmp_path: Path) -> None:
    """Zarr would fill it with zeros."""
    shutil.copytree(store, tmp_path, dirs_exist_ok=True)
    (tmp_path / "share" / "c.0").unlink()
    with pytest.raises(InputError, match=r"share/c.0 is lost: run the sweep again"):
        open_sweep(tmp_path)


def test_the_checksums_are_those_of_sha256sum(store: Path) -> None:
    if shutil.which("sha256sum") is None:
        pytest.skip("there is no sha256sum here")
    listings = [str(each.relative_to(store)) for each in sorted(store.rglob("*.sha256"))]
    assert len(listings) == 3
    words = ["sha256sum", "--check", "--strict", *listings]
    checked = subprocess.run(words, cwd=store, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    files = [each for each in store.rglob("*") if each.is_file()]
    assert len(checked.stdout.splitlines()) == len(files) - len(listings)


def test_a_store_without_checksums_is_read_but_not_continued(store: Path, tmp_path: Path) -> None:
    """As stores were before there were any."""
    whole = open_sweep(store)
    shutil.copytree(store, tmp_path, dirs_exist_ok=True)
    for listing in tmp_path.rglob("*.sha256"):
        listing.unlink()
    root = json.loads((tmp_path / "zarr.json").read_text())
    root["attributes"]["fluidkv_sweep"] = 1
    (tmp_path / "zarr.json").write_text(json.dumps(root))
    assert open_sweep(tmp_path).equals(whole)
    _refused(tmp_path, MAP, "out: .*a new folder: this store is of an older version")


@pytest.mark.parametrize("spec", [None, "{", "[1]"])
def test_a_store_without_its_spec_is_refused(spec: str | None, tmp_path: Path) -> None:
    run(plan(MAP), tmp_path)
    (tmp_path / "zarr.json.sha256").unlink()  # which say whose the store is, too
    root = json.loads((tmp_path / "zarr.json").read_text())
    del root["attributes"]["spec_sha256"]
    root["attributes"]["spec"] = spec
    (tmp_path / "zarr.json").write_text(json.dumps(root))
    _refused(tmp_path, MAP, "out: .*the store of a sweep, with its spec")
