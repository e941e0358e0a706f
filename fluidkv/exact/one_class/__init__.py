"""Requests that are all alike: equilibria, cascades, capture; Congestion, section 3."""
