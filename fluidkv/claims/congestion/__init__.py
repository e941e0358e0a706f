"""Statements of the paper Congestion."""
