"""Whole requests with a clock, arrivals and an engine's rules."""
