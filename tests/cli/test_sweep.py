"""`fluidkv sweep`: what it says at the end, in 80 columns, and what it refuses in one line."""

import json
import subprocess
import time
from pathlib import Path

import pytest
import xarray as xr

from fluidkv.cli import main
from tests.processes import command_line

SMALL = Path(__file__).parents[1] / "sweeps" / "small.toml"


def test_it_says_what_where_and_how_to_open_it(tmp_path, capsys):
    out = tmp_path / "map.zarr"
    assert main(["sweep", str(SMALL), "--out", str(out), "--workers", "1"]) == 0
    shown = capsys.readouterr().out
    assert "stability over 3 row: 3 points in 1 chunk" in shown
    assert "3 points in " in shown
    assert " a second" in shown
    assert "verdict       stable 33.3 %, unstable 33.3 %" in shown
    assert "no answer     1 point (33.3 %); capacity: got 8; allowed: more than 11" in shown
    assert f"xarray.open_zarr({str(out)!r})" in shown
    assert all(len(line) <= 80 for line in shown.splitlines() if str(out) not in line)
    assert xr.open_zarr(out).sizes == {"row": 3}
    assert main(["sweep", str(SMALL), "--out", str(out)]) == 0
    assert "nothing: the store was complete" in capsys.readouterr().out


def test_json_has_the_numbers(tmp_path, capsys):
    argv = ["sweep", str(SMALL), "--out", str(tmp_path / "map"), "--workers", "1", "--json"]
    assert main(argv) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["points"] == found["computed"] == 3
    assert found["answers"]["verdict"] == {"stable": 1, "unstable": 1, "undecided": 0}
    assert (found["before"], found["refused"]) == (0, 1)
    assert main(argv) == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["before"], again["computed"], again["per_second"]) == (3, 0, None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("analysis =", "analyss ="), "SPEC: got 'analyss'; allowed: analysis"),
        (('"stability"', '"stabilty"'), "analysis: got 'stabilty'; allowed: stability"),
        (("input_length = [", "imput_length = ["), "list: got 'imput_length'; allowed: inp"),
        (("[1, 4, 8]", "[]"), "list.input_length: got 'no values'; allowed: at least one"),
        (("[1, 4, 8]", '["x"]'), "list.input_length: got 'x'; allowed: a whole number of at"),
        (("= 8", "="), "SPEC: got "),
    ],
)
def test_a_bad_spec_gets_one_line_and_leaves_nothing(change, message, tmp_path, capsys):
    spec = tmp_path / "spec.toml"
    spec.write_text(SMALL.read_text().replace(*change))
    assert main(["sweep", str(spec), "--out", str(tmp_path / "map")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"fluidkv: {message}")
    assert captured.err.count("\n") == 1
    assert not (tmp_path / "map").exists()


def test_bad_options_get_one_line(tmp_path, capsys):
    for argv, message in (
        (
            ["none.toml", "--out", str(tmp_path / "map")],
            "SPEC: got 'none.toml'; allowed: a file that exists",
        ),
        ([str(SMALL), "--out", str(SMALL)], "--out: got "),
        ([str(SMALL), "--out", str(SMALL.parent)], "--out: got "),
        ([str(SMALL), "--out", str(tmp_path / "m"), "--workers", "0"], "--workers: got '0'"),
        ([str(SMALL)], "Missing option '--out'"),
    ):
        assert main(["sweep", *argv]) == 2
        captured = capsys.readouterr()
        assert captured.err.startswith(f"fluidkv: {message}")
        assert captured.err.count("\n") == 1
    assert not (tmp_path / "map").exists()


@pytest.mark.thorough
def test_ctrl_c_ends_it_and_it_goes_on_later(tmp_path):
    import signal

    spec, out = tmp_path / "spec.toml", tmp_path / "map"
    text = SMALL.read_text().replace(
        "[list]\ninput_length = [1, 4, 8]\nshare = [0.1, 0.5, 0.5]",
        "[grid]\ninput_length = { from = 1, to = 4000 }",
    )
    spec.write_text("chunk = 20\n" + text.replace("capacity = 8", "capacity = 9000"))
    words = command_line("sweep", str(spec), "--out", str(out))
    working = subprocess.Popen([*words, "--workers", "1"], stderr=subprocess.PIPE, text=True)
    while not list((out / "status").glob("c.*")) if (out / "status").is_dir() else True:
        time.sleep(0.05)
    working.send_signal(signal.SIGINT)
    said = working.communicate()[1]
    assert working.returncode == 130
    assert said == "fluidkv: interrupted; nothing was left half-written\n"
    assert not list(out.glob(".fluidkv-parts-*"))
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "were there before" in done.stdout
    assert (xr.open_zarr(out).status == 1).all()
