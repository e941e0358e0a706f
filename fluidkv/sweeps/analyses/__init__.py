"""The analyses that a sweep knows by name: what each takes, what it finds, how it computes."""
