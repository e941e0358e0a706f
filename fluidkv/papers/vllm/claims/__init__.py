"""What was measured on real servers and published, against our engines."""

from fluidkv.papers.vllm.claims import watermark

MODULES = (watermark,)
"""Each has its `CLAIMS`."""
