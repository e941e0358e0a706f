"""Every command with every engine, kind of source and form of output: an answer, or one line.

An answer is whole: its JSON is strict, its files are all there, none of its numbers is a NaN.
"""

import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random

import pytest
from typer.main import get_command

from fluidkv.cli import main
from fluidkv.cli.app import app
from fluidkv.cli.codes import BAD_INPUT, FAILS
from fluidkv.figures.render import MANIFEST
from fluidkv.serving.engine_text import CACHE
from fluidkv.serving.engines import ENGINES, WITH_CACHE
from tests.answers.replay import logs as vllm_logs
from tests.answers.replay import sglang_logs
from tests.logs.joined.test_folder import ASKED, stdout_of
from tests.traces.results.written import Asked, genai_perf, guidellm, sglang, vllm
from tests.traces.test_formats import BURSTGPT, VLLM

_CLOCK = "0.01:1e-6:1e-5"
_FEW = "--requests 120 --runs 1"

COMMANDS = {  # -> options that keep it short
    "log": "",
    "study": "--iterations 9",
    "recommend": f"{_FEW} --draws 2",
    "size": "--requests 14 --runs 1 --within 1/3 --slo preemption_rate=0.01 --draws 4 --horizon 40",
    "compare": f"{_FEW} --engine fcfs-running-first",
    "replay": "",
    "wait": "--seeds 1 --run-time 9 --bins 2",
    "cache": "--seeds 1",
    "route": "--workers 2 --seeds 1 --jobs 1 --router lbgr --router random",
    "preempt": "--requests 120 --seeds 2 --victim random",
}
ENGINE_TEXTS = (
    *ENGINES,
    *WITH_CACHE.replace(" or ", ", ").split(", "),
    *("vllm-0.19", "vllm-0.32+cache", "sglang-0.5.18", "sglang-0.5.18+cache"),
    *("vllm:victim=least-computed", "vllm+cache:reserve_full_isl=false"),
    *("sglang:conservativeness=0.3,clip=64", f"sglang{CACHE}:radix=false", "plain"),
)
DEMANDS = ("", "--rate 30", "--clients 4", "--replay", "--replay --speed 3")
CLOCKS = ("", f"--clock {_CLOCK}", "--clock llama-3.1-8b@h100")


@dataclass(frozen=True)
class Output:
    """Where an answer goes."""

    as_json: bool
    html: bool
    out: bool


TEXT, FILES_TOO = Output(False, False, False), Output(True, True, True)
OUTPUTS = (
    *(TEXT, Output(True, False, False), FILES_TOO),
    *(Output(False, True, False), Output(False, False, True)),
)


MORE = tuple(
    """
    --slo ttft_p99=2s|--slo latency_p99=0.5s|--slo preemption_rate=0.01|--scale-output 2
    --scale-input 0.5|--scale-rate 3|--requests 0|--requests 7|--requests 100000000|--runs 3
    --find replicas|--find rate|--max-tokens 50|--max-tokens 2x|--block-size 1|--block-size 64
    --max-num-batched-tokens 8|--max-num-batched-tokens 512|--max-num-seqs 1|--sliding-window 8
    --state-space 4|--speculative 2:0.5|--prefill-chunk 5|--capacity 1|--capacity 40k
    --capacity 1GB|--capacity 1GB --model llama-3.1-8b|--clock-from sample:vllm-rtx4090
    --clock iterations|--clock 0:0:0|--clock 1e6:0|--format csv|--columns input=a|--rate 1e-9
    --rate 1e9|--now watermark=0.01|--now max_num_seqs=2|--objective ttft_p99|--watermark 0.5
    --rate-cap 2|--client-cap 3|--iterations 1|--seed -1|--window 0:1|--crossover|--within 0
    --within 2|--restore swap|--allocation predicted|--predictor perfect|--sweet-spot|--profile
    --swap-pool 5|--policy lru|--granularity blocks:16|--order random|--workers 1|--fit second
    --unknown-lengths|--threshold 2|--delta 0|--horizon 0|--no-simulate|--affinity|--at-once 2
    --belief cache|--prefill-ms 0|--price 2|--price 0
    """.replace("\n", "|").split("|")
)
"""Options that a line may have besides, sensible and not."""
BROKEN = {  # name -> text of a file that no command is made for
    "empty": "",
    "a head alone": "timestamp,prompt_tokens,completion_tokens\n",
    "no tokens": "timestamp,prompt_tokens,completion_tokens\n0,0,0\n",
    "one row": "timestamp,prompt_tokens,completion_tokens\n0,5,3\n",
    "one time": "timestamp,prompt_tokens,completion_tokens\n" + 9 * "1,5,3\n",
    "backwards": "timestamp,prompt_tokens,completion_tokens\n3,5,3\n2,5,3\n1,8,1\n",
    "words": "hello\nworld\n",
    "an object": "{}\n",
}


