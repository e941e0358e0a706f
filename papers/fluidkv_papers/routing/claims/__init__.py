"""Statements of the paper Routing."""
