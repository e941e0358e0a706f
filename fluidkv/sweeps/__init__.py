"""Sweeps: systems, policies, engines, seeds and settings through any analysis, into a store."""
