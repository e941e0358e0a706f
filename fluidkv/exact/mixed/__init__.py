"""Mixed workloads: thresholds, drift, Lyapunov function, pulse cycle; Congestion, section 4."""
