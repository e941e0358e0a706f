"""What was measured on real servers and published, against our engines."""

from fluidkv.claims.measured import watermark

MODULES = (watermark,)
"""Each has its `CLAIMS`."""
