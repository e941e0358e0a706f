"""Sweeps end to end: what a point says, whatever the chunks and whoever computes them."""

import pickle
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidkv as fk
from fluidkv.errors import InputError
from fluidkv.sweeps import execution, open_sweep
from fluidkv.sweeps.execution import Done, processes
from fluidkv.sweeps.planning import compute, plan
from fluidkv.sweeps.running import run
from fluidkv.sweeps.store.chunks import missing, write
from fluidkv.sweeps.store.folder import opened
from fluidkv.sweeps.summary import summary
from tests.conventions import complaints
from tests.sweeps.conftest import MAP, tree


def test_a_dataset_has_units_coordinates_and_what_was_asked(tmp_path: Path) -> None:
    found = fk.sweep(MAP, tmp_path / "map", workers=1)
    assert found.radius_low.dims == ("input_length", "share")
    assert found.input_length.units == "token"
    assert found.share_exact.values.tolist() == ["1/10", "1/2", "9/10"]
    assert found.sel(share=0.5).sizes == {"input_length": 4}
    assert (found.status == 1).all()
    assert complaints(found) == []
    assert found.attrs["fluidkv_version"] == fk.__version__
    assert found.attrs["analysis"] == "stability"


def test_two_processes_leave_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "_START_S", 0)
    asked = plan(MAP | {"chunk": 3})
    run(asked, tmp_path / "one")
    run(asked, tmp_path / "two", processes(2))
    assert tree(tmp_path / "two") == tree(tmp_path / "one")


@pytest.mark.parametrize(
    ("chunk_s", "here"),
    [
        ([0.1] * 20, 20),
        ([3.9] + [0.1] * 30, 31),
        ([1] * 20, 2),
        ([9] * 3, 1),
        ([0.1, 0.1, 8, 8], 3),
    ],
    ids=["short", "only loading", "long", "long chunks", "longer later"],
)
def test_processes_start_where_that_saves_time(
    chunk_s: list[float], here: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`here`: chunks that this process computes, by a clock that the chunks drive."""
    clock, handed_out = [0.0], []

    def job(chunk: int) -> Done:
        clock[0] += chunk_s[chunk]
        return Done(chunk, 1, 0)

    def shared(job: Any, chunks: list[int], workers: int, *, argument: str) -> Iterator[Any]:
        handed_out.extend(chunks)
        return ((place, Done(chunk, 1, 0)) for place, chunk in enumerate(chunks))

    monkeypatch.setattr(execution, "shared_out", shared)
    monkeypatch.setattr(execution.time, "monotonic", lambda: clock[0])
    chunks = list(range(len(chunk_s)))
    assert [done.chunk for done in processes(2)(job, chunks)] == chunks
    assert handed_out == chunks[here:]


def test_chunks_may_come_in_any_order_and_twice(tmp_path: Path, map_tree: dict[str, str]) -> None:
    asked = plan(MAP)
    with opened(tmp_path / "map", asked) as store:
        assert missing(store, asked) == [0, 1]
        write(store, asked, 1, compute(asked, 1))
        assert missing(store, asked) == [0]
        for chunk in (1, 0, 0):
            write(store, asked, chunk, compute(asked, chunk))
        assert missing(store, asked) == []
    assert tree(tmp_path / "map") == map_tree


def test_a_plan_pickles_as_its_spec() -> None:
    asked = plan(MAP)
    again = pickle.loads(pickle.dumps(asked))
    assert len(pickle.dumps(asked)) < 1000
    assert again.spec.text == asked.spec.text
    assert (again.shape, again.chunk_shape, again.grid) == ((4, 3), (2, 3), (2, 1))
    for name, values in compute(asked, 1).items():
        np.testing.assert_array_equal(values, compute(again, 1)[name])


def test_a_complete_sweep_is_opened_and_computes_nothing(tmp_path: Path) -> None:
    first = run(plan(MAP), tmp_path / "map")
    again = run(plan(MAP), tmp_path / "map")
    assert (first.before, first.computed) == (0, 12)
    assert (again.before, again.computed) == (12, 0)
    assert open_sweep(tmp_path / "map").sizes == {"input_length": 4, "share": 3}


def test_a_point_without_an_answer_is_said_and_has_no_values(tmp_path: Path) -> None:
    spec = MAP | {"settings": {"decode_length": [2, 3], "capacity": 8}}
    done = run(plan(spec), tmp_path / "map")
    found = open_sweep(tmp_path / "map")
    assert done.refused == 3
    assert found.status.values.tolist() == [[1] * 3] * 3 + [[2] * 3]
    assert np.isnan(found.radius_low.values[3]).all()
    assert (found.verdict.values[3] == -1).all()


def test_a_summary_says_why_an_admitted_point_has_no_answer_and_the_units_of_the_store(
    tmp_path: Path,
) -> None:
    """No memory serves a first token in a nanosecond, which only the search finds out."""
    clock = "vllm-llama3.1-8b-rtx4090"
    server = {"input_length": 5, "decode_length": 4, "rate": 1, "clock": clock, "engine": "vllm"}
    grid = {"ttft_p99": [Decimal("1e-9")]}
    spec = {"analysis": "size", "settings": server | {"requests": 10}, "grid": grid}
    found = summary(run(plan(spec), tmp_path / "size"))
    assert found["refused"] == 1
    assert found["why"].startswith("slo: got 'ttft_p99=1e-09s'")
    spec = {"analysis": "size", "settings": server, "grid": {"requests": [10]}}
    with pytest.raises(InputError, match="ttft_p99: got 'none'; allowed: a value, or one of tpot"):
        run(plan(spec), tmp_path / "unbounded")

    settings = {"input_length": 3, "capacity": 10**6}
    spec = {"analysis": "equilibria", "settings": settings, "grid": {"decode_length": [5, 10_000]}}
    assert summary(run(plan(spec), tmp_path / "long"))["why"].startswith("decode_length: got 10000")

    del server["rate"]
    spec = {"analysis": "serve", "settings": server | {"requests": 2}, "grid": {"capacity": [64]}}
    found = summary(run(plan(spec), tmp_path / "serve"))
    units = {each["name"]: each["units"] for each in found["variables"]}
    stored = open_sweep(tmp_path / "serve")
    assert units == {name: stored[name].units for name in units}
    assert units["duration"] == "s"
