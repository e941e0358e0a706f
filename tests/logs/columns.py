"""What a log says, for tests in which it has to say it."""

from fluidkv.logs.log import LoggedRequests, LoggedTicks, ServerLog
from fluidkv.traces.report import LoadReport


def ticks_of(log: ServerLog) -> LoggedTicks:
    assert log.ticks is not None
    return log.ticks


def requests_of(log: ServerLog) -> LoggedRequests:
    assert log.requests is not None
    return log.requests


def column(log: ServerLog, name: str) -> list[float]:
    """A column of the ticks."""
    values = getattr(ticks_of(log), name)
    assert values is not None
    return values.tolist()


def times(log: ServerLog, name: str) -> list[float]:
    """A column of the requests."""
    values = getattr(requests_of(log), name)
    assert values is not None
    return values.tolist()


def report_of(log: ServerLog) -> LoadReport:
    """Of the ticks."""
    report = ticks_of(log).report
    assert report is not None
    return report
