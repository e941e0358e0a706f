"""Statements of the paper Token-PD."""
