"""A file for each command: its options, the one call that answers, and how a person reads it."""
