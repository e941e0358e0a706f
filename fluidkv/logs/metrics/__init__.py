"""Polled metrics under their usual names: CSV, Prometheus, and pages of /metrics as they are."""
