"""What trajectories settle into after evictions: pulse cycles and other periodic orbits."""
