"""What a prefix cache finds: hit rate by size, for every policy beside the optimum."""
