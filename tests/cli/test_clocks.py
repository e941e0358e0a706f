"""`fluidkv clocks`: the list in 80 columns, one clock, and what is refused."""

import json

from fluidkv.cli import main
from fluidkv.serving.machines.against import caveat_of, modelled_caveat
from fluidkv.serving.machines.named import CLOCKS, named_clock


def shown(capsys, *argv):
    assert main(["clocks", *argv]) == 0
    return capsys.readouterr().out


def test_a_modelled_clock_says_how_far_off_it_may_be(capsys):
    text = " ".join(shown(capsys, "llama-3.1-8b@h100").split())
    assert caveat_of(named_clock("llama-3.1-8b@h100")) in text
    assert modelled_caveat() in " ".join(shown(capsys, "llama-3.1-8b@rtx-4090").split())
    assert "131,072 bytes a token" in text
    assert "CAUTION" not in shown(capsys, "vllm-llama3.1-8b-rtx4090")
    assert "no time to first token" in " ".join(shown(capsys, "vidur-llama3-8b-a100").split())


def test_json_has_numbers_as_numbers(capsys):
    found = json.loads(shown(capsys, "--json"))
    assert [each["name"] for each in found["clocks"]] == list(CLOCKS)
    assert found["clocks"][1]["holds"]["kv_tokens"] == [11_110, 41_352]
    assert {each["name"]: each["kv_bytes"] for each in found["models"]}["qwen3-4b"] == 147_456
    one = json.loads(shown(capsys, "qwen3-8b@h100", "--json"))
    assert (one["kind"], one["model"], one["gpu"]) == ("modelled", "qwen3-8b", "h100")
