"""The page's script without a browser: its parts that draw nothing, run by Node."""

import json
import shutil
import subprocess
from functools import cache
from importlib import resources
from typing import Any

import pytest

from fluidkv.explore.page import SCRIPTS

DRAWN = ("axes.js", "circle.js", "batch.js", "controls.js", "page.js")
"""What needs a page around it."""


def node() -> str:
    """The one on the PATH, or Playwright's own, which is an extra; tests skip without either."""
    if path := shutil.which("node"):
        return path
    driver = pytest.importorskip("playwright._impl._driver", reason="no Node on the PATH")
    return str(driver.compute_driver_executable()[0])


@cache
def _module() -> str:
    assets = resources.files("fluidkv.explore").joinpath("assets")
    names = [name for name in SCRIPTS if name not in DRAWN]
    return "\n".join(assets.joinpath(name).read_text(encoding="utf-8") for name in names)


def answers(function: str, inputs: list[Any]) -> list[Any]:
    """What a function in JavaScript, `input => value`, gives for each input; NaN is None."""
    code = (
        "import { readFileSync } from 'node:fs';\n"
        f"{_module()}\nconst list = values => Array.from(values);\n"
        f"const inputs = JSON.parse(readFileSync(0)), answer = {function};\n"
        "process.stdout.write(JSON.stringify(inputs.map(each => answer(each))));\n"
    )
    words = [node(), "--input-type=module", "--eval", code]
    done = subprocess.run(
        words, input=json.dumps(inputs), capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
