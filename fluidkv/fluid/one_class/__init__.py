"""Requests that are all alike: blocks, whole requests."""
