"""What others measured on real servers, against our engines: each a prediction."""

from fluidkv.papers.measured.claims import (
    capacity_policies,
    fixed_lengths,
    modelled,
    one_class,
    sglang_run,
    unseen,
)

MODULES = (sglang_run, one_class, capacity_policies, fixed_lengths, modelled, unseen)
"""Each has its `CLAIMS`."""
