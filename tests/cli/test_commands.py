"""The other commands, exit codes, and what asking for help costs."""

import json
import os
import re
import subprocess
import sys
from functools import partial
from importlib import import_module

import pytest
from typer.main import get_command

from fluidkv import __version__
from fluidkv.cli import main
from fluidkv.cli.app import app
from fluidkv.ledger.claim import Claim, Origin, Outcome
from fluidkv.ledger.registry import ledger
from fluidkv.verdict import Evidence, Verdict
from tests.processes import SILENT, fluidkv, python


def test_verify_prints_every_claim_asked_for(capsys):
    assert main(["verify", "congestion.example-2"]) == 0
    shown = capsys.readouterr().out
    asked = [claim.id for claim in ledger() if claim.id.startswith("congestion.example-2")]
    assert asked
    assert all(id_ in shown for id_ in asked)
    assert f"{len(asked)} claims" in shown
    assert "all as on record" in shown


def test_verify_json_is_json(capsys):
    assert main(["verify", "congestion.equation-4", "--json"]) == 0
    (only,) = json.loads(capsys.readouterr().out)["claims"]
    assert only["verdict"] == "holds"
    assert only["as_expected"] is True


def test_verify_says_what_holds_where_a_statement_fails(capsys):
    assert main(["verify", "congestion.figure-3.a.threshold"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "what holds: congestion.figure-3.a.first-order 1 claim:" in shown


def test_verify_exits_with_one_when_an_outcome_differs(capsys, monkeypatch):
    wrong = Claim(
        id="test.wrong",
        kind="example",
        statement="A claim whose record is wrong.",
        source="nowhere",
        checked="one case",
        check=lambda: Outcome(Verdict.FAILS, Evidence.EXACT, ours="1", paper="2"),
    )
    module = import_module("fluidkv.ledger.registry")  # the package exports a function of that name
    monkeypatch.setattr(module, "select", lambda ids: (wrong,))
    assert main(["verify"]) == 1
    shown = capsys.readouterr().out
    assert "DIFFERS from the record" in shown
    assert "paper: 2; ours: 1" in shown


COMMANDS = [
    *("study", "recommend", "size", "compare", "replay"),
    *("mix", "wait", "cache", "route", "preempt"),
    *("explore", "threshold", "equilibria", "cascade", "pulse", "atlas"),
    *("verify", "table", "figure", "oracle"),
    "bench",
    "sweep",
]


def test_the_help_has_every_command_in_a_panel(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    order = ["Your server", *COMMANDS[:10], "Theory", *COMMANDS[10:16], "Papers", *COMMANDS[16:20]]
    order[order.index("Papers") : order.index("Papers")] = ["Many at once", "sweep"]
    order += ["Machine", "bench"]
    places = [re.search(rf"^[│╭].{{1,2}}{re.escape(name)} ", shown, flags=re.M) for name in order]
    assert all(places)
    starts = [place.start() for place in places if place]
    assert starts == sorted(starts)
    assert " Commands " not in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_says_what_it_is(name, capsys, monkeypatch):
    """A sentence that begins with "Of the ..." leans on the name of the option."""
    monkeypatch.setenv("COLUMNS", "300")
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert not re.findall(r"  (?:Of|That|In|More|Up to) [a-z].*", shown)
    assert "  [default" not in re.sub(r"\S +\[default", "", shown)


def _claims(*kinds: tuple[Origin, Verdict]) -> tuple[Claim, ...]:
    def check(verdict: Verdict) -> Outcome:
        return Outcome(verdict, Evidence.EXACT, ours="1", paper="2")

    return tuple(
        Claim(
            id=f"test.number-{n}",
            kind="example",
            statement="A claim.",
            source="nowhere",
            checked="one case",
            check=partial(check, verdict),
            expected=verdict,
            origin=origin,
        )
        for n, (origin, verdict) in enumerate(kinds)
    )


def test_the_tally_keeps_origins_apart(capsys, monkeypatch):
    """Only what is printed can be an error of a paper."""
    fails, holds = Verdict.FAILS, Verdict.HOLDS
    claims = _claims(
        *[(Origin.PRINTED, fails)] * 2,
        (Origin.PRINTED, holds),
        (Origin.READING, fails),
        (Origin.REPRODUCTION, fails),
        *[(Origin.PREDICTION, fails)] * 3,
        (Origin.PREDICTION, Verdict.UNDECIDED),
    )
    monkeypatch.setattr(import_module("fluidkv.ledger.registry"), "select", lambda ids: claims)
    assert main(["verify", "--jobs", "1"]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert " ".join(shown.split()).endswith(
        "9 claims: 1 hold, 7 fail, 1 undecided; all as on record how: 9 from the paper alone "
        "what fails: 2 errors of a paper as printed, 1 reading or statement of ours, "
        "1 reproduction not met, 3 predictions missed what is undecided: 1 prediction"
    )


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="terminals")
def test_verify_in_processes_has_the_order_of_the_ledger():
    """As a user runs it; in a process of its own, for others are started from that."""
    ids = ["congestion.equation-4", "congestion.example-2", "wait.equation-4"]
    done = fluidkv("verify", *ids, "--jobs", "2", "--json", check=True)
    answered = [each["id"] for each in json.loads(done.stdout)["claims"]]
    fronts = tuple(f"{front}." for front in ids)
    asked = [claim.id for claim in ledger() if f"{claim.id}.".startswith(fronts)]
    assert answered == asked
    assert len({claim.split(".")[0] for claim in asked}) == 2


@pytest.mark.parametrize("argv", [["verify", "nothing"], ["figure", "nothing"], ["nothing"]])
def test_unknown_names_get_one_line(argv, capsys):
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1


def test_figure_writes_picture_data_and_manifest(capsys, tmp_path):
    assert main(["figure", "congestion_figure_2", "--out", str(tmp_path)]) == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert {"congestion_figure_2.png", "congestion_figure_2.svg", "manifest.json"} <= names


def test_the_list_of_figures_fits_80_columns(capsys):
    assert main(["figure"]) == 0
    shown = capsys.readouterr().out
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert "congestion.figure-8" in shown
    assert "against the second half of a measured run" in " ".join(shown.split())  # nothing is cut


def test_an_unknown_figure_gets_its_nearest(capsys):
    assert main(["figure", "measured_logs"]) == 2
    assert capsys.readouterr().err == (
        "fluidkv: ID: got 'measured_logs'; allowed: measured-log (the nearest)\n"
    )


def test_a_figure_asked_for_by_name_is_not_skipped(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("FLUIDKV_TRACES", str(tmp_path / "nowhere"))
    out = tmp_path / "out"
    assert main(["figure", "replay_measured", "congestion_figure_2", "--out", str(out)]) == 2
    captured = capsys.readouterr()
    assert "figure" in captured.err
    assert "replay_measured" in captured.err
    assert captured.err.count("\n") == 1
    assert not out.exists()


def test_a_folder_that_stands_where_a_picture_goes_is_refused(capsys, tmp_path):
    (tmp_path / "congestion_figure_2.svg").mkdir()
    assert main(["figure", "congestion_figure_2", "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("fluidkv: --out: got ")
    assert "congestion_figure_2.svg stands there and is no file" in said
    assert len(list(tmp_path.iterdir())) == 1


def test_figure_takes_ids_or_all_but_not_both(capsys, tmp_path):
    assert main(["figure", "congestion_figure_2", "--all", "--out", str(tmp_path)]) == 2
    assert "--all" in capsys.readouterr().err


def test_no_command_prints_the_help_and_no_empty_error(capsys):
    assert main([]) == 2
    captured = capsys.readouterr()
    assert "Usage: fluidkv" in captured.out
    assert captured.err == ""


def test_help_shows_the_defaults(capsys, monkeypatch):
    """Square brackets are markup to the help's renderer: unescaped, what is in them vanishes."""
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["study", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "[default: with a backlog]" in shown
    assert "[default: 40 longest lifetimes or less]" in shown


def test_ctrl_c_does_not_take_the_interpreter_down_under_threads_of_xla(tmp_path):
    """What happens at a usual exit is what crashes: it must not begin. What was said is out."""
    code = (
        "import atexit, os, signal, sys; from importlib import import_module\n"
        "import jax\n"
        "atexit.register(os.write, 2, b'taken down')\n"
        "import_module('fluidkv.figures.render').draw = (\n"
        "    lambda *_: print('begun') or os.kill(os.getpid(), signal.SIGINT)\n"
        ")\n"
        "sys.argv = ['fluidkv', 'figure', 'congestion_figure_2', '--out', sys.argv[1]]\n"
        "from fluidkv.cli import main\n"
        "sys.exit(main())"
    )
    stopped = python(SILENT + code, str(tmp_path / "new"))
    assert stopped.returncode == 130
    assert stopped.stdout == "begun\n"
    assert stopped.stderr == "fluidkv: interrupted; nothing was left half-written\n"
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_whose_reader_left_is_no_error():
    read, write = os.pipe()
    os.close(read)
    done = fluidkv("verify", "congestion.equation-4", stdout=write)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.daily(1)
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_full_disk_behind_the_output_is_one_line(options):
    with open("/dev/full", "w") as full:
        done = fluidkv("verify", "congestion.equation-4", *options, stdout=full)
    assert done.returncode == 2
    assert done.stderr == "fluidkv: output: No space left on device\n"


def test_a_bug_has_an_exit_code_of_its_own(capsys, monkeypatch):
    """And not 1, which says that an outcome differs or that there is no setting to take."""

    def fail(*_, **__):
        raise ValueError("'x\x1b[2J' is not in list")

    monkeypatch.setattr("fluidkv.answers.study.study.study_system", fail)
    assert main(["study", "--class", "5:3", "--capacity", "100"]) == 70
    said = capsys.readouterr()
    assert said.out == ""
    first, *_, error, last = said.err.splitlines()
    assert first.startswith("Traceback")
    assert error == r"ValueError: 'x\x1b[2J' is not in list"
    assert last == (
        f"fluidkv: this is a bug of fluidkv {__version__}; please report the lines above "
        "and the command line"
    )


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("fluidkv ")


@pytest.mark.thorough
def test_module_and_console_script_agree_on_exit_codes():
    """As a user runs it: a process of its own, its standard output only JSON."""
    argv = [sys.executable, "-m", "fluidkv", "study", "--class", "5:3", "--capacity"]
    good = subprocess.run(
        [*argv, "100", "--json", "--iterations", "20"], capture_output=True, text=True, check=False
    )
    said = re.sub(
        r"^fluidkv: .*: \d+ s\n", "", good.stderr, flags=re.M
    )  # a slow machine's progress
    assert (good.returncode, said) == (0, "")
    assert json.loads(good.stdout)["gcd"] == 3
    bad = subprocess.run([*argv, "8"], capture_output=True, text=True, check=False)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert "Traceback" not in bad.stderr
    assert bad.stderr.count("\n") == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_not_broken_twice_in_80_columns(name):
    # rich keeps the line breaks of all but the first paragraph and has 78 columns for them
    text = get_command(app).commands[name].help  # type: ignore[attr-defined]  # it is a group
    assert text
    shown = re.sub(r"\[/?bold\]", "", text)
    assert max(len(line) for line in shown.splitlines()) <= 78
