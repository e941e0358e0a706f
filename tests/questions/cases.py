"""Small command lines of each question, which together show all that it says."""

import shlex
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from typing import Any

from fluidkv.answers.questions import QUESTIONS
from fluidkv.questions.options import filled
from fluidkv.questions.question import Question
from fluidkv.report.page import Page
from fluidkv.report.terminal import Terminal

GSP = "--generator gsp --order round-robin --set groups=6 --set queries=8 --set lengths=10,20"
_FEW = "--generator gsp --set groups=2 --set queries=3 --set lengths=40,80 --workers 2 --jobs 1"
_SMALL = "--generator mixed --requests 7 --length 12 --prompt 3 --budget 20"

_TWO = "--class 8:10 --class 30:20 --block-size 4"
_TIMED = f"{_TWO} --clock 0.1:1e-4:2e-3"
PREEMPTS = f"{_TIMED} --capacity 128 --rate 4 --requests 24 --seeds 2"
FEW = "--victim fewest-outputs --victim most-blocks"
COMPARES = f"{_TIMED} --capacity 160 --rate 4 --requests 40 --runs 3"
ENGINES = "--engine vllm --engine trtllm-no-evict"

CASES: dict[str, list[str]] = {
    "cache": [
        f"{GSP} --seeds 2 --capacity 40 --capacity 60",
        f"{GSP} --seeds 1 --capacity 40 --granularity nodes",
        f"{GSP} --policy lru --granularity blocks:2 --capacity 1GB --kv-bytes 131072",
    ],
    "route": [
        f"{_FEW} --capacity 400 --router random --router lbgr --seeds 2 --affinity",
        f"{_FEW} --capacity 100b --router random --seeds 1 --engine vllm",
        f"{_FEW} --capacity 900 --router two-choices --seeds 2 --rate 3 --policy rlt",
    ],
    "preempt": [
        f"{PREEMPTS} --slo 0.5:2.5",
        f"{PREEMPTS} {FEW} --seeds 1 --slo ttft=2s --slo tbt=400ms --swap-per-token 1e-4",
        f"{_TWO} {FEW} --capacity 128 --requests 40 --seeds 2",
    ],
    "compare": [
        f"{COMPARES} {ENGINES} --price 2",
        f"{_TIMED} --capacity 160 --clients 4 --requests 12 --runs 2 --crossover --price 1",
    ],
    "price": [
        f"{_SMALL} --seeds 2 --policy return --policy return-pooled --policy token-pd",
        f"{_SMALL} --seeds 1 --policy h2o --policy token-pd-hard --predictor oracle",
    ],
}

NEEDED: dict[str, str] = {
    "cache": "",
    "route": "--workers 2 --capacity 400",
    "preempt": "--capacity 320",
    "compare": f"--capacity 320 {ENGINES}",
    "price": "--budget 20",
}
"""Options that have to be given, as they may be."""


@cache
def answer_to(name: str, line: str) -> tuple[Question, Any]:
    """The question's answer in Python, of the options of a command line."""
    question = QUESTIONS[name]
    options = question.options
    values = {key: each.default for key, each in options.items()}
    flags = {each.option.flag: key for key, each in options.items()}
    words = shlex.split(line)
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            values["source"] = word
            continue
        option = options[flags[word]].option
        value = True if option.kind is None else option.read(option.flag, words.pop(0))
        values[option.key] = [*(values[option.key] or []), value] if option.many else value
    return question, filled(question.ask, values)


def page_of(name: str, line: str) -> str:
    """What the answer says to a person, in one line."""
    question, answer = answer_to(name, line)
    return text_of(question, answer)


def text_of(question: Question, answer: Any) -> str:
    """What an answer says to a person, in one line; no line of it is wider than 80 columns."""
    lines = StringIO()
    with redirect_stdout(lines):
        question.say(Page(Terminal().write), answer)
    assert max(map(len, lines.getvalue().splitlines())) <= 80
    return " ".join(lines.getvalue().split())