@dataclass(frozen=True)
class Line:
    """One command line, but for its files."""

    command: str
    engine: str
    source: str
    output: Output
    demand: str
    clock: str
    more: str = ""


# --- sources ------------------------------------------------------------------------------------


def _table(rows: str, *, timed: bool = True) -> str:
    chance, at = Random(0), 0.0
    lines = [rows]
    for _ in range(20):
        at += chance.expovariate(20.0)
        lengths = f"{chance.randrange(4, 40)},{chance.randrange(2, 30)}"
        lines.append(f"{at:.6f},{lengths}" if timed else lengths)
    return "\n".join(lines) + "\n"


def _mooncake() -> str:
    rows = [
        {
            "timestamp": 40 * k,
            "input_length": 512 * (1 + k % 3) + 30,
            "output_length": 5 + k,
            "hash_ids": [*range(1 + k % 3), 10 + k],
        }
        for k in range(12)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def _segments() -> str:
    rows = [
        {"arrival": k / 20, "prompt": [[k % 2, 64], [2 + k, 16]], "output_length": 4 + k}
        for k in range(12)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def _few_asked() -> list[Asked]:
    return [Asked(100 + 0.1 * k, 12 + k, 0.05, (0.02,) * (5 + k)) for k in range(15)]


def _file(text: Callable[[], str]) -> Callable[[Path], object]:
    return lambda path: path.write_text(text())


def _vllm_log(path: Path, *, caching: bool) -> None:
    path.mkdir()
    vllm_logs.write_log(path, caching=caching, table=vllm_logs.requests(30), tick_s=0.5)


def _sglang_log(path: Path) -> None:
    path.mkdir()
    sglang_logs.write_log(path, count=60)


def _bench_folder(path: Path) -> None:
    path.mkdir()
    (path / "bench.json").write_text(json.dumps(vllm(ASKED)))
    (path / "server.log").write_text(stdout_of(ASKED))


_TIMED_VIDUR = "arrived_at,num_prefill_tokens,num_decode_tokens"
FILES: dict[str, Callable[[Path], object]] = {
    "csv": _file(lambda: _table("timestamp,prompt_tokens,completion_tokens")),
    "csv without times": _file(lambda: _table("prompt_tokens,completion_tokens", timed=False)),
    "vidur": _file(lambda: _table(_TIMED_VIDUR)),
    "burstgpt": _file(lambda: BURSTGPT),
    "mooncake": _file(_mooncake),
    "segments": _file(_segments),
    "vllm requests": _file(lambda: VLLM),
    "vllm bench": _file(lambda: json.dumps(vllm(_few_asked()))),
    "sglang bench": _file(lambda: json.dumps(sglang(_few_asked()))),
    "guidellm": _file(lambda: json.dumps(guidellm(_few_asked()))),
    "genai-perf": _file(lambda: json.dumps(genai_perf(_few_asked()))),
    "vllm log": lambda path: _vllm_log(path, caching=False),
    "vllm log, cached": lambda path: _vllm_log(path, caching=True),
    "sglang log": _sglang_log,
    "bench folder": _bench_folder,
}
WORDS = {
    "classes": "--class 8:8 --class 20:16",
    "one class": "--class 100:20",
    "preset": "--preset alpaca",
    "generator": "--generator gsp --set groups=2 --set queries=3",
}
SOURCES = (*FILES, *WORDS)
_SHORT = ("csv", "csv without times", "vidur", "classes", "one class")  # a memory may be small
_TIMED = tuple(name for name in FILES if name not in ("csv without times", "sglang bench"))


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Name -> words of the command line."""
    folder = tmp_path_factory.mktemp("sources")
    words = {name: text.split() for name, text in WORDS.items()}
    for name, write in FILES.items():
        (folder / name).mkdir()  # each by itself: neighbours of a file may be read with it
        write(folder / name / "source")
        words[name] = [str(folder / name / "source")]
    for name, text in BROKEN.items():
        (folder / name).write_text(text)
        words[name] = [str(folder / name)]
    return words | {"no source": [], "no file": [str(folder / "none")], "a folder": [str(folder)]}


# --- one line -----------------------------------------------------------------------------------


@cache
def options_of(command: str) -> set[str]:
    """The options of a command, and SOURCE where it has that."""
    parameters = get_command(app).commands[command].params  # type: ignore[attr-defined]
    return {name for parameter in parameters for name in parameter.opts}


def words_of(line: Line, source: list[str], folder: Path) -> list[str]:
    """The command line, as far as the command has the options."""
    there = options_of(line.command)
    options = [
        ("--capacity", ["--capacity", "320" if line.source in _SHORT else "4096"]),
        ("--engine", ["--engine", line.engine]),
        ("--clock", line.clock.split()),
        (line.demand.partition(" ")[0], line.demand.split()),
        ("--json", ["--json"] * line.output.as_json),
        ("--html", ["--html", str(folder / "r.html")] * line.output.html),
        ("--out", ["--out", str(folder / "out")] * line.output.out),
    ]
    return [
        line.command,
        *source,
        *_short(line),
        *(word for name, words in options if name in there for word in words),
        *(line.more.split() if line.more.partition(" ")[0] in there else ()),
    ]


def _short(line: Line) -> list[str]:
    """What keeps it short. A trace that is replayed is served whole, and is short by itself."""
    words = COMMANDS[line.command].split()
    if line.command == "compare" and line.engine == words[-1]:
        words[-1] = "vllm"
    whole = "replay" in line.demand or (line.source in _TIMED and line.command == "size")
    if not line.demand:  # a trace on a clock in seconds is replayed; of a preset, few are too few
        whole |= line.source in _LOGS or line.source == "preset"
        whole |= line.source in _TIMED and bool(line.clock)
    if not whole:
        return words
    drawn = [words.index(name) for name in ("--requests", "--runs", "--seeds") if name in words]
    return [word for at, word in enumerate(words) if not {at, at - 1} & {*drawn}]


def check(line: Line, source: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> int:
    """Run it and look at what it left."""
    folder.mkdir()
    words = words_of(line, source, folder)
    code = main(words)
    text = capsys.readouterr()
    where = f"{words}: {code}\n{text.out[-800:]}\n{text.err[-3000:]}"
    made = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    if code == BAD_INPUT:
        assert text.err.startswith("fluidkv: "), where
        assert text.err.count("\n") == 1, where
        assert not text.out, where
        assert not made, where
        return code
    assert code in (0, FAILS) if line.command == "recommend" else code == 0, where
    assert not text.err, where
    assert not _no_number(text.out), where
    if "--json" in words:
        json.loads(text.out, parse_constant=_refuse)
    else:
        assert text.out.strip(), where
    assert (folder / "r.html").exists() == ("--html" in words), where
    if "--html" in words:
        page = (folder / "r.html").read_text()
        assert page.rstrip().endswith("</html>"), where
        assert not _no_number(re.sub("<script.*?</script>", "", page, flags=re.DOTALL)), where
    if "--out" in words:
        _check_files(folder / "out", where)
    return code


def _refuse(constant: str) -> None:
    raise AssertionError(f"no JSON: {constant}")


def _no_number(text: str) -> list[str]:
    """NaN and infinities that a person would read."""
    return re.findall(r"(?<![\w.])[+-]?(?:nan|inf)\b%?.{0,40}", text, flags=re.IGNORECASE)


def _check_files(folder: Path, where: str) -> None:
    made = {path.name for path in folder.iterdir()}
    assert not [name for name in made if name.startswith(".")], where
    manifest = json.loads((folder / MANIFEST).read_text(), parse_constant=_refuse)
    for figure in manifest["figures"].values():
        assert {*figure.get("files", ())} <= made, where
        assert not _no_number(figure.get("caption", "") + figure["title"]), where
    for path in folder.iterdir():
        assert path.stat().st_size, where
        match path.suffix:
            case ".json":
                json.loads(path.read_text(), parse_constant=_refuse)
            case ".png":
                assert path.read_bytes().endswith(b"IEND\xaeB`\x82"), where
            case ".svg":
                assert path.read_text().rstrip().endswith("</svg>"), where


# --- which lines --------------------------------------------------------------------------------

_PROMPTED = ("mooncake", "segments", "sglang log", "generator")
_LOGS = ("vllm log", "vllm log, cached", "sglang log", "bench folder")


def sources_of(command: str) -> Sequence[str]:
    """What the command is made for; all others it refuses."""
    if command in ("cache", "route"):
        return _PROMPTED
    if command in ("log", "replay"):
        return _LOGS
    if command == "wait":  # other types of prompts, and clocks, than all others take
        return [*FILES]
    return [source for source in SOURCES if source != "generator"]


def engines_of(command: str) -> Sequence[str]:
    """The same of engines."""
    if "--engine" not in options_of(command):
        return ("",)
    if command == "route":
        return ("plain", "vllm", "sglang")
    own = [text for text in ENGINE_TEXTS if text != "plain"]
    if command == "preempt":
        return [text for text in own if CACHE not in text and text != "fcfs-new-first"]
    return own


def demands_of(command: str, source: str) -> Sequence[str]:
    """The same of who asks."""
    if command in ("size", "wait", "route"):
        return ("--rate 30",)
    return DEMANDS if source in _TIMED else [text for text in DEMANDS if "replay" not in text]


def _drawn(chance: Random, *, fits: bool) -> Line:
    command = chance.choice(tuple(COMMANDS))
    source = chance.choice(sources_of(command) if fits else SOURCES)
    engine = chance.choice(engines_of(command) if fits else ENGINE_TEXTS)
    demand = chance.choice(demands_of(command, source) if fits else DEMANDS)
    clocks = CLOCKS[1:] if fits and "--replay" in demand else CLOCKS
    return Line(command, engine, source, chance.choice(OUTPUTS), demand, chance.choice(clocks))


def test_every_command_with_a_source_or_an_engine_is_here() -> None:
    """Those of attention weights, of systems and of records have sources of their own."""
    others = {"price", "oracle", "sweep", "explore", "mix", "equilibria", "cascade"}
    commands = get_command(app).commands  # type: ignore[attr-defined]
    there = {name for name in commands if {"source", "--class", "--engine"} & options_of(name)}
    assert there - others == {*COMMANDS}


PARTS = range(16)


def _lines(part: int) -> list[Line]:
    chance = Random(f"drawn {part}")
    return [_drawn(chance, fits=True) for _ in range(12)]


def test_drawn_lines_have_every_source_and_engine() -> None:
    lines = [line for part in PARTS for line in _lines(part)]
    assert {line.source for line in lines} == {*SOURCES}
    assert {line.engine for line in lines} == {*ENGINE_TEXTS, ""}


@pytest.mark.daily(2)
@pytest.mark.parametrize("part", PARTS)
def test_drawn_lines_are_answered_or_refused(
    part: int, sources: dict[str, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    codes = [
        check(line, sources[line.source], tmp_path / str(number), capsys)
        for number, line in enumerate(_lines(part))
    ]
    assert codes.count(0) > len(codes) / 2


def _bent(seed: str, count: int) -> list[Line]:
    """Drawn lines with an option more, and some with a source that is none."""
    chance, lines = Random(seed), []
    for _ in range(count):
        line = replace(_drawn(chance, fits=chance.random() < 0.8), more=chance.choice(MORE).strip())
        broken = chance.random() < 0.25
        others = (*BROKEN, "no source", "no file", "a folder")
        lines.append(replace(line, source=chance.choice(others)) if broken else line)
    return lines


def test_lines_with_more_options_are_answered_or_refused(
    sources: dict[str, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, line in enumerate(_bent("slice", 5)):
        check(line, sources[line.source], tmp_path / str(number), capsys)


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(40))
def test_many_lines_with_more_options_are_answered_or_refused(
    part: int, sources: dict[str, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, line in enumerate(_bent(f"part {part}", 10)):
        check(line, sources[line.source], tmp_path / str(number), capsys)
        shutil.rmtree(tmp_path / str(number))


@pytest.mark.parametrize(
    ("engine", "source", "demand"),
    [
        ("sglang", "classes", ""),
        ("sglang+cache", "sglang log", "--replay"),
        ("fcfs-new-first", "one class", ""),
        ("fcfs-new-first", "csv", "--replay"),
    ],
)
def test_lines_that_once_failed(
    engine: str,
    source: str,
    demand: str,
    sources: dict[str, list[str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = Line("recommend", engine, source, FILES_TOO, demand, CLOCKS[1])
    code = check(line, sources[source], tmp_path / "line", capsys)
    assert code == (BAD_INPUT if demand and engine == "fcfs-new-first" else 0)


@pytest.mark.thorough
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_line_is_answered_or_refused(
    command: str,
    source: str,
    sources: dict[str, list[str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every engine; who asks and the clock are drawn."""
    engines = ENGINE_TEXTS if "--engine" in options_of(command) else ENGINE_TEXTS[:1]
    chance = Random(f"{command} {source}")
    for number, engine in enumerate(engines):
        demand = chance.choice(demands_of(command, source))
        clock = chance.choice(CLOCKS)
        for output in (TEXT, FILES_TOO):
            line = Line(command, engine, source, output, demand, clock)
            folder = tmp_path / f"{number} {output.out}"
            check(line, sources[source], folder, capsys)
            shutil.rmtree(folder)
