"""A clock of another run's log, for a list of requests: what it says of itself, and refusals."""

import json

import pytest

from fluidkv.answers.served.clock_from import clock_from
from fluidkv.answers.served.logged import read_server
from fluidkv.cli import main
from fluidkv.errors import InputError

LOG = "sample:vllm-rtx4090"
PREEMPT = ("preempt", "--preset", "sharegpt", "--capacity", "20000", "--requests", "40", "--json")


def test_the_clock_is_that_of_the_log_and_says_what_it_missed_there():
    found, server = clock_from(LOG), read_server(LOG)
    assert found.clock == server.clock
    assert found.server == "vllm 0.19.0"
    own = found.missed["output_throughput_per_time"].relative
    assert abs(own) < 0.02
    assert f"output rate {own:+.1%}" in found.caveat
    assert "on 4 logs" in found.caveat


def test_it_runs_requests_of_another_source(capsys):
    assert main([*PREEMPT, "--clock-from", LOG]) == 0
    ours = json.loads(capsys.readouterr().out)
    assert main([*PREEMPT, "--clock", ":".join(map(repr, clock_from(LOG).clock.durations))]) == 0
    theirs = json.loads(capsys.readouterr().out)
    assert ours["clock"].pop("name") == f"from {LOG}"
    assert ours["clock"].pop("kind") == "measured"
    assert ours["clock"].pop("caveat") == clock_from(LOG).caveat
    assert ours["clock"].items() <= theirs["clock"].items()


def test_a_log_without_ticks_is_refused(tmp_path):
    (tmp_path / "requests.jsonl").write_text(
        '{"input": 10, "output": 3, "arrival_s": 0.0}\n', encoding="utf-8"
    )
    with pytest.raises(InputError):
        clock_from(str(tmp_path))
