"""A bad option is refused before a file is read or anything is run, whichever command it is."""

import shlex

import pytest

from fluidkv.cli import main
from tests.cli.test_study import refusal

_SCALES = {"--scale-input": "0", "--scale-output": "-1", "--scale-rate": "x"}
_READING = {**_SCALES, "--format": "mooncak", "--columns": "input=a,input=b"}
_SERVER = {
    "--engine": "vlm",
    "--capacity": "12 parsecs",
    "--clock": "vidr",
    "--block-size": "0",
    "--max-num-batched-tokens": "x",
}
_RUN = {"--requests": "0", "--seed": "-1", "--out": ""}
_LARGE = "--capacity 40000 "
# command -> options that are fine, and options with what is bad of them; more than one after "|".
BAD = {
    "study": (_LARGE, _READING | {"--capacity": "0", "--iterations": "0", "--window": "1:2"}),
    "recommend": (
        _LARGE,
        _READING
        | _SERVER
        | _RUN
        | {
            "--rate": "0",
            "--clients": "0",
            "--now": "watermarks=1",
            "--slo": "ttft_p98=2s|ttft_p99=2parsecs|tpot_p99",
            "--watermark": "1",
            "--max-num-seqs": "0",
            "--rate-cap": "0",
            "--client-cap": "4",
            "--runs": "0",
        },
    ),
    "size": (
        f"{_LARGE} --slo ttft_p99=2s",
        _READING
        | _SERVER
        | _RUN
        | {
            "--qps": "0",
            "--slo": "ttft_p98=2s|ttft_p99=2parsecs",
            "--find": "kvv",
            "--model": "lama-3.1-8b",
            "--kv-bytes": "0",
            "--runs": "0",
            "--within": "1",
        },
    ),
    "compare": (
        f"{_LARGE} --engine vllm --engine sglang",
        _READING | _SERVER | _RUN | {"--rate": "0", "--clients": "0", "--runs": "0"},
    ),
    "preempt": (
        _LARGE,
        _READING
        | _SERVER
        | _RUN
        | {
            "--victim": "randm",
            "--restore": "swp",
            "--allocation": "by-blok",
            "--predictor": "perfekt",
            "--slo": "ttft=2parsecs",
            "--swap-gbps": "0",
            "--seeds": "0",
        },
    ),
    "wait": (
        f"{_LARGE} --d0 1 --d1 1",
        _READING
        | {
            "--capacity": "0",
            "--rate": "0",
            "--bins": "0",
            "--d0": "0",
            "--d1": "-1",
            "--clock": "vidr",
            "--threshold": "0",
            "--segment": "4",
            "--delta": "2",
            "--horizon": "0",
            "--seeds": "0",
            "--run-time": "0",
            "--out": "",
        },
    ),
    "cache": (
        "",
        _SCALES
        | {
            "--format": "mooncak",
            "--set": "groups=4",
            "--order": "random",
            "--capacity": "0",
            "--policy": "lur",
            "--granularity": "token",
            "--seeds": "0",
            "--seed": "-1",
            "--out": "",
        },
    ),
    "route": (
        "--workers 2 --capacity 40000",
        _SCALES
        | {
            "--workers": "0",
            "--capacity": "0",
            "--format": "mooncak",
            "--set": "groups=4",
            "--engine": "vlm",
            "--policy": "lur",
            "--block-size": "16",
            "--prefill-ms": "0",
            "--router": "lbrg|lbgr:step=x",
            "--belief": "told",
            "--rate": "0",
            "--seeds": "0",
            "--jobs": "0",
            "--out": "",
        },
    ),
    "replay": (
        "",
        {
            "--fit": "third",
            "--engine": "vlm",
            "--capacity": "0",
            "--block-size": "0",
            "--max-num-seqs": "0",
            "--max-num-batched-tokens": "0",
            "--out": "",
        },
    ),
    "price": (
        "--budget 20",
        {
            "--budget": "0",
            "--policy": "retrn",
            "--predictor": "perfekt",
            "--objective": "ruel",
            "--generator": "mixed",
            "--length": "8",
            "--seed": "-1",
            "--out": "",
        },
    ),
}
CASES = [
    pytest.param(command, fine, option, bad, id=f"{command}{option}={bad}".replace(" ", "_"))
    for command, (fine, options) in BAD.items()
    for option, values in options.items()
    for bad in values.split("|")
]


@pytest.mark.parametrize(("command", "fine", "option", "bad"), CASES)
def test_a_bad_option_is_refused_before_its_source_is_looked_at(capsys, command, fine, option, bad):
    """There is no such source: what reads it first says so, and names it."""
    given = shlex.split(fine)
    if option in given:
        place = given.index(option)
        del given[place : place + 2]
    line = refusal(capsys, command, "no-such-source", *given, f"{option}={bad}")
    assert "no-such-source" not in line
    assert line.startswith("fluidkv: ")


@pytest.mark.parametrize("command", [c for c in BAD if c != "price"])
def test_without_a_bad_option_the_source_is_looked_at(capsys, command):
    """So that what is said above is not said of something else."""
    assert main([command, "no-such-source", *shlex.split(BAD[command][0])]) == 2
    assert "no-such-source" in capsys.readouterr().err
