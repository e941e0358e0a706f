"""Figures of the paper CacheOPT, in simulation: one idea a module."""
