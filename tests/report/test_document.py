"""A file that needs nothing else; its links lead somewhere, and nothing foreign runs in it."""

import re
from dataclasses import replace

from fluidkv.figures.figure import Figure
from fluidkv.report.blocks import Block
from fluidkv.report.document import Option, Report, document
from fluidkv.report.page import Page
from tests.report.markup import read
from tests.report.test_body import EVIL


def _blocks(name: str) -> list[Block]:
    blocks: list[Block] = []
    page = Page(blocks.append)
    page.title(name)
    page.rows([("read", name)])
    page.heading(name)
    page.table(["", name], [[name, "1"]])
    return blocks


def _figure(name: str) -> Figure:
    def draw(data, canvas):
        ax = canvas.subplots()
        ax.plot([0, 1], [0, 1], label=name)
        ax.set_xlabel(name)
        ax.legend()

    return Figure(
        id="drawn",
        title=name,
        source=name,
        parameters={},
        size=(6, 4),
        data=dict,
        draw=draw,
        caption=lambda data: name,
    )


def _report(name: str = "trace.csv") -> Report:
    return Report(
        command="fluidkv study",
        asks=name,
        line=f"fluidkv study {name}",
        about="",
        blocks=_blocks(name),
        figures=[_figure(name)],
        assumes=[name],
        options=[
            Option("--seed", name, True, name),
            Option("--rate", "none", False, name),
            Option("--runs", "4", False, name),
        ],
        made={"fluidkv": "0.1.0", "made": "today", name: name},
        json=f'{{"name": "{name}"}}',
    )


def test_it_is_whole_and_its_links_lead_somewhere():
    found = read(document(_report()))
    assert found.wrong == []
    assert found.open_ == []
    assert len(found.ids) == len(set(found.ids))
    assert found.links.count("data:,") == 1
    targets = {each[1:] for each in found.links if each != "data:,"}
    assert targets <= set(found.ids)
    assert len(targets) == 6  # the answer; two parts of it, charts, assumptions, how it was made
    for said in ("What was assumed", "How it was made", "fluidkv study trace.csv", "given"):
        assert said in found.text
    assert "1 option that was not given" in found.text


def test_nothing_foreign_is_markup():
    evil = document(_report(EVIL))
    found, plain = read(evil), read(document(_report()))
    letters = {"path": 0, "use": 0}  # of words in a picture
    assert found.tags | letters == plain.tags | letters
    assert found.handlers == []
    assert EVIL in found.text
    title = re.search("<title>(.*?)</title>", evil)
    assert title is not None
    assert "<" not in title[1]


def test_the_policy_names_each_script_and_no_address():
    html = document(_report())
    policy = re.search('Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    executed = re.findall(r"<script>", html)
    assert policy[1].count("sha256-") == len(executed) + 1  # and the style
    assert "default-src 'none'" in policy[1]
    assert "http" not in policy[1]


def test_json_that_is_too_long_is_left_out_and_named():
    html = document(replace(_report(), json="1" * (10**6 + 1)))
    assert "1" * 1000 not in html
    assert "--json prints it" in html
