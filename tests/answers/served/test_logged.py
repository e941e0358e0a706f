"""What the folder of a run says of its server fills in what is not given, and nothing else."""

import json
from dataclasses import replace

import pytest

from fluidkv.answers.served.demand import Demand
from fluidkv.answers.served.logged import LoggedServer, ServerSettings, read_server
from fluidkv.answers.served.setting import Setting
from fluidkv.logs import read_log
from fluidkv.logs.settings import LoggedSettings
from fluidkv.serving.clock import IterationClock
from tests.answers.replay import sglang_logs
from tests.answers.replay.logs import LIMITS, write_log

NOTHING = ServerSettings(None, None, None, None, Setting())
CLOCK = IterationClock(0.02)
META = LoggedSettings(
    version="0.19.0",
    device="a GPU",
    blocks=100,
    block_size=16,
    max_num_seqs=256,
    max_num_batched_tokens=2048,
    prefix_caching=True,
    reserves_full_input=None,
)
LOGGED = LoggedServer(1600, META, CLOCK, "fitted to 87 ticks")


def test_what_is_not_given_is_taken_from_the_log():
    found, notes = NOTHING.as_logged(LOGGED)
    assert found == ServerSettings(1600, CLOCK, 16, 2048, Setting(max_num_seqs=256))
    assert notes[0] == ("from the log", "block_size, max_num_batched_tokens, max_num_seqs")
    assert ("", "clock: fitted to 87 ticks") in notes
    assert ("", "logged with vllm 0.19.0") in notes


def test_what_is_given_stays():
    own = ServerSettings(800, IterationClock(0.01), 8, 512, Setting(max_num_seqs=9))
    found, notes = own.as_logged(LOGGED)
    assert found == own
    assert "from the log" not in dict(notes)
    assert "clock" not in " ".join(text for _, text in notes)


def test_a_log_that_says_nothing_changes_nothing():
    blank = replace(
        META,
        version=None,
        block_size=None,
        max_num_seqs=None,
        max_num_batched_tokens=None,
        prefix_caching=None,
    )
    assert NOTHING.as_logged(LoggedServer(None, blank, None, "")) == (NOTHING, [])


@pytest.mark.parametrize(
    ("engine", "why"),
    [("vllm", ""), ("vllm+cache", ""), ("sglang", "the rules of sglang, and the log is of vllm")],
)
def test_a_log_is_held_against_the_rules_of_its_own_engine_only(tmp_path, engine, why):
    write_log(tmp_path)
    log = read_log(tmp_path).timed()
    server = LoggedServer(1600, META, CLOCK, "", log)
    settings, _ = NOTHING.as_logged(server)
    found, said = server.measured(settings, engine, Demand(replay=True), None)
    assert (found is log) == (why == "")
    assert said.startswith(why)


def test_a_decode_log_gives_a_clock_and_its_own_scheduler(tmp_path) -> None:
    sglang_logs.write_log(tmp_path)
    server = read_server(str(tmp_path))
    wanted = ("sglang-0.5.23+cache:conservativeness=0.2", sglang_logs.CAPACITY)
    assert (server.engine, server.capacity) == wanted
    assert server.clock is not None
    held = 0.9 * sglang_logs.CAPACITY
    step, known = (c.base + c.per_kv_token * held for c in (server.clock, sglang_logs.CLOCK))
    assert step == pytest.approx(known, rel=0.15)
    assert "rows of the log" in server.fit


def test_a_log_without_all_times_still_says_how_its_server_was_set(tmp_path):
    write_log(tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "requests.jsonl").read_text().splitlines()]
    kept = ("request_id", "input_toks", "output_toks", "arrival_time")
    lines = "".join(json.dumps({key: row[key] for key in kept}) + "\n" for row in rows)
    (tmp_path / "requests.jsonl").write_text(lines)
    server = read_server(str(tmp_path))
    assert (server.log, server.clock) == (None, None)
    assert server.capacity is not None
    assert server.fit.startswith("none fitted: ")


def _bare(folder, **changed) -> None:
    """A log as older recorders left it: nothing of memory in it, neither its size nor its use."""
    write_log(folder)
    meta = json.loads((folder / "meta.json").read_text())
    del meta["kv_cache"]
    (folder / "meta.json").write_text(json.dumps(meta))
    header, *rows = (folder / "timeseries.csv").read_text().splitlines()
    used = changed.get("used", "0.0")
    ticks = [f"{row.rpartition(',')[0]},{used}" for row in rows]
    (folder / "timeseries.csv").write_text("\n".join([header, *ticks]) + "\n")


def test_memory_that_nobody_recorded_is_reckoned_and_the_log_still_holds_a_run(tmp_path):
    _bare(tmp_path)
    server = read_server(str(tmp_path))
    assert server.capacity is None
    assert server.clock is not None
    assert "KV in use is reckoned" in server.fit
    assert server.totals.preemptions is None  # a snapshot that lags looks like one
    own = replace(NOTHING, capacity=LIMITS.capacity, block_size=LIMITS.block_size)
    settings, _ = own.as_logged(server)
    found, why = server.measured(settings, "vllm", Demand(replay=True), None)
    assert (found is server.log, why) == (True, "")
    other = replace(settings, now=Setting(max_num_seqs=3))
    assert server.measured(other, "vllm", Demand(replay=True), None)[0] is None


def test_memory_as_a_part_of_what_nobody_says_gives_no_clock_and_says_why(tmp_path):
    _bare(tmp_path, used="50.0")
    server = read_server(str(tmp_path))
    assert server.clock is None
    assert server.fit.startswith("none fitted: the KV capacity")
