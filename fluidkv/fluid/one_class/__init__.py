"""Requests that are all alike: events, basins, blocks, whole requests."""
