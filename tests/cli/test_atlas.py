"""`fluidkv atlas`: two files together, and one line for bad input."""

import csv
import json
import sys
from fractions import Fraction

import xarray as xr

from fluidkv.cli import main

ARGV = ["atlas", "--longest", "5", "--share", "1/2", "--share", "0.1", "--workers", "1"]


def test_both_files_have_the_same_numbers(tmp_path, capsys):
    assert main([*ARGV, "--out", str(tmp_path / "a")]) == 0
    shown = capsys.readouterr().out
    assert "10 pairs x 2 shares" in shown
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == [
        "atlas.json",
        "manifest.json",
        "threshold_atlas.csv",
        "threshold_atlas.nc",
    ]
    with (tmp_path / "a" / "threshold_atlas.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 20
    with xr.open_dataset(tmp_path / "a" / "threshold_atlas.nc", engine="scipy") as saved:
        for row in rows:
            k = ["1/2", "1/10"].index(row["share"])
            cell = saved.sel(first=int(row["first"]), second=int(row["second"])).isel(share=k)
            assert int(cell["l0_min"]) == int(row["l0_min"] or -1)
            assert row["status"] == ("none" if row["l0_min"] == "" else "found")
            assert (row["asymptotic"] == "") == (row["l0_min"] == "")
    most = max(rows, key=lambda row: int(row["l0_min"] or 0))
    first, second, share = most["first"], most["second"], most["share"]
    lengths = f"outputs {first} and {second}, {share} of the requests with {first}"
    assert f"Longest inputs needed: {most['l0_min']} tokens, by {lengths}" in " ".join(
        shown.split()
    )
    values = json.loads((tmp_path / "a" / "atlas.json").read_text())
    assert values["needs_most"] == {
        "input_length": int(most["l0_min"]),
        "decode_lengths": [int(first), int(second)],
        "share_of_first": float(Fraction(share)),
        "share_of_first_exact": share,
    }


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([*ARGV, "--json"]) == 0
    assert "files" not in json.loads(capsys.readouterr().out)
    assert list(tmp_path.iterdir()) == []


def test_closed_standard_output_is_no_error(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)  # as the interpreter has it after `>&-`
    assert main(["atlas", "--longest", "2", "--workers", "1", "--out", str(tmp_path / "a")]) == 0
    assert len(list((tmp_path / "a").iterdir())) == 4
