"""A gain far beyond what is missed that not all quarters share is not sold, and is said."""

import numpy as np

from fluidkv.cli import main
from fluidkv.runs.requests import Requests
from fluidkv.serving.limits import Limits
from tests.answers.replay.logs import write_log


def test_a_cap_that_makes_requests_wait_at_the_end_only_is_worth_a_test(tmp_path, capsys) -> None:
    """Two seconds apart, 36 never wait; twelve that come at once do, with memory idle."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(20, 200, 48), rng.integers(100, 300, 48)
    arrival = np.concatenate((2.0 * np.arange(36), 72 + 0.05 * np.arange(12)))
    write_log(
        tmp_path, table=Requests(*lengths, arrival=arrival), limits=Limits(32_000, 16, 6, 512)
    )
    assert main(["recommend", str(tmp_path), "--max-num-seqs", "12"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    words = " ".join(text.split())
    assert "leave it nothing tried gains more" in words
    assert "worth a test" in words
    assert "a test on the server tells" in words
