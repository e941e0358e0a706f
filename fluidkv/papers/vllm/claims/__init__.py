"""What was measured on real servers and published, against our engines."""

from fluidkv.papers.vllm.claims import victims, watermark

MODULES = (watermark, victims)
"""Each has its `CLAIMS`."""
