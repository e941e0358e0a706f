"""Two distributions: what a plug-in lists is found, and what a library without one says."""

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import EntryPoint, requires, version
from pathlib import Path

import pytest

import fluidkv
import fluidkv_papers
from fluidkv import plugins
from fluidkv.cli import main
from fluidkv.errors import InputError
from fluidkv.figures import registry as figures
from fluidkv.ledger import registry as ledger
from fluidkv.ledger.table import Table

ROOT = Path(__file__).parents[1]
OTHER = [Table("other.1", "A table of another plug-in", "nowhere", (), (), list)]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """The entry points that are found: none, until a test adds some."""
    points: list[EntryPoint] = []
    monkeypatch.setattr(
        plugins, "entry_points", lambda *, group: [p for p in points if p.group == group]
    )
    for cached in (ledger._by_id, figures._by_name):
        cached.cache_clear()
    yield points
    for cached in (ledger._by_id, figures._by_name):
        cached.cache_clear()


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("verify", "claims"),
        ("verify congestion.example-2", "claims"),
        ("table", "tables"),
        ("table 7", "tables"),
        ("figure", "figures"),
        ("figure congestion.figure-2", "figures"),
        ("figure --all", "figures"),
    ],
)
@pytest.mark.usefixtures("installed")
def test_without_a_plug_in_a_command_says_what_to_install(capsys, command, kind) -> None:
    assert main(command.split()) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == (
        f"fluidkv: {kind}: got None; allowed: those of an installed plug-in; "
        "pip install fluidkv-papers (in a checkout: pip install -e papers)\n"
    )


@pytest.mark.usefixtures("installed")
def test_without_a_plug_in_calls_say_the_same(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="pip install fluidkv-papers"):
        fluidkv.verify("congestion.example-2")
    with pytest.raises(InputError, match="pip install fluidkv-papers"):
        fluidkv.render(["congestion.figure-2"], tmp_path)


def test_plug_ins_stand_one_after_another(installed: list[EntryPoint]) -> None:
    papers = EntryPoint("papers", "fluidkv_papers.tables:tables", "fluidkv.tables")
    installed += [papers, EntryPoint("other", f"{__name__}:_other_tables", "fluidkv.tables")]
    assert list(ledger.tables())[:2] == ["other.1", "1"]


def _other_tables() -> list[Table]:
    return OTHER


def test_the_papers_are_found_by_their_entry_points() -> None:
    assert plugins.packages() == {"fluidkv_papers"}
    for kind in plugins.KINDS:
        (listed,) = plugins.listed(kind)
        assert len(listed) > 5


def test_both_distributions_have_one_version() -> None:
    assert fluidkv_papers.__version__ == fluidkv.__version__ == version("fluidkv-papers")
    assert requires("fluidkv-papers") == [f"fluidkv=={fluidkv.__version__}"]
    assert (ROOT / "papers" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.parametrize("package", [fluidkv, fluidkv_papers], ids=lambda package: package.__name__)
def test_a_wheel_has_its_own_package_and_all_of_its_files(package, tmp_path: Path) -> None:
    folder = Path(package.__file__).parent
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=folder.parent, check=True, capture_output=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    there = {
        path.relative_to(folder.parent).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == there
    assert any(name.endswith(".csv") for name in packed)
