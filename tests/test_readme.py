"""README and docs say what the program does: their code runs, their output is its output."""

import ast
import json
import re
import shlex
from functools import cache
from pathlib import Path

import jax
import pytest
import typer

import fluidkv
from docs._site.layout import ALONE
from fluidkv.cli import main
from fluidkv.cli.app import app
from fluidkv.cli.commands.verify import tally
from fluidkv.figures.registry import figures, written
from fluidkv.ledger.claim import Outcome, Result
from fluidkv.ledger.registry import select
from fluidkv.verdict import Evidence

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
THEORY = ROOT / "docs" / "theory.md"
DOCS = ROOT / "docs"
FOLDERS = ("", "start", "howto")  # of pages; others in docs hold specs, tables and what is built
GENERATED = {name.removesuffix(".md") for name in ALONE}  # on the site alone
PAGES = [README, *(page for name in FOLDERS for page in sorted((DOCS / name).glob("*.md")))]


def named(page: Path) -> str:
    """A page, in the name of a test: "howto/vllm"."""
    return page.relative_to(DOCS if page.is_relative_to(DOCS) else ROOT).with_suffix("").as_posix()


def of_page(value: object) -> str:
    """The same of a parameter, if it is a page."""
    return named(value) if isinstance(value, Path) else ""


def blocks(page: Path, language: str = "") -> list[str]:
    """Fenced blocks of a page whose info string is this, in order."""
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.M | re.S)


def block_after(comment: str, page: Path = README) -> str:
    """The block of a page that follows a comment."""
    text = page.read_text(encoding="utf-8")
    match = re.search(rf"<!-- {re.escape(comment)} -->\n```\n(.*?)^```$", text, flags=re.M | re.S)
    assert match, f"no block after {comment!r}"
    return match[1]


def printed(capsys, *argv: str) -> str:
    """What a command prints, without the blanks that fill its lines."""
    assert main(list(argv)) == 0
    return "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines())


