"""Fixed cases are the same in every run; fresh ones come from one seed, which repeats them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases import NO_CASES, _no_cases

ROOT = Path(__file__).parents[1]

DRAWS = """
import os
from hypothesis import given, strategies as st

@given(st.integers(0, 2**64))
def test_{name}(x):
    with open(os.environ["DRAWN"] + "{name}", "a") as file:
        print(x, file=file)
"""

# Written so that it fails in the fresh cases alone: the fixed ones are known from another run.
FAILS = """
import os
from hypothesis import given, strategies as st

FIXED = [int(line) for line in open(os.environ["DRAWN"] + "a")][:60]

@given(st.integers(0, 2**64))
def test_a(x):
    assert x in FIXED
"""


class Runs:
    """Runs of pytest in a folder of their own, with the plugin and nothing else of this project."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 0
        (folder / "pytest.ini").write_text("[pytest]\nmarkers = thorough\n")

    def write(self, name: str, text: str) -> str:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return str(path)

    def run(self, *arguments: str, seed: str = "") -> "subprocess.CompletedProcess[str]":
        plugins = ("tests.cases", "_hypothesis_pytestplugin", "xdist.plugin", "no:cacheprovider")
        command = [sys.executable, "-m", "pytest", *(f"-p{name}" for name in plugins)]
        command += ["--rootdir", str(self.folder), "-c", str(self.folder / "pytest.ini")]
        drawn = {"DRAWN": str(self.folder / f"drawn-{self.count}-"), "FLUIDKV_SEED": seed}
        drawn |= {"CI": "true"}  # with it, Hypothesis draws the same for ever if nobody objects
        return subprocess.run(
            [*command, *arguments],
            cwd=ROOT,
            env=os.environ | drawn | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},  # others import JAX
            capture_output=True,
            text=True,
            timeout=300,
        )

    def drawn(self, name: str, *arguments: str, seed: str = "") -> list[str]:
        """What property `name` was given in a run that passes."""
        self.count += 1
        done = self.run(*arguments, seed=seed)
        assert done.returncode == 0, done.stdout
        return (self.folder / f"drawn-{self.count}-{name}").read_text().split()


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def test_slow_cases_are_cases(pytestconfig: pytest.Config) -> None:
    """Of the tests that this run collected."""
    assert pytestconfig.stash.get(NO_CASES, []) == []


def test_a_listed_test_that_is_gone_is_no_case(request: pytest.FixtureRequest) -> None:
    here = request.node.nodeid.partition("::")[0]
    gone = f"{here}::test_that_nobody_wrote[1]"
    listed = {gone, f"{here}::test_slow_cases_are_cases", "tests/test_of_another_run.py::test_a[1]"}
    assert _no_cases(listed, [request.node]) == [gone]


@pytest.mark.thorough
def test_fixed_cases_stay_and_fresh_ones_follow_the_seed(runs: Runs) -> None:
    path = runs.write("proofs_checks/test_draws.py", DRAWS.format(name="a"))
    runs.write("proofs_checks/test_more.py", DRAWS.format(name="b"))
    folder = str(Path(path).parent)
    first, other = runs.drawn("a", folder, "--fresh-seed", "1"), runs.drawn("a", path, seed="2")
    assert first[:60] == other[:60]
    assert len(set(first[60:]) - set(other)) >= 8  # of 10, the first of which is 0
    # of one file alone, from the environment; and on two processes
    assert runs.drawn("a", path, seed="1") == first
    assert runs.drawn("a", folder, "-n", "2", "--dist", "loadfile", "--fresh-seed", "1") == first


@pytest.mark.thorough
def test_elsewhere_cases_are_fixed_and_with_thorough_all_are_fresh(runs: Runs) -> None:
    path = runs.write("rooms/test_draws.py", DRAWS.format(name="a"))
    first = runs.drawn("a", path, "--fresh-seed", "1")
    assert len(first) == 60
    assert runs.drawn("a", path, "--fresh-seed", "2") == first
    deep = runs.drawn("a", path, "--thorough", "--fresh-seed", "1")
    assert len(deep) == 1000
    assert runs.drawn("a", path, "--thorough", "--fresh-seed", "1") == deep
    assert len(set(deep) & set(runs.drawn("a", path, "--thorough", "--fresh-seed", "2"))) < 500


def test_a_failure_prints_its_seed_and_its_blob_and_comes_again(runs: Runs) -> None:
    path = runs.write("proofs_checks/test_draws.py", DRAWS.format(name="a"))
    runs.drawn("a", path, "--fresh-seed", "1")
    runs.write("proofs_checks/test_draws.py", FAILS)
    failed = [runs.run(path, "-q", "--fresh-seed", "7") for _ in range(2)]
    assert [done.returncode for done in failed] == [1, 1]
    shown = [
        [line for line in done.stdout.splitlines() if line.startswith("E ")] for done in failed
    ]
    assert shown[0] == shown[1]
    text = "\n".join(shown[0])
    assert "Failing test case: test_a(" in text
    assert "@reproduce_failure(" in text
    assert "--fresh-seed 7" in text


def test_a_run_names_its_seed_and_refuses_one_that_is_none(runs: Runs) -> None:
    path = runs.write("rooms/test_draws.py", "def test_nothing():\n    pass\n")
    assert (
        "fresh cases: --fresh-seed 12 repeats them" in runs.run(path, "--fresh-seed", "12").stdout
    )
    done = runs.run(path, "--fresh-seed", "-1")
    assert done.returncode == 4
    assert done.stderr.strip() == "ERROR: --fresh-seed: got '-1'; allowed: an integer of at least 0"
