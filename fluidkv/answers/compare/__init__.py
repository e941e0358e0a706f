"""Engines and versions on one workload: what differs beyond noise, and where two rules cross."""
