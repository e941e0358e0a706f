"""A bad option is refused before a file is read or anything is run, whichever command it is.

`tests/questions/test_contract.py` holds questions to the same.
"""

import shlex

import pytest

from docs._site.commands import commands
from fluidkv.cli import main
from tests.cli.answered import refusal

BAD = ("", "nan", "-1", "x")
"""Nothing, no number, less than none, a word: nothing that takes a number or a name takes most."""
_LARGE = "--capacity 40000"
FINE = {
    "study": _LARGE,
    "replay": "",
}
"""Commands about a SOURCE that are no questions, with the options that they need."""
NEAR = {
    "--capacity": ("12 parsecs",),
    "--clock": ("vidr", "1:2:3:4:5", "0.01:-1"),
    "--columns": ("input=a,input=b",),
    "--engine": ("vlm",),
    "--format": ("mooncak",),
    "--model": ("lama-3.1-8b",),
    "--now": ("watermarks=1", "watermark=2", "clients=2"),
    "--slo": ("tpot_p99", "ttft=2parsecs", "ttft_p99=2parsecs"),
    "--watermark": ("1", "-0.1"),
}
"""Options -> values that are nearly right; they are refused wherever the option is."""
READ_LATER = ("--measured", "--max-tokens", "--window")
"""What these say is looked at once there are requests, or together with another option."""
OPTIONS = [
    pytest.param(command, each.opts[0], id=f"{command}{each.opts[0]}")
    for command in FINE
    for each in commands()[command].params
    if each.opts[0].startswith("--") and not each.is_flag and each.opts[0] != "--help"
]


@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_a_bad_value_is_one_line_before_the_source_is_looked_at(capsys, command, option):
    """There is no such source: what reads it first says so, and names it."""
    given = shlex.split(FINE[command])
    if option in given:
        place = given.index(option)
        del given[place : place + 2]
    near = NEAR.get(option, ())
    lines = {
        bad: refusal(capsys, command, "no-such-source", *given, f"{option}={bad}")
        for bad in (*BAD, *near)
    }
    later = [bad for bad, line in lines.items() if "no-such-source" in line]
    assert not set(later) & set(near)
    assert option in READ_LATER or len(later) < len(BAD), later


@pytest.mark.parametrize(
    "line",
    [
        "cache --set groups=4",
        "route --workers 2 --capacity 40000 --set groups=4",
        "route --workers 2 --capacity 40000 --block-size 16",
        "route --workers 2 --capacity 40000 --router lbgr:step=x",
        "price --budget 20 --generator mixed",
        "price --budget 20 --length 8",
        "study --capacity 40000 --window 1:2",
        "recommend --capacity 40000 --client-cap 4",
    ],
)
def test_options_that_mean_nothing_alone_are_refused_before_the_source(capsys, line):
    command, *words = shlex.split(line)
    assert "no-such-source" not in refusal(capsys, command, "no-such-source", *words)


@pytest.mark.parametrize("command", FINE)
def test_without_a_bad_option_the_source_is_looked_at(capsys, command):
    """So that what is said above is not said of something else."""
    assert main([command, "no-such-source", *shlex.split(FINE[command])]) == 2
    assert "no-such-source" in capsys.readouterr().err
