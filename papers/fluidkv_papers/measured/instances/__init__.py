"""What was published, and our runs of it."""
