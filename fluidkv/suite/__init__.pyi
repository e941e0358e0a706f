from .report import Report as Report
from .run import BENCHMARKS as BENCHMARKS
from .run import run_suite as run_suite
