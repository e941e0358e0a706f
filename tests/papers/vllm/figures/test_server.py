"""The README's first picture: its numbers are those of the commands that the README shows."""

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure as Canvas

from fluidkv_papers.vllm.figures import server

ROOT = Path(__file__).parents[4]


@pytest.fixture
def committed() -> dict[str, np.ndarray]:
    with np.load(ROOT / "figures" / "server.npz") as stored:
        return {name: stored[name][()] for name in stored.files}


def test_the_answer_is_the_one_that_the_readme_prints(committed) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"^these alone +([\d,]+) tokens", text, flags=re.M)
    assert found
    assert int(found[1].replace(",", "")) == committed["answer"]
    assert committed["answer_s"] < server.TTFT_P99 < committed["cliff_s"]


def test_a_size_meets_what_is_asked_where_it_is_drawn_so(committed) -> None:
    met = committed["met"].astype(bool)
    assert (committed["ttft_p99_s"][met] <= server.TTFT_P99).all()
    assert committed["tokens"][met].min() == committed["answer"]
    assert (committed["tokens"] == committed["cliff"]).any()


def test_the_picture_says_how_much_longer_requests_wait(committed) -> None:
    canvas = Canvas(figsize=server.FIGURE.size, layout="constrained")
    server.FIGURE.draw(committed, canvas)
    words = [text.get_text() for ax in canvas.axes for text in ax.texts]
    assert f"{committed['preempted_s'].size} preemptions, simulated" in words
    assert "1.1% less memory:\n2.7 times the wait" in words
