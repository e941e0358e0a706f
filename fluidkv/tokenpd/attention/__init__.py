"""Attention weights: generated with a stated structure, or read from files."""
