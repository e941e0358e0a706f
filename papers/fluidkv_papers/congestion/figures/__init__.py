"""Figures of the paper Congestion and beside it: one idea a module."""
