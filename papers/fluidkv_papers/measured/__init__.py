"""Runs of real servers that others measured and published, predicted by our engines."""
