"""Counts alone: thousands of runs at once, random numbers drawn inside."""
