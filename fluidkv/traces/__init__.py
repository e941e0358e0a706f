"""Readers and writers of request traces, and synthetic workloads.

    trace, report = read_trace("requests.csv")     # the format is found from the content
    workload = trace.workload()                    # empirical joint distribution of lengths
    print(report.summary())                        # what was kept, changed, dropped, and why

Formats read: azure, burstgpt, csv, mooncake, segments, vidur, vllm-bench. Formats
written: mooncake, vidur.
"""

from fluidkv.traces.presets import preset, preset_names
from fluidkv.traces.read import LoadedTrace, format_names, read_trace
from fluidkv.traces.report import LoadReport, Reason
from fluidkv.traces.samples.shipped import sample_names, sample_path
from fluidkv.traces.scaling import Scaling, scale
from fluidkv.traces.trace import Trace
from fluidkv.traces.write import write_mooncake, write_vidur

__all__ = [
    "LoadReport",
    "LoadedTrace",
    "Reason",
    "Scaling",
    "Trace",
    "format_names",
    "preset",
    "preset_names",
    "read_trace",
    "sample_names",
    "sample_path",
    "scale",
    "write_mooncake",
    "write_vidur",
]
