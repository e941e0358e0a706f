"""What claims, figures and proof checks of Congestion share: systems, states, printed formulas."""
