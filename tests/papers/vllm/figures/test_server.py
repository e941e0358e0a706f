"""The README's first picture: its numbers are those of the commands that the README shows."""

import re
from pathlib import Path

from matplotlib.figure import Figure as Canvas

from fluidkv_papers.vllm.figures import server
from tests.papers.committed import committed

ROOT = Path(__file__).parents[4]


NUMBERS = committed(server.FIGURE)


def test_the_answer_is_the_one_that_the_readme_prints() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"^these alone +([\d,]+) tokens", text, flags=re.M)
    assert found
    assert int(found[1].replace(",", "")) == NUMBERS["answer"]
    assert NUMBERS["answer_s"] < server.TTFT_P99 < NUMBERS["cliff_s"]


def test_a_size_meets_what_is_asked_where_it_is_drawn_so() -> None:
    met = NUMBERS["met"].astype(bool)
    assert (NUMBERS["ttft_p99_s"][met] <= server.TTFT_P99).all()
    assert NUMBERS["tokens"][met].min() == NUMBERS["answer"]
    assert (NUMBERS["tokens"] == NUMBERS["cliff"]).any()


def test_the_picture_says_how_much_longer_requests_wait() -> None:
    canvas = Canvas(figsize=server.FIGURE.size, layout="constrained")
    server.FIGURE.draw(NUMBERS, canvas)
    words = [text.get_text() for ax in canvas.axes for text in ax.texts]
    assert f"{NUMBERS['preempted_s'].size} preemptions, simulated" in words
    assert "1.1% less memory:\n2.7 times the wait" in words
