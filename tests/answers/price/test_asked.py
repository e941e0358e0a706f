"""`fluidkv price`: what it says, files of weights, and options that do not go together."""

import json
from pathlib import Path

import numpy as np
import pytest

from fluidkv.answers import price_tokens
from fluidkv.answers.price import options
from fluidkv.answers.price.brought import generated_attention
from fluidkv.answers.price.rule import usual_pricing
from fluidkv.cli import main
from fluidkv.questions.kinds import Word
from fluidkv.tokenpd import write_attention
from fluidkv.tokenpd.attention.weights import Attention
from tests.cli.answered import answer_in, refusal

SMALL = ["--generator", "mixed", "--requests", "7", "--length", "12", "--prompt", "3"]
SMALL += ["--seeds", "2", "--budget", "20"]
ONE = ["--policy", "token-pd"]


@pytest.fixture(scope="module")
def weights() -> Attention:
    return next(iter(generated_attention("mixed", requests=7, length=12, prompt=3)))


@pytest.fixture
def stored(tmp_path: Path, weights: Attention) -> Path:
    path = tmp_path / "attention.safetensors"
    write_attention(path, weights)
    return path


def answer(capsys, *argv: str) -> dict:
    assert main(["price", *argv, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return answer_in(captured.out)


def shown(capsys, *argv: str) -> str:
    assert main(["price", *argv]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert "nan" not in text
    return " ".join(text.split())


def test_a_file_is_read_as_it_was_written(capsys, stored, weights):
    found = answer(capsys, str(stored), "--budget", "20", *ONE)
    direct = price_tokens(weights, 20, policies=["token-pd"])
    assert found["source"] == "attention.safetensors"
    assert found["policies"] == json.loads(json.dumps(direct.to_dict()["policies"]))
    words = shown(capsys, str(stored), "--budget", "20", *ONE)
    assert "280 rows read" not in words
    assert "84 rows read, 0 changed" in words
    assert "over these requests, drawn again (bootstrap)" in words


def test_a_share_is_of_what_is_held_at_most(capsys, stored):
    found = answer(capsys, str(stored), "--budget", "25%", *ONE)
    assert found["budget"] == 21


@pytest.mark.thorough
def test_the_numbers_of_the_rule_are_those_that_were_asked_for(capsys, stored, weights):
    rule = ["--eta", "1/4", "--start-price", "0.02", "--risk-aversion", "0.5"]
    rule += ["--objective", "repaired", "--penalty", "0.01"]
    found = answer(capsys, str(stored), "--budget", "20", *ONE, *rule)
    assert found["pricing"] == {
        "eta": 0.25,
        "start": 0.02,
        "objective": "repaired",
        "risk_aversion": 0.5,
        "penalty": 0.01,
    }
    assert found["policies"][0]["price_by_round"][0] == 0.02
    assert usual_pricing(weights, step=0.25).start == 1 / 12


def test_axes_and_heads_are_as_said(capsys, tmp_path, weights):
    path = tmp_path / "heads.npy"
    np.save(path, np.asarray(weights.weights)[None])
    said = ["--axes", "request,head,query,key", "--prompt", "3", "--budget", "20", *ONE]
    heads = answer(capsys, str(path), *said, "--over", "heads")
    assert (heads["requests"], heads["streams"]) == (1, 7)
    assert heads["pick"]["behind"] == {}


B = ["--budget", "20"]


def broken(weights: np.ndarray, at: tuple[int, int, int], by: float) -> np.ndarray:
    copy = np.array(weights)
    copy[at] += by
    return copy


@pytest.mark.parametrize(
    ("at", "by", "said", "message"),
    [
        ((2, 5, 3), -2, [], "SOURCE: got -1."),
        ((2, 5, 3), 0.5, [], "SOURCE: got 1.5"),
        ((2, 5, 9), 0.5, [], "SOURCE: got 0.5; allowed: 0 on keys after the query's own"),
        (
            (2, 5, 3),
            0,
            ["--prompt", "13"],
            "SOURCE, length: got 12; allowed: no shorter than",
        ),
        ((2, 5, 3), 0, ["--prompt", "12"], "SOURCE, length: got 12; allowed: more than the prom"),
        ((2, 5, 3), 0, ["--axes", "query,key"], "--axes: got 'query,key'; allowed: as many as"),
        ((2, 5, 3), 0, ["--tensors", "w2"], "--tensors: got 'w2'; allowed"),
    ],
)
def test_a_bad_file_is_one_line(capsys, tmp_path, weights, at, by, said, message):
    path = tmp_path / "weights.npz"
    np.savez(path, weights=broken(weights.weights, at, by))
    usual = {"--axes": "request,query,key", "--prompt": "3"}
    usual |= dict(zip(said[::2], said[1::2], strict=True))
    options = [word for pair in usual.items() for word in pair]
    found = refusal(capsys, "price", str(path), *B, *options)
    assert found.startswith(f"fluidkv: {message}")


def test_names_in_the_help_are_those_that_there_are():
    from fluidkv.answers.price.forecasts import FORECASTS
    from fluidkv.tokenpd import Pricing, generators, policies
    from fluidkv.tokenpd.objective import Objective
    from fluidkv.tokenpd.returns.averages import LastSeen

    for name in generators():
        assert name in options.GENERATOR.help
    for name in policies(LastSeen(), Pricing(1)):
        assert name.removesuffix("-pooled") in options.POLICY.help
    for name in (*FORECASTS, "mlp"):
        assert name in options.PREDICTOR.help
    assert options.OBJECTIVE.kind == Word(tuple(each.value for each in Objective))
