"""Models of one row, every stage computed, trajectories side by side: for a CPU."""
