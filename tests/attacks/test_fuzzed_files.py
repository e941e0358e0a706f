"""Files of every kind made bad: a reader reads what it can, or refuses in one line; never else."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from fluidkv.errors import InputError
from fluidkv.figures import write_figures
from fluidkv.logs import read_log
from fluidkv.measured import measure, read_timeseries
from fluidkv.serving.records.replay import (
    SglangRecord,
    VidurCounts,
    VllmRecord,
    read_records,
    replay,
)
from fluidkv.traces import read_trace, write_mooncake, write_vidur
from fluidkv.traces.known import format_names
from tests.attacks.mutations import mutated
from tests.logs.metrics.test_metrics import FILES as POLLED
from tests.logs.stdout.test_sglang_stdout import START as SGLANG_START
from tests.logs.stdout.test_sglang_stdout import decode, prefill, retract
from tests.logs.stdout.test_vllm_stdout import START as VLLM_START
from tests.logs.stdout.test_vllm_stdout import v1
from tests.logs.test_vllm_folder import HEADER, ROWS, TICKS, row_of
from tests.serving.records.record_copies import CALLS, COUNTS, STEPS, content
from tests.traces.results.written import WRITTEN
from tests.traces.test_formats import AZURE, BURSTGPT, BURSTGPT_3, GENERIC, MOONCAKE, VIDUR, VLLM

_REQUESTS = "\n".join(row_of(row) for row in ROWS) + "\n"
_TICKS = "\n".join([HEADER, *TICKS]) + "\n"
_META = json.dumps(
    {
        "vllm_version": "0.19.0",
        "hardware": {"device_name": "GPU"},
        "kv_cache": {"num_gpu_blocks": 9, "block_size": 16, "num_kv_tokens": 128},
        "engine_kwargs": {"max_num_seqs": 4, "max_num_batched_tokens": 64},
    }
)
_SERIES = "t,running,waiting,gen_throughput,kv_cache_pct\n" + "".join(
    f"{t},{10 + t % 4},{t % 2},{100 + 7 * t},{t}\n" for t in range(12)
)
_MANIFEST = json.dumps({"figures": {"a": {"title": "A", "files": ["a.png"]}}})
_RECORD = json.dumps(content())
_PRINTED = {
    "vllm.log": VLLM_START + "".join(v1(f"13:08:{s}", 9.5, 90, 3, 1, 40) for s in (10, 20, 30)),
    "sglang.log": SGLANG_START
    + decode("16:06:06", 66, 84642, 0.97, 2574.67, 11)
    + prefill("16:06:06", 2, 704, 36)
    + retract("16:06:07", 1, 0.098, 0.3487, "#new_tokens_gained: 646, ")
    + decode("16:06:08", 62, 87001, 0.99, 2467.25, 18),
}
_WORK = 3_000  # tokens of a record that is replayed too


def _a_trace(folder: Path, chance: Random) -> None:
    path = folder / "trace"
    texts = (AZURE, BURSTGPT, BURSTGPT_3, GENERIC, MOONCAKE, VIDUR, VLLM, *WRITTEN.values())
    text = chance.choice(texts)
    path.write_bytes(mutated(text, chance))
    form = chance.choice((None, None, None, *format_names()))
    trace, report = read_trace(path, format=form)
    assert all(line.isprintable() for line in report.summary().split("\n"))
    json.dumps(report.to_dict(), allow_nan=False)
    assert trace.workload().requests == len(trace) == report.kept
    if trace.arrival_times_s is not None:
        write = chance.choice((write_mooncake, write_vidur))
        if not (write is write_mooncake and trace.prefix_block_size not in (None, 512)):
            write(trace, folder / "written")
            assert read_trace(folder / "written").trace.input_lengths == trace.input_lengths


def _a_log(folder: Path, chance: Random) -> None:
    parts = {"requests.jsonl": _REQUESTS, "timeseries.csv": _TICKS, "meta.json": _META}
    bad = chance.choice(list(parts))
    for name, text in parts.items():
        (folder / name).write_bytes(mutated(text, chance) if name == bad else text.encode())
    log = read_log(folder)
    json.dumps([report.to_dict() for report in log.reports], allow_nan=False)
    if not log.missing or log.missing[0].what == "preemptions":
        log.timed().clock_arrays()
    assert all((text or "").isprintable() for text in (log.version, log.settings.device))
    assert log.capacity is None or log.capacity > 0


def _a_file_of_a_log(folder: Path, chance: Random) -> None:
    name = chance.choice((*_PRINTED, *POLLED))
    path = folder / name
    if name in POLLED:
        POLLED[name](path)
    text = _PRINTED.get(name) or path.read_text()
    path.write_bytes(mutated(text, chance))
    log = read_log(chance.choice((path, folder)))
    json.dumps([report.to_dict() for report in log.reports], allow_nan=False)
    said = (*log.notes, *(file.gave for file in log.files), *map(str, log.missing))
    assert all(text.isprintable() for text in said)
    assert log.capacity is None or log.capacity > 0
    if log.ticks is not None and log.ticks.running is not None:
        assert (log.ticks.running >= 0).all()


def _a_series(folder: Path, chance: Random) -> None:
    path = folder / "series.csv"
    path.write_bytes(mutated(_SERIES, chance))
    json.dumps(measure(read_timeseries(path)).to_dict(), allow_nan=False)


def _a_record(folder: Path, chance: Random) -> None:
    path = folder / "record.json"
    path.write_bytes(mutated(chance.choice((_RECORD, json.dumps(COUNTS))), chance))
    for record in read_records(path):
        assert all(text.isprintable() for text in (record.source, record.version, *record.notes))
        assert isinstance(record, VllmRecord | VidurCounts)
        runs = record.runs if isinstance(record, VidurCounts) else [record.arrivals]
        tokens = sum(run.requests.output_length.sum() for run in runs)
        if tokens <= _WORK and sum(run.requests.input_length.sum() for run in runs) <= _WORK:
            replay(record)


def _calls_on_a_tree(folder: Path, chance: Random) -> None:
    path = folder / "calls.json"
    path.write_bytes(mutated(json.dumps(CALLS), chance))
    for record in read_records(path):
        result = replay(record)
        assert result.equal == (result.difference is None)


def _steps_with_a_tree(folder: Path, chance: Random) -> None:
    path = folder / "steps.json"
    path.write_bytes(mutated(json.dumps(STEPS), chance))
    for record in read_records(path):
        assert isinstance(record, SglangRecord)
        requests = record.arrivals.requests
        if requests.output_length.sum() <= _WORK and requests.input_length.sum() <= _WORK:
            result = replay(record)
            assert result.equal == (result.difference is None)


def _a_manifest(folder: Path, chance: Random) -> None:
    path = folder / "manifest.json"
    given = mutated(_MANIFEST, chance)
    path.write_bytes(given)
    try:
        write_figures([], folder)
    except InputError:
        assert path.read_bytes() == given
        raise
    finally:
        assert [each.name for each in folder.iterdir()] == ["manifest.json"]
    assert isinstance(json.loads(path.read_text())["figures"], dict)


KINDS = (
    *(
        _a_trace,
        _a_trace,
        _a_log,
        _a_file_of_a_log,
        _a_file_of_a_log,
        _a_series,
        _a_record,
        _calls_on_a_tree,
        _steps_with_a_tree,
    ),
    _a_manifest,
)


def attack(kind: Callable[[Path, Random], None], folder: Path, seed: str) -> None:
    """One file; what it was can be had again from the seed."""
    folder.mkdir()
    said = ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of NumPy, for one: they would be printed
            kind(folder, Random(seed))
    except InputError as error:
        said = str(error)
    except BaseException as error:
        raise AssertionError(f"{kind.__name__}, seed {seed}: {error!r}") from error
    assert said.isprintable()


@pytest.mark.parametrize("kind", dict.fromkeys(KINDS))
def test_bad_files_are_read_or_refused(kind: Callable, tmp_path: Path) -> None:
    for number in range(60):
        attack(kind, tmp_path / str(number), f"slice {number}")


@pytest.mark.thorough
@pytest.mark.parametrize("thousand", range(20))
def test_twenty_thousand_bad_files_are_read_or_refused(thousand: int, tmp_path: Path) -> None:
    for number in range(1000):
        kind = KINDS[number % len(KINDS)]
        attack(kind, tmp_path / str(number), f"thorough {1000 * thousand + number}")
