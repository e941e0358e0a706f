"""Rules that hold in every test: strict JAX, seeded Hypothesis, outside data optional."""

import os
from pathlib import Path

import jax
import pytest
from hypothesis import settings

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

# Deadlines time the machine, not the code; a derandomized run fails or passes the same everywhere.
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=60)
settings.register_profile("thorough", deadline=None, max_examples=1000)

ROOT = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="run the deeper checks too (minutes)")


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("thorough" if config.getoption("--thorough") else "ci")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--thorough"):
        return
    skip = pytest.mark.skip(reason="deeper check; run with --thorough")
    for item in items:
        if "thorough" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def traces_dir() -> Path:
    """The folder of real traces; the test skips where it is missing."""
    folder = Path(os.environ.get("FLUIDKV_TRACES", ROOT / ".." / "shared" / "traces"))
    if not folder.is_dir():
        pytest.skip(f"no real traces: FLUIDKV_TRACES names no folder (looked in {folder})")
    return folder
