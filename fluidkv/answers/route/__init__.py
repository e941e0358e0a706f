"""Which router, and how much affinity: a workload, a fleet, every rule."""