@pytest.fixture
def terminal(monkeypatch):
    """A plain terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")


SHOWN = ["fluidkv study --preset sharegpt --capacity 41408", "fluidkv threshold 5 9 --share 1/2"]


@pytest.mark.parametrize("command", SHOWN)
def test_commands_print_what_the_page_on_theory_shows(command, capsys, terminal):
    shown = block_after(f"output of: {command}", THEORY)
    assert printed(capsys, *shlex.split(command)[1:]).strip() == shown.strip()


_PART = r"<!-- part of the output of: ([^\n]*) -->\n```\n(.*?)^```$"
PARTS = [
    (page, command, part)
    for page in PAGES
    for command, part in re.findall(_PART, page.read_text(encoding="utf-8"), flags=re.M | re.S)
]
SIZED = "fluidkv size sample:vllm-rtx4090 --qps 1 --slo ttft_p99=2s --slo tpot_p99=50ms"
SLOWEST = {SIZED, *(command for _, command, _ in PARTS if "--engine sglang+cache" in command)}
"""Half a minute each."""
CHEAPER = {"fluidkv study sample:vllm-rtx4090": ["--iterations", "50"]}
"""What makes a command cheaper that a page shows a part of, and leaves that part as it is."""


@pytest.fixture(scope="module")
def printed_once() -> dict[str, str]:
    """What commands printed that several pages show parts of."""
    return {}


@pytest.mark.parametrize(
    ("page", "command", "part"),
    [
        pytest.param(*each, marks=[pytest.mark.thorough] if each[1] in SLOWEST else [])
        for each in PARTS
    ],
    ids=of_page,
)
def test_commands_print_the_parts_that_pages_show(
    page, command, part, capsys, terminal, printed_once
):
    if command not in printed_once:
        printed_once[command] = printed(
            capsys, *shlex.split(command)[1:], *CHEAPER.get(command, [])
        )
    assert part.strip("\n") in printed_once[command]


def test_size_prints_the_numbers_that_the_readme_has_in_words(capsys, terminal, printed_once):
    if SIZED not in printed_once:
        printed_once[SIZED] = printed(capsys, *shlex.split(SIZED)[1:])
    found = " ".join(printed_once[SIZED].split())
    for number in ("these alone 27,120 tokens", "95% of other days (estimated): all of 40 fresh"):
        assert number in found


def test_every_part_of_an_output_is_held():
    said = sum(page.read_text(encoding="utf-8").count("<!-- part of the") for page in PAGES)
    assert said == len(PARTS)
    assert {command for page, command, _ in PARTS if page == README} >= {SIZED, *CHEAPER}


def test_the_readme_is_short_and_names_the_commands_in_the_order_of_need():
    text = README.read_text(encoding="utf-8")
    prose = re.sub(r"^```python\n.*?^```$", "", text, flags=re.M | re.S)
    prose = "\n".join(line for line in prose.splitlines() if not line.startswith("|"))
    assert len(prose.split()) < 900
    order = ["make study", "make test", *map("fluidkv {}".format, _NEEDED), "fluidkv verify"]
    places = [text.index(command) for command in order]
    assert places == sorted(places)


_NEEDED = ("log", "replay", "recommend", "compare", "size", "study")


def test_the_index_has_a_line_for_every_page():
    """Outside its toctrees, which a reader of the file as it is does not follow."""
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\(((?:[a-z_]+/)?[a-z_]+\.md)\)", text))
    pages = {page.relative_to(DOCS).as_posix() for page in PAGES if page != README}
    assert linked == (pages - {"index.md"}) | set(ALONE)


def test_make_study_runs_the_command_whose_output_is_shown():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "fluidkv study --preset sharegpt --capacity 41408 --out build/study" in makefile


@pytest.mark.thorough
def test_verify_prints_what_the_readme_shows(capsys, terminal):
    """Minutes: the whole ledger, each claim of which tests/claims/test_ledger.py runs anyway."""
    output = printed(capsys, "verify")
    assert output.endswith("\n\n" + block_after("output of: fluidkv verify").strip())


def test_the_readme_has_the_tally_of_the_ledger():
    recorded = [
        Result(claim, Outcome(claim.expected, claim.evidence or Evidence.EXACT, "", ""))
        for claim in select()
    ]
    shown = " ".join(block_after("output of: fluidkv verify").split())
    assert shown == " ".join(tally(recorded))


def test_the_readme_says_where_the_errors_as_printed_stand():
    """A claim's kind says what the paper calls the place."""
    kinds = [c.kind for c in select() if (c.expected, c.origin) == ("fails", "printed")]
    mathematics = sum(kind not in ("figure", "table", "remark") for kind in kinds)
    text = " ".join(README.read_text(encoding="utf-8").split())
    assert (
        f"{mathematics} of these {len(kinds)} stand in theorems, lemmas, equations, "
        "definitions, examples"
    ) in text


_CLAIM_ID = (
    r"`(?:fluidkv verify )?"
    r"((?:congestion|vllm-44594|vllm-54644|wait(?!\.json)|routing|cacheopt|tokenpd"
    r"|measured\.(?:sglang|one-class|fixed-lengths))\.[a-z0-9.-]+)`"
)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_claims_and_figures_that_are_named_exist(page):
    drawn = {written(figure.id) for figure in figures()}
    for name in re.findall(_CLAIM_ID, page.read_text(encoding="utf-8")):
        assert name in drawn or select([name])


def test_the_readme_names_every_source_of_the_ledger():
    sources = {claim.source.split(",")[0] for claim in select()}
    text = README.read_text(encoding="utf-8")
    papers = {"Congestion", "WAIT", "Routing", "CacheOPT", "Token-PD", "vLLM", "Footprints"}
    measured = {"sglang-peak-kv-admission", "inferlint", "vLLM-benchmarking", "measured servers"}
    assert sources == papers | measured
    assert "*Congestion*" in text
    assert "*WAIT*" in text
    assert "*Routing*" in text
    assert "*CacheOPT*" in text
    assert "*Token-PD*" in text
    assert "our *Footprints*" in text
    assert "vLLM pull request 44594" in text


