"""Figures of the paper Routing, and what goes beyond them: one idea a module."""
