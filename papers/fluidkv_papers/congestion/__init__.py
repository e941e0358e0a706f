"""The paper Congestion: evictions, cascades, the GCD stability theorem, rate limits."""
