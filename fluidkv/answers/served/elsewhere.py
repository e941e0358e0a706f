"""What simulations missed on the measured logs that we have, where no log of one's own is given.

`elsewhere.csv` has a row for each log, engine and metric; `record` makes it from the logs, each
simulated as `fluidkv recommend` does it, with a clock that is fitted to the log itself.
"""

import csv
from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields
from functools import cache
from importlib.resources import files
from pathlib import Path

from fluidkv.answers.served.bias import OUTPUT, Bias, biases
from fluidkv.answers.served.logged import LoggedServer, read_server
from fluidkv.runs.requests import Requests
from fluidkv.serving.engine_text import ServedEngine
from fluidkv.serving.engines import CACHE, served_engine
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve
from fluidkv.serving.server import Server

LOGS: dict[str, int | None] = {
    "vllm_rtx4090_llama31_8b": None,
    "rtx4090_aug17": 47_504,
    "rtxpro6000_llama8b": 574_592,
    "rtxpro6000_qwen32b_tp2": 480_000,
}
"""Name of a log folder -> KV tokens, in blocks of 16, where its files do not say them.

What is known of the servers: `fluidkv_papers.measured.instances.unseen`.
"""
ENGINES = ("vllm", "vllm+cache")
"""By whose rules each is simulated."""
_BLOCK = 16
_METRICS = (OUTPUT, "ttft_p99", "latency_p99")
_NUMBERS = ("measured", "simulated", "relative", "error_bar")
_FILE = files("fluidkv.answers.served") / "elsewhere.csv"


@dataclass(frozen=True)
class Missed:
    """One metric of one log.

    Fields:
        log: name of its folder.
        server: engine and version that it is of.
        engine: by whose rules it was simulated.
        metric: as in `biases`.
        measured, simulated, relative, error_bar: of `Bias`.
    """

    log: str
    server: str
    engine: str
    metric: str
    measured: float
    simulated: float
    relative: float
    error_bar: float


@cache
def recorded() -> tuple[Missed, ...]:
    """All that is on record."""
    with _FILE.open(encoding="utf-8") as file:
        return tuple(_read(row) for row in csv.DictReader(file))


def _read(row: dict[str, str]) -> Missed:
    numbers = {name: float(row[name]) for name in _NUMBERS}
    return Missed(row["log"], row["server"], row["engine"], row["metric"], **numbers)


def missed_elsewhere(rules: str, caching: bool) -> tuple[Missed, ...]:
    """What rules of that family, with a cache or without, missed; empty where no log is of it.

    Args:
        rules: name of the rules, "vllm-0.11".
    """
    family = rules.partition("-")[0]
    return tuple(one for one in recorded() if one.engine == family + CACHE * caching)


def computed(folder: Path) -> tuple[Missed, ...]:
    """The rows of those of the logs that are in a folder, six digits a number."""
    return tuple(
        one
        for name, capacity in LOGS.items()
        if (folder / name).is_dir()
        for engine in ENGINES
        for one in _of(folder / name, engine, capacity)
    )


def on_itself(
    server: LoggedServer, engine: ServedEngine, capacity: int | None = None
) -> Mapping[str, Bias]:
    """What a logged run, simulated on the clock that is fitted to it, misses of the log.

    Args:
        capacity: KV tokens, where the log does not say them.
    """
    log, settings = server.log, server.settings
    assert log is not None  # these logs have ticks
    assert server.clock is not None
    limits = Limits(
        server.capacity or capacity or 0,
        settings.block_size or _BLOCK,
        settings.max_num_seqs,
        settings.max_num_batched_tokens,
    )
    table = Requests(
        log.input_lengths, log.decode_lengths, arrival=log.arrival_s - log.arrival_s[0]
    )
    run = serve(table, Server(engine, limits, clock=server.clock))
    return biases(run, log, _METRICS)


def _of(folder: Path, engine: str, capacity: int | None) -> list[Missed]:
    server, rules = read_server(str(folder)), served_engine(engine)
    return [
        Missed(
            folder.name,
            f"{rules.rules.name} {server.settings.version or ''}".strip(),
            engine,
            metric,
            *(float(f"{v:.6g}") for v in (b.measured, b.simulated, b.relative, b.error_bar)),
        )
        for metric, b in on_itself(server, rules, capacity).items()
    ]


def record(path: Path, *folders: Path) -> None:
    """Compute the rows of the logs in some folders and write them."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(Missed)])
        writer.writerows(astuple(one) for folder in folders for one in computed(folder))
