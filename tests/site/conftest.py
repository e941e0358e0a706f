"""The site, built once for all tests, with the tutorials as they are committed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from docs._site.layout import ROOT


@pytest.fixture(scope="session")
def built(tmp_path_factory) -> tuple[Path, str]:
    """The folder of the site, and what Sphinx complained about."""
    out = tmp_path_factory.mktemp("site") / "site"
    asked = [sys.executable, "-m", "docs._site", "--out", str(out)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(asked, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out, done.stderr
