"""Statements of the paper WAIT."""
