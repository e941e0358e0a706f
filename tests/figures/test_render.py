"""What is written to the folder of figures, and what a bad folder gets."""

import dataclasses
import hashlib
import io
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from fluidkv.errors import InputError
from fluidkv.figures import write_figures
from fluidkv.figures.figure import Figure
from fluidkv.figures.registry import figures, render, select, written
from fluidkv.figures.render import MANIFEST, encode_data

QUICK = "congestion_figure_8"
FOREIGN = [
    "not json",
    "[]",
    '{"figures": 3}',
    '{"other": {}}',
    '{"figures": {"a": 3}}',
    '{"figures": {"a": {"title": "\\ud800"}}}',
    '{"figures": {"\\udfff": {}}}',
    '{"figures": {"a": {"x": NaN}}}',
    '{"figures": {"a": {"x": ' + "[" * 100_000 + "]" * 100_000 + "}}}",
    '{"figures": {"a": {"x": ' + "9" * 5000 + "}}}",
]


def _manifest(folder: Path) -> dict[str, dict[str, object]]:
    return json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["figures"]


def test_picture_data_and_manifest_are_written(tmp_path: Path) -> None:
    (result,) = render([QUICK], tmp_path / "deep" / "folder")
    folder = tmp_path / "deep" / "folder"
    assert sorted(p.name for p in folder.iterdir()) == sorted([*result.files, MANIFEST])
    assert (folder / f"{QUICK}.png").read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(folder / f"{QUICK}.svg").getroot().tag.endswith("svg")
    entry = _manifest(folder)[QUICK]
    content = (folder / f"{QUICK}.csv").read_bytes()
    assert entry["data_sha256"] == result.data_sha256 == hashlib.sha256(content).hexdigest()
    assert entry["files"] == list(result.files)
    assert entry["parameters"] == dict(select([QUICK])[0].parameters)
    assert str(entry["package"]).startswith("fluidkv ")


def test_writing_twice_changes_no_byte(tmp_path: Path) -> None:
    for name in ("one", "two"):
        render([QUICK, "congestion_figure_2"], tmp_path / name)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name


def test_other_entries_stay(tmp_path: Path) -> None:
    render(["congestion_figure_2"], tmp_path)
    before = _manifest(tmp_path)["congestion_figure_2"]
    render([QUICK], tmp_path)
    assert list(_manifest(tmp_path)) == ["congestion_figure_2", QUICK]
    assert _manifest(tmp_path)["congestion_figure_2"] == before


def test_missing_input_is_skipped_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FLUIDKV_TRACES", str(tmp_path / "nowhere"))
    seen: list[tuple[str, str]] = []
    results = render(
        ["measured_log", QUICK], tmp_path, on_skip=lambda name, reason: seen.append((name, reason))
    )
    assert [bool(r.skipped) for r in results] == [True, False]
    assert seen == [("measured_log", results[0].skipped)]
    entry = _manifest(tmp_path)["measured_log"]
    assert entry["skipped"] == results[0].skipped
    assert not list(tmp_path.glob("measured_log*"))


def test_skipping_keeps_what_an_earlier_run_wrote(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FLUIDKV_TRACES", str(tmp_path / "nowhere"))
    earlier = {"title": "kept", "data_sha256": "abc"}
    (tmp_path / MANIFEST).write_text(json.dumps({"figures": {"measured_log": earlier}}))
    (result,) = render(["measured_log"], tmp_path)
    assert result.skipped
    assert _manifest(tmp_path)["measured_log"] == earlier


def test_unknown_id_says_what_is_near_or_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^id: got 'congestion_figure_99'; allowed: congestion."):
        render(["congestion_figure_99"], tmp_path)
    assert not list(tmp_path.iterdir())
    with pytest.raises(InputError, match="measured-log"):
        select(["zzzz"])


def test_ids_are_unique_and_names_of_files() -> None:
    ids = [figure.id for figure in figures()]
    assert len(set(ids)) == len(ids)
    assert all(name.isidentifier() for name in ids)
    assert [f.id for f in select([QUICK, QUICK])] == [QUICK]


@pytest.mark.parametrize("name", ["file", "file/below", "nul\0byte"])
def test_unwritable_folder_is_one_clear_line(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(InputError, match=r"^out: got .* allowed: a folder that can be"):
        render([QUICK], f"{tmp_path}/{name}")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_nothing_is_written_if_a_later_figure_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fails(data: object) -> str:
        raise RuntimeError("no caption")

    good, bad = select([QUICK])[0], dataclasses.replace(select([QUICK])[0], id="b", caption=fails)
    with pytest.raises(RuntimeError, match="no caption"):
        write_figures([good, bad], tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", FOREIGN, ids=range(len(FOREIGN)))
def test_foreign_manifest_is_refused_before_anything_is_drawn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str
) -> None:
    def fails(*_: object) -> bytes:
        raise AssertionError("drawn")

    monkeypatch.setattr(import_module("fluidkv.figures.render"), "draw", fails)
    (tmp_path / MANIFEST).write_text(content)
    with pytest.raises(InputError, match=r"^out: .*foreign"):
        render([QUICK], tmp_path)
    assert (tmp_path / MANIFEST).read_text() == content
    assert [p.name for p in tmp_path.iterdir()] == [MANIFEST]


@pytest.mark.parametrize("name", [f"{QUICK}.png", f"{QUICK}.csv", MANIFEST])
def test_a_folder_in_the_place_of_a_file_leaves_all_as_it_was(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / f"{QUICK}.svg").write_text("old")
    with pytest.raises((InputError, OSError), match="stands there and is no file"):
        render([QUICK], tmp_path)
    assert (tmp_path / f"{QUICK}.svg").read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([name, f"{QUICK}.svg"])


def test_an_entry_that_another_run_adds_meanwhile_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module = import_module("fluidkv.figures.render")
    drawn = module.draw

    def with_company(*arguments: object) -> bytes:
        monkeypatch.setattr(module, "draw", drawn)
        render(["congestion_figure_2"], tmp_path)
        return drawn(*arguments)

    monkeypatch.setattr(module, "draw", with_company)
    render([QUICK], tmp_path)
    assert set(_manifest(tmp_path)) == {"congestion_figure_2", QUICK}


def test_tables_are_written_as_csv_with_scalars_above() -> None:
    ending, content = encode_data({"x": np.array([0.1, 2.0]), "y": np.array([1e300, 3]), "k": 0.1})
    assert ending == "csv"
    assert content.decode() == "# k = 0.1\nx,y\n0.1,1e+300\n2.0,3.0\n"


def test_columns_of_unequal_length_are_written_as_npz() -> None:
    data = {"x": np.array([0.1, 2.0]), "y": np.array([3.0]), "k": 0.5}
    ending, content = encode_data(data)
    assert ending == "npz"
    assert content == encode_data(data)[1]
    with np.load(io.BytesIO(content)) as back:
        assert {name: back[name].tolist() for name in back} == {
            "x": [0.1, 2.0],
            "y": [3.0],
            "k": 0.5,
        }


def test_listing_the_figures_imports_nothing_heavy() -> None:
    code = (
        "import sys; from fluidkv.figures.registry import figures; figures(); "
        "print([m for m in ('jax', 'matplotlib', 'scipy', 'flint') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("figure", select(), ids=lambda figure: figure.id)
def test_an_id_of_a_figure_may_be_written_as_a_claim_is(figure: Figure) -> None:
    """`congestion.figure-2` is that of `congestion_figure_2.svg`; no two figures share one."""
    assert "_" not in written(figure.id)
    assert select([written(figure.id)]) == select([figure.id]) == (figure,)
