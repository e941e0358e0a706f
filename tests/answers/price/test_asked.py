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
FEW = ["--policy", "return", "--policy", "return-pooled", "--policy", "token-pd"]
ONE = ["--policy", "token-pd"]
H2O = ["--policy", "h2o", "--policy", "lru-pooled"]


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


def test_the_page_says_what_is_kept_and_what_brings_it(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    words = shown(capsys, *SMALL, *FEW, "--kv-bytes", "131072")
    assert "mixed: 7 requests in each of 2 runs" in words
    assert "20 tokens for all that run at once, who hold up to 84 (23.8%)" in words
    assert "0.00262 of 0.011 GB" in words
    assert "evicted gone for good returns predicted by average price eta" in words
    assert "eta 0.316, from 0.0833" in words  # 1 / sqrt(10), 7 of 84
    assert "+: uses more than the budget in some rounds" in words
    assert "return-pooled return pooling" in words
    assert "token-pd+ return-pooled pricing" in words
    assert "intervals of 95 % for the mean over all seeds, from 2" in words


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


@pytest.mark.thorough
def test_rules_that_no_policy_looks_at_are_not_said(capsys):
    words = shown(capsys, *SMALL, *H2O, "--comes-back", "--delay", "1")
    assert words.endswith("evicted may be computed again; rows are seen 1 round late")
    assert "predicted by" not in words


def test_what_a_price_leaves_unused_is_said(capsys):
    """A price of 100 keeps nothing until it has fallen; where all fit nobody asks for it."""
    hard = [*FEW[:4], "--policy", "token-pd-hard", "--start-price", "100"]
    assert "another --eta or --start-price may do better" in shown(capsys, *SMALL, *hard)
    full = shown(capsys, *SMALL[:-1], "1000", *hard)
    assert "who hold up to 84: all fit, and nothing has to go" in full
    assert "may do better" not in full


G = ["--generator", "mixed"]
B = ["--budget", "20"]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([*G, "--budget", "1e-9%"], "--budget: got '1e-09% of 1,024 tokens'; allowed: at least on"),
        ([*G], "Missing option '--budget'"),
        ([*B], "SOURCE: got 'none'; allowed: exactly one of SOURCE, --generator"),
        (["a.npy", *G, *B], "SOURCE: got 'SOURCE and --generator'; allowed: exactly one of"),
        (
            ["--generator", "recent", *B],
            "--generator: got 'recent'; allowed: recency",
        ),
        (
            [*G, *B, "--policy", "token-dp"],
            "--policy: got 'token-dp'; allowed: token-pd",
        ),
        ([*G, *B, "--policy", "zzz"], "--policy: got 'zzz'; allowed: one of fifo, fifo-pooled, "),
        ([*G, *B, "--predictor", "mean"], "--predictor: got 'mean'; allowed: one of last-seen"),
        ([*G, *B, "--predictor", "average:rate=2"], "--predictor average:rate: got 2; allowed: a "),
        ([*G, *B, "--predictor", "average:r=2"], "--predictor: got 'average:r=2'; allowed: averag"),
        ([*G, *B, "--objective", "risk"], "--objective: got 'risk'; allowed: one of utility, rule"),
        ([*G, *B, "--penalty", "1"], "--penalty: got '1'; allowed: together with --objective util"),
        ([*G, *B, "--length", "9", "--prompt", "9"], "--length: got 9; allowed: more than the"),
        ([*G, *B, "--length", "9", "--prompt", "10"], "--length: got 9; allowed: no shorter than "),
        ([*G, *B, "--length", "20:10"], "--length: got '20:10'; allowed: a number of tokens, or"),
        ([*G, *B, "--axes", "query,key"], "--axes: got 'query,key'; allowed: together with SOURCE"),
        (["a.npy", *B, "--seeds", "2"], "--seeds: got '2'; allowed: together with --generator"),
        (["a.npy", *B, "--length", "3"], "--length: got '3'; allowed: together with --generator"),
        (["a.npy", *B, "--length", "3:9"], "--length: got '3:9'; allowed: together with --gen"),
        ([*G, *B, "--renormalise"], "--renormalise: got 'given'; allowed: together with SOURCE"),
        (["a.npy", *B, "--kv-heads", "2"], "--kv-heads: got '2'; allowed: together with --over h"),
        (
            [*G, *B, "--requests", "10000", "--length", "8192"],
            "--requests: got '10,000 of 8,192 tokens'; allowed: fewer or shorter: requests times",
        ),
        ([*G, *B, *H2O, "--eta", "1"], "--eta: got '1'; allowed: together with a --policy token-"),
        ([*G, *B, *H2O, "--start-price", "0"], "--start-price: got '0'; allowed: together with a"),
        (
            [*G, *B, "--policy", "return", "--objective", "utility"],
            "--objective: got 'utility'; allowed: together with a --policy token-pd, ",
        ),
        (
            [*G, *B, *H2O, "--predictor", "oracle"],
            "--predictor: got 'oracle'; allowed: together with a --policy return, ",
        ),
        ([*G, *B, *H2O, "--risk-aversion", "1"], "--risk-aversion: got '1'; allowed: together wi"),
        (["a.npy", *B, "--prompt", "2:3"], "--prompt: got '2:3'; allowed: one number of tokens"),
        (["a.npy", *B, "--over", "layers"], "--over: got 'layers'; allowed: one of mean, heads"),
        (["a.npy", *B], "SOURCE: got 'a.npy'; allowed: a file of arrays: .npy, .npz or safetensor"),
    ],
)
def test_bad_input_is_one_line(capsys, argv, message):
    assert refusal(capsys, "price", *argv).startswith(f"fluidkv: {message}")


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
