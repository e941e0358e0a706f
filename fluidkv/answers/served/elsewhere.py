"""What simulations missed on the measured logs that we have, where no log of one's own is given.

`elsewhere.csv` has a row for each log, engine and metric; `record` makes it from the logs, each
simulated as `fluidkv recommend` does it, with a clock that is fitted to the log itself.
"""

import csv
from dataclasses import astuple, dataclass, fields
from functools import cache
from importlib.resources import files
from pathlib import Path

from fluidkv.answers.served.bias import OUTPUT, biases
from fluidkv.answers.served.logged import read_server
from fluidkv.runs.requests import Requests
from fluidkv.serving.engines import CACHE, served_engine
from fluidkv.serving.limits import Limits
from fluidkv.serving.run import serve

LOGS = {"vllm_rtx4090_llama31_8b": ("vllm", "vllm+cache")}
"""Name of a log folder -> engines by whose rules it is simulated."""
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
    """The rows of the logs in a folder, six digits a number."""
    return tuple(
        one
        for name, engines in LOGS.items()
        for engine in engines
        for one in _of(folder / name, engine)
    )


def _of(folder: Path, engine: str) -> list[Missed]:
    server = read_server(str(folder))
    log, settings = server.log, server.settings
    assert log is not None  # these logs have ticks
    assert server.capacity is not None
    assert server.clock is not None
    limits = Limits(
        server.capacity,
        settings.block_size or 1,
        settings.max_num_seqs,
        settings.max_num_batched_tokens,
    )
    table = Requests(
        log.input_lengths, log.decode_lengths, arrival=log.arrival_s - log.arrival_s[0]
    )
    rules = served_engine(engine)
    backend = "auto" if rules.caching else "reference"
    run = serve(table, rules, limits, clock=server.clock, backend=backend)
    return [
        Missed(
            folder.name,
            f"{rules.rules.name} {settings.version or ''}".strip(),
            engine,
            metric,
            *(float(f"{v:.6g}") for v in (b.measured, b.simulated, b.relative, b.error_bar)),
        )
        for metric, b in biases(run, log, _METRICS).items()
    ]


def record(path: Path, folder: Path) -> None:
    """Compute all rows and write them."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(Missed)])
        writer.writerows(astuple(one) for one in computed(folder))
