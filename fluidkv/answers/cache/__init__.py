"""What a prefix cache finds of a workload: hit rate by size, for every policy beside the optimum."""
