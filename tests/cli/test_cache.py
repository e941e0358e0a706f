"""`fluidkv cache`: stable keys, 80 columns, one line for bad input."""

import json
from pathlib import Path

import pytest

from fluidkv.cli import main
from tests.cli.test_study import refusal

GSP = ["--generator", "gsp", "--order", "round-robin", "--set", "groups=6", "--set", "queries=8"]
SMALL = [*GSP, "--set", "lengths=10,20", "--seeds", "2"]
SIZES = ["--capacity", "40", "--capacity", "60"]


def answer(capsys, *argv: str) -> dict:
    assert main(["cache", *argv, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return json.loads(captured.out)


@pytest.fixture
def blocks(tmp_path: Path) -> Path:
    """Three prompts; the second goes on from the first."""
    rows = [(0, 600, [0, 1]), (1000, 1024, [0, 2]), (2000, 512, [0])]
    keys = ("timestamp", "input_length", "hash_ids")
    path = tmp_path / "trace.jsonl"
    lines = [dict(zip(keys, row, strict=True)) | {"output_length": 5} for row in rows]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return path


def test_a_trace_of_blocks_is_played_in_its_blocks(capsys, blocks):
    found = answer(capsys, str(blocks), "--capacity", "1024")
    assert (found["page"], found["answers_cached"]) == (512, False)
    assert found["ceiling"] == 2 * 512 / (600 + 1024 + 512)
    assert found["ceiling_units"] == 2 / 5
    assert found["capacities"] == [1024]
    (lru,) = (each for each in found["policies"] if each["name"] == "lru")
    assert lru["hit_rate"] == [found["ceiling"]]  # two blocks hold each prompt, and the shared one


def test_a_generator_gets_its_parameters(capsys):
    found = answer(capsys, *SMALL, *SIZES, "--policy", "rlt", "--policy", "opt")
    assert found["generator"]["groups"] == 6
    assert found["generator"]["order"] == "round-robin"
    assert [each["name"] for each in found["policies"]] == ["opt", "rlt"]
    assert [each["seeds"] for each in found["policies"]] == [1, 2]
    assert found["prompt_tokens"] == 8 * 3 * 30


def test_the_page_fits_and_says_what_the_numbers_are(capsys):
    assert main(["cache", *SMALL, *SIZES]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    words = " ".join(shown.split())
    assert "a cache that never evicts finds 43.75% of them, with 597 tokens" in words
    assert "means of 2 seeds" in words
    assert "95 % for the mean over all seeds" in words


def test_ten_sizes_where_none_is_given(capsys):
    found = answer(capsys, *SMALL, "--policy", "lru", "--granularity", "blocks:2")
    assert found["page"] == 2
    assert len(found["capacities"]) == 10
    assert found["capacities"][-1] == found["never_evicts"]
    assert found["policies"][0]["hit_rate"][-1] == found["ceiling"]


def test_files_are_written_beside_each_other(capsys, tmp_path):
    assert main(["cache", *SMALL, *SIZES, "--out", str(tmp_path / "new")]) == 0
    names = {path.name for path in (tmp_path / "new").iterdir()}
    assert {"cache.json", "manifest.json", "hit_rate_by_size.png"} <= names
    capsys.readouterr()


def test_one_seed_claims_nothing_of_rlt(capsys):
    assert main(["cache", *SMALL, "--capacity", "40", "--seeds", "1"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "rlt and random: one seed, which does not say what another would find" in words
    assert words.endswith("- one seed")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([*SMALL, "--capacity", "23"], "--capacity: got 23; allowed: at least 24 tokens"),
        ([*SMALL, "--capacity", "0"], "--capacity: got '0'; allowed: a positive number"),
        ([*SMALL, "--policy", "best"], "--policy: got 'best'; allowed: one of lru, rlt"),
        ([*SMALL, "--granularity", "page"], "--granularity: got 'page'; allowed: tokens, nodes"),
        ([*SMALL, "--granularity", "blocks:999"], "--granularity: got 999; allowed: at most the"),
        ([*SMALL, "--granularity", "blocks"], "--granularity: got 'blocks'; allowed: tokens"),
        ([*SMALL, "--set", "groups=0"], "--set groups: got 0; allowed: an integer from 1"),
        ([*SMALL, "--set", "ratio=2"], "--set ratio: got 2; allowed: a number from 0 to 1"),
        ([*SMALL, "--set", "groups"], "--set: got 'groups'; allowed: NAME=VALUE"),
        ([*SMALL, "--set", "lengths=10,-4"], "--set lengths: got -4; allowed: an integer"),
        ([*SMALL, "--order", "sorted"], "--order: got 'sorted'; allowed: random or round-robin"),
        (["--generator", "lru"], "--generator: got 'lru'; allowed: one of gsp, chats"),
        ([], "SOURCE: got 'none'; allowed: exactly one of SOURCE, --generator"),
    ],
)
def test_bad_input_is_one_line(capsys, argv, message):
    assert refusal(capsys, "cache", *argv).startswith(f"fluidkv: {message}")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            '{"timestamp": 0, "input_length": 5, "output_length": 1}',
            "SOURCE: got 'trace.jsonl'; allowed: prompts that say what they share: Mooncake lines",
        ),
        (
            '{"timestamp": 0, "input_length": 600, "output_length": 1, "hash_ids": [0, 1]}\n'
            '{"timestamp": 0, "input_length": 600, "output_length": 1, "hash_ids": [2, 1]}',
            "SOURCE, hash_ids: got 'id 1 behind 0 and 2'; allowed: one block before each",
        ),
        (
            '{"arrival": 0, "prompt": [[0, 5]], "output_length": 1}\n'
            '{"arrival": 0, "prompt": [[0, -5]], "output_length": 1}',
            "SOURCE: got 'trace.jsonl'; allowed: a request in every row (dropped: 1 × prompt: a",
        ),
        ("", "SOURCE: got "),
    ],
)
def test_a_bad_trace_is_one_line(capsys, tmp_path, lines, message):
    path = tmp_path / "trace.jsonl"
    path.write_text(lines)
    assert refusal(capsys, "cache", str(path)).startswith(f"fluidkv: {message}")
