"""What can be said without a run: balance, thresholds, bounds, designs."""
