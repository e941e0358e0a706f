"""What the folder of a measured run says about its server, for `fluidkv recommend`."""

from dataclasses import dataclass
from pathlib import Path

from fluidkv.errors import InputError
from fluidkv.serving.clock import IterationClock
from fluidkv.serving.clock_fit.fit import fit_clock
from fluidkv.serving.clock_fit.points import tick_points
from fluidkv.traces import bench_capacity
from fluidkv.traces.vllm_log import TICKS_FILE, read_vllm_log
from fluidkv.traces.vllm_meta import VllmServer, read_vllm_server


@dataclass(frozen=True)
class LoggedServer:
    """How a server was set and how long its iterations took.

    Fields:
        capacity: KV tokens that requests can hold; None where the log does not say.
        settings: out of its meta.json.
        clock: fitted; None where there is no time series to fit it to.
        fit: in words, how well.
    """

    capacity: int | None
    settings: VllmServer
    clock: IterationClock | None
    fit: str


def read_server(source: str) -> LoggedServer:
    """Settings and clock of a log folder.

    Raises:
        InputError: a file of it that cannot be read.
    """
    settings = read_vllm_server(source)
    capacity = bench_capacity(source)
    if settings.blocks is not None and settings.block_size is not None:
        capacity = settings.blocks * settings.block_size
    folder = Path(source)
    if not (folder / TICKS_FILE).is_file():
        return LoggedServer(capacity, settings, None, "")
    try:
        found = fit_clock(tick_points(**read_vllm_log(folder).clock_arrays()))
    except InputError as error:
        if error.argument == "source":
            raise
        return LoggedServer(capacity, settings, None, "too few ticks to fit a clock to")
    ticks, rest = len(found.residuals), found.residuals.rms
    fit = f"fitted to {ticks} ticks of the log, {rest:.1%} of a tick left over (rms)"
    return LoggedServer(capacity, settings, found.clock, fit)
