"""Figures of the paper WAIT, and what goes beyond them: one idea a module."""
