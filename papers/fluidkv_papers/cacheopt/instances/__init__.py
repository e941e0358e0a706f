"""What claims and figures of CacheOPT share: printed numbers, workloads, runs."""
