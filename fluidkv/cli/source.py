"""The requests that a command is about: of a trace, a preset, or as they stand in the options."""

from typing import TYPE_CHECKING

from fluidkv.cli import arguments
from fluidkv.cli.progress import progress

if TYPE_CHECKING:
    from fluidkv.traces import LoadReport, Trace
    from fluidkv.workload import Workload


def requests_of(
    source: str | None, classes: list[str] | None, preset: str | None, format_: str | None
) -> "tuple[Workload | Trace, LoadReport | None]":
    """Classes, a preset, or a trace with the report of its reader; exactly one is given."""
    if classes:
        return arguments.request_classes(classes), None
    names = {"source": "SOURCE", "format": "--format", "preset": "--preset"}
    with arguments.as_options(names), progress(f"reading {source or preset}"):
        if preset is not None:
            from fluidkv.traces import preset as preset_workload

            return preset_workload(preset), None
        from fluidkv.traces import read_trace

        return read_trace(source or "", format=format_)
