"""What claims, figures and tables of Routing share: printed numbers, workloads, runs."""
