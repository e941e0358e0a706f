"""A log from a folder: which files there are, what each says, and what none says."""

from dataclasses import replace
from pathlib import Path

from fluidkv.errors import InputError
from fluidkv.logs.folder import sglang, vllm
from fluidkv.logs.log import ServerLog
from fluidkv.logs.meta import META_FILE, read_settings
from fluidkv.logs.missing import missing_of
from fluidkv.traces.samples.shipped import sample_path
from fluidkv.traces.vllm_bench import REQUESTS_FILE


def log_folder(source: Path | str) -> Path:
    """The folder of a measured run; of a file in it, that folder; of a sample, its own."""
    path = sample_path(source)
    return path.parent if path.is_file() else path


def read_log(source: Path | str) -> ServerLog:
    """Read what a log folder says of a measured run.

    Args:
        source: the folder, or a file in it.

    Raises:
        InputError: a folder without a file of a log; a file that is unreadable, has no usable
            request, or times or counters that cannot be; two files that are not of one run.
    """
    folder = log_folder(source)
    if not any((folder / name).is_file() for name in (REQUESTS_FILE, *_SERIES)):
        allowed = f"a log folder with {', '.join((REQUESTS_FILE, *_SERIES))} or {META_FILE}"
        raise InputError("source", str(source), f"{allowed} (no such file in it)")
    of_sglang = (folder / sglang.DECODE_FILE).is_file()
    log = _of_sglang(folder) if of_sglang else _of_vllm(folder)
    return replace(log, missing=missing_of(log))


_SERIES = (vllm.TICKS_FILE, sglang.DECODE_FILE)


def _of_vllm(folder: Path) -> ServerLog:
    log = ServerLog(str(folder), "vllm", settings=read_settings(folder))
    if (folder / REQUESTS_FILE).is_file():
        log = replace(log, requests=vllm.read_requests(folder / REQUESTS_FILE))
    if (folder / vllm.TICKS_FILE).is_file():
        log = replace(log, ticks=vllm.read_ticks(folder / vllm.TICKS_FILE))
    if log.requests is None or log.ticks is None or log.requests.first_token_s is None:
        return log
    return replace(log, **vllm.laid(log.requests, log.ticks, log.source)._asdict())


def _of_sglang(folder: Path) -> ServerLog:
    settings = read_settings(folder)
    log = ServerLog(str(folder), "sglang", settings=settings)
    log = replace(log, ticks=sglang.read_ticks(folder / sglang.DECODE_FILE, settings.capacity))
    if (folder / REQUESTS_FILE).is_file():
        log = replace(log, requests=sglang.read_requests(folder / REQUESTS_FILE))
    if (folder / sglang.EVENTS_FILE).is_file():
        retractions, prefills = sglang.read_events(folder / sglang.EVENTS_FILE)
        log = replace(log, retractions=retractions, prefills=prefills)
    return log
