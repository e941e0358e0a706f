"""Commands that run for long say so on standard error; tests/cli/test_progress.py looks at that."""

import pytest

from fluidkv.cli import progress


@pytest.fixture(autouse=True)
def _no_progress_lines(monkeypatch):
    """However slow the machine is that runs the tests."""
    monkeypatch.setattr(progress, "FIRST_S", 1e6)
