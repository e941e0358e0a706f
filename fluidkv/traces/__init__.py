"""Readers and writers of request traces and benchmark results, and synthetic workloads.

    trace, report = read_trace("requests.csv")     # the format is found from the content
    workload = trace.workload()                    # empirical joint distribution of lengths
    print(report.summary())                        # what was kept, changed, dropped, and why

`format_names()` lists the formats read; written are mooncake and vidur.
"""

from fluidkv.kinds import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
