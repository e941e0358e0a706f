"""Statements of the paper CacheOPT."""
