from .run import run_suite as run_suite
