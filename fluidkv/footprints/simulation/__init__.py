"""Whole requests with random footprints on a server: the check of what is said of their noise."""
