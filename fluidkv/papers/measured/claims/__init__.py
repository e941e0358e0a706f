"""What others measured on real servers, against our engines: each a prediction."""

from fluidkv.papers.measured.claims import fixed_lengths, one_class, sglang_run

MODULES = (sglang_run, one_class, fixed_lengths)
"""Each has its `CLAIMS`."""
