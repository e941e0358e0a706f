"""Statements of the paper Congestion, with checks."""
