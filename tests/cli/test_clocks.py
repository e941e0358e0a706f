"""`fluidkv clocks --json`: every clock, and numbers as numbers."""

from fluidkv.serving.machines.named import CLOCKS
from tests.cli.answered import json_of


def test_json_has_numbers_as_numbers(capsys):
    found = json_of(capsys, "clocks")
    assert [each["name"] for each in found["clocks"]] == list(CLOCKS)
    assert found["clocks"][1]["holds"]["kv_tokens"] == [11_110, 41_352]
    assert {each["name"]: each["kv_bytes"] for each in found["models"]}["qwen3-4b"] == 147_456
