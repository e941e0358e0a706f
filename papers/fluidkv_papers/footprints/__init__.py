"""Footprints of requests on any server: what is ours beside the papers."""