def test_measured_numbers_are_those_of_the_committed_figure():
    text = THEORY.read_text(encoding="utf-8")
    start = "<!-- numbers of: fluidkv figure measured-log -->"
    paragraph = text.split(start)[1].split("<!-- end of numbers -->")[0]
    manifest = json.loads((ROOT / "figures" / "manifest.json").read_text(encoding="utf-8"))
    caption = manifest["figures"]["measured_log"]["caption"]
    numbers = set(re.findall(r"\d[\d,.]*\d", paragraph))
    assert len(numbers) > 6
    assert numbers <= set(re.findall(r"\d[\d,.]*\d", caption))


_PRINTED = "<!-- printed by the block above -->"
_CODE = rf"^```python\n(.*?)^```$(?:\n+{_PRINTED}\n```\n(.*?)^```$)?"
CODE = [
    (page, code, output)
    for page in PAGES
    for code, output in re.findall(_CODE, page.read_text(encoding="utf-8"), flags=re.M | re.S)
]


@pytest.mark.parametrize(("page", "code", "output"), CODE, ids=of_page)
def test_python_blocks_run_and_print_what_they_say(
    page, code, output, tmp_path, monkeypatch, capsys
):
    """A comment behind a print is what it prints, and so is a block that says so."""
    requests = "prompt_tokens,output_tokens,in,out\n10,5,10,5\n20,6,20,6\n"
    (tmp_path / "requests.csv").write_text(requests, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    # The first block of a page imports fluidkv; later ones may rely on it.
    names: dict[str, object] = {"fk": fluidkv}
    double = jax.config.read("jax_enable_x64")
    try:  # strictness is for the package's own code, not for a reader's
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
            exec(compile(code, f"{page.name}", "exec"), names)
    finally:
        jax.config.update("jax_enable_x64", double)  # which a page may set for good
    said = re.findall(r"^print\(.*\)  # (.*)$", code, flags=re.M)
    found = capsys.readouterr().out
    if said:
        assert found.splitlines() == said
    if output:
        assert found == output


def test_every_block_that_is_said_to_be_printed_follows_the_code_that_prints_it():
    for page in PAGES:
        held = sum(bool(output) for at, _, output in CODE if at == page)
        assert page.read_text(encoding="utf-8").count(_PRINTED) == held


SLOW = [(page, code) for page in PAGES for code in blocks(page, "python minutes")]


@pytest.mark.parametrize(("page", "code"), SLOW, ids=of_page)
def test_long_python_blocks_compile_and_import_what_there_is(page, code):
    """Blocks marked as taking minutes are not run."""
    tree = ast.parse(code, page.name)
    imports: list[ast.stmt] = [
        node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert imports
    exec(compile(ast.Module(imports, []), page.name, "exec"), {})


COMMANDS = sorted(
    {
        line.split("#")[0].strip()
        for page in PAGES
        for language in ("", "sh", "bash")
        for block in blocks(page, language)
        for line in block.splitlines()
        if line.startswith(("fluidkv ", "make "))
    }
    | {
        command
        for page in PAGES
        for command in re.findall(r"`((?:make|fluidkv) [^`|]+)`", page.read_text(encoding="utf-8"))
    }
)


@cache
def commands():
    return typer.main.get_command(app)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_shown_exist(command):
    program, name, *rest = shlex.split(command)
    if program == "make":
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert re.search(rf"^{re.escape(name)}:.*##", makefile, flags=re.M), name
        return
    if name.startswith("-"):
        assert name in ("--help", "--version")
        return
    subcommand = commands().commands[name]  # pyright: ignore[reportAttributeAccessIssue]
    options = {o for p in subcommand.params for o in (*p.opts, *p.secondary_opts)}
    assert {word for word in rest if word.startswith("-")} <= options


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_to_files(page):
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    here = [t for t in targets if "://" not in t and not (page.parent / t).exists()]
    assert [t for t in here if named((page.parent / t).resolve()) not in GENERATED] == []
