"""`fluidkv route`: stable keys, 80 columns, one line for bad input."""

import json
from pathlib import Path

import pytest

from fluidkv.cli import main
from tests.cli.test_study import refusal

GSP = ["--generator", "gsp", "--set", "groups=6", "--set", "queries=4", "--set", "lengths=40,80"]
FLEET = ["--workers", "2", "--capacity", "400", "--jobs", "1"]
SMALL = [*GSP, *FLEET, "--seeds", "2"]


def answer(capsys, *argv: str) -> dict:
    assert main(["route", *argv, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return json.loads(captured.out)


@pytest.fixture
def blocks(tmp_path: Path) -> Path:
    """Six prompts of two blocks, the first of which all share."""
    lines = [
        {
            "timestamp": 1000 * row,
            "input_length": 1024,
            "output_length": 5,
            "hash_ids": [0, 1 + row],
        }
        for row in range(6)
    ]
    path = tmp_path / "trace.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return path


def test_keys_and_numbers_of_a_trace(capsys, blocks):
    found = answer(capsys, str(blocks), "--workers", "2", "--capacity", "4096", "--jobs", "1")
    assert found["engine"] == "plain"
    assert found["service"] == {"cached": 0.0, "missed": 0.15, "output": 0.001, "at_once": 1}
    assert (found["workers"], found["capacity"], found["policy"]) == (2, 4096, "lru")
    rows = {each["name"]: each["measures"] for each in found["routers"]}
    assert found["bounds"]["hit_rate"] == 5 / 12
    # In turn, each worker meets the shared block once: 4 of 12 blocks are found.
    assert rows["round-robin"]["hit_rate"] == {"mean": 4 / 12, "margin": 0}
    # Nobody waits: 0.15 s for 1,000 of 512 tokens, and 5 outputs of 1 ms.
    assert rows["round-robin"]["latency_p50"]["mean"] == pytest.approx(0.512 * 0.15 + 0.005)
    assert rows["cache-aware"]["hit_rate"]["mean"] == 5 / 12
    assert rows["random"]["believed_rate"] is None


def test_the_page_fits_and_says_what_the_numbers_are(capsys):
    assert main(["route", *SMALL, "--affinity"]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    words = " ".join(shown.split())
    assert "gsp: 24 requests, 2 workers of 400 tokens" in words
    assert "150 ms for 1,000 prompt tokens" in words
    assert "has the least median latency" in words
    assert "by its weight of affinity" in words
    assert "nan" not in words


def test_one_seed_tells_no_router_from_another(capsys):
    assert main(["route", *SMALL, "--seeds", "1", "--affinity"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "one seed, which does not say what another would give" in words
    assert words.count("(not told from any other)") == 3
    assert "nan" not in words


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_engines_serve_too(capsys, engine):
    argv = [*GSP, "--workers", "2", "--capacity", "800", "--jobs", "1", "--router", "round-robin"]
    found = answer(capsys, *argv, "--engine", engine, "--seeds", "1", "--prefill-ms", "100")
    assert found["engine"] == engine
    assert found["service"]["clock"]["per_prefill_token"] == pytest.approx(1e-4)
    assert found["bounds"] is None
    assert [each["name"] for each in found["routers"]] == ["round-robin"]
    assert main(["route", *argv, "--engine", engine, "--seeds", "1"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_options_reach_the_run(capsys):
    argv = ["--router", "lbgr:step=none", "--belief", "sent:300", "--policy", "rlt"]
    more = ["--cached-ms", "1", "--output-ms", "2", "--at-once", "3", "--rate", "5", "--seed", "4"]
    found = answer(capsys, *SMALL, *argv, *more)
    assert found["service"] == {"cached": 0.001, "missed": 0.15, "output": 0.002, "at_once": 3}
    assert found["belief"] == {"of": "sent", "most": 300, "every": 0.0}
    assert (found["policy"], found["rate"], found["seeds"]) == ("rlt", 5, [4, 5])
    assert found["routers"][0]["name"] == "lbgr:step=none"
    assert found["routers"][0]["parameters"]["step"] == "none"


def test_files_are_written(capsys, tmp_path):
    out = tmp_path / "out"
    assert main(["route", *SMALL, "--router", "random", "--affinity", "--out", str(out)]) == 0
    assert {"route.json", "routers.png", "affinity.svg"} <= {path.name for path in out.iterdir()}


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([*GSP, "--workers", "0", "--capacity", "400"], "--workers: got '0'"),
        ([*GSP, "--workers", "2", "--capacity", "60"], "--capacity: got 60; allowed: at least 84"),
        ([*GSP, *FLEET, "--policy", "opt"], "--policy"),
        ([*GSP, *FLEET, "--policy", "best"], "--policy"),
        ([*GSP, *FLEET, "--engine", "tgi"], "--engine"),
        ([*GSP, *FLEET, "--engine", "vllm", "--policy", "rlt"], "--policy: got 'rlt'"),
        ([*GSP, *FLEET, "--engine", "vllm", "--at-once", "2"], "--at-once"),
        ([*GSP, *FLEET, "--block-size", "16"], "--block-size"),
        ([*GSP, *FLEET, "--router", "fastest"], "--router"),
        (
            [*GSP, *FLEET, "--router", "lbgr:decay=2"],
            "--router lbgr:decay: got 2; allowed: a number above 0",
        ),
        ([*GSP, *FLEET, "--router", "lbgr:speed=2"], "--router"),
        ([*GSP, *FLEET, "--belief", "cache:10"], "--belief"),
        ([*GSP, *FLEET, "--belief", "sent:x"], "--belief"),
        ([*GSP, *FLEET, "--rate", "0"], "--rate"),
        ([*GSP, *FLEET, "--prefill-ms", "-1"], "--prefill-ms"),
        ([*GSP, *FLEET, "--output-ms", "-1"], "--output-ms"),
        (FLEET, "SOURCE"),
    ],
)
def test_bad_input_is_one_line(capsys, argv, said):
    assert refusal(capsys, "route", *argv).startswith(f"fluidkv: {said}")


def test_a_trace_without_prefixes_says_what_to_bring(capsys, tmp_path):
    path = tmp_path / "azure.csv"
    path.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2024-01-01 00:00:00,10,5\n")
    assert "prompts that say what they share" in refusal(capsys, "route", str(path), *FLEET)
