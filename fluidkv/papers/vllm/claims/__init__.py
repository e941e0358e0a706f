"""What was measured on real servers and published, against our engines."""

from fluidkv.papers.vllm.claims import recompute_tax, victims, victims_table, watermark

MODULES = (watermark, recompute_tax, victims_table, victims)
"""Each has its `CLAIMS`."""
