"""What answers about a server stand on: who asks, how it is set, what its log says, the runs."""
